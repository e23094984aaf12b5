"""Schemas become grammars in a process of its own: a few lines of JSON can take minutes and gigabytes to compile.

`python -m antiphon.engine.schema.compiler ORDERS`, started by the host. Memory and time are bounded. Its stdin is a
socket that brings sockets. It forks for each: the copy has the vocabulary already, reads one job after another from its
socket and answers each. A frame is a length of four bytes and JSON. All of it ends with the host.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from antiphon.engine.die_with_parent import die_with_parent
from antiphon.engine.schema.grammar import Grammars, SchemaFault
from antiphon.engine.schema.in_prompt import schema_in
from antiphon.engine.schema.lark import text_of
from antiphon.engine.schema.matching import Matching
from antiphon.engine.schema.narrow import SchemaBounds
from antiphon.engine.schema.vocabulary import read_vocabulary

MOST_MEMORY: Final = 1 << 30  # bytes above what it starts with
MOST_KEPT: Final = 300 << 20
MOST_SECONDS: Final = 2.0  # for one job
LENGTH: Final = struct.Struct(">I")


class CompilerOrders(msgspec.Struct):
    model: str  # its file
    bounds: SchemaBounds


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


class CompilerAnswer(msgspec.Struct, frozen=True):
    rule: str | None = None
    found: str | None = None  # a schema, as JSON
    fault: str | None = None
    fits: bool = False
    pid: int = 0  # of the copy, told once: when it is ready
    is_last: bool = False  # memory was needed that stays with the process: another copy is better for the next job


def main() -> None:
    die_with_parent()
    orders = msgspec.json.decode(sys.argv[1], type=CompilerOrders)
    grammars = Grammars(orders.bounds, Matching(read_vocabulary(orders.model)))
    bound_memory()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies
    control = socket.socket(fileno=sys.stdin.fileno())
    while fds := socket.recv_fds(control, 1, 1)[1]:
        with socket.socket(fileno=fds[0]) as given:
            if os.fork() == 0:
                control.close()
                work(grammars, given)
                os._exit(0)


def work(grammars: Grammars, given: socket.socket) -> None:
    die_with_parent()
    with given.makefile("rb") as jobs, given.makefile("wb") as answers:
        write_frame(answers, CompilerAnswer(pid=os.getpid()))
        while (frame := read_frame(jobs)) is not None:
            signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)  # its signal ends the process, whatever that is doing
            told = answer(grammars, msgspec.json.decode(frame, type=Job))
            signal.setitimer(signal.ITIMER_REAL, 0)
            write_frame(answers, msgspec.structs.replace(told, is_last=memory(1) > MOST_KEPT))


def answer(grammars: Grammars, job: Job) -> CompilerAnswer:
    if isinstance(job, CheckJob):
        return CompilerAnswer(fits=grammars.accepts(job.grammar, job.text))
    if isinstance(job, FindJob):
        return find(job.texts)
    try:
        return CompilerAnswer(rule=grammars.rule(job.schema, strict=job.strict, is_object=job.is_object))
    except SchemaFault as fault:
        return CompilerAnswer(fault=str(fault))


def find(texts: list[str]) -> CompilerAnswer:
    try:
        schema = schema_in(texts)
        return CompilerAnswer(found=None if schema is None else text_of(schema))
    except (ValueError, OverflowError, RecursionError):
        return CompilerAnswer()  # Python's JSON holds more than ours: half of a character, numbers of any length


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


def write_frame(file: BinaryIO, value: CompilerAnswer) -> None:
    body = msgspec.json.encode(value)
    file.write(LENGTH.pack(len(body)) + body)
    file.flush()


if __name__ == "__main__":
    main()
