"""Where annotations stand among the keys of an answer: as in Skytells' documentation, on every way, in every dialect.

A choice ends with its `content_filter_results`; `prompt_filter_results` stands right before `usage`, or last where
there is no usage. Whoever put them there, an upstream or our evaluators: the place is the same.
"""

from __future__ import annotations

from typing import Final

from antiphon.document import Document

CHOICE_RESULTS: Final = "content_filter_results"
PROMPT_RESULTS: Final = "prompt_filter_results"


def put_last(document: Document, key: str) -> None:
    document[key] = document.pop(key)


def put_before_usage(document: Document) -> None:
    """Moves `prompt_filter_results`; all other keys keep their order."""
    put_last(document, PROMPT_RESULTS)
    keys = list(document)
    if "usage" in document:
        for key in keys[keys.index("usage") : -1]:
            put_last(document, key)
