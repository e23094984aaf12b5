"""One remote evaluator: texts in, a future verdict out, whatever the service does.

A text longer than the service takes is asked about in windows. Rules: the future never fails; it keeps the time limit;
what was found counts although another window could not be judged, which then says FAILED; what was judged before is
not asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from antiphon.errors import AntiphonError
from antiphon.evaluators.remote.service import Service, ServiceRequest, Unreadable, windows
from antiphon.evaluators.remote.transport import Sent, Transport
from antiphon.evaluators.verdict_cache import VerdictCache, digest
from antiphon.safety.verdict import FAILURE, NOTHING, Stage, Verdict, worst

MOST_WINDOWS: Final = 64  # of one ask; what is beyond is not judged, and says so
MOST_CALLS: Final = 256  # in flight
REMEMBERED: Final = 1024

Log = Callable[[str], None]


class RemoteEvaluator:
    def __init__(self, name: str, service: Service, carrier: Transport, seconds: float, log: Log) -> None:
        self.name = name
        self.service = service
        self.carrier = carrier
        self.seconds = seconds
        self.memory = VerdictCache(REMEMBERED)
        self.calls = 0  # in flight
        self._log = log

    def ask(self, stage: Stage, texts: Sequence[str]) -> asyncio.Future[Verdict]:
        inquiry = Inquiry(self)
        unknown: dict[bytes, str] = {}
        for text in texts:
            text = text.encode("utf-8", "replace").decode()  # without half surrogate pairs, which UTF-8 cannot say
            for window in windows(text, self.service.limit) if text else ():
                key = digest(stage, window)
                known = self.memory.find(key)
                if known is not None:
                    inquiry.verdict |= known
                else:
                    unknown[key] = window
        if len(unknown) > MOST_WINDOWS:
            self.report_failure("the text is too long to be judged whole")
            inquiry.verdict |= FAILURE
            unknown = dict(list(unknown.items())[:MOST_WINDOWS])
        inquiry.open(stage, unknown)
        return inquiry.future

    def report_failure(self, what: str) -> None:
        self._log(f"evaluator {self.name}: {what}")

    async def close(self) -> None:
        await self.carrier.close()


class Batch:
    """The windows of one or more questions, until all of these are answered."""

    __slots__ = ("keys", "missing", "verdicts")

    def __init__(self, keys: list[bytes], questions: int) -> None:
        self.keys = keys
        self.missing = questions
        self.verdicts = [NOTHING] * len(keys)

    def add(self, found: list[Verdict]) -> None:
        self.missing -= 1
        self.verdicts = [one | other for one, other in zip(self.verdicts, found, strict=True)]


class Inquiry:
    """One ask, until its future is resolved."""

    def __init__(self, remote: RemoteEvaluator) -> None:
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Verdict] = loop.create_future()
        self.verdict = NOTHING
        self._remote = remote
        self._missing = 0
        self._sent: dict[int, Sent] = {}
        self._timer: asyncio.TimerHandle | None = None

    def open(self, stage: Stage, unknown: dict[bytes, str]) -> None:
        remote = self._remote
        keys, size = list(unknown), remote.service.batch
        batches = [keys[start : start + size] for start in range(0, len(keys), size)]
        asked: list[tuple[Batch, ServiceRequest]] = []
        for part in batches:
            questions = remote.service.questions(stage, [unknown[key] for key in part])
            batch = Batch(part, len(questions))
            asked += [(batch, question) for question in questions]
        if remote.calls + len(asked) > MOST_CALLS:
            remote.report_failure("too many calls are in flight")
            self.verdict |= FAILURE
            asked = []
        self._missing = len(asked)
        self.future.add_done_callback(self._end)
        if not asked:
            self.future.set_result(self.verdict)
            return
        self._timer = asyncio.get_running_loop().call_later(remote.seconds, self._give_up)
        for number, (batch, question) in enumerate(asked):
            self._send(number, batch, question)

    def _send(self, number: int, batch: Batch, question: ServiceRequest) -> None:
        try:
            self._sent[number] = self._remote.carrier.send(question, partial(self._heard, number, batch, question))
            self._remote.calls += 1
        except AntiphonError as error:  # an upstream that does not take the question
            self._fail(error.code or type(error).__name__)

    def _heard(self, number: int, batch: Batch, question: ServiceRequest, body: bytes | None, why: str) -> None:
        if self._sent.pop(number, None) is not None:
            self._remote.calls -= 1
        if body is None:
            self._fail(why)
            return
        try:
            found = question.read(msgspec.json.decode(body))
            batch.add(found)
        except Unreadable as error:
            self._fail(str(error))
            return
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
            self._fail("the answer is not what it should be")
            return
        if not batch.missing:
            for key, verdict in zip(batch.keys, batch.verdicts, strict=True):
                self._remote.memory.keep(key, verdict)
        self._settle(worst(found))

    def _fail(self, why: str) -> None:
        self._remote.report_failure(why)
        self._settle(FAILURE)

    def _settle(self, verdict: Verdict) -> None:
        self.verdict |= verdict
        self._missing -= 1
        if not self._missing and not self.future.done():
            self.future.set_result(self.verdict)

    def _give_up(self) -> None:
        if not self.future.done():
            self._remote.report_failure(f"no answer within {self._remote.seconds:g} s")
            self.future.set_result(self.verdict | FAILURE)

    def _end(self, _: asyncio.Future[Verdict]) -> None:
        """Resolved, or nobody waits any more: what is still under way is of no use."""
        if self._timer is not None:
            self._timer.cancel()
        sent, self._sent = self._sent, {}
        self._remote.calls -= len(sent)
        for call in sent.values():
            call.cancel()
