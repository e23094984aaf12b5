"""The two ends that a client library stands between: the scripted upstream, and the gateway as its own process."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from antiphon.upstreams.scripted import Credential, ScriptedUpstream
from tests.clients.cases import WORD, Cast

Verdicts = dict[tuple[str, str], Any]  # by case and dialect
Run = Callable[[str], Verdicts]  # runs a library's script, by its file name
Seen = dict[str, Any]  # by case, in one dialect
Ask = Callable[[str], Seen]

PATHS = {
    "openai": "/openai/v1",
    "crazyrouter": "/crazyrouter/v1",
    "skytells": "/skytells/v1",
    "maritaca": "/maritaca/api",
}
DIALECTS = tuple(PATHS)
VENDOR_NAMES = ("anthropic", "bedrock", "cohere", "gemini")
READY = 20.0  # seconds for the gateway to start
PATIENCE = 120.0  # seconds for all cases of one library

SETTINGS = """
[server]
listen = "127.0.0.1:0"

[[upstream]]
name = "scripted"
protocol = "openai"
url = "{url}"
credential = "file:{credential}"

[[route]]
model = "text"
targets = [{{ upstream = "scripted", model = "text" }}]

[[route]]
model = "text-async"
targets = [{{ upstream = "scripted", model = "text" }}]
safety = {{ stream = "async" }}

[[route]]
model = "*"
targets = [{{ upstream = "scripted" }}]

[[safety.evaluator]]
kind = "embedded"
timeout = 20

[[safety.evaluator]]
kind = "rules"
name = "forbidden"
words = ["{word}"]
timeout = 20
"""


@contextmanager
def scripted_upstream() -> Iterator[str]:
    with running_upstreams(lambda: [ScriptedUpstream(Cast())]) as urls:
        yield urls[0]


@contextmanager
def vendor_upstreams() -> Iterator[dict[str, str]]:
    """One for each vendor whose protocol is spoken; yields their URLs."""

    def make() -> list[ScriptedUpstream]:
        shown = Credential(key="sk-scripted", access_key="AKIDSCRIPTED", secret="own/secret")
        return [ScriptedUpstream(speaks=vendor, credential=shown) for vendor in VENDOR_NAMES]

    with running_upstreams(make) as urls:
        yield dict(zip(VENDOR_NAMES, urls, strict=True))


@contextmanager
def running_upstreams(make: Callable[[], list[ScriptedUpstream]]) -> Iterator[list[str]]:
    """In a thread with a loop of its own: the tests themselves wait for processes."""
    started: queue.Queue[list[str]] = queue.Queue()
    stopping = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def play() -> None:
        upstreams = make()
        loops.append(asyncio.get_running_loop())
        started.put([await upstream.start() for upstream in upstreams])
        await stopping.wait()
        for upstream in upstreams:
            await upstream.stop()

    thread = threading.Thread(target=lambda: asyncio.run(play()))
    thread.start()
    try:
        yield started.get(timeout=READY)
    finally:
        loops[0].call_soon_threadsafe(stopping.set)
        thread.join(READY)


@contextmanager
def running_gateway(upstream: str, room: Path) -> Iterator[str]:
    """A gateway before one upstream that speaks OpenAI's protocol."""
    credential = room / "credential"
    credential.write_text("sk-upstream")
    with serving(SETTINGS.format(url=upstream, credential=credential, word=WORD), room) as address:
        yield address


@contextmanager
def serving(text: str, room: Path) -> Iterator[str]:
    """`antiphon serve` on a free port, told by its banner; yields http://127.0.0.1:PORT."""
    settings = room / "antiphon.toml"
    settings.write_text(text)
    log = room / "gateway.log"
    command = [str(Path(sys.executable).parent / "antiphon"), "serve", "-c", str(settings)]
    with log.open("wb") as output:
        gateway = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=output, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
    lines: queue.Queue[str] = queue.Queue()
    assert gateway.stdout is not None
    reading = threading.Thread(target=pump, args=(gateway.stdout, lines))
    reading.start()
    try:
        yield find_address(lines, log)
    finally:
        gateway.terminate()
        gateway.wait(READY)
        reading.join(READY)
        gateway.stdout.close()


def pump(stream: Any, lines: queue.Queue[str]) -> None:
    """Reads on to the end: a full pipe would stop the gateway."""
    for line in stream:
        lines.put(line.decode(errors="replace"))
    lines.put("")


def find_address(lines: queue.Queue[str], log: Path) -> str:
    seen = ""
    while line := lines.get(timeout=READY):
        seen += line
        if address := re.search(r"http://127\.0\.0\.1:\d+", line):
            return address[0]
    raise AssertionError(f"the gateway did not start:\n{seen}\n{log.read_text()}")


def every_dialect(gateway: str) -> dict[str, str]:
    return {dialect: gateway + path for dialect, path in PATHS.items()}


def collect(command: list[str], bases: dict[str, str]) -> Verdicts:
    """Runs one library's script with base URLs by dialect; every line it prints is a verdict."""
    done = subprocess.run(
        [*command, json.dumps(bases)], capture_output=True, text=True, timeout=PATIENCE, env=without_proxies()
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    verdicts: Verdicts = {}
    for line in done.stdout.splitlines():
        verdict = json.loads(line)
        verdicts[verdict["case"], verdict["dialect"]] = verdict["saw"]
    return verdicts


def collect_plain(command: list[str], gateway: str) -> Seen:
    """The same under the gateway's plain `/v1`, where newcomers begin."""
    return {case: saw for (case, _), saw in collect(command, {"openai": f"{gateway}/v1"}).items()}


def without_proxies() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def plain(saw: Any, dialect: str) -> Any:
    """An error as every dialect tells it: crazyrouter puts the request's id behind the message and has no `param`."""
    if not isinstance(saw, dict) or "raised" not in saw:
        return saw
    message, found = re.subn(r" \(request id: req_[0-9a-f]{32}\)", "", saw["message"])
    assert bool(found) is (dialect == "crazyrouter"), saw["message"]
    return {**saw, "message": message}
