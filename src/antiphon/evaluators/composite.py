"""All evaluators of a worker as one: who applies is asked at once, and the worst of their findings counts.

Where only the evaluator process applies, it is asked directly: this is on the way of every turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from antiphon.chat.together import Frame, Join
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.joined import without_jailbreak
from antiphon.evaluators.link import EarlyDone
from antiphon.evaluators.share import Done
from antiphon.evaluators.topic import Topic
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import FAILURE, NOTHING, Stage, Verdict

TOGETHER: Final = 2000  # characters of joins
MOST_SCOPES: Final = 4096  # whose evaluators are remembered

BOTH: Final = frozenset(Stage)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What an evaluator looks at. None: all."""

    stages: frozenset[Stage] = BOTH
    routes: frozenset[str] | None = None
    keys: frozenset[str] | None = None

    def holds(self, stage: Stage, scope: Scope) -> bool:
        return (
            stage in self.stages
            and (self.routes is None or scope.route in self.routes)
            and (self.keys is None or scope.key in self.keys)
        )


class AsyncEvaluator(Protocol):
    """Somebody outside who is asked. The future never fails and keeps the evaluator's own time limit."""

    def ask(self, stage: Stage, texts: Sequence[str]) -> asyncio.Future[Verdict]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LocalMember:
    """One part of the evaluator process."""

    name: str
    bounds: Coverage
    reach: int = 0  # characters of its longest finding that must not be cut in two


@dataclass(frozen=True, slots=True)
class RemoteMember:
    evaluator: AsyncEvaluator
    bounds: Coverage


@dataclass(frozen=True, slots=True)
class Judges:
    """Who judges texts of one stage and scope."""

    topic: Topic | None  # None: nothing of the process
    others: list[AsyncEvaluator]


class Composite:
    def __init__(
        self, client: EvaluatorClient | None, inside: Sequence[LocalMember], outside: Sequence[RemoteMember] = ()
    ) -> None:
        """`client`: None where nothing of the process is asked."""
        self._client = client
        self._inside = tuple(inside)
        self._outside = tuple(outside)
        self._prompts: dict[tuple[str | None, str | None], Judges] = {}  # by route and key
        self._answers: dict[tuple[str | None, str | None], Judges] = {}

    @property
    def state(self) -> str | None:
        """How the evaluator process is, for /readyz; None where there is none."""
        return None if self._client is None else self._client.state

    def start(self) -> None:
        if self._client is not None:
            self._client.start()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        for each in self._outside:
            await each.evaluator.close()

    def ask(self, stage: Stage, texts: Sequence[str], scope: Scope) -> asyncio.Future[Verdict]:
        """The future never fails, and keeps the evaluators' time limits; what could not be judged says so."""
        asked = self._asked(stage, scope)
        if asked.topic is not None and self._client is not None:
            first = self._client.ask_about(asked.topic, texts)
            if not asked.others:
                return first
            futures = [first]
        else:
            futures = []
        if asked.others:
            said, own = _for_others(texts)
            futures += [other.ask(stage, said) for other in asked.others if said]
            futures += [_framed(other.ask(stage, own)) for other in asked.others if own]
        if len(futures) == 1:
            return futures[0]
        return Gathering(futures).whole if futures else _nothing()

    def ask_now(self, stage: Stage, texts: Sequence[str], scope: Scope, done: Done) -> Verdict | None:
        """The same without a future. The verdict, where it is known at once: all texts were judged before, nobody is
        to judge them, or too many wait already (FAILURE). None: `done` is called with it, once, later."""
        asked = self._asked(stage, scope)
        if asked.others:
            self.ask(stage, texts, scope).add_done_callback(_teller(done))
            return None
        if asked.topic is None or self._client is None:
            return NOTHING
        return self._client.ask_now(asked.topic, texts, done)

    def early(self, text: str, scope: Scope, done: EarlyDone) -> bool:
        """Whether the end of a streamed answer may begin, or be part of, something that would be found harmful.

        `text`: about 200 characters, the newest at the end; of what is not the end nothing is said, so what is new in
        it should be a few words. `done` is called with True ("risky") or False, once, later; with True also where
        nobody could tell in 0.1 s. Returns False, and `done` is never called, where there is no early look: somebody
        outside judges these answers, or a list with patterns does, or the process is not there."""
        asked = self._asked(Stage.ANSWER, scope)
        if asked.others or asked.topic is None or self._client is None:
            return False
        return self._client.look_early(text, asked.topic.parts, done)

    def reach(self, scope: Scope) -> int:
        return max((each.reach for each in self._inside if each.bounds.holds(Stage.ANSWER, scope)), default=0)

    def _asked(self, stage: Stage, scope: Scope) -> Judges:
        known = self._prompts if stage is Stage.PROMPT else self._answers
        place = scope.route, scope.key
        asked = known.get(place)
        if asked is None:
            asked = self._find(stage, scope)
            if len(known) < MOST_SCOPES:
                known[place] = asked
        return asked

    def _find(self, stage: Stage, scope: Scope) -> Judges:
        parts = [each.name for each in self._inside if each.bounds.holds(stage, scope)]
        others = [each.evaluator for each in self._outside if each.bounds.holds(stage, scope)]
        topic = self._client.topic(stage, parts) if parts and self._client is not None else None
        return Judges(topic, others)


class Gathering:
    """Several futures become one: the worst of their verdicts. Whoever does not wait any more takes them all along."""

    def __init__(self, asked: list[asyncio.Future[Verdict]]) -> None:
        self.whole: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._verdict = NOTHING
        self._asked = asked
        self._missing = len(asked)
        self.whole.add_done_callback(self._gone)
        for future in asked:
            future.add_done_callback(self._heard)

    def _heard(self, future: asyncio.Future[Verdict]) -> None:
        if not future.cancelled():
            self._verdict |= future.result()
        self._missing -= 1
        if not self._missing and not self.whole.done():
            self.whole.set_result(self._verdict)

    def _gone(self, whole: asyncio.Future[Verdict]) -> None:
        if whole.cancelled():
            for future in self._asked:
                future.cancel()


def _teller(done: Done) -> Callable[[asyncio.Future[Verdict]], None]:
    return lambda future: done(FAILURE if future.cancelled() else future.result())


def _for_others(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is said, and the application's own words. Joins as one text: somebody outside may ask for money for each."""
    joins = [text for text in texts if type(text) is Join]
    said = [text for text in texts if type(text) is not Join and type(text) is not Frame]
    own = [str(text) for text in texts if type(text) is Frame]
    return [*said, "\n".join(joins)[:TOGETHER]] if joins else said, own


def _framed(asked: asyncio.Future[Verdict]) -> asyncio.Future[Verdict]:
    """The same verdict, in which nothing is a jailbreak."""
    told: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()

    def tell(done: asyncio.Future[Verdict]) -> None:
        if done.cancelled():
            told.cancel()
        elif not told.done():
            told.set_result(without_jailbreak(done.result()))

    def leave(_: asyncio.Future[Verdict]) -> None:
        if told.cancelled():
            asked.cancel()

    asked.add_done_callback(tell)
    told.add_done_callback(leave)
    return told


def _nothing() -> asyncio.Future[Verdict]:
    future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    future.set_result(NOTHING)
    return future
