"""Schemas become grammars in a process of its own, `python -m antiphon.engine.compiler`, started by the host: a few
lines of JSON can make that take minutes and gigabytes. Here memory is bounded, and the host bounds the time.

Its orders come as the first frame on stdin, then one job after another; each is answered with one frame on stdout.
A frame is a length of four bytes and JSON. It ends with its host.
"""

from __future__ import annotations

import resource
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from antiphon.engine.grammar import Grammars, SchemaFault
from antiphon.engine.matching import Matching
from antiphon.engine.mortal import end_with_the_host
from antiphon.engine.narrow import Bounds
from antiphon.engine.vocabulary import read_vocabulary

MOST_MEMORY: Final = 1 << 30  # bytes above what it starts with
MOST_KEPT: Final = 300 << 20
LENGTH: Final = struct.Struct(">I")


class Orders(msgspec.Struct):
    model: str  # its file
    bounds: Bounds


class RuleJob(msgspec.Struct, tag="rule"):
    schema: Any
    strict: bool
    is_object: bool


class FindJob(msgspec.Struct, tag="find"):
    """For a schema in texts."""

    texts: list[str]


class CheckJob(msgspec.Struct, tag="check"):
    grammar: str
    text: str


Job = RuleJob | FindJob | CheckJob


class Answer(msgspec.Struct, frozen=True):
    rule: str | None = None
    fault: str | None = None
    fits: bool = False
    is_last: bool = False  # memory was needed that stays with the process: another one is better for the next job


def main() -> None:
    end_with_the_host()
    frame = read_frame(sys.stdin.buffer)
    if frame is None:
        return
    orders = msgspec.json.decode(frame, type=Orders)
    grammars = Grammars(orders.bounds, Matching(read_vocabulary(orders.model)))
    bound_memory()
    write_frame(sys.stdout.buffer, Answer())  # ready
    while (frame := read_frame(sys.stdin.buffer)) is not None:
        told = answer(grammars, msgspec.json.decode(frame, type=Job))
        write_frame(sys.stdout.buffer, msgspec.structs.replace(told, is_last=memory(1) > MOST_KEPT))


def answer(grammars: Grammars, job: Job) -> Answer:
    if isinstance(job, CheckJob):
        return Answer(fits=grammars.accepts(job.grammar, job.text))
    if isinstance(job, FindJob):
        return Answer(rule=grammars.rule_in(job.texts))
    try:
        return Answer(rule=grammars.rule(job.schema, strict=job.strict, is_object=job.is_object))
    except SchemaFault as fault:
        return Answer(fault=str(fault))


def bound_memory() -> None:
    """Where it does not suffice, native code aborts, and the host sees its end."""
    most = memory(0) + MOST_MEMORY
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (OSError, ValueError):
        pass  # a closer limit is set already, or the machine knows none


def memory(which: int) -> int:
    """Bytes of this process: 0 all addresses, 1 those in memory (proc(5), statm). Linux only; elsewhere 0."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[which]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


def read_frame(file: BinaryIO) -> bytes | None:
    """None at the end."""
    head = file.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = file.read(length)
    return body if len(body) == length else None


def write_frame(file: BinaryIO, value: Answer) -> None:
    body = msgspec.json.encode(value)
    file.write(LENGTH.pack(len(body)) + body)
    file.flush()


if __name__ == "__main__":
    main()
