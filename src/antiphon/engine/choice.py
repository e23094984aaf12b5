"""One choice of an answer as it is spoken: words in, the `choices` entries of its chunks out.

llama.cpp goes on without a grammar that fails. Ours are tried before; what was written under one is looked at once more
before it is said to be whole (`Check`).
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from antiphon.document import Document
from antiphon.engine.generation import End, GeneratedText
from antiphon.engine.tools.calls import CallBegins, CallEnds, CallEvent, CallFragment, CallReader
from antiphon.errors import AntiphonError

Check = Callable[[str], Awaitable[None]]  # raises AntiphonError for a text that does not fit its grammar


class GeneratedChoice(Protocol):
    @property
    def over(self) -> bool:
        """Nothing more is wanted, though the model may go on."""

    async def say(self, words: GeneratedText) -> list[Document]: ...

    async def end(self, end: End) -> list[Document]: ...


class TextChoice:
    """Text, or JSON where a grammar demands it."""

    over = False

    def __init__(self, index: int, check: Check | None, *, weighs: bool = False) -> None:
        """`check`: where a grammar demands JSON. `weighs`: logprobs are asked for."""
        self._index = index
        self._check = check
        self._weighs = weighs
        self._begun = False
        self._said: list[str] = []

    async def say(self, words: GeneratedText) -> list[Document]:
        if self._check is not None:
            self._said.append(words.text)
        return [*self._begin(), _entry(self._index, {"content": words.text}, words.logprobs)]

    async def end(self, end: End) -> list[Document]:
        if self._check is not None and not end.cut and not end.word:
            await self._check("".join(self._said))
        last = _entry(self._index, {}, [], "length" if end.cut else "stop")
        if self._weighs and not self._begun:  # no whole character came: a list of none, as it was asked for
            last["logprobs"] = {"content": [], "refusal": None}
        return [*self._begin(), last]

    def _begin(self) -> Iterator[Document]:
        if not self._begun:
            self._begun = True
            yield _entry(self._index, {"role": "assistant", "content": ""}, [])


class CallChoice:
    """Calls of tools, or the one call of a legacy function."""

    def __init__(self, index: int, reader: CallReader, check: Check, *, legacy: bool, named: bool) -> None:
        """`named`: the client has said which, and the call is no news to it: OpenAI then says that it just stopped."""
        self._index = index
        self._reader = reader
        self._check = check
        self._legacy = legacy
        self._reason = "stop" if named else "function_call" if legacy else "tool_calls"
        self._begun = False
        self._kind = ("function", "arguments")

    @property
    def over(self) -> bool:
        return self._reader.over

    async def say(self, words: GeneratedText) -> list[Document]:
        entries = list(self._begin())
        for event in self._reader.feed(words.text):
            if isinstance(event, CallEnds):
                await self._check(event.written)
            delta = self._legacy_delta(event) if self._legacy else self._delta(event)
            if delta is not None:
                entries.append(_entry(self._index, delta, []))
        return entries

    async def end(self, end: End) -> list[Document]:
        if not end.cut and not self._reader.complete:
            raise AntiphonError("The embedded engine broke off in the middle of a call.", code="engine_error")
        return [*self._begin(), _entry(self._index, {}, [], "length" if end.cut else self._reason)]

    def _begin(self) -> Iterator[Document]:
        if not self._begun:
            self._begun = True
            yield _entry(self._index, {"role": "assistant", "content": None}, [])

    def _delta(self, event: CallEvent) -> Document | None:
        if isinstance(event, CallBegins):
            self._kind = kind, body = ("custom", "input") if event.custom else ("function", "arguments")
            call = {"index": event.index, "id": "call_" + secrets.token_hex(12), "type": kind}
            return {"tool_calls": [{**call, kind: {"name": event.name, body: ""}}]}
        if isinstance(event, CallFragment):
            kind, body = self._kind
            return {"tool_calls": [{"index": event.index, kind: {body: event.text}}]}
        return None

    def _legacy_delta(self, event: CallEvent) -> Document | None:
        if isinstance(event, CallBegins):
            return {"function_call": {"name": event.name, "arguments": ""}}
        return {"function_call": {"arguments": event.text}} if isinstance(event, CallFragment) else None


def _entry(index: int, delta: Document, logprobs: list[Document], reason: str | None = None) -> Document:
    tokens = {"content": logprobs, "refusal": None} if logprobs else None
    return {"index": index, "delta": delta, "logprobs": tokens, "finish_reason": reason}
