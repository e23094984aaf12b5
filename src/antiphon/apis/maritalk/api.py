"""Maritaca's older API as the gateway sees it: `answer` in place of choices, `text` in each event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import msgspec

from antiphon.apis.api import COMMENT, EVENTS, ApiCall
from antiphon.apis.changes import ApiChange, ApiChanges
from antiphon.apis.reading import (
    missing,
    read_flag,
    read_integer,
    read_number,
    read_objects,
    read_text,
    read_texts,
)
from antiphon.apis.targets import fit_common
from antiphon.apis.unread import RequestShape, shape_of
from antiphon.dialects import DIALECTS, Dialect
from antiphon.document import Document
from antiphon.errors import AntiphonError
from antiphon.sse import frame

NAME: Final = "maritalk"
encode = msgspec.json.Encoder().encode
_NAMES: Final = {"max_completion_tokens": "max_tokens", "stop": "stopping_tokens"}
_SHAPE: Final = RequestShape({"messages": shape_of("role", "content")}, at=".{}")
_SLOWER: Final = "pieces leave as they come"


class MaritalkRequest:
    """One request, read."""

    names: Mapping[str, str] = _NAMES

    def __init__(self, document: Document, dropped: Mapping[str, str], *, strict: bool) -> None:
        self.document = document
        self.dropped = dropped
        self._strict = strict

    def fit(self, document: Document, protocol: str) -> tuple[Document, list[ApiChange]]:
        changes = ApiChanges(strict=self._strict)
        return fit_common(document, protocol, changes), changes.made

    def whole(self, completion: Document) -> Document:
        choice = completion["choices"][0]
        message = choice["message"]
        return {
            "answer": message.get("content") or message.get("refusal") or "",
            "model": completion["model"],
            "finish_reason": choice["finish_reason"],
            "usage": completion["usage"],
        }

    def stream(self) -> MaritalkStream:
        return MaritalkStream()


class MaritalkStream:
    """Writes one streamed answer. There is no `[DONE]`: the library reads every event as JSON."""

    content_type = EVENTS
    silence = COMMENT
    text_keys: Mapping[str, str] = MappingProxyType({"content": "text", "refusal": "text"})

    def __init__(self) -> None:
        self._last: Document = {"text": "", "finish_reason": None}

    def take(self, chunk: Document) -> bytes:
        for key in ("usage", "antiphon"):
            if chunk.get(key) is not None:
                self._last[key] = chunk[key]
        out = b""
        for choice in chunk["choices"]:
            words = choice["delta"].get("content") or choice["delta"].get("refusal")
            if words:
                out += frame(encode({"text": words}))
            if choice.get("finish_reason") is not None:
                self._last["finish_reason"] = choice["finish_reason"]
        return out

    def end(self) -> bytes:
        return frame(encode(self._last))

    def fail(self, error: AntiphonError, body: Document) -> bytes:
        return frame(encode(body))


class MaritalkApi:
    name = NAME
    dialect: Dialect = replace(DIALECTS["maritaca"], name=NAME, takes_plain=False)

    judges_strict = True

    def read(self, document: Document, call: ApiCall) -> MaritalkRequest:
        asked = {key: value for key, value in document.items() if value is not None}
        out: Document = {"model": read_text(asked, "model", ""), "messages": _read_messages(asked.get("messages"))}
        for param, (name, read) in _READERS.items():
            if param in asked:
                out[name] = read(asked[param], param)
        if asked.get("do_sample") is False:
            out["temperature"] = 0
            out.pop("top_p", None)
        if not out.get("stop"):
            out.pop("stop", None)
        if out.pop("stream", False):
            out["stream"], out["stream_options"] = True, {"include_usage": True}
        known = {"model", "messages", "do_sample", "chat_mode", "num_tokens_per_message", *_READERS}
        dropped = {param: "the older API does not know it" for param in asked if param not in known}
        if asked.get("num_tokens_per_message", 4) != 4:
            dropped["num_tokens_per_message"] = _SLOWER
        if asked.get("chat_mode") is False:
            dropped["chat_mode"] = "the prompt is sent as a message of the user's"
        return MaritalkRequest(out, {**dropped, **_SHAPE.find_unread(asked)}, strict=call.strict)


def _read_messages(given: object) -> list[Document]:
    """A conversation, or a text: a question of the user's, or a prompt (`chat_mode` false)."""
    if given is None:
        raise missing("messages")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [
        {"role": read_text(message, "role", param), "content": read_text(message, "content", param)}
        for param, message in read_objects(given, "messages")
    ]


_READERS: Final[Mapping[str, tuple[str, Callable[[object, str], object]]]] = {
    "temperature": ("temperature", read_number),
    "top_p": ("top_p", read_number),
    "max_tokens": ("max_completion_tokens", read_integer),
    "stopping_tokens": ("stop", read_texts),
    "stream": ("stream", read_flag),
}

MARITALK: Final = MaritalkApi()
