"""What travels between the workers and the evaluator process: msgpack behind a length of four bytes, both ways.

The process speaks first (`Hello`), once what it judges with is loaded. Answers come in any order; `id` says whose.
`Ask` is answered by `Told`, `EarlyAsk` by `EarlyTold`.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from antiphon.safety.verdict import Stage, Verdict

LENGTH: Final = struct.Struct(">I")
LARGEST: Final = (
    24 * 1024 * 1024
)  # bytes of a frame: what is let in as a request (`max_body`) must be judged, all of it
MOST_TEXTS: Final = 4096  # of one question
MOST_EACH: Final = 64  # texts of one question whose verdicts are told apart
LONGEST_EARLY: Final = 1000  # characters of an early look


class Ask(msgspec.Struct, array_like=True, tag=True):
    id: int
    stage: Stage
    texts: list[str]
    parts: list[str]  # by whom: names of what is loaded
    seconds: float  # after these, since it was begun, the answer is what was found until then
    waits: float = 0.0  # seconds until it must be begun
    joins: list[tuple[str, str]] = []  # texts made of two: what one of them says alone is no finding
    frames: int = 0  # of the texts, the last ones: the application's own words, which are never a jailbreak


class EarlyAsk(msgspec.Struct, array_like=True, tag=True):
    """Whether the end of a text may be the beginning of a finding."""

    id: int
    text: str
    parts: list[str]


class Hello(msgspec.Struct, array_like=True, tag=True):
    fault: str | None = None  # what could not be loaded, in one sentence
    early: list[str] = []  # the parts that can look at beginnings


class Told(msgspec.Struct, array_like=True, tag=True):
    id: int
    verdict: Verdict
    overloaded: bool = False  # not judged: too many others wait
    each: list[Verdict] | None = (
        None  # of several texts and joins, in their order; None: one text, too many, or not all judged
    )


class EarlyTold(msgspec.Struct, array_like=True, tag=True):
    id: int
    risky: bool


class WireError(Exception):
    """The other side does not keep to the protocol."""


ask_decoder: Final = msgspec.msgpack.Decoder(Ask | EarlyAsk)
told_decoder: Final = msgspec.msgpack.Decoder(Hello | Told | EarlyTold)
_encode: Final = msgspec.msgpack.Encoder().encode


def pack(message: Ask | EarlyAsk | Hello | Told | EarlyTold) -> bytes:
    body = _encode(message)
    return LENGTH.pack(len(body)) + body


class Frames:
    """Bytes in, whole frames out."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Raises WireError for a frame that is too long; then the connection is of no use."""
        held = self._held
        if not held and len(data) > LENGTH.size and LENGTH.unpack_from(data)[0] == len(data) - LENGTH.size <= LARGEST:
            return [data[LENGTH.size :]]  # one whole frame, as most reads are
        held += data
        frames: list[bytes] = []
        start = 0
        while len(held) - start >= LENGTH.size:
            (length,) = LENGTH.unpack_from(held, start)
            if length > LARGEST:
                raise WireError(f"a frame of {length} bytes")
            end = start + LENGTH.size + length
            if len(held) < end:
                break
            frames.append(bytes(memoryview(held)[start + LENGTH.size : end]))
            start = end
        if start:
            del held[:start]
        return frames
