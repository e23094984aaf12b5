"""The host's side of the compiler: one process, started when it is first needed, and one job at a time.

A job that takes too long, or is too much for its memory, ends the process, and so does one whose asker goes away: the
pipe is never out of step. The next job starts another. What was answered is remembered: agents send the same tools with
every request.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from antiphon.engine.compiler import LENGTH, Answer, CheckJob, FindJob, Job, Orders, RuleJob
from antiphon.engine.matching import TOO_COMPLEX
from antiphon.engine.narrow import Bounds
from antiphon.engine.sizes import MOST_BYTES
from antiphon.engine.starter import KEPT, KEPT_KINDS, PYTHON, kill
from antiphon.errors import AntiphonError, OverloadError, RequestError

MOST_SECONDS: Final = 2.0  # for one schema
MOST_SECONDS_IN_ALL: Final = 6.0  # for those of one request
MOST_ASKING: Final = 16  # requests at a time: the last one waits half a minute, where each takes all that it may
START_LIMIT: Final = 30.0  # seconds
MOST_REMEMBERED: Final = 8_000_000  # bytes
OVERHEAD: Final = 300  # bytes that remembering costs beside the text


@dataclass(frozen=True, slots=True)
class Place:
    """Where a schema stands, for the refusal."""

    what: str  # "response_format 'name'", "function 'name'"
    param: str
    code: str | None = None
    strict: bool = True
    is_object: bool = False  # it must be an object's

    def refusal(self, fault: str) -> RequestError:
        return RequestError(f"Invalid schema for {self.what}: {fault}", param=self.param, code=self.code)


class Compiler:
    def __init__(self, model: Callable[[], str], bounds: Bounds, environ: Mapping[str, str]) -> None:
        """`model`: its file, which may not be there yet."""
        self._model = model
        self._bounds = bounds
        self._environ = {name: value for name, value in environ.items() if name in KEPT or name.startswith(KEPT_KINDS)}
        self._turn = asyncio.Lock()
        self._asking = 0  # in it or waiting for it
        self._child: asyncio.subprocess.Process | None = None
        self._ended: list[asyncio.subprocess.Process] = []  # killed, and perhaps not gone yet
        self._known = Remembered()

    def reading(self) -> Reading:
        """For one request."""
        return Reading(self)

    async def check(self, grammar: str, text: str) -> None:
        """The last look at what was generated. Raises AntiphonError where the engine did not keep to the grammar."""
        answer, _ = await self.ask(CheckJob(grammar, text), MOST_SECONDS)
        if not answer.fits:
            raise AntiphonError(
                "The embedded engine did not keep to the format that was asked for.", code="engine_error"
            )

    async def ask(self, job: Job, patience: float) -> tuple[Answer, float]:
        """-> the answer, and the seconds that it took"""
        frame = msgspec.json.encode(job)
        key = hashlib.sha256(frame).digest()
        if (known := self._known.find(key)) is not None:
            return known, 0.0
        if self._asking >= MOST_ASKING and not isinstance(job, CheckJob):
            raise OverloadError(
                "The embedded engine is busy: too many schemas wait to be read. Please try again in a few seconds.",
                status=429,
                type="requests",
                code="rate_limit_exceeded",
                retry_after=MOST_ASKING,
            )
        self._asking += 1
        try:
            answer, spent = await self._in_turn(frame, patience)
        finally:
            self._asking -= 1
        if answer is None:
            return Answer(fault=TOO_COMPLEX), spent
        if not isinstance(job, CheckJob):
            self._known.keep(key, answer)
        return answer, spent

    async def _in_turn(self, frame: bytes, patience: float) -> tuple[Answer | None, float]:
        async with self._turn:
            child = self._child or await self._start()
            began = asyncio.get_running_loop().time()
            answer = await self._answer(child, frame, patience)
            return answer, asyncio.get_running_loop().time() - began

    async def close(self) -> None:
        self._end()
        for child in self._ended:
            await child.wait()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            kill(child)
            assert child.stdin is not None
            child.stdin.close()
            self._ended = [*(one for one in self._ended if one.returncode is None), child]

    async def _start(self) -> asyncio.subprocess.Process:
        self._child = await asyncio.create_subprocess_exec(
            *(*PYTHON, "antiphon.engine.compiler"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,  # it would tell parts of people's schemas
            env=self._environ,
            start_new_session=True,
        )
        orders = msgspec.json.encode(Orders(self._model(), self._bounds))
        if await self._answer(self._child, orders, START_LIMIT) is None:
            raise AntiphonError(
                "The embedded engine cannot read schemas: its compiler did not start.", code="engine_error"
            )
        return self._child

    async def _answer(self, child: asyncio.subprocess.Process, frame: bytes, patience: float) -> Answer | None:
        """None: it took too long, or the child died of it."""
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            async with asyncio.timeout(patience):
                child.stdin.write(LENGTH.pack(len(frame)) + frame)
                await child.stdin.drain()
                (length,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
                answer = msgspec.json.decode(await child.stdout.readexactly(length), type=Answer)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            self._end()
            return None
        except BaseException:
            self._end()
            raise
        if answer.is_last:
            self._end()
        return answer


class Reading:
    """The schemas of one request, and how long they may take together."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._left = MOST_SECONDS_IN_ALL

    async def rule(self, schema: Any, place: Place) -> str:
        """The right side of a grammar rule. Raises RequestError."""
        if len(msgspec.json.encode(schema)) > MOST_BYTES:
            raise place.refusal(f"schema is too large. Expected at most {MOST_BYTES} bytes.")
        answer = await self._ask(RuleJob(schema, place.strict, place.is_object))
        if answer.rule is None:
            raise place.refusal(answer.fault or TOO_COMPLEX)
        return answer.rule

    async def rule_in(self, texts: list[str]) -> str | None:
        """Of the schema that texts spell, where they spell one."""
        return (await self._ask(FindJob(texts))).rule if texts else None

    async def _ask(self, job: Job) -> Answer:
        if self._left <= 0:
            return Answer(fault=TOO_COMPLEX)
        answer, spent = await self._compiler.ask(job, min(MOST_SECONDS, self._left))
        self._left -= spent
        return answer


class Remembered:
    """Answers by the digests of their jobs; those asked for longest ago are forgotten first."""

    def __init__(self) -> None:
        self._answers: OrderedDict[bytes, Answer] = OrderedDict()
        self._size = 0

    def find(self, key: bytes) -> Answer | None:
        if key not in self._answers:
            return None
        self._answers.move_to_end(key)
        return self._answers[key]

    def keep(self, key: bytes, answer: Answer) -> None:
        if key in self._answers or size(answer) > MOST_REMEMBERED:
            return
        self._answers[key] = answer
        self._size += size(answer)
        while self._size > MOST_REMEMBERED:
            _, oldest = self._answers.popitem(last=False)
            self._size -= size(oldest)


def size(answer: Answer) -> int:
    return OVERHEAD + len(answer.rule or "") + len(answer.fault or "")
