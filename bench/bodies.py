"""How long a worker is stopped by the worst bodies: `python -m bench.bodies [MiB]` prints a table.

A gateway runs in a process of its own and measures the longest pause of its loop, in CPU time (others may use the
machine); each body is sent to it once. Peak memory is that of the process above what it had before, in sizes of the
body.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from antiphon.upstreams.scripted import ScriptedUpstream, json_answer
from tests.support.gateway import gateway, to_one
from tests.support.judge import WordJudge
from tests.support.raw import call
from tests.support.shapes import completion

TICK = 0.0005  # seconds
CHAT = "/v1/chat/completions"
HEAD = b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"x":'
MESSAGES = b'{"model":"m","messages":['


def many(head: bytes, item: bytes, tail: bytes, size: int) -> bytes:
    return head + b",".join([item] * ((size - len(head) - len(tail)) // (len(item) + 1))) + tail


def text(piece: bytes, size: int) -> bytes:
    head, tail = b'{"model":"m","messages":[{"role":"user","content":"', b'"}]}'
    return head + piece * ((size - len(head) - len(tail)) // len(piece)) + tail


def bodies(size: int) -> Iterator[tuple[str, bytes]]:
    half = size // 2 - len(HEAD)
    yield "deep arrays", HEAD + b"[" * half + b"]" * half + b"}"
    yield "deep objects", HEAD + b'{"":' * (size // 5 - 20) + b"1" + b"}" * (size // 5 - 20) + b"}"
    yield "arrays 190 deep", many(HEAD + b"[", b"[" * 190 + b"]" * 190, b"]}", size)
    for name, item in (
        *(("empty arrays", b"[]"), ("empty objects", b"{}"), ("objects", b'{"a":1}'), ("strings", b'""')),
        *(("integers", b"1"), ("decimals", b"9007199254740993.0"), ("extreme decimals", b"5e-324")),
        *(("integers of 4,000 digits", b"7" * 4000), ("literals", b"true")),
    ):
        yield name, many(HEAD + b"[", item, b"]}", size)
        yield f"{name}, as many as pass", many(HEAD + b"[", item, b"]}", _passing(item))
    yield "1.8 million unknown names", HEAD + b"{" + b",".join(b'"k%d":0' % k for k in range(1_800_000)) + b"}}"
    yield "70,000 unknown names", HEAD[:-4] + b",".join(b'"k%d":0' % k for k in range(70_000)) + b"}"
    yield "almost JSON", many(HEAD + b"[", b"1", b"]", size)
    message, part = b'{"role":"user","content":""}', b'{"type":"text","text":""}'
    tool = b'{"type":"function","function":{"name":"f"}}'
    yield "messages", many(MESSAGES, message, b"]}", size)
    yield "messages, as many as pass", many(MESSAGES, message, b"]}", 16_000 * len(message))
    yield "parts, as many as pass", many(MESSAGES + b'{"role":"user","content":[', part, b"]}]}", 16_000 * len(part))
    yield "tools, as many as pass", many(HEAD[:-4] + b'"tools":[', tool, b"]}", 9_000 * len(tool))
    for name, piece in (
        *(("prose", b"It was the best of times, it was the worst of times. [1]\\n"), ("picture", b"iVBORw0KGgo")),
        *(("UTF-8", "\u6d77\u306f".encode()), ("escapes", b"\\n"), ("escaped quotes", b'\\"')),
        *(("\\u escapes", b"\\u6d77"), ("\\u pairs", b"\\ud83d\\ude00")),
    ):
        yield f"text: {name}", text(piece, size)
    yield "white space", HEAD + b" " * (size - 100) + b"1}"
    yield "20 KB of extreme decimals", many(HEAD + b"[", b"5e-324", b"]}", 16_000)


def _passing(item: bytes) -> int:
    """Bytes of as many items as the default bounds let through, about."""
    cost = {b"[]": 17, b"{}": 17, b'{"a":1}': 20, b'""': 4, b"1": 1, b"true": 1, b"5e-324": 261}.get(item, 11)
    return (len(item) + 1) * 495_000 // (4010 if len(item) > 100 else cost)


def memory(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def reset_memory() -> int:
    """Bytes in use; the peak begins anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


async def serve(pipe: Connection, url: str, judged: bool) -> None:
    loop = asyncio.get_running_loop()
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            before = time.thread_time()
            await asyncio.sleep(TICK)
            worst = max(worst, time.thread_time() - before)

    with tempfile.TemporaryDirectory() as directory:
        settings = to_one(url, server="max_body = 30000000", more="[engine]\nenabled = false")
        judge = WordJudge() if judged else None
        async with gateway(Path(directory), settings, judge=judge) as running:
            watching = asyncio.create_task(watch())
            pipe.send(running.port)
            while await loop.run_in_executor(None, pipe.recv):
                worst = 0.0
                before = reset_memory()
                pipe.send(None)
                await loop.run_in_executor(None, pipe.recv)
                pipe.send((worst, memory("VmHWM") - before))
            watching.cancel()


def run(pipe: Connection, url: str, judged: bool) -> None:
    asyncio.run(serve(pipe, url, judged))


async def measure(size: int, judged: bool) -> None:
    upstream = ScriptedUpstream([json_answer(completion())] * 1000)
    url = await upstream.start()
    pipe, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run, args=(theirs, url, judged), daemon=True)
    process.start()
    port = pipe.recv()
    print("| body | MB | answer | ms | longest pause, ms | memory, bodies |\n|---|---|---|---|---|---|")
    for name, body in bodies(size):
        pipe.send(True)
        pipe.recv()
        began = time.perf_counter()
        answer = await call(port, "POST", CHAT, body=body)
        spent = (time.perf_counter() - began) * 1000
        pipe.send(True)
        worst, grown = pipe.recv()
        said = str(answer.status)
        with contextlib.suppress(ValueError, KeyError, TypeError):
            said = f"{said} {json.loads(answer.body)['error']['code'] or ''}"
        size_mb = len(body) / 1e6
        print(
            f"| {name} | {size_mb:.1f} | {said} | {spent:.0f} | {worst * 1000:.0f} | {grown / len(body):.1f} |",
            flush=True,
        )
    pipe.send(False)
    process.join(10)
    await upstream.stop()


if __name__ == "__main__":
    mib = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    asyncio.run(measure(int(mib * 1024 * 1024), judged="--judged" in sys.argv))
