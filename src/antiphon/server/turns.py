"""Turns under way: begun on the express lane or in a task of their own, watched for silence, ended when the client is
gone or the gateway closes.
"""

from __future__ import annotations

import asyncio
from functools import partial

from antiphon.chat.plain_request import read_plain
from antiphon.chat.request import decode, parse
from antiphon.dialects import Dialect
from antiphon.errors import OverloadError
from antiphon.flow.answer import answer
from antiphon.flow.chat_way import CHAT, ChatTurn
from antiphon.flow.express import Express, find_lane, lanes
from antiphon.flow.express_judged import Calm, JudgedExpress, may_board
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Upstream
from antiphon.flow.relay import Gather
from antiphon.flow.turn import AnyTurn, R, Turn
from antiphon.flow.way import Way, Work
from antiphon.http.server import Exchange
from antiphon.safety.policy import Policy
from antiphon.server.client import ChatClient

CLOSE_LIMIT = 5.0  # seconds
TICK = 0.25  # seconds
MOST_PIECES = 100_000
MOST_TEXT = 4_000_000  # characters


class Turns:
    def __init__(self, gateway: Gateway, silence: float) -> None:
        self._gateway = gateway
        self._lanes = lanes(gateway.routes, gateway.upstreams)
        self._judged = gateway.judge is not None
        self._calms: dict[Policy, Calm] = {}
        self._silence = silence  # seconds before a keep-alive comment (decision 15)
        self._tasks: dict[ChatClient, tuple[asyncio.Task[None], AnyTurn]] = {}
        self._ticking = False

    def begin(self, turn: ChatTurn, exchange: Exchange, *, stream_asked: bool) -> None:
        """Raises RequestError. `stream_asked`: outside the body, which wins if it says so itself."""
        document = decode(exchange.request.body)
        if stream_asked and document.get("stream") is None:
            document["stream"] = True
        turn.request = parse(document, strict=turn.strict)
        self.start(turn, CHAT)

    def start(self, turn: Turn[R], way: Way[R] | Work[R], begun: tuple[Upstream, Gather] | None = None) -> None:
        client = turn.client
        assert isinstance(client, ChatClient)
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._answer(turn, client, way, begun))
        self._tasks[client] = (task, turn)
        client.exchange.on_lost = partial(cancel, task)
        if turn.request.stream:
            client.streams = True
            if not self._ticking:
                self._ticking = True
                loop.call_later(TICK, self._tick)

    def express(self, client: ChatClient, request_id: str, dialect: Dialect, key: str | None) -> bool:
        """Tries the express lane. False: the turn takes the whole way."""
        exchange = client.exchange
        request = exchange.request
        asked = read_plain(request.body)
        if asked is None:
            return False
        lane = find_lane(self._lanes, asked.model)
        if lane is None:
            return False
        policy = self._gateway.policies.find(lane.route.model, key) if self._judged else None
        if policy is not None and not may_board(policy):
            return False
        ticket = (
            self._gateway,
            lane,
            request_id,
            asked.model,
            request.body,
            dialect,
            client,
            key,
            request.headers,
            exchange.received,
            self._get_off,
        )
        if policy is None:
            express = Express(*ticket)
        else:
            express = JudgedExpress(*ticket, policy=policy, calm=self._calm(policy), asked=asked)
        if not express.board():
            return False
        exchange.on_lost = express.leave
        return True

    def _calm(self, policy: Policy) -> Calm:
        """Written once for each policy: there are as many as the settings have."""
        calm = self._calms.get(policy)
        if calm is None:
            calm = self._calms[policy] = Calm.of(policy)
        return calm

    def give_up(self) -> None:
        error = OverloadError("The server is shutting down.", code="shutting_down", retry_after=1)
        for client, (task, turn) in list(self._tasks.items()):
            if client.exchange.closed:  # answered; only the ledger waits
                continue
            turn.error = error
            client.fail(error, turn.receipt() if turn.wants_receipt else None)
            cancel(task)

    async def close(self) -> None:
        tasks = [task for task, _ in self._tasks.values()]
        for task in tasks:
            cancel(task)
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_LIMIT)

    def _get_off(self, turn: ChatTurn, begun: tuple[Upstream, Gather] | None) -> None:
        self.start(turn, CHAT, begun)

    async def _answer(
        self, turn: Turn[R], client: ChatClient, way: Way[R] | Work[R], begun: tuple[Upstream, Gather] | None
    ) -> None:
        try:
            await answer(turn, self._gateway, way, begun)
        finally:
            del self._tasks[client]

    def _tick(self) -> None:
        """Looks after the streams while there are any. That costs a chunk nothing."""
        now = self._gateway.clock()
        streams = [(client, turn) for client, (_, turn) in self._tasks.items() if client.streams]
        for client, turn in streams:
            bound(turn.texts, client.exchange.sent)
            client.break_silence(self._silence, now)
        self._ticking = bool(streams)
        if self._ticking:
            asyncio.get_running_loop().call_later(TICK, self._tick)


def cancel(task: asyncio.Task[None]) -> None:
    """Not before its first step, which is due: a task cancelled before that never runs, and its turn leaves no entry.
    (In TLS a request and the end of its connection can come in one read.)"""
    asyncio.get_running_loop().call_soon(task.cancel)


def bound(texts: list[str], sent: int) -> None:
    """What an answer has said is kept for counting only: the beginning of an endless one will do."""
    if len(texts) > MOST_PIECES or (sent > MOST_TEXT and len(texts) > 1):
        texts[:] = ["".join(texts)[:MOST_TEXT]]
