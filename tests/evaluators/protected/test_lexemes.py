from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.protected.lexemes import LONGEST, IndexKind, Lexer, lexemes

TEXTS = st.text() | st.text(alphabet="ab_ =}\n'你é9")


@given(pieces=st.lists(TEXTS), kind=st.sampled_from(IndexKind))
def test_the_cut_into_pieces_does_not_matter(pieces: list[str], kind: IndexKind) -> None:
    lexer = Lexer(kind)
    told = [lexeme for piece in pieces for lexeme in lexer.feed(piece)] + lexer.finish()
    assert told == lexemes(kind, "".join(pieces))


@given(text=TEXTS, kind=st.sampled_from(IndexKind))
def test_letter_by_letter_gives_the_same(text: str, kind: IndexKind) -> None:
    lexer = Lexer(kind)
    assert [lexeme for letter in text for lexeme in lexer.feed(letter)] + lexer.finish() == lexemes(kind, text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("if(a==b){c();}", ["if", "(", "a", "=", "b", ")", "{", "c", "(", ")", ";", "}"]),
        ("}\n  }\n}", ["}"]),
        ("# ======= x", ["#", "=", "x"]),
        ("a a", ["a", "a"]),
        ("", []),
    ],
)
def test_code(text: str, told: list[str]) -> None:
    assert lexemes(IndexKind.CODE, text) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Two roads—DIVERGED, in a_wood", ["two", "roads", "diverged", "in", "a", "wood"]),
        ("床前明月光 abc月", ["床", "前", "明", "月", "光", "abc", "月"]),
        ("Straße", ["strasse"]),
    ],
)
def test_text(text: str, told: list[str]) -> None:
    assert lexemes(IndexKind.TEXT, text) == told


def test_an_endless_word_is_cut_and_not_carried() -> None:
    lexer = Lexer(IndexKind.CODE)
    told = [lexeme for _ in range(1000) for lexeme in lexer.feed("x" * 1000)] + lexer.finish()
    assert {len(lexeme) for lexeme in told} == {LONGEST}
