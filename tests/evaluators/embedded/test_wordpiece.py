"""WordPiece as BERT's own tokenizer cuts (ids recorded from `tokenizers` with all-MiniLM-L6-v2)."""

from __future__ import annotations

import pytest

from antiphon.evaluators.embedded.classifier import WEIGHTS
from antiphon.evaluators.embedded.wordpiece import WordPiece

tokens = WordPiece.load(WEIGHTS / "vocabulary.txt")


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, world!", [7592, 1010, 2088, 999]),
        ("unaffable embeddings", [14477, 20961, 3468, 7861, 8270, 4667, 2015]),
        ("Naïve café", [15743, 7668]),
        ("snake_case = 42;", [7488, 1035, 2553, 1027, 4413, 1025]),
        ("日本", [1864, 1876]),
        ("don't", [2123, 1005, 1056]),
    ],
)
def test_ids(text: str, ids: list[int]) -> None:
    assert tokens.encode(text) == ids


def test_a_word_without_end_is_unknown() -> None:
    assert tokens.encode("a" * 101) == [100]
