"""Claude on Bedrock by InvokeModel: Anthropic's own body and answers, Amazon's errors and frames.

A streamed event is a frame whose payload is `{"bytes": base64 of one Messages event}`.
"""

from __future__ import annotations

import binascii
from typing import Final

import msgspec

from antiphon.chat.failure import malformed
from antiphon.errors import UpstreamError
from antiphon.protocols.anthropic import FLAVORS, Anthropic
from antiphon.protocols.bedrock.failure import read_answer, read_exception
from antiphon.protocols.event_stream import EventMessage, MessageReader, read_headers, read_kind
from antiphon.protocols.protocol import NO_HEADERS, Headers


class _Chunk(msgspec.Struct, gc=False):
    bytes: str


# Statuses -> the words of the Messages API.
TYPES: Final = {400: "invalid_request_error", 404: "not_found_error", 429: "rate_limit_error", 504: "timeout_error"}
_read: Final = msgspec.json.Decoder(_Chunk).decode


class Invoke(Anthropic):
    def __init__(self) -> None:
        super().__init__(FLAVORS["bedrock"], lambda: InvokeFrames().feed)

    def read_failure(self, status: int, body: bytes, headers: Headers = NO_HEADERS) -> UpstreamError:
        return read_answer(status, body, headers)


class InvokeFrames:
    """Frames in, payloads of events out. A fault after other events is told as the Messages API tells errors."""

    __slots__ = ("_reader",)

    def __init__(self) -> None:
        self._reader = MessageReader()

    def feed(self, data: bytes) -> list[bytes]:
        messages: list[EventMessage] = []
        events: list[bytes] = []
        try:
            try:
                self._reader.feed(data, messages)
            finally:
                for message in messages:
                    events += _events(message)
        except UpstreamError as error:
            if not events:
                raise
            told = {"type": TYPES.get(error.status, "api_error"), "message": error.message}
            events.append(msgspec.json.encode({"type": "error", "error": told}))
        return events


def _events(message: EventMessage) -> list[bytes]:
    kind, name = read_kind(message.headers)
    if kind != "event":
        raise read_exception(name, message.payload, read_headers(message.headers).get(":error-message"))
    if name != "chunk":
        return []
    try:
        return [binascii.a2b_base64(_read(message.payload).bytes, strict_mode=True)]
    except ValueError:  # msgspec's and binascii's
        raise malformed() from None
