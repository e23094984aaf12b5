"""How many Python frames inside src/antiphon a turn takes, and a streamed chunk. Exact: a busy machine changes nothing.

The gateway runs in this thread as in the tests (no keys, no access log, which add about seven frames a turn), with a
judge of words where safety is on; the upstream and the client are other threads, whose frames do not count. Nor do C
calls (httptools, msgspec, uvloop).
The fourth request of a walk is looked at, and of a stream the chunks that follow its first three words. The bar of a
plain JSON turn holds for the walk `json`, a request that comes again and again; in `json_varied` each head is new.

usage: python -m bench.frames [--list WALK]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import uvloop

import antiphon
from bench import requests
from bench.cases import BY_NAME, Case
from bench.gateways import BY_NAME as GATEWAYS
from bench.lockstep import Client, Upstream
from tests.support.gateway import gateway, to_one
from tests.support.judge import WordJudge

SOURCE = str(Path(antiphon.__file__).parent) + os.sep
WARM = 3  # requests before the one that counts
UNSTEADY = 3  # words of a stream before the chunks that count
SETTLE = 0.05  # seconds in which a turn is logged and settled
TICK = "_tick"
OFF = "enabled = false"
CLIENT = replace(GATEWAYS["antiphon"], model="m")


@dataclass(frozen=True, slots=True)
class Walk:
    name: str
    case: Case
    safety: str = OFF
    bar: int | None = None
    same: bool = False  # one request, again and again; its head is known then


WALKS = (
    Walk("json", BY_NAME["json"], bar=55, same=True),
    Walk("json_varied", BY_NAME["json"]),
    Walk("json_bare", BY_NAME["json_bare"]),
    Walk("json_tools", BY_NAME["tools"]),
    Walk("json_safety", BY_NAME["json"], ""),
    Walk("chunk", BY_NAME["paced"], bar=5),
    Walk("chunk_obfuscation", BY_NAME["paced_obfuscation"]),
    Walk("chunk_gate", BY_NAME["paced"], "", bar=12),
    Walk("chunk_gate_filter", BY_NAME["paced"], 'mode = "filter"', bar=12),
)


@dataclass(slots=True)
class Call:
    at: float
    depth: int
    code: CodeType

    def __str__(self) -> str:
        place = self.code.co_filename.removeprefix(SOURCE)
        return f"{'  ' * self.depth}{self.code.co_qualname}  {place}:{self.code.co_firstlineno}"


@dataclass(slots=True)
class Recorder:
    """A profile function: it keeps each call of a function of ours, a resumed coroutine as well."""

    calls: list[Call] = field(default_factory=list)
    depth: int = 0
    ours: dict[CodeType, bool] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code not in self.ours:
            self.ours[code] = code.co_filename.startswith(SOURCE)
        if not self.ours[code]:
            return
        if event == "call":
            self.calls.append(Call(time.perf_counter(), self.depth, code))
            self.depth += 1
        elif event == "return":
            self.depth = max(0, self.depth - 1)

    def between(self, begin: float, end: float) -> list[Call]:
        """Without ticks: what runs a few times a second for all turns together belongs to none."""
        kept, ticking = [], False
        for call in self.calls:
            if call.depth == 0:
                ticking = call.code.co_name == TICK
            if begin <= call.at < end and not ticking:
                kept.append(call)
        return kept


@dataclass(frozen=True, slots=True)
class Found:
    """Of one walk: the frames of the whole turn, of its beginning, and of each steady chunk."""

    turn: list[Call]
    opening: list[Call]
    chunks: list[list[Call]]


async def walk(chosen: Walk) -> Found:
    recorder = Recorder()
    judge = None if chosen.safety == OFF else WordJudge()
    with tempfile.TemporaryDirectory() as folder, Upstream() as upstream:
        async with gateway(Path(folder), settings(chosen, upstream.port), judge=judge) as running:
            asks = list(islice(requests.pool(chosen.case, running.port, CLIENT), WARM + 1))
            sys.setprofile(recorder)
            try:
                begin, answer = await _ask(running.port, asks[-1:] * len(asks) if chosen.same else asks, upstream)
            finally:
                sys.setprofile(None)
    if not answer.startswith(b"HTTP/1.1 200 ") or (chosen.case.stream and b"data: [DONE]" not in answer):
        raise RuntimeError(f"{chosen.name}: {answer[:600]!r}")
    return found(recorder, begin, upstream.sent)


async def _ask(port: int, asks: list[bytes], upstream: Upstream) -> tuple[float, bytes]:
    """-> when the last request was sent, and its answer"""
    loop = asyncio.get_running_loop()
    with Client(port) as client:
        for ask in asks:
            upstream.sent.clear()
            begin = time.perf_counter()
            answer = await loop.run_in_executor(None, client.call, ask)
            await asyncio.sleep(SETTLE)
    return begin, answer


def found(recorder: Recorder, begin: float, sent: list[float]) -> Found:
    """`sent`: when each event left the upstream; the first opens the stream, the last two end it."""
    turn = recorder.between(begin, float("inf"))
    if not sent:
        return Found(turn, turn, [])
    steady = sent[1 + UNSTEADY : -1]
    chunks = [recorder.between(one, two) for one, two in pairwise(steady)]
    return Found(turn, recorder.between(begin, sent[1]), chunks)


def settings(chosen: Walk, upstream: int) -> str:
    return to_one(f"http://127.0.0.1:{upstream}/v1", more=f"[safety]\n{chosen.safety}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.frames", description="Python frames per turn and chunk.")
    parser.add_argument("--list", metavar="WALK", choices=[chosen.name for chosen in WALKS], help="its frames")
    options = parser.parse_args(arguments)
    if options.list:
        chosen = next(chosen for chosen in WALKS if chosen.name == options.list)
        _list(_run(chosen))
        return 0
    print("| walk | bar | per turn | to the first chunk | per chunk: median | mean | most |\n" + "|---" * 7 + "|")
    for chosen in WALKS:
        print(_row(chosen, _run(chosen)), flush=True)
    return 0


def _run(chosen: Walk) -> Found:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(walk(chosen))


def _row(chosen: Walk, seen: Found) -> str:
    counts = [len(chunk) for chunk in seen.chunks]
    cells = [chosen.name, f"<= {chosen.bar}" if chosen.bar else "", str(len(seen.turn))]
    if counts:
        median = f"{statistics.median(counts):g}"
        cells += [str(len(seen.opening)), median, f"{statistics.mean(counts):.1f}", str(max(counts))]
    else:
        cells += [""] * 4
    return f"| {' | '.join(cells)} |"


def _list(seen: Found) -> None:
    if not seen.chunks:
        print("\n".join(map(str, seen.turn)))
        return
    print("-- to the first chunk\n" + "\n".join(map(str, seen.opening)))
    for number, chunk in enumerate(seen.chunks):
        print(f"-- chunk {number + UNSTEADY + 1}: {len(chunk)}\n" + "\n".join(map(str, chunk)))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
