"""The parts of a stream: a machine, a writer and, where the answer is judged, a gate and who asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.flow.gate import RESULTS, Gate
from antiphon.flow.gate_choice import EarlyLook, Look
from antiphon.safety.policy import Results
from antiphon.safety.verdict import Verdict


class Machine(Protocol):
    """Makes an upstream's chunks regular. Pure. Fed per source: the calls of a fan-out are told apart."""

    texts: list[str]  # what the answer said so far
    unparsed: list[str]  # names of finished calls whose arguments are not JSON
    finished: bool

    @property
    def repeats(self) -> bool:
        """It does the same with each text delta, whatever came before: it divides no text and joins no sources."""

    @property
    def moderated(self) -> bool:
        """The upstream has sent a `moderation` of its own."""

    def feed(self, chunk: Document, source: int = 0) -> list[Document]: ...

    def done(self, source: int = 0) -> list[Document]:
        """The upstream said [DONE]."""

    def end(self, source: int = 0) -> list[Document]:
        """The upstream's bytes ended."""

    def cut_short(self) -> list[Document]:
        """Ends every choice that runs with `length`. Raises UpstreamError where none has begun."""

    @property
    def finishes(self) -> list[str]:
        """The finish reasons of the choices, as far as they have one."""

    def replay(self, document: Document) -> list[Document]:
        """A whole answer as an upstream would have streamed it."""

    @property
    def complete(self) -> bool: ...

    @property
    def usage(self) -> Document | None: ...

    @property
    def upstream_id(self) -> str | None: ...

    def envelope(self) -> Document: ...

    def usage_envelope(self) -> Document: ...


class ChunkWriter(Protocol):
    """Writes chunks as the client is to see them. Pure."""

    @property
    def repeats(self) -> bool:
        """Two chunks that differ in their text alone are written with the same bytes around it."""

    def chunk(self, document: Document) -> Document: ...

    def has_emptied(self, document: Document) -> bool: ...

    def opening(self, envelope: Document) -> list[Document]: ...

    def usage_chunk(self, envelope: Document, usage: Document) -> Document | None: ...

    def extra_chunk(self, envelope: Document) -> Document: ...


class Asker(Protocol):
    """Asks the judge what the gate wants to know. `done` is called once, later."""

    def judge(self, look: Look, done: Callable[[Verdict], None]) -> None: ...

    def judge_early(self, look: EarlyLook, done: Callable[[bool], None]) -> bool:
        """False: there can be no early look."""


class GateKeeper:
    """What a stream needs to run its gate: who answers its looks, and what was found in the prompt."""

    __slots__ = ("asker", "choices", "gate", "on_fault", "prompt", "shows_prompt")

    def __init__(
        self,
        gate: Gate,
        asker: Asker,
        on_fault: Callable[[Exception], UpstreamError],
        *,
        choices: int,
        prompt: Results | None,
        shows_prompt: bool,
    ) -> None:
        """`on_fault`: logs an error of our own, and gives what the client is told. `choices`: so many were asked for.
        `prompt`: what was found in it; None where its verdict is still to come."""
        self.gate = gate
        self.asker = asker
        self.on_fault = on_fault
        self.choices = choices
        self.prompt = prompt
        self.shows_prompt = shows_prompt


def is_annotated(chunk: Document) -> bool:
    """It has an upstream's own findings."""
    return any(RESULTS in choice for choice in chunk["choices"])
