"""The request fuzzer: a real gateway, a counting upstream, many connections, and every answer judged."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzz import memory
from fuzz.connection import exchange
from fuzz.findings import Findings
from fuzz.gateway import Gateway, started
from fuzz.logs import AccessLog, ErrorLog
from fuzz.minimise import minimise, smaller_sessions
from fuzz.pulse import beating
from fuzz.request_documents import MODELS
from fuzz.request_rules import Breach, judge
from fuzz.request_upstream import CountingUpstream
from fuzz.requests import HEAVY_SHARE, KEYS, Request, Session, make_session
from fuzz.strict_request import Meaning, Rest, read_requests
from fuzz.strict_response import Response

CONNECTIONS = 24
WITHIN = 30.0  # seconds for a session; the gateway's own times are far shorter
SAMPLE_EVERY = 1.0
JUDGED = "scripted-judged"
LOG_DELAY = 0.5  # the gateway writes its lines at most 0.2 s late
SETTINGS = """
[server]
listen = "127.0.0.1:0"
auth = true
access_log = "@folder@/access.log"
error_log = "@folder@/error.log"
header_timeout = 5
body_timeout = 5
keepalive = 10
cors = ["https://a.test"]

[safety]
mode = "filter"

[[safety.evaluator]]
kind = "rules"
name = "fuzz"
words = ["forbidden word"]
routes = ["scripted-judged"]
"""


@dataclass(slots=True)
class Options:
    seed: int = 1
    count: int = 10**9  # requests
    seconds: float = 30.0
    connections: int = CONNECTIONS
    heavy_share: float = HEAVY_SHARE


@dataclass(slots=True)
class Report:
    requests: int = 0
    sessions: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)
    pulse: dict[str, float] = field(default_factory=dict)
    findings: Findings = field(default_factory=Findings)
    left: int = 0  # requests whose client went first

    def lines(self) -> list[str]:
        rate = self.requests / max(self.seconds, 0.001)
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return [
            f"requests: {self.requests} in {self.sessions} connections, {self.seconds:.0f} s, {rate:.0f} per second",
            f"statuses: {statuses}",
            f"worker memory at start, middle, end: {memory.describe(self.memory)}",
            f"/healthz: {self.pulse}",
        ]


def settings_text(url: str) -> str:
    rows = [f'[[upstream]]\nname = "up"\nprotocol = "openai"\nurl = "{url}"\n']
    for model in MODELS:
        judged = "" if model == JUDGED else "safety = { enabled = false }\n"
        rows.append(f'[[route]]\nmodel = "{model}"\ntargets = [{{ upstream = "up" }}]\n{judged}')
    for name in KEYS:
        more = {"spelled": 'dialect = "skytells"\n', "strict": "strict = true\n"}.get(name, "")
        rows.append(f'[[key]]\nname = "{name}"\nsecret = "env:FUZZ_KEY_{name.upper()}"\n{more}')
    return SETTINGS + "\n".join(rows)


def environ() -> dict[str, str]:
    return {f"FUZZ_KEY_{name.upper()}": secret for name, secret in KEYS.items()}


class RequestFuzzer:
    def __init__(self, gateway: Gateway, upstream: CountingUpstream, report: Report) -> None:
        self._gateway = gateway
        self._upstream = upstream
        self._report = report
        self._access = AccessLog(gateway.access_log, report.findings)
        self._errors = ErrorLog(gateway.error_log, report.findings)

    async def run(self, options: Options) -> None:
        begun = time.monotonic()
        deadline = begun + options.seconds
        numbers = iter(range(options.count))

        async def work() -> None:
            for number in numbers:
                if time.monotonic() > deadline or self._report.requests >= options.count:
                    return
                await self.play(make_session(options.seed, number, options.heavy_share))

        sampling = asyncio.create_task(self._sample())
        try:
            await asyncio.gather(*(work() for _ in range(options.connections)))
        finally:
            sampling.cancel()
        self._report.seconds = time.monotonic() - begun

    async def play(self, session: Session) -> list[Breach]:
        meaning = read_requests(session.render())
        count = len(meaning.requests)
        until_end = meaning.rest is Rest.BAD or (meaning.rest is Rest.PARTIAL and session.waits)
        wanted = 10**9 if until_end else count
        methods = [read.method for read in meaning.requests]
        connection, answered = await exchange(
            self._gateway.port, session.pieces(), methods, lambda reader: len(reader.responses) >= wanted, WITHIN
        )
        self._count(session, meaning, connection.reader.responses)
        breaches = judge(session, meaning, connection.reader, connection.ended, answered, self._upstream)
        for breach in breaches:
            self._report.findings.add(breach.rule, breach.detail, to_case(session))
        return breaches

    def _count(self, session: Session, meaning: Meaning, responses: list[Response]) -> None:
        report = self._report
        report.sessions += 1
        report.requests += len(session.requests)
        most = len(meaning.requests) + (meaning.rest in (Rest.BAD, Rest.PARTIAL))
        report.left += max(0, most - len(responses))
        for response in responses:
            report.statuses[response.status] += 1
            self._access.answered(response.headers.get(b"x-request-id", b"").decode(), response, session.number)

    async def _sample(self) -> None:
        while True:
            self._report.memory.append(self._gateway.worker_bytes())
            self._access.look()
            self._errors.look()
            await asyncio.sleep(SAMPLE_EVERY)

    async def end(self) -> None:
        """The rules about the run as a whole."""
        report = self._report
        await asyncio.sleep(LOG_DELAY)
        report.memory.append(self._gateway.worker_bytes())
        if not self._gateway.is_alive():
            report.findings.add("the worker lives", "it was replaced")
        self._errors.look()
        self._access.end(report.left, int(report.pulse.get("asked", 0)))
        if not memory.is_flat(report.memory):
            report.findings.add("memory is flat", memory.describe(report.memory))
        if report.pulse.get("failed"):
            report.findings.add("/healthz is always answered", f"{report.pulse['failed']} times not")

    async def minimise(self) -> None:
        """The first case of each group becomes as small as it can cheaply be."""
        findings, self._report = self._report.findings, Report()
        for group in findings.groups.values():
            rule = group.rule

            async def fails(session: Session, rule: str = rule) -> bool:
                return any(breach.rule == rule for breach in await self.play(session))

            if group.cases and await fails(from_case(group.cases[0])):
                found = await minimise(from_case(group.cases[0]), smaller_sessions, fails)
                group.cases.insert(0, to_case(found))


async def fuzz_requests(options: Options, folder: Path) -> Report:
    report = Report()
    upstream = CountingUpstream()
    url = await upstream.start()
    try:
        with started(folder, settings_text(url), environ()) as gateway, beating(gateway.port) as pulse:
            fuzzer = RequestFuzzer(gateway, upstream, report)
            await fuzzer.run(options)
            report.pulse = pulse.end()
            await fuzzer.end()
            await fuzzer.minimise()
    finally:
        await upstream.stop()
    return report


async def replay(case: dict[str, Any]) -> list[Breach]:
    report = Report()
    upstream = CountingUpstream()
    url = await upstream.start()
    try:
        with tempfile.TemporaryDirectory() as folder, started(Path(folder), settings_text(url), environ()) as gateway:
            fuzzer = RequestFuzzer(gateway, upstream, report)
            return await fuzzer.play(from_case(case))
    finally:
        await upstream.stop()


def to_case(session: Session) -> dict[str, Any]:
    """As JSON; bytes become Latin-1 text."""
    document = asdict(session)
    for request in document["requests"]:
        request["line"] = request["line"].decode("latin-1")
        request["headers"] = [line.decode("latin-1") for line in request["headers"]]
        request["body"] = request["body"].decode("latin-1")
    return {"kind": "request", **document}


def from_case(case: dict[str, Any]) -> Session:
    requests = [
        Request(
            one["line"].encode("latin-1"),
            [line.encode("latin-1") for line in one["headers"]],
            one["body"].encode("latin-1"),
            one["marker"],
            one["dialect"],
            one["exact"],
        )
        for one in case["requests"]
    ]
    return Session(case["number"], requests, case["cuts"], case["waits"], case["heavy"])
