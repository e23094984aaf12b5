"""Cheap ways to read a text find what the patterns find that they stand for."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.evaluators.embedded import disguises, latin, normalise, wordpiece

SIGNS = " \n\t\r\x0b\x1c\x85\u2028.,-_*#@$!|/\\&;%:()’“—·•"
LETTERS = "abkxyzABKIL019éß你к İ🙂\u200b"
TEXTS = st.text(st.sampled_from(SIGNS + LETTERS)) | st.lists(
    st.sampled_from(["k1ll", "k i l l", "www.a.b/c", "a@b.c", "#tag", "s*x", "word", "naïve", "—", "\n", " "])
).map("".join)


@given(TEXTS)
@example("a\u2028b c_d e1 f")
def test_words_of_a_text(text: str) -> None:
    assert latin._free_words(text) == [word.lower() for word in latin._FREE_WORD.findall(text)]
    assert disguises._words(text) == [word.lower() for word in disguises._WORD.findall(text)]


@given(TEXTS)
@example("see www.a.b/c d\r@e\x85f@g")
def test_links(text: str) -> None:
    assert latin._without_links(text) == latin.LINK.sub(lambda match: " " * len(match[0]), text)


@given(TEXTS)
@example("k-i.l_l")
def test_spaced_letters_are_never_missed(text: str) -> None:
    assert normalise._may_be_spaced(text) or not normalise._SPACED.search(text)


@given(TEXTS.map(str.lower))
def test_word_pieces_of_ascii(text: str) -> None:
    text = text.encode("ascii", "ignore").decode()
    assert wordpiece._ASCII_PIECES.findall(text) == wordpiece._PIECES.findall(text)
