"""The answer fuzzer: a real gateway between our client and an upstream that answers with what is mutated."""

from __future__ import annotations

import asyncio
import base64
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, Send, Step, cut, error, hang, reset, wait
from fuzz import memory
from fuzz.answer_cases import Answer, make_answer
from fuzz.answer_framing import Framed
from fuzz.answer_rules import judge
from fuzz.connection import exchange
from fuzz.findings import Findings
from fuzz.gateway import Gateway, started
from fuzz.logs import ErrorLog
from fuzz.minimise import minimise, smaller_answers

CONNECTIONS = 24
WITHIN = 20.0
SAMPLE_EVERY = 1.0
LOG_DELAY = 0.5
BEFORE_RESET = 0.005  # a reset throws away what is under way; some of it should arrive
SETTINGS = """
[server]
listen = "127.0.0.1:0"
access_log = "@folder@/access.log"
error_log = "@folder@/error.log"

[[safety.evaluator]]
kind = "rules"
name = "fuzz"
words = ["forbidden word"]
routes = ["judged"]

[safety]
mode = "filter"

[[upstream]]
name = "up"
protocol = "openai"
url = "{url}"
timeout = {{ connect = 2, first_byte = 1, idle = 1, total = 6 }}

[[route]]
model = "plain"
targets = [{{ upstream = "up" }}]
safety = {{ enabled = false }}

[[route]]
model = "judged"
targets = [{{ upstream = "up" }}]
"""


@dataclass(slots=True)
class Options:
    seed: int = 1
    count: int = 10**9
    seconds: float = 30.0
    connections: int = CONNECTIONS


@dataclass(slots=True)
class Report:
    answers: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)

    def lines(self) -> list[str]:
        rate = self.answers / max(self.seconds, 0.001)
        outcomes = ", ".join(f"{name}: {count}" for name, count in sorted(self.outcomes.items()))
        return [
            f"answers: {self.answers}, {self.seconds:.0f} s, {rate:.0f} per second",
            f"told: {outcomes}",
            f"worker memory at start, middle, end: {memory.describe(self.memory)}",
        ]


class MutatingUpstream:
    """Plays the answer that belongs to a request's number."""

    def __init__(self) -> None:
        self._server = ScriptedUpstream(self._play)
        self._answers: dict[int, Answer] = {}
        self._turns: Counter[int] = Counter()

    async def start(self) -> str:
        return await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

    def expect(self, answer: Answer) -> None:
        self._answers[answer.number] = answer

    def forget(self, number: int) -> int:
        """How often it was asked."""
        self._answers.pop(number, None)
        return self._turns.pop(number, 0)

    def _play(self, received: Received) -> Script:
        self._server.requests.clear()
        number = int(received.headers.get("idempotency-key", "fa.-1")[3:])
        answer = self._answers.get(number)
        if answer is None:
            return error(500)
        self._turns[number] += 1
        return script_of(answer.framed)


def script_of(framed: Framed) -> Script:
    places = [0, *framed.splits, len(framed.data)]
    steps: list[Step] = []
    for start, end in pairwise(places):
        if steps:
            steps.append(wait(framed.pause))
        steps.append(Send(framed.data[start:end]))
    if framed.ending == "reset":
        steps += [wait(BEFORE_RESET), reset()]
    elif framed.ending:
        steps.append(cut() if framed.ending == "close" else hang())
    return Script(tuple(steps))


class AnswerFuzzer:
    def __init__(self, gateway: Gateway, upstream: MutatingUpstream, report: Report) -> None:
        self._gateway = gateway
        self._upstream = upstream
        self._report = report
        self._errors = ErrorLog(gateway.error_log, report.findings)

    async def run(self, options: Options) -> None:
        begun = time.monotonic()
        deadline = begun + options.seconds
        numbers = iter(range(options.count))

        async def work() -> None:
            for number in numbers:
                if time.monotonic() > deadline:
                    return
                await self.play(make_answer(options.seed, number))

        sampling = asyncio.create_task(self._sample())
        try:
            await asyncio.gather(*(work() for _ in range(options.connections)))
        finally:
            sampling.cancel()
        self._report.seconds = time.monotonic() - begun

    async def play(self, answer: Answer) -> list[tuple[str, str]]:
        self._upstream.expect(answer)
        connection, in_time = await exchange(
            self._gateway.port, [answer.ask()], [b"POST"], lambda reader: bool(reader.responses), WITHIN
        )
        turns = self._upstream.forget(answer.number)
        reader = connection.reader
        report = self._report
        report.answers += 1
        report.outcomes[outcome(reader.responses[0].status if reader.responses else 0)] += 1
        breaches = judge(answer, reader, connection.ended, in_time, turns)
        for rule, detail in breaches:
            report.findings.add(rule, detail, to_case(answer))
        return breaches

    async def _sample(self) -> None:
        while True:
            self._report.memory.append(self._gateway.worker_bytes())
            self._errors.look()
            await asyncio.sleep(SAMPLE_EVERY)

    async def end(self) -> None:
        report = self._report
        await asyncio.sleep(LOG_DELAY)
        report.memory.append(self._gateway.worker_bytes())
        self._errors.look()
        if not self._gateway.is_alive():
            report.findings.add("the worker lives", "it was replaced")
        if not memory.is_flat(report.memory):
            report.findings.add("memory is flat", memory.describe(report.memory))

    async def minimise(self) -> None:
        """The first case of each group becomes as small as it can cheaply be."""
        findings, self._report = self._report.findings, Report()
        for group in findings.groups.values():
            rule = group.rule

            async def fails(answer: Answer, rule: str = rule) -> bool:
                return any(found == rule for found, _ in await self.play(answer))

            if group.cases and await fails(from_case(group.cases[0])):
                found = await minimise(from_case(group.cases[0]), smaller_answers, fails)
                group.cases.insert(0, to_case(found))


def outcome(status: int) -> str:
    return str(status) if status else "cut"


async def fuzz_answers(options: Options, folder: Path) -> Report:
    report = Report()
    upstream = MutatingUpstream()
    url = await upstream.start()
    try:
        with started(folder, SETTINGS.format(url=url)) as gateway:
            fuzzer = AnswerFuzzer(gateway, upstream, report)
            await fuzzer.run(options)
            await fuzzer.end()
            await fuzzer.minimise()
    finally:
        await upstream.stop()
    return report


async def replay(case: dict[str, Any]) -> list[tuple[str, str]]:
    upstream = MutatingUpstream()
    url = await upstream.start()
    try:
        with tempfile.TemporaryDirectory() as folder, started(Path(folder), SETTINGS.format(url=url)) as gateway:
            return await AnswerFuzzer(gateway, upstream, Report()).play(from_case(case))
    finally:
        await upstream.stop()


def to_case(answer: Answer) -> dict[str, Any]:
    """As JSON; bytes become Latin-1 text, long ones base64."""
    document = asdict(answer)
    for name in ("data", "plain"):
        document["framed"][name] = _text(document["framed"][name])
    return {"kind": "answer", **document}


def from_case(case: dict[str, Any]) -> Answer:
    framed = dict(case["framed"])
    for name in ("data", "plain"):
        framed[name] = _bytes(framed[name])
    names = ("number", "base", "dialect", "endpoint", "stream", "model", "form", "labels")
    return Answer(framed=Framed(**framed), **{name: case[name] for name in names})


def _text(data: bytes) -> str:
    return data.decode("latin-1") if len(data) < 100_000 else "base64:" + base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode("latin-1")
