"""Writes text completions, whole and streamed, one Writer per turn. No vendor that we know spells them in a way of its
own: every dialect writes OpenAI's shape. Documents are edited in place.
"""

from __future__ import annotations

from typing import Final

from antiphon.chat.usage import settle_usage
from antiphon.dialects.order import CHOICE_RESULTS, PROMPT_RESULTS, put_before_usage, put_last
from antiphon.dialects.shapes import USAGE, Shape, prune
from antiphon.document import Document

_LOGPROBS: Final[Shape] = dict.fromkeys(("text_offset", "token_logprobs", "tokens", "top_logprobs"))
_SHAPE: Final[Shape] = {
    **dict.fromkeys(("id", "object", "created", "model", "system_fingerprint", "antiphon")),
    "usage": USAGE,
    "choices": {**dict.fromkeys(("index", "text", "finish_reason")), "logprobs": _LOGPROBS},
}


class TextWriter:
    __slots__ = ("_strict", "_usage_asked")

    repeats = False  # of two chunks the writer learns nothing about a third

    def __init__(self, *, usage_asked: bool, strict: bool) -> None:
        self._usage_asked = usage_asked
        self._strict = strict

    def completion(self, document: Document, usage: Document) -> Document:
        own = document.get("usage")
        if own is not usage and isinstance(own, dict):  # counted by us: what else the upstream said of it stays
            usage = {**own, **usage}
        document["usage"] = settle_usage(usage, details=False)
        return self._ordered(document)

    def chunk(self, document: Document) -> Document:
        if self._usage_asked:
            document["usage"] = None
        return self._ordered(document)

    def has_emptied(self, document: Document) -> bool:
        """Of a chunk that said only what strict removes, nothing is left to send."""
        return self._strict and not any(
            choice["text"] or choice["finish_reason"] is not None or choice.get("logprobs")
            for choice in document["choices"]
        )

    def opening(self, envelope: Document) -> list[Document]:
        return []

    def usage_chunk(self, envelope: Document, usage: Document) -> Document | None:
        if not self._usage_asked:
            return None
        envelope["usage"] = settle_usage(usage, details=False)
        return self._pruned(envelope)

    def extra_chunk(self, envelope: Document) -> Document:
        return self.chunk(envelope)

    def _ordered(self, document: Document) -> Document:
        for choice in document["choices"]:
            if CHOICE_RESULTS in choice:
                put_last(choice, CHOICE_RESULTS)
        if PROMPT_RESULTS in document:
            put_before_usage(document)
        return self._pruned(document)

    def _pruned(self, document: Document) -> Document:
        if self._strict:
            prune(document, _SHAPE)
        return document
