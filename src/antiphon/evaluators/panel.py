"""All evaluators of a worker as one: who applies is asked at once, and the worst of their findings counts.

Where only the evaluator process applies, its future is passed on as it is: this is on the way of every turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from antiphon.evaluators.client import EvaluatorClient
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import NOTHING, Stage, Verdict

MOST_SCOPES: Final = 4096  # whose evaluators are remembered

BOTH: Final = frozenset(Stage)


@dataclass(frozen=True, slots=True)
class Bounds:
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


class Evaluator(Protocol):
    """Somebody outside who is asked. The future never fails and keeps the evaluator's own time limit."""

    def ask(self, stage: Stage, texts: Sequence[str]) -> asyncio.Future[Verdict]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Inside:
    """One part of the evaluator process."""

    name: str
    bounds: Bounds
    reach: int = 0  # characters of its longest finding that must not be cut in two


@dataclass(frozen=True, slots=True)
class Outside:
    evaluator: Evaluator
    bounds: Bounds


Asked = tuple[list[str], list[Evaluator]]


class Panel:
    def __init__(
        self, client: EvaluatorClient | None, inside: Sequence[Inside], outside: Sequence[Outside] = ()
    ) -> None:
        """`client`: None where nothing of the process is asked."""
        self._client = client
        self._inside = tuple(inside)
        self._outside = tuple(outside)
        self._known: dict[tuple[Stage, Scope], Asked] = {}

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
        parts, others = self._known.get((stage, scope)) or self._find(stage, scope)
        if parts and self._client is not None:
            first = self._client.ask(stage, texts, parts)
            if not others:
                return first
            asked = [first]
        else:
            asked = []
        asked += [other.ask(stage, texts) for other in others]
        if len(asked) == 1:
            return asked[0]
        return Gathering(asked).whole if asked else _nothing()

    def reach(self, scope: Scope) -> int:
        return max((each.reach for each in self._inside if each.bounds.holds(Stage.ANSWER, scope)), default=0)

    def _find(self, stage: Stage, scope: Scope) -> Asked:
        parts = [each.name for each in self._inside if each.bounds.holds(stage, scope)]
        others = [each.evaluator for each in self._outside if each.bounds.holds(stage, scope)]
        if len(self._known) < MOST_SCOPES:
            self._known[stage, scope] = parts, others
        return parts, others


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


def _nothing() -> asyncio.Future[Verdict]:
    future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
    future.set_result(NOTHING)
    return future
