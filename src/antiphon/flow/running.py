"""The turns that are under way: watched for silence, ended when the gateway closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from antiphon.document import Document
from antiphon.errors import OverloadError
from antiphon.flow.ports import Client
from antiphon.flow.turn import MODEL_SHOWN, AnyTurn

CLOSE_LIMIT: Final = 5.0  # seconds
TICK: Final = 0.25  # seconds
MOST_SHOWN: Final = 1000
MOST_PIECES: Final = 100_000
MOST_TEXT: Final = 4_000_000  # characters


class Running:
    """Each turn stands in `turns` from its beginning to its end, with what ends it when its client goes away."""

    def __init__(
        self, clock: Callable[[], float], silence: float, look: Callable[[AnyTurn], None] | None = None
    ) -> None:
        """`silence`: seconds before a stream gets a keep-alive comment; `look`: called with streams now and then."""
        self._look = look
        self._clock = clock
        self._silence = silence
        self.turns: dict[Client, tuple[AnyTurn, Callable[[], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ticking = False

    def add_task(self, turn: AnyTurn, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

        def cancel() -> None:
            # Not before its first step, which is due: a task cancelled before that never runs, and its turn leaves no
            # entry. (In TLS a request and the end of its connection can come in one read.)
            asyncio.get_running_loop().call_soon(task.cancel)

        self.turns[turn.client] = (turn, cancel)
        turn.client.on_lost(cancel)
        self.watch(turn)

    def watch(self, turn: AnyTurn) -> None:
        """Looks after the turn's silence, if its answer is a stream."""
        if turn.request.stream and not self._is_ticking:
            self._is_ticking = True
            asyncio.get_running_loop().call_later(TICK, self._tick)

    def give_up(self) -> None:
        """The drain's time is over: clients that still wait are told so, rather than cut."""
        error = OverloadError("The server is shutting down.", code="shutting_down", retry_after=1)
        for turn, cancel in list(self.turns.values()):
            if turn.client.is_closed:  # answered; only the ledger waits
                continue
            turn.error = error
            turn.client.fail(error, turn.receipt() if turn.wants_receipt else None)
            cancel()

    def describe(self) -> list[Document]:
        """The turns that run for longest, MOST_SHOWN at most."""
        now = self._clock()
        turns = sorted((turn for turn, _ in self.turns.values()), key=lambda turn: turn.began)
        return [describe(turn, now) for turn in turns[:MOST_SHOWN]]

    async def close(self) -> None:
        for _, cancel in list(self.turns.values()):
            cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=CLOSE_LIMIT)

    def _tick(self) -> None:
        """Looks after the streams while there are any. A chunk pays nothing for it."""
        now = self._clock()
        streams = [turn for turn, _ in self.turns.values() if turn.request.stream]
        for turn in streams:
            if self._look is not None:
                self._look(turn)
            bound(turn.texts, turn.client.sent)
            turn.client.break_silence(self._silence, now)
        self._is_ticking = bool(streams)
        if self._is_ticking:
            asyncio.get_running_loop().call_later(TICK, self._tick)


def describe(turn: AnyTurn, now: float) -> Document:
    """A turn under way, without what it says."""
    attempts = turn.attempts
    return {
        "request_id": turn.id,
        "seconds": round(now - turn.began, 3),
        "first_chunk_seconds": round(turn.first - turn.began, 3) if turn.first else None,
        "key": turn.key,
        "dialect": turn.dialect.name,
        "model": turn.request.model[:MODEL_SHOWN],
        "route": turn.route.model if turn.route else None,
        "upstream": attempts[-1].target.upstream if attempts else None,
        "attempts": len(attempts),
        "stream": turn.request.stream,
        "sent_bytes": turn.client.sent,
        "client": turn.client.remote.address,
    }


def bound(texts: list[str], sent: int) -> None:
    """Text is kept only to count its tokens. The beginning of an endless answer is enough."""
    if len(texts) > MOST_PIECES or (sent > MOST_TEXT and len(texts) > 1):
        texts[:] = ["".join(texts)[:MOST_TEXT]]
