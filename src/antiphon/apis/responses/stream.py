"""A streamed answer: chat chunks in, events of Responses out.

What a model says becomes items, in the order in which it begins to say them. Reasoning and messages end when something
else begins. Calls end with the answer: their pieces may come in turns. Each event has a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from antiphon.apis.api import COMMENT, EVENTS
from antiphon.apis.responses.native_answer import BREAK, ENCRYPTED, ITEM
from antiphon.apis.responses.open_items import OpenCall, OpenItem, OpenMessage, OpenReasoning, WholeItem
from antiphon.apis.responses.output import SAID, ResponseFrame, ending, gather_extras, read_logprobs
from antiphon.apis.responses.reasoning import SIGNED, TEXT, sealed
from antiphon.document import Document
from antiphon.errors import AntiphonError, UpstreamError

MOST_SAID: Final = 64 * 1024 * 1024  # characters: all that is said is said again at the end
# Codes that clients know; any other failure is a "server_error" in the response itself. The `error` event has them all.
KNOWN_CODES: Final = frozenset(
    {"context_length_exceeded", "insufficient_quota", "invalid_prompt", "rate_limit_exceeded", "server_error"}
)
USUAL_CHOICE: Final = frozenset({"index", "delta", "logprobs", "finish_reason"})
USUAL_CHUNK: Final = frozenset({"id", "object", "created", "model", "choices", "usage", "system_fingerprint"})

encode = msgspec.json.Encoder().encode


class ResponseStream:
    content_type = EVENTS
    silence = COMMENT
    text_keys: Mapping[str, str] = MappingProxyType({})  # each event has a number

    def __init__(self, frame: ResponseFrame) -> None:
        self._frame = frame
        self._number = 0  # of the next event
        self._model = ""
        self._has_begun = False
        self._items: list[OpenItem] = []  # by their place in the output
        self._current: OpenMessage | OpenReasoning | None = None
        self._calls: dict[int, OpenCall] = {}  # by their index in chat
        self._finish: str | None = None
        self._usage: Document | None = None
        self._extras: Document = {}
        self._signed: Document = {}  # reasoning that is not yet sealed
        self._room = MOST_SAID

    # -- chunks

    def take(self, chunk: Document) -> bytes:
        choices = chunk["choices"]
        current = self._current
        if choices and current is not None:  # hot: a text delta takes about 1.5 us, the whole way 6
            choice = choices[0]
            delta = choice["delta"]
            if (
                len(delta) == 1
                and current.key in delta
                and choice["finish_reason"] is None
                and choice.keys() == USUAL_CHOICE
                and choice["logprobs"] is None
                and chunk.keys() <= USUAL_CHUNK
            ):
                return self._say(current, delta[current.key])
        out: list[bytes] = []
        if not self._has_begun:
            self._begin(chunk["model"], out)
        for choice in choices:
            self._take_choice(choice, chunk.get("obfuscation"), out)
        if chunk.get("usage") is not None:
            self._usage = chunk["usage"]
        gather_extras(self._extras, chunk)
        return b"".join(out)

    def _say(self, item: OpenMessage | OpenReasoning, words: str) -> bytes:
        number = self._number
        self._number = number + 1
        self._room -= len(words)
        if self._room < 0:
            raise UpstreamError("The upstream's answer is too large.", code="upstream_malformed")
        item.words.append(words)
        return b"%b%d%b%b%b" % (item.before, number, item.between, encode(words), item.after)

    def _begin(self, model: str, out: list[bytes]) -> None:
        self._has_begun = True
        self._model = model
        response = self._frame.response("in_progress", model, [])
        self._event(out, "response.created", response=response)
        self._event(out, "response.in_progress", response=response)

    def _take_choice(self, choice: Document, obfuscation: Any, out: list[bytes]) -> None:
        delta = choice["delta"]
        if BREAK in delta:
            self._begin_message(delta[BREAK], out)
        if delta.get(TEXT):
            self._add_words(self._open(OpenReasoning, TEXT, out), delta[TEXT], [], None, out)
        if delta.get("content"):
            logprobs = read_logprobs(choice.get("logprobs"))
            self._add_words(self._open(OpenMessage, "content", out), delta["content"], logprobs, obfuscation, out)
        if delta.get("refusal"):
            self._add_words(self._open(OpenMessage, "refusal", out), delta["refusal"], [], obfuscation, out)
        if delta.get("annotations"):
            self._annotate(delta["annotations"], out)
        for fragment in delta.get("tool_calls") or ():
            self._take_call(fragment, out)
        for key, value in delta.items():
            if key in SIGNED and self._frame.seals and isinstance(value, list):
                self._signed[key] = [*self._signed.get(key, ()), *value]
            elif key == "content_parts" and isinstance(value, list):
                self._take_parts(value, out)
            elif key == ENCRYPTED:
                self._open(OpenReasoning, "", out).encrypted = value
            elif key not in SAID and key != BREAK and value is not None:
                self._open(OpenMessage, "", out).add_extra(key, value)
        if choice["finish_reason"] is not None:
            self._finish = choice["finish_reason"]
            self._close_all(out)

    def _begin_message(self, said: Any, out: list[bytes]) -> None:
        """An upstream that speaks this API begins a message."""
        self._close_current(out)
        message = self._open(OpenMessage, "", out)
        for key, value in said.items() if isinstance(said, dict) else ():
            message.add_extra(key, value)

    def _take_parts(self, parts: list[Any], out: list[bytes]) -> None:
        """Items of built-in tools; and parts of a vendor's own, which stand beside the text."""
        for part in parts:
            if not isinstance(part, dict) or part.get("type") != ITEM or not isinstance(part.get("item"), dict):
                self._open(OpenMessage, "", out).add_extra("content_parts", [part])
                continue
            self._close_current(out)
            item = WholeItem(self._frame, len(self._items), part["item"])
            self._items.append(item)
            self._write([*item.added(), *item.closed("completed")], out)

    def _open(self, kind: type[Any], part: str, out: list[bytes]) -> Any:
        """The item that is being said, or a new one. `part`: which part of a message."""
        item = self._current
        if not isinstance(item, kind):
            self._close_current(out)
            item = kind(self._frame, len(self._items))
            self._items.append(item)
            self._current = item
            self._write(item.added(), out)
        assert item is not None
        if part:
            self._write(item.open_part(part), out)
        return item

    def _add_words(self, item: Any, words: str, logprobs: list[Document], obfuscation: Any, out: list[bytes]) -> None:
        if not logprobs and obfuscation is None:
            out.append(self._say(item, words))
            return
        self._room -= len(words)
        item.words.append(words)
        self._write([item.delta(words, logprobs, obfuscation)], out)

    def _annotate(self, annotations: object, out: list[bytes]) -> None:
        messages = [item for item in self._items if isinstance(item, OpenMessage)]
        message = messages[-1] if messages else self._open(OpenMessage, "content", out)
        self._write(message.annotate(annotations), out)

    def _take_call(self, fragment: Document, out: list[bytes]) -> None:
        call = self._calls.get(fragment["index"])
        if call is None:
            self._close_current(out)
            call = self._calls[fragment["index"]] = OpenCall(self._frame, len(self._items), fragment)
            self._items.append(call)
            self._write(call.added(), out)
        else:
            call.take(fragment)
        words = call.new_words(fragment)
        self._room -= len(words)
        if words:
            self._write([call.delta(words)], out)

    # -- the end

    def _close_current(self, out: list[bytes], status: str = "completed") -> None:
        item, self._current = self._current, None
        if item is None:
            return
        if isinstance(item, OpenReasoning) and self._signed:
            item.encrypted = sealed({TEXT: "".join(item.words), **self._signed})
            self._signed = {}
        elif isinstance(item, OpenReasoning) and self._frame.seals and item.encrypted is None:
            item.encrypted = sealed({TEXT: "".join(item.words)})
        self._write(item.closed(status), out)

    def _close_all(self, out: list[bytes]) -> None:
        """The answer has been said."""
        status, _ = ending(self._finish)
        if not self._items and status == "completed" and not self._signed:
            self._open(OpenMessage, "content", out)
        self._close_current(out, status)
        for item in self._calls.values():
            self._write(item.closed(status), out)
        if self._signed:  # signed after the reasoning itself had ended
            self._open(OpenReasoning, "", out)
            self._close_current(out)

    def end(self) -> bytes:
        out: list[bytes] = []
        status, details = ending(self._finish)
        response = self._frame.response(
            status, self._model, self._output(), details=details, usage=self._usage, extras=self._extras
        )
        self._event(out, f"response.{status}", response=response)
        self._number -= 1  # it may be asked for again
        return out[0]

    def fail(self, error: AntiphonError, body: Document) -> bytes:
        out: list[bytes] = []
        if not self._has_begun:
            self._begin(self._model, out)
        told = body["error"]
        self._event(out, "error", code=told.get("code"), message=told["message"], param=told.get("param"), error=told)
        code = "rate_limit_exceeded" if error.status == 429 else "server_error"
        if told.get("code") in KNOWN_CODES:
            code = told["code"]
        if "antiphon" in body:
            self._extras["antiphon"] = body["antiphon"]
        failure = {"code": code, "message": told["message"]}
        output, extras = self._output(), self._extras
        response = self._frame.response("failed", self._model, output, error=failure, usage=self._usage, extras=extras)
        self._event(out, "response.failed", response=response)
        return b"".join(out)

    def _output(self) -> list[Document]:
        return [item.whole("incomplete") if item.final is None else item.final for item in self._items]

    # -- events

    def _write(self, events: list[Document], out: list[bytes]) -> None:
        for event in events:
            self._event(out, **event)

    def _event(self, out: list[bytes], type: str, **fields: Any) -> None:
        payload = encode({"type": type, "sequence_number": self._number, **fields})
        self._number += 1
        out.append(b"event: %b\ndata: %b\n\n" % (type.encode(), payload))
