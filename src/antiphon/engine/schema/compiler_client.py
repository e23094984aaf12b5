"""The host's side of the compiler: schemas are read one at a time, and none holds up the others for long.

One that takes longer than most moves aside with its copy of the process (`copies`), after all else that the machine
does, and another copy reads on. What was answered is remembered, a refusal for lack of time for a while: agents send
the same tools with every request, and so do attackers.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from antiphon.engine.schema.compiler import CheckJob, CompilerAnswer, FindJob, Job, RuleJob
from antiphon.engine.schema.compiler_pool import CompilerCopy, CompilerPool
from antiphon.engine.schema.limits import MOST_BYTES
from antiphon.engine.schema.matching import TOO_COMPLEX
from antiphon.engine.schema.narrow import SchemaBounds
from antiphon.engine.schema.rewrite import bare
from antiphon.errors import AntiphonError, OverloadError, RequestError

SOON: Final = 0.5  # seconds until a schema moves aside; 500 shapes in an `anyOf` take 0.3
MOST_ASIDE: Final = 2  # at a time: each may take a core and a gigabyte
MOST_SECONDS_IN_ALL: Final = 6.0  # for the schemas of one request
MOST_ASKING: Final = 16  # schemas at a time: the last one waits 8 s, where each takes all that it may
REFUSED_FOR: Final = 300.0  # seconds: it may have been the machine, not the schema
OVERRUN: Final = CompilerAnswer(fault=TOO_COMPLEX)


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """Where a schema stands, for the refusal."""

    what: str  # "response_format 'name'", "function 'name'"
    param: str
    code: str | None = None
    strict: bool = True
    is_object: bool = False  # it must be an object's

    def refusal(self, fault: str) -> RequestError:
        return RequestError(f"Invalid schema for {self.what}: {fault}", param=self.param, code=self.code)


@dataclass(slots=True, eq=False)
class Work:
    """One job, and those who wait for it: the same schema is read once, however many ask at the same time."""

    frame: bytes
    is_check: bool
    askers: int = 0
    seconds: float = 0.0  # that it took


class Compiler:
    def __init__(self, model: Callable[[], str], bounds: SchemaBounds, environ: Mapping[str, str]) -> None:
        """`model`: its file, which may not be there yet."""
        self._copies = CompilerPool(model, bounds, environ)
        self._copy: CompilerCopy | None = None  # that waits for the next job
        self._turn = asyncio.Lock()
        self._aside = 0  # how many have moved there
        self._works: dict[bytes, tuple[Work, asyncio.Task[CompilerAnswer]]] = {}
        self._known = CompileCache()

    def reading(self) -> SchemaReading:
        """For one request."""
        return SchemaReading(self)

    async def check(self, grammar: str, text: str) -> None:
        """The last look at what was generated. Raises AntiphonError where the engine did not keep to the grammar."""
        answer, _ = await self.ask(CheckJob(grammar, text))
        if not answer.fits:
            raise AntiphonError(
                "The embedded engine did not keep to the format that was asked for.", code="engine_error"
            )

    async def ask(self, job: Job) -> tuple[CompilerAnswer, float]:
        """-> the answer, and the seconds that it took"""
        frame = msgspec.json.encode(job)
        key = hashlib.sha256(frame).digest()
        if (known := self._known.find(key)) is not None:
            return known, 0.0
        work, task = self._works.get(key) or self._begin(key, Work(frame, isinstance(job, CheckJob)))
        work.askers += 1
        try:
            await asyncio.wait({task})  # which goes on where the asker goes away: what it finds is remembered
        finally:
            work.askers -= 1
        return task.result(), work.seconds

    async def close(self) -> None:
        tasks = [task for _, task in self._works.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._copy is not None:
            self._copy.end()
            self._copy = None
        await self._copies.close()

    def _begin(self, key: bytes, work: Work) -> tuple[Work, asyncio.Task[CompilerAnswer]]:
        if len(self._works) >= MOST_ASKING and not work.is_check:
            raise OverloadError(
                "The embedded engine is busy: too many schemas wait to be read. Please try again in a few seconds.",
                status=429,
                type="requests",
                code="rate_limit_exceeded",
                retry_after=int(MOST_ASKING * SOON),
            )
        task = asyncio.get_running_loop().create_task(self._do(key, work))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its askers may be gone
        self._works[key] = work, task
        return work, task

    async def _do(self, key: bytes, work: Work) -> CompilerAnswer:
        try:
            answer = await self._in_turn(work)
        finally:
            del self._works[key]
        if answer is None:
            return OVERRUN
        if not work.is_check:
            self._known.keep(key, answer, REFUSED_FOR if answer is OVERRUN else math.inf)
        return answer

    async def _in_turn(self, work: Work) -> CompilerAnswer | None:
        """None: it was not tried to its end."""
        async with self._turn:
            if not work.askers:
                return None  # all went away while it waited
            copy, self._copy = self._copy, None
            if copy is None or not copy.is_there:
                copy = await self._copies.make()
            asking = asyncio.get_running_loop().create_task(copy.ask(work.frame))
            began = asyncio.get_running_loop().time()
            await asyncio.wait({asking}, timeout=SOON)
            work.seconds = asyncio.get_running_loop().time() - began
            if asking.done():
                return self._keep(copy, asking.result())
            if self._aside >= MOST_ASIDE and not work.is_check:
                copy.end()
                return None
            self._aside += 1
        try:
            copy.yield_to_others()
            return await asking or OVERRUN  # in time: the copy ends itself
        finally:
            work.seconds = asyncio.get_running_loop().time() - began
            self._aside -= 1
            copy.end()

    def _keep(self, copy: CompilerCopy, answer: CompilerAnswer | None) -> CompilerAnswer:
        if answer is None or answer.is_last:
            copy.end()
        else:
            self._copy = copy
        return answer or OVERRUN


class SchemaReading:
    """The schemas of one request, and how long they may take together."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._left = MOST_SECONDS_IN_ALL

    async def rule(self, schema: Any, place: SchemaPlace) -> str:
        """The right side of a grammar rule. Raises RequestError."""
        if len(msgspec.json.encode(schema)) > MOST_BYTES:
            raise place.refusal(f"schema is too large. Expected at most {MOST_BYTES} bytes.")
        answer = await self._ask(RuleJob(bare(schema), place.strict, place.is_object))
        if answer.rule is None:
            raise place.refusal(answer.fault or TOO_COMPLEX)
        return answer.rule

    async def rule_in(self, texts: list[str]) -> str | None:
        """Of the schema that texts spell, where they spell one. Prose that only looks like a schema is no fault."""
        found = (await self._ask(FindJob(texts))).found if texts else None
        if found is None:
            return None
        schema = bare(msgspec.json.decode(found))
        return (await self._ask(RuleJob(schema, strict=False, is_object=True))).rule

    async def _ask(self, job: Job) -> CompilerAnswer:
        if self._left <= 0:
            return OVERRUN
        answer, spent = await self._compiler.ask(job)
        self._left -= spent
        return answer


