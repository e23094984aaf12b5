"""A request that was read, and its whole answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from antiphon.apis.api import ApiStored
from antiphon.apis.changes import ApiChange
from antiphon.apis.responses.compaction import write_compaction
from antiphon.apis.responses.native_answer import OUTPUT, NativeEvents, read_native
from antiphon.apis.responses.output import (
    SAID,
    ResponseFrame,
    call_item,
    call_prefix,
    ending,
    gather_extras,
    message_item,
    native_item,
    read_annotations,
    read_logprobs,
    reasoning_item,
    text_part,
)
from antiphon.apis.responses.reasoning import SIGNED, TEXT, sealed
from antiphon.apis.responses.stored import KIND, KeptInput, encode, listed_input
from antiphon.apis.responses.stream import ResponseStream
from antiphon.document import Document
from antiphon.errors import RequestError


class ResponsesRequest(msgspec.Struct):
    document: Document
    names: Mapping[str, str]
    dropped: Mapping[str, str]
    frame: ResponseFrame
    native: Document  # the request in the API's own words
    refusal: RequestError | None = None  # why a chat request cannot say it
    native_endpoint: str = "responses"
    compacts: bool = False  # the answer is a summary

    def read_answer(self, document: Document) -> Document:
        return read_native(document)

    def read_events(self) -> NativeEvents:
        return NativeEvents()

    def to_store(self) -> ApiStored | None:
        frame = self.frame
        if frame.input is None or frame.last is None:
            return None
        kept = KeptInput(listed_input(frame.id, frame.input), frame.echo["previous_response_id"])
        answer = {key: value for key, value in frame.last.items() if key != "antiphon"}
        metadata = frame.echo["metadata"]
        return ApiStored(KIND, frame.id, frame.last["model"], metadata, encode(kept), encode(answer))

    def was_not_stored(self) -> None:
        self.frame.echo["store"] = False
        if self.frame.last is not None:
            self.frame.last["store"] = False

    def stream(self) -> ResponseStream:
        return ResponseStream(self.frame)

    def fit(self, document: Document, protocol: str) -> tuple[Document, Sequence[ApiChange]]:
        """The request is a chat request like any other, unless a chat request cannot say it. Raises RequestError."""
        if self.refusal is not None:
            raise self.refusal
        return document, ()

    def whole(self, completion: Document) -> Document:
        if self.compacts:
            return write_compaction(self.frame, completion)
        choice = completion["choices"][0]
        status, details = ending(choice["finish_reason"])
        extras: Document = {}
        gather_extras(extras, completion)
        return self.frame.response(
            status,
            completion["model"],
            output_of(self.frame, choice, status),
            details=details,
            usage=completion["usage"],
            extras=extras,
        )


def output_of(frame: ResponseFrame, choice: Document, status: str) -> list[Document]:
    """The items of a whole answer: reasoning, a message, calls. What was followed by something else is complete."""
    message = choice["message"]
    if OUTPUT in message:
        return [native_item(frame, item) for item in message[OUTPUT]]
    called = message.get("tool_calls") or ()
    parts = _parts(message, choice)
    hidden = {*SAID, *SIGNED} if frame.seals else SAID
    extras = {key: value for key, value in message.items() if key not in hidden and value is not None}
    encrypted = sealed(message) if frame.seals else None
    words = message.get(TEXT) or ""
    has_thought = bool(words) or encrypted is not None
    if not (parts or has_thought or called) and status == "completed":
        parts = [text_part("", [], [])]
    output: list[Document] = []
    if has_thought:
        state = "completed" if parts or extras or called else status
        item_id = frame.new_id("rs_")
        output.append(reasoning_item(item_id, words, encrypted, as_summary=frame.as_summary, status=state))
    if parts or extras:
        output.append(message_item(frame.new_id("msg_"), parts, extras, "completed" if called else status))
    return output + [call_item(frame, frame.new_id(call_prefix(call)), call, status) for call in called]


def _parts(message: Document, choice: Document) -> list[Document]:
    parts: list[Document] = []
    if message.get("content"):
        annotations, logprobs = read_annotations(message.get("annotations")), read_logprobs(choice.get("logprobs"))
        parts.append(text_part(message["content"], annotations, logprobs))
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    return parts
