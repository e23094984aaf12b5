"""One choice of an answer as it is spoken: words in, the `choices` entries of its chunks out."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from antiphon.engine.calls import CallBegins, CallEvent, CallReader, Fragment
from antiphon.engine.generation import End, Words
from antiphon.errors import AntiphonError

Document = dict[str, Any]


class Choice(Protocol):
    @property
    def over(self) -> bool:
        """Nothing more is wanted, though the model may go on."""

    def say(self, words: Words) -> Iterator[Document]: ...

    def end(self, end: End) -> Iterator[Document]: ...


class TextChoice:
    """Text, or JSON where a grammar demands it."""

    over = False

    def __init__(self, index: int, *, json: bool) -> None:
        self._index = index
        self._json = json
        self._begun = False
        self._said: list[str] = []

    def say(self, words: Words) -> Iterator[Document]:
        yield from self._begin()
        if self._json:
            self._said.append(words.text)
        yield _entry(self._index, {"content": words.text}, words.logprobs)

    def end(self, end: End) -> Iterator[Document]:
        yield from self._begin()
        if self._json and not end.cut:
            self._check()
        yield _entry(self._index, {}, [], "length" if end.cut else "stop")

    def _begin(self) -> Iterator[Document]:
        if not self._begun:
            self._begun = True
            yield _entry(self._index, {"role": "assistant", "content": ""}, [])

    def _check(self) -> None:
        """llama.cpp goes on without a grammar that it cannot read. Ours are checked before; this is the second look."""
        try:
            msgspec.json.decode("".join(self._said))
        except (msgspec.MsgspecError, RecursionError):
            raise AntiphonError(
                "The embedded engine did not keep to the format that was asked for.", code="engine_error"
            ) from None


class CallChoice:
    """Calls of tools, or the one call of a legacy function."""

    def __init__(self, index: int, reader: CallReader, *, legacy: bool, named: bool) -> None:
        """`named`: the client has said which, and the call is no news to it: OpenAI then says that it just stopped."""
        self._index = index
        self._reader = reader
        self._legacy = legacy
        self._reason = "stop" if named else "function_call" if legacy else "tool_calls"
        self._begun = False
        self._kind = ("function", "arguments")

    @property
    def over(self) -> bool:
        return self._reader.over

    def say(self, words: Words) -> Iterator[Document]:
        yield from self._begin()
        for event in self._reader.feed(words.text):
            delta = self._legacy_delta(event) if self._legacy else self._delta(event)
            if delta is not None:
                yield _entry(self._index, delta, [])

    def end(self, end: End) -> Iterator[Document]:
        yield from self._begin()
        if not end.cut and not self._reader.complete:
            raise AntiphonError("The embedded engine broke off in the middle of a call.", code="engine_error")
        yield _entry(self._index, {}, [], "length" if end.cut else self._reason)

    def _begin(self) -> Iterator[Document]:
        if not self._begun:
            self._begun = True
            yield _entry(self._index, {"role": "assistant", "content": None}, [])

    def _delta(self, event: CallEvent) -> Document | None:
        if isinstance(event, CallBegins):
            self._kind = kind, body = ("custom", "input") if event.custom else ("function", "arguments")
            call = {"index": event.index, "id": "call_" + secrets.token_hex(12), "type": kind}
            return {"tool_calls": [{**call, kind: {"name": event.name, body: ""}}]}
        if isinstance(event, Fragment):
            kind, body = self._kind
            return {"tool_calls": [{"index": event.index, kind: {body: event.text}}]}
        return None

    def _legacy_delta(self, event: CallEvent) -> Document | None:
        if isinstance(event, CallBegins):
            return {"function_call": {"name": event.name, "arguments": ""}}
        return {"function_call": {"arguments": event.text}} if isinstance(event, Fragment) else None


def _entry(index: int, delta: Document, logprobs: list[Document], reason: str | None = None) -> Document:
    tokens = {"content": logprobs, "refusal": None} if logprobs else None
    return {"index": index, "delta": delta, "logprobs": tokens, "finish_reason": reason}
