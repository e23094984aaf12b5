"""The soak: mixed load for minutes, and memory and descriptors of every process of the gateway, sampled every 10 s.

The load: JSON and streams, clients that leave, slow readers, failing upstreams, bad requests; safety is on, and the
embedded model answers now and then if its file is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from antiphon.upstreams.scripted import ScriptedUpstream
from bench.processes import resident_bytes
from fuzz.gateway import Gateway, started
from fuzz.logs import OWN_FAULTS, GrowingFile

EVERY = 10.0
WITHIN = 120.0
WARM_UP = 0.1  # of the time; not sampled
MEMORY_SHARE, MEMORY_BYTES = 0.05, 8 * 1024 * 1024
MORE_DESCRIPTORS = 8
RULE = "flat: the last quarter's median is at most 5 % + 8 MiB, and 8 descriptors, above the first's"
ENGINE_MODEL = "smollm2-135m-instruct"
FAULTS = ("error-500", "error-429", "truncated", "cut", "reset", "close", "malformed", "error-late", "nonsense")
SETTINGS = """
[server]
listen = "127.0.0.1:0"
workers = 2
access_log = "@folder@/access.log"
error_log = "@folder@/error.log"

[safety]
mode = "filter"

[[upstream]]
name = "up"
protocol = "openai"
url = "{url}"
timeout = {{ first_byte = 5, idle = 5 }}

[[route]]
model = "*"
targets = [{{ upstream = "up" }}]
"""


@dataclass(slots=True)
class Options:
    seed: int = 1
    minutes: float = 30.0
    connections: int = 24


@dataclass(slots=True)
class Series:
    """One process."""

    name: str
    memory: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    def quarters(self, values: list[int]) -> tuple[float, float]:
        size = max(1, len(values) // 4)
        return median(values[:size]), median(values[-size:])

    def is_flat(self) -> bool:
        before, after = self.quarters(self.memory)
        few, many = self.quarters(self.descriptors)
        return after <= before * (1 + MEMORY_SHARE) + MEMORY_BYTES and many <= few + MORE_DESCRIPTORS


class Client:
    """One of the clients that make the load."""

    def __init__(self, port: int, chance: random.Random, outcomes: Counter[str], *, engine: bool) -> None:
        self._port = port
        self._chance = chance
        self._outcomes = outcomes
        self._engine = engine

    async def work(self, until: float) -> None:
        kinds: list[tuple[Callable[[], Awaitable[None]], int]] = [
            (self._json, 40),
            (self._stream, 25),
            (self._leave, 10),
            (self._read_slowly, 3),
            (self._fail, 12),
            (self._mistake, 9),
            (self._embedded, 1 if self._engine else 0),
        ]
        while time.monotonic() < until:
            kind = self._chance.choices([one for one, _ in kinds], [weight for _, weight in kinds])[0]
            try:
                async with asyncio.timeout(WITHIN):
                    await kind()
                self._outcomes[kind.__name__.strip("_")] += 1
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                self._outcomes[f"{kind.__name__.strip('_')}: {type(error).__name__}"] += 1

    async def _json(self) -> None:
        await self._ask("scripted")

    async def _stream(self) -> None:
        await self._ask(self._chance.choice(("scripted", "scripted-long", "scripted-bytes")), stream=True)

    async def _fail(self) -> None:
        await self._ask("scripted-" + self._chance.choice(FAULTS), stream=self._chance.random() < 0.5)

    async def _embedded(self) -> None:
        await self._ask(ENGINE_MODEL, stream=self._chance.random() < 0.5, max_tokens=8)

    async def _mistake(self) -> None:
        await self._ask("scripted", messages=self._chance.choice((None, [], "x", [{"role": "user"}])))

    async def _leave(self) -> None:
        """Goes away in mid-stream."""
        reader, writer = await self._send("scripted-slow", stream=True)
        await reader.readuntil(b"\n\n") if self._chance.random() < 0.7 else None
        writer.transport.abort()

    async def _read_slowly(self) -> None:
        reader, writer = await self._send("scripted-long", stream=True, limit=1024)
        for _ in range(20):
            if not await reader.read(512):
                break
            await asyncio.sleep(0.05)
        await self._drain(reader, writer)

    async def _ask(self, model: str, **more: Any) -> None:
        await self._drain(*await self._send(model, **more))

    async def _send(
        self, model: str, limit: int = 65536, **more: Any
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        text = f"Tell me something about number {self._chance.randrange(10**6)}."
        document = {"model": model, "messages": [{"role": "user", "content": text}], **more}
        body = json.dumps(document).encode()
        base = self._chance.choice(("/v1", "/crazyrouter/v1", "/skytells/v1", "/maritaca/api"))
        head = f"POST {base}/chat/completions HTTP/1.1\r\nhost: soak\r\nconnection: close\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=limit)
        writer.write(head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)
        return reader, writer

    async def _drain(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(65536)
        if first.startswith(b"HTTP/1.1 "):
            self._outcomes[f"status {first[9:12].decode()}"] += 1
        while await reader.read(65536):
            pass
        writer.transport.abort()


async def soak(options: Options, folder: Path) -> int:
    upstream = ScriptedUpstream()
    url = await upstream.start()
    engine = has_model()
    text = SETTINGS.format(url=url) + ("[engine]\nthreads = 1\n" if engine else "")
    try:
        with started(folder, text) as gateway:
            print(f"soak: {options.minutes:g} minutes, embedded model: {'yes' if engine else 'no file'}", flush=True)
            series, outcomes = await _load(gateway, options, engine)
        faults = [line for line in GrowingFile(folder / "error.log").lines() if _is_own(line)]
    finally:
        await upstream.stop()
    return tell(series, outcomes, faults)


async def _load(gateway: Gateway, options: Options, engine: bool) -> tuple[dict[int, Series], Counter[str]]:
    begun = time.monotonic()
    until = begun + options.minutes * 60
    outcomes: Counter[str] = Counter()
    clients = [
        Client(gateway.port, random.Random(f"{options.seed}/{number}"), outcomes, engine=engine)
        for number in range(options.connections)
    ]
    series: dict[int, Series] = {}
    working = asyncio.gather(*(client.work(until) for client in clients))
    try:
        await asyncio.sleep(options.minutes * 60 * WARM_UP)
        while time.monotonic() < until:
            sample(gateway, series)
            await asyncio.sleep(min(EVERY, max(0.1, until - time.monotonic())))
        await working
    finally:
        working.cancel()
    return series, outcomes


def sample(gateway: Gateway, series: dict[int, Series]) -> None:
    for pid in gateway.processes():
        try:
            descriptors = len(os.listdir(f"/proc/{pid}/fd"))
            name = role(gateway, pid)
        except OSError:
            continue
        one = series.setdefault(pid, Series(name))
        one.memory.append(resident_bytes(pid))
        one.descriptors.append(descriptors)


def role(gateway: Gateway, pid: int) -> str:
    """Forked workers have the supervisor's command line: what tells them apart is who asks for what."""
    if pid == gateway.pid:
        return "supervisor"
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    known = {
        b"antiphon.evaluators": "evaluators",
        b"antiphon.engine.native": "native engine",
        b"antiphon.tokens": "tokens",
    }
    for word, name in known.items():
        if word in command:
            return name
    return "worker or engine host"


