"""How long a streamed word is held back for its verdict: real evaluators, English prose at the pace of a usual model.

usage: python -m bench.hold [--pace WORDS_PER_SECOND] [--streams N] [--words N]

One process sends the words and receives them again through the gateway, so that each word's delay is known exactly.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROSE = (
    "The library opens at nine, and most mornings there is already a short line at the door. Inside, the reading room "
    "smells of paper and floor polish. A teacher helps two students with an essay about rivers, while somebody at the "
    "window sorts photographs of a garden. Outside, a bus stops, a dog waits for its owner, and the baker across the "
    "street puts fresh bread on the shelf. In the afternoon the children come for the story hour, and it grows loud. "
)
WORDS = (PROSE * 2).split()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
[[upstream]]
name = "up"
protocol = "openai"
url = "http://127.0.0.1:{port}/v1"
[[route]]
model = "*"
targets = [{{ upstream = "up" }}]
[safety]
{safety}
"""
MODES = {
    "off": "enabled = false",
    "annotate": 'mode = "annotate"',
    "filter, hold": 'mode = "filter"',
    "filter, adaptive": 'mode = "filter"\nhold = { mode = "adaptive" }',
    "filter, async": 'mode = "filter"\nstream = "async"',
}


class Refused(Exception):
    """The gateway did not take the settings."""


def chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(envelope).encode() + b"\n\n"


async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pace: float, words: int) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(HEAD + chunk({"role": "assistant", "content": ""}))
    for word in WORDS[:words]:
        writer.write(chunk({"content": f"{word} "}))
        SENT.setdefault(id(writer), []).append(time.perf_counter())
        await asyncio.sleep(1 / pace)
    writer.write(chunk({}, "stop") + b"data: [DONE]\n\n")
    writer.close()


SENT: dict[int, list[float]] = {}


async def listen(port: int) -> list[float]:
    """When each word came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Tell me more."}]})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write((head + body).encode())
    heard: list[float] = []
    while b"[DONE]" not in (line := await reader.readline()):
        if line.startswith(b"data: {") and (choices := json.loads(line[6:])["choices"]):
            text = choices[0]["delta"].get("content") or ""
            heard += [time.perf_counter()] * text.count(" ")  # chunks may be merged, each word ends with a space
    writer.close()
    return heard


@contextmanager
def gateway(upstream: int, mode: str) -> Iterator[int]:
    """-> its port"""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "antiphon.toml")
        settings.write_text(SETTINGS.format(port=upstream, safety=MODES[mode]))
        command = [str(Path(sys.executable).parent / "antiphon"), "serve", "-c", str(settings)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            ports = (int(found[1]) for line in process.stdout if (found := re.search(r"127\.0\.0\.1:(\d+)", line)))
            if (port := next(ports, None)) is None:
                raise Refused
            yield port
        finally:
            process.terminate()
            process.wait()


async def measure(mode: str, options: argparse.Namespace) -> list[list[float]]:
    """Each word's delay in ms, stream by stream. One after another, so that the sender of a word is known."""
    server = await asyncio.start_server(lambda r, w: speak(r, w, options.pace, options.words), "127.0.0.1", 0)
    lags: list[list[float]] = []
    with gateway(server.sockets[0].getsockname()[1], mode) as port:
        await asyncio.sleep(2)  # the evaluators load
        for _ in range(options.streams):
            SENT.clear()
            heard = await listen(port)
            [sent] = SENT.values()
            lags.append([(came - went) * 1000 for came, went in zip(heard, sent, strict=True)])
    server.close()
    return lags


def _cuts(values: list[float]) -> str:
    if len(values) < 2:
        return " | ".join(f"{value:.0f}" for value in (values * 2)[:2])
    return f"{statistics.median(values):.0f} | {statistics.quantiles(values, n=20, method='inclusive')[18]:.0f}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.hold", description="What holding back costs in time.")
    parser.add_argument("--pace", type=float, default=50.0, help="words a second")
    parser.add_argument(
        "--streams", type=int, default=3, help="one after another; 40 or so for figures of the first word"
    )
    parser.add_argument("--words", type=int, default=len(WORDS), help=f"of a stream, {len(WORDS)} at most")
    options = parser.parse_args(arguments)
    print(f"| {options.pace:g} words a second, ms | first word p50 | p95 | any word p50 | p95 | longest |")
    print("|---" * 6 + "|")
    for mode in MODES:
        try:
            lags = asyncio.run(measure(mode, options))
        except Refused:
            print(f"| {mode} | the gateway refuses these settings | | | | |", flush=True)
            continue
        every = [lag for stream in lags for lag in stream]
        first = _cuts([stream[0] for stream in lags])
        print(f"| {mode} | {first} | {_cuts(every)} | {max(every):.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
