"""The two encodings against counts made with tiktoken 0.14.0 itself (get_encoding; special tokens as text)."""

from __future__ import annotations

import random

import pytest
import tiktoken

from antiphon.tokens import encodings
from antiphon.tokens.families import CL100K, O200K

KNOWN = [
    ("Hello world", 2, 2),
    ("tiktoken is great!", 6, 6),
    ("你好，世界", 3, 6),
    ("👩‍👩‍👧‍👦 family", 12, 19),
    ("def f(x):\n    return x**2\n", 10, 10),
    ("<|endoftext|> as text", 9, 9),
    ("a" * 5000, 625, 625),
    ("  \n\n  \t x", 3, 3),
    ("São Paulo é ótimo", 4, 7),
    ("Привет, как дела?", 6, 8),
    ("1234567890", 4, 4),
    ("don't I'LL we've", 4, 7),
    ("", 0, 0),
]


@pytest.fixture(scope="module")
def loaded() -> dict[str, tiktoken.Encoding]:
    return {name: encodings.load(name) for name in (O200K, CL100K)}


@pytest.mark.parametrize(("text", "o200k", "cl100k"), KNOWN)
def test_known_counts(loaded: dict[str, tiktoken.Encoding], text: str, o200k: int, cl100k: int) -> None:
    assert encodings.count(loaded[O200K], text) == o200k
    assert encodings.count(loaded[CL100K], text) == cl100k


def test_known_token_ids(loaded: dict[str, tiktoken.Encoding]) -> None:
    assert loaded[O200K].encode_ordinary("Hello world") == [13225, 2375]
    assert loaded[CL100K].encode_ordinary("Hello world") == [9906, 1917]
    assert loaded[O200K].n_vocab == 200019
    assert loaded[CL100K].n_vocab == 100277


@pytest.mark.parametrize("name", [O200K, CL100K])
def test_cutting_a_long_text_does_not_change_its_count(loaded: dict[str, tiktoken.Encoding], name: str) -> None:
    words = ["Ärger", "the", "fox,", "12345", "\n\n", "  ", "it's", "世界", "—", "a/b/", "(x)", "\t"]
    draw = random.Random(7)
    text = " ".join(draw.choice(words) for _ in range(60_000))
    assert len(list(encodings.blocks(text))) > 2
    assert "".join(encodings.blocks(text)) == text
    assert encodings.count(loaded[name], text) == len(loaded[name].encode_ordinary(text))


@pytest.mark.parametrize("name", [O200K, CL100K])
def test_a_megabyte_of_spaces_is_counted(loaded: dict[str, tiktoken.Encoding], name: str) -> None:
    assert 0 < encodings.count(loaded[name], " " * 1_000_000) <= 20_000