def tell(series: dict[int, Series], outcomes: Counter[str], faults: list[bytes]) -> int:
    print("load: " + ", ".join(f"{name}: {count}" for name, count in sorted(outcomes.items())))
    print("| pid | process | samples | MiB first quarter | MiB last | descriptors first | last | |\n|" + "---|" * 8)
    longest = max((len(one.memory) for one in series.values()), default=0)
    flat = True
    for pid, one in series.items():
        before, after = (value / 2**20 for value in one.quarters(one.memory))
        few, many = one.quarters(one.descriptors)
        word = "flat" if one.is_flat() else "GROWS"
        if len(one.memory) < longest:
            word += ", did not live throughout"
        flat = flat and one.is_flat() and len(one.memory) == longest
        row = (pid, one.name, len(one.memory), f"{before:.1f}", f"{after:.1f}", f"{few:g}", f"{many:g}", word)
        print("| " + " | ".join(map(str, row)) + " |")
    print(f"rule: {RULE}: {'flat' if flat else 'NOT FLAT'}")
    for line in faults[:5]:
        print(f"error log: {line.decode(errors='replace')[:400]}")
    return 0 if flat and not faults else 1


def has_model() -> bool:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return any((cache / "antiphon").rglob("*.gguf"))


def _is_own(line: bytes) -> bool:
    return any(word.encode() in line for word in OWN_FAULTS)