# What the compiler has answered, bounded in memory and time.

MOST_REMEMBERED: Final = 8_000_000  # bytes
OVERHEAD: Final = 300  # bytes that remembering costs beside the text


class CompileCache:
    """Answers by the digests of their jobs; those asked for longest ago are forgotten first."""

    def __init__(self) -> None:
        self._answers: OrderedDict[bytes, tuple[CompilerAnswer, float]] = OrderedDict()
        self._size = 0

    def find(self, key: bytes) -> CompilerAnswer | None:
        if key not in self._answers:
            return None
        answer, until = self._answers[key]
        if until < time.monotonic():
            self._forget(key)
            return None
        self._answers.move_to_end(key)
        return answer

    def keep(self, key: bytes, answer: CompilerAnswer, seconds: float = math.inf) -> None:
        if key in self._answers or size(answer) > MOST_REMEMBERED:
            return
        self._answers[key] = answer, time.monotonic() + seconds
        self._size += size(answer)
        while self._size > MOST_REMEMBERED:
            self._forget(next(iter(self._answers)))

    def _forget(self, key: bytes) -> None:
        answer, _ = self._answers.pop(key)
        self._size -= size(answer)


def size(answer: CompilerAnswer) -> int:
    return OVERHEAD + sum(len(part or "") for part in (answer.rule, answer.found, answer.fault))
