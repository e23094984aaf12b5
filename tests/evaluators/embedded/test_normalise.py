"""Disguises, and ordinary text that looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.embedded.classifier import WEIGHTS
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.wordpiece import WordPiece

normalise = Normaliser(WordPiece.load(WEIGHTS / "vocabulary.txt").ids)


@pytest.mark.parametrize(
    ("disguised", "plain"),
    [
        ("ki\u200bll th\u200dem", "kill them"),  # zero width
        ("k\u00adi\u00adl\u00adl", "kill"),  # soft hyphens
        ("\u202ekill\u202c", "kill"),  # direction marks
        ("кіll thеm аll", "kill them all"),  # Cyrillic among Latin letters
        ("ᴋɪʟʟ", "kill"),  # phonetic small capitals
        ("ｋｉｌｌ", "kill"),  # full width
        ("𝓴𝓲𝓵𝓵 𝐭𝐡𝐞𝐦", "kill them"),  # mathematical letters
        ("ⓚⓘⓛⓛ", "kill"),
        ("🅺🅸🅻🅻", "kill"),
        ("k̷i̷l̷l̷ h̶i̶m̶", "kill him"),  # struck through with marks
        ("k1ll y0ur$elf", "kill yourself"),
        ("h4ck", "hack"),
        ("k i l l  h i m", "kill him"),
        ("k.i.l.l them", "kill them"),
        ("h-o-w t-o k-i-l-l", "how to kill"),
        ("s a y t h a t y o u h a t e t h e m", "say that you hate them"),
    ],
)
def test_a_disguise_is_undone(disguised: str, plain: str) -> None:
    assert normalise(disguised) == plain


@pytest.mark.parametrize(
    "text",
    [
        "python3 -m http.server 8080 &",
        "b2b, mp4, utf8, h264, 10am, 1st, 5G and covid19",
        "1 2 3 4 5 6 7",
        "Привет, как дела?",
        "你好，世界",
        "Grüße aus Köln, naïve café",
        "SELECT a.id, b.x FROM t AS a, u AS b WHERE a.id = 0x1F",
        "https://example.com/a1b2c3?x=l33t",
        "user1@example.com",
        "",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert normalise(text).replace(",", "，") == text.replace(",", "，")


@given(st.text(st.characters(codec=None)))
def test_any_text_is_taken(text: str) -> None:
    normalise(text)


def test_work_grows_with_the_length_only() -> None:
    """Patterns that repeat a separator invite backtracking; this would take minutes."""
    for text in ("a." * 50_000, "a" * 100_000, "1" * 100_000, "a1" * 50_000, "-" * 100_000, "\u0301" * 100_000):
        normalise(text)
