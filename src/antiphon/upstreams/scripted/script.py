"""A Script: what the scripted upstream does with one request, step by step, and the constructors for usual ones.

Steps: send exact bytes, wait for an event or some seconds, and at the end close, reset or hang. A script without such
an ending leaves the connection open for the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

import msgspec

from antiphon.document import Document


@dataclass(frozen=True, slots=True)
class Send:
    data: bytes


@dataclass(frozen=True, slots=True)
class ScriptWait:
    until: asyncio.Event | float  # an event, or seconds


class Ending(Enum):
    """How a connection goes, in mid-answer or after it."""

    CLOSE = "close"  # what was sent arrives, then EOF
    RESET = "reset"  # RST, without the bytes that are still under way (on a unix socket: a plain close)
    HANG = "hang"  # nothing, until the other side goes


Step = Send | ScriptWait | Ending


@dataclass(frozen=True, slots=True)
class Script:
    steps: tuple[Step, ...]

    def __add__(self, other: Script | Step) -> Script:
        return Script(self.steps + (other.steps if isinstance(other, Script) else (other,)))


def wait(until: asyncio.Event | float) -> ScriptWait:
    return ScriptWait(until)


def cut() -> Ending:
    return Ending.CLOSE


def reset() -> Ending:
    return Ending.RESET


def hang() -> Ending:
    return Ending.HANG


def raw(*parts: bytes | Step) -> Script:
    """Exact bytes on the socket, status line and all."""
    return Script(tuple(Send(part) if isinstance(part, bytes) else part for part in parts))


def json_answer(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Script:
    body = document if isinstance(document, bytes) else msgspec.json.encode(document)
    lines = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    return Script((Send(head(status, lines) + body),))


def error(status: int, body: object = None, headers: Mapping[str, str] | None = None) -> Script:
    """An error answer; without a body, in OpenAI's form. Bytes are sent as they are."""
    if body is None:
        message = f"The scripted upstream answers {status}, as asked."
        body = {"error": {"message": message, "type": "scripted_error", "param": None, "code": None}}
    return json_answer(body, status, headers)


def stream(headers: Mapping[str, str], *parts: bytes | Step) -> Script:
    """A body in chunks. Bytes are part of the body as they are; a step is taken in its place.

    The body ends cleanly; put `cut()` or `reset()` last to break it off.
    """
    lines = dict(headers)
    lines.setdefault("transfer-encoding", "chunked")
    steps: list[Step] = [Send(head(200, lines))]
    steps += (Send(piece(part)) if isinstance(part, bytes) else part for part in parts)
    return Script((*steps, Send(b"0\r\n\r\n")))


def sse(
    *chunks: Document | bytes | Step,
    done: bool = True,
    headers: Mapping[str, str] | None = None,
) -> Script:
    """An event stream of OpenAI's. A document is one event; the rest is as with `stream`, also without [DONE]."""
    parts = [event(chunk) if isinstance(chunk, dict) else chunk for chunk in chunks]
    if done:
        parts.append(b"data: [DONE]\n\n")
    lines = {"content-type": "text/event-stream", **(headers or {})}
    return stream(lines, *parts)


def event(document: Document) -> bytes:
    return b"data: " + msgspec.json.encode(document) + b"\n\n"


def piece(data: bytes) -> bytes:
    """One chunk of a chunked body (RFC 9112 §7.1). Empty data would end the body, so it gives nothing."""
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


def head(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Scripted"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {reason}\r\n{lines}\r\n".encode("latin-1")
