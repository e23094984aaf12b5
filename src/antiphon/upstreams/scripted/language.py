"""What a language of the scripted upstream is: how one vendor's requests are read, and how answers are spelled in it.

Every language says the same replies and plays the same faults. Its checks, frames and signatures are its own, so that
it cannot agree with the gateway by sharing a fault with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from secrets import token_hex
from typing import Protocol

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.reply import Reply, flat, pieces
from antiphon.upstreams.scripted.script import Script

BORN = 1767225600  # 2026-01-01: models do not change their age
JSON: Mapping[str, str] = {"content-type": "application/json"}
SSE: Mapping[str, str] = {"content-type": "text/event-stream"}


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request must show. Without values any credential will do, but one there must be."""

    key: str | None = field(default=None, repr=False)  # an API key or a bearer key
    access_key: str | None = None  # of AWS: with its secret, signatures are verified
    secret: str | None = field(default=None, repr=False)


def as_asked(status: int) -> str:
    return f"The scripted upstream answers {status}, as asked."


class RefusedError(Exception):
    """The vendor would refuse this request. `kind`: the vendor's word for it; else the status tells."""

    def __init__(
        self, status: int, message: str, kind: str = "", *, field: str = "", retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.field = field  # which part of the request is at fault, where the vendor names it apart
        self.retry_after = retry_after  # seconds


class EventPart(Enum):
    """Which part of a stream an event belongs to."""

    SAID = "said"
    FINISH = "finish"  # the finish reason, and what comes with it
    CLOSE = "close"  # what must still come after it: [DONE], message_stop


class Shape(Enum):
    """A whole answer of another kind."""

    PLAIN = "plain"
    EMPTY = "empty"  # the list of what was said is null
    BLOCKED = "blocked"  # the prompt was blocked: nothing is said
    AZURE = "azure"  # filter results, of OpenAI's language only


@dataclass(frozen=True, slots=True)
class ScriptedEvent:
    data: bytes  # as it stands in the body
    part: EventPart = EventPart.SAID


@dataclass(frozen=True, slots=True)
class ScriptedUsage:
    prompt: int
    completion: int  # with the reasoning
    reasoning: int
    cached: int = 0  # of the prompt
    written: int = 0  # of the prompt, into the cache


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """A request's whole answer, in both forms; the faults take from it what they need."""

    language: Language
    request: Document  # in OpenAI's words, whatever language it was said in
    replies: tuple[Reply, ...]
    now: int
    id: str = field(default_factory=lambda: token_hex(12))  # of this answer; another one has another
    shape: Shape = Shape.PLAIN
    tells_usage: bool = True
    cached: bool = False  # a part of the prompt counts as cached
    after: int | None = None  # how many events come before a fault; None: half of them
    status: int | None = None  # of an error inside a 200; None: the model is overloaded

    @property
    def stream(self) -> bool:
        return self.request.get("stream") is True

    @property
    def model(self) -> str:
        return str(self.request.get("model"))

    @property
    def reply(self) -> Reply:
        """Of languages that answer once."""
        return self.replies[0]

    @property
    def usage(self) -> ScriptedUsage:
        prompt = count_prompt(self.request)
        completion = sum(reply.tokens for reply in self.replies)
        reasoning = sum(len(pieces(reply.reasoning)) for reply in self.replies)
        if not self.cached:
            return ScriptedUsage(prompt, completion, reasoning)
        return ScriptedUsage(prompt, completion, reasoning, cached=prompt // 2, written=prompt // 4)

    def body(self) -> bytes:
        """The answer in one piece."""
        return msgspec.json.encode(self.language.whole(self))

    def events(self) -> list[ScriptedEvent]:
        return self.language.events(self)

    def first_events(self) -> list[bytes]:
        """What comes before a fault: so many events as were asked for, or half of what is said before the finish."""
        events = self.events()
        if self.after is not None:
            return [event.data for event in events[: self.after]]
        said = [event.data for event in events if event.part is EventPart.SAID]
        return said[: len(said) // 2 + 1]


def count_prompt(request: Document) -> int:
    messages = [message for message in request.get("messages") or () if isinstance(message, dict)]
    return 3 + sum(3 + len(pieces(flat(message.get("content")))) for message in messages)


class Language(Protocol):
    base: str  # what the base URL ends with, as the vendor's clients want it

    def route(self, request: Received, credential: Credential | None, models: Mapping[str, str]) -> Script | None:
        """The answer to a request that asks for no turn: the list of models, by name and what each does. None: it asks
        for a turn. Raises RefusedError: wrong path, method or credential. Without a `credential` none is asked for."""

    def read(self, request: Received) -> Document:
        """A request for a turn, in OpenAI's words; `thinks` is set where reasoning was asked for. Raises RefusedError:
        the vendor would refuse it."""

    def whole(self, answer: ScriptedAnswer) -> Document:
        """In one piece. Raises RefusedError: the vendor answers this with an error."""

    def events(self, answer: ScriptedAnswer) -> list[ScriptedEvent]:
        """As a stream. Raises RefusedError likewise."""

    def headers(self, answer: ScriptedAnswer) -> Mapping[str, str]:
        """Of a 200, with its content type."""

    def refuse(self, refused: RefusedError) -> Script:
        """An error's answer."""

    def failure(self, status: int | None) -> Document:
        """An error in place of a whole answer. Without a status the model is overloaded."""

    def failure_event(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        """The same in a stream. `is_first`: nothing came before it."""

    def garbage(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        """An event of which nothing can be made, in a frame that is right."""

    def bad_frame(self) -> bytes | None:
        """An event in a frame that is wrong. None: the stream has no frames of its own."""
