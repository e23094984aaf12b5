"""Writes canonical completions and chunks in one dialect: one Writer per turn, driven by its dialect's row.

Documents are edited in place; nothing that is not named here or in `shapes` (strict) is ever removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from antiphon.chat.request import ChatRequest
from antiphon.chat.usage import settle_usage
from antiphon.dialects.filters import choice_results, prompt_results
from antiphon.dialects.order import CHOICE_RESULTS, PROMPT_RESULTS, put_before_usage, put_last
from antiphon.dialects.shapes import prune
from antiphon.dialects.spelling import ChunkUsage, FingerprintRule, Logprobs, Spelling, WriteOptions
from antiphon.document import Document

# Content and its obfuscation together are a multiple of this many characters: an observer of sizes learns no more.
OBFUSCATION_STEP: Final = 32

# Maritaca's form of a `system_fingerprint`.
_HEX: Final = re.compile(r"[0-9a-fA-F]{16}")


class Writer:
    __slots__ = (
        "_chunk_fingerprint",
        "_entropy",
        "_filter_results",
        "_fingerprint",
        "_judged",
        "_keeps_obfuscation",
        "_object",
        "_omits_logprobs",
        "_plain",
        "_request",
        "_spelling",
        "_strict",
        "_target",
        "_unjudged",
        "_usage_null",
    )

    def __init__(self, spelling: Spelling, request: ChatRequest, options: WriteOptions) -> None:
        self._spelling = spelling
        self._request = request
        self._strict = options.strict
        self._judged = options.judged
        self._object = spelling.object or options.maritaca_object
        self._target = options.target
        self._fingerprint: str | None = None
        self._chunk_fingerprint = spelling.chunk_fingerprint
        self._omits_logprobs = spelling.logprobs is Logprobs.REQUESTED and not request.logprobs
        self._usage_null = spelling.chunk_usage is ChunkUsage.ALWAYS or (
            spelling.chunk_usage is ChunkUsage.REQUESTED and request.include_usage
        )
        self._filter_results = spelling.filter_results
        # One placeholder for all chunks of the turn, which are only encoded: building it costs more than the rest.
        self._unjudged = choice_results(None, judged=options.judged) if spelling.filter_results else None
        self._keeps_obfuscation = request.include_obfuscation
        self._entropy = options.entropy if spelling.obfuscates and request.include_obfuscation else None
        self._plain = (
            spelling.chunk_fingerprint is FingerprintRule.PRESENT and self._entropy is None and not options.strict
        )

    @property
    def repeats(self) -> bool:
        """Two chunks that differ in their text alone are written with the same bytes around it."""
        return self._entropy is None

    # -- the whole answer

    def completion(self, document: Document, usage: Document) -> Document:
        spelling = self._spelling
        document["object"] = self._object
        self._put_fingerprint(document, spelling.fingerprint)
        for choice in document["choices"]:
            self._put_choice(choice)
        own = document.get("usage")
        if own is not usage and isinstance(own, dict):  # counted by us: what else the upstream said of it stays
            usage = {**own, **usage}
        document["usage"] = settle_usage(usage, details=spelling.usage_details)
        if spelling.filter_results:
            document[PROMPT_RESULTS] = prompt_results(document.get(PROMPT_RESULTS), judged=self._judged)
        if PROMPT_RESULTS in document:
            put_before_usage(document)
        if self._strict:
            prune(document, spelling.completion)
        return document

    def _put_choice(self, choice: Document) -> None:
        spelling = self._spelling
        message = choice["message"]
        if spelling.full_message:
            message.setdefault("refusal", None)
            if message.get("annotations") is None:
                message["annotations"] = []
        if spelling.text_always and message.get("content") is None:
            message["content"] = ""
        if not spelling.function_call_finish and choice["finish_reason"] == "function_call":
            choice["finish_reason"] = "tool_calls"
        if not self._omits_logprobs:
            choice.setdefault("logprobs", None)
        elif choice.get("logprobs") is None:  # a value that nobody asked for still travels [never-added]
            choice.pop("logprobs", None)
        if spelling.filter_results:
            choice[CHOICE_RESULTS] = choice_results(choice.pop(CHOICE_RESULTS, None), judged=self._judged)
        elif CHOICE_RESULTS in choice:
            put_last(choice, CHOICE_RESULTS)

    # -- the stream

    def chunk(self, document: Document) -> Document:
        """Hot: once per streamed delta. A plain content chunk costs about 0.25 us in openai."""
        for choice in document["choices"]:
            if self._omits_logprobs:
                choice.pop("logprobs", None)
            elif "logprobs" not in choice:
                choice["logprobs"] = None
            if choice["finish_reason"] == "function_call" and not self._spelling.function_call_finish:
                choice["finish_reason"] = "tool_calls"
            if self._filter_results:
                own = choice.pop(CHOICE_RESULTS, None)
                choice[CHOICE_RESULTS] = self._unjudged if own is None else choice_results(own, judged=self._judged)
            elif CHOICE_RESULTS in choice:
                put_last(choice, CHOICE_RESULTS)
        if PROMPT_RESULTS in document:
            if self._filter_results:
                del document[PROMPT_RESULTS]  # on the opening chunk only
            else:
                put_last(document, PROMPT_RESULTS)
        if self._plain and "obfuscation" not in document and type(document.get("system_fingerprint", "")) is str:
            if self._usage_null:
                document["usage"] = None
            return document  # openai's usual chunk: saves the 0.15 us of the general case
        return self._put_envelope(document)

    def has_emptied(self, document: Document) -> bool:
        """Of a chunk that said only what strict removes, an empty delta is left, which is not sent [no-empty-delta]."""
        return (
            self._strict
            and not any(
                choice["delta"]
                or choice["finish_reason"] is not None
                or choice.get("logprobs")
                or choice.get(CHOICE_RESULTS) not in (None, self._unjudged)
                for choice in document["choices"]
            )
            and not any(key in document for key in ("moderation", PROMPT_RESULTS))
        )

    def opening(self, envelope: Document) -> list[Document]:
        """The chunk before the first delta: skytells' empty one with the prompt's results [skytells-opening].

        What the upstream's first chunk said already may come in the envelope: its `prompt_filter_results`, and its
        choices, of which only the filter results are read.
        """
        if not self._filter_results:
            return []
        own = {
            choice["index"]: choice_results(choice[CHOICE_RESULTS], judged=self._judged)
            for choice in envelope.get("choices", ())
            if isinstance(choice.get(CHOICE_RESULTS), dict)
        }
        envelope["choices"] = [
            {
                "index": index,
                "delta": {},
                "logprobs": None,
                "finish_reason": None,
                CHOICE_RESULTS: own.get(index, self._unjudged),
            }
            for index in range(self._request.n)
        ]
        envelope[PROMPT_RESULTS] = prompt_results(envelope.get(PROMPT_RESULTS), judged=self._judged)
        return [self._put_envelope(envelope)]

    def usage_chunk(self, envelope: Document, usage: Document) -> Document | None:
        if not self._request.include_usage:
            return None
        envelope["choices"] = []
        self._put_envelope(envelope)
        envelope["usage"] = settle_usage(usage, details=self._spelling.usage_details)
        if self._strict:
            prune(envelope, self._spelling.chunk)
        return envelope

    def extra_chunk(self, envelope: Document) -> Document:
        envelope["choices"] = []
        return self._put_envelope(envelope)

    def _put_envelope(self, document: Document) -> Document:
        self._put_fingerprint(document, self._chunk_fingerprint)
        if PROMPT_RESULTS in document:
            put_last(document, PROMPT_RESULTS)
        if self._usage_null:
            document["usage"] = None
        if "obfuscation" in document and not self._keeps_obfuscation:  # OpenAI sends it unasked [obfuscation-asked]
            del document["obfuscation"]
        if self._entropy is not None:
            self._obfuscate(document, self._entropy)
        if self._strict:
            prune(document, self._spelling.chunk)
        return document

    def _put_fingerprint(self, document: Document, rule: FingerprintRule) -> None:
        if rule is FingerprintRule.ABSENT:
            document.pop("system_fingerprint", None)
            return
        known = document.get("system_fingerprint")
        if not isinstance(known, str):
            known = None
        if rule is FingerprintRule.DERIVED:
            document["system_fingerprint"] = self._pin_fingerprint(known)
        elif known is None:
            if rule is FingerprintRule.NULLABLE:
                document["system_fingerprint"] = None
            else:
                document.pop("system_fingerprint", None)

    def _pin_fingerprint(self, known: str | None) -> str:
        """The first chunk decides; all others say the same, whatever the upstream does. A fingerprint of
        another form (`fp_…`) is spelled as 16 hex digits that change when it does."""
        if self._fingerprint is None:
            if known is not None and _HEX.fullmatch(known):
                self._fingerprint = known
            else:
                source = f"{self._target} {known}" if known else self._target
                self._fingerprint = blake2b(source.encode(), digest_size=8).hexdigest()
        return self._fingerprint

    def _obfuscate(self, document: Document, entropy: Callable[[int], str]) -> None:
        size = sum(len(choice["delta"].get("content") or "") for choice in document["choices"])
        missing = OBFUSCATION_STEP - size % OBFUSCATION_STEP
        document.setdefault("obfuscation", entropy(missing)[:missing])
