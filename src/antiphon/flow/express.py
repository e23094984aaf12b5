"""The express lane: a plain request, one target, a plain answer. No document, no task, no copy but the model's name.

More than half of what a JSON turn costs is work that a usual one does not need (bench/RESULTS.md). What is not usual
gets off here and takes the whole way in `answer`: the request before it is sent, the answer when it has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import msgspec

from antiphon.chat.plain_answer import PlainAnswer, read_plain
from antiphon.chat.plain_request import with_model
from antiphon.chat.request import decode, parse
from antiphon.dialects import Dialect
from antiphon.errors import UpstreamError
from antiphon.flow.answer import CLIENT_CLOSED
from antiphon.flow.chat_way import ChatTurn, folder
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Call, Client, Entry, Upstream
from antiphon.flow.relay import Gather
from antiphon.flow.turn import Attempt, Turn
from antiphon.routing.route import ANY_MODEL, Route, RouteTable


@dataclass(frozen=True, slots=True)
class Lane:
    """A route with one target whose upstream takes plain requests as they are."""

    route: Route
    upstream: Upstream
    model: str | None
    spelled: bytes  # the target's model as it stands in JSON, without its quotes


def lanes(routes: RouteTable, upstreams: Mapping[str, Upstream]) -> Mapping[str, Lane | None]:
    """By model; a route that has none is there as None, so that the `*` lane does not take its turns."""
    found: dict[str, Lane | None] = {}
    for route in routes:
        target = route.targets[0]
        upstream = upstreams[target.upstream]
        spelled = msgspec.json.encode(target.model or "")[1:-1]
        single = len(route.targets) == 1 and upstream.takes_plain
        found[route.model] = Lane(route, upstream, target.model, spelled) if single else None
    return found


def find_lane(lanes: Mapping[str, Lane | None], model: str) -> Lane | None:
    return lanes[model] if model in lanes else lanes.get(ANY_MODEL)


class Express(msgspec.Struct):
    """One turn on the lane: its own record, and the receiver of its answer. `get_off` starts the whole way."""

    gateway: Gateway
    lane: Lane
    id: str
    model: str  # as asked
    body: bytes
    dialect: Dialect
    client: Client
    key: str | None
    headers: Mapping[bytes, bytes]
    began: float
    get_off: Callable[[ChatTurn, tuple[Upstream, Gather] | None], None]
    sent: float = 0.0
    call: Call | None = None
    late: Gather | None = None

    def board(self) -> bool:
        """Sends the request. False: it is not plain which of its bytes name the model."""
        changed = self._changed()
        if changed is None:
            return False
        self._send(changed)
        return True

    def _changed(self) -> bytes | None:
        lane, body = self.lane, self.body
        if lane.model is None or lane.model == self.model:
            return body if body.count(b'"model"') == 1 else None
        return with_model(body, self.model, lane.spelled)

    def _send(self, body: bytes) -> None:
        self.sent = self.gateway.clock()
        self.call = self.lane.upstream.open(body, self.headers, stream=False, receiver=self, source=0)

    def leave(self) -> None:
        """The client is gone."""
        if self.call is not None:
            self.call.cancel()
        if self.late is not None:
            self.late.close()
        self._post(CLIENT_CLOSED, None, None)

    def whole(self, body: bytes, source: int) -> None:
        plain = read_plain(body)
        if plain is None or not self.dialect.keeps_id(plain.id):
            self._gather().whole(body, 0)
            return
        self._answer(body, plain)

    def _answer(self, body: bytes, plain: PlainAnswer) -> None:
        self.client.answer(body)
        self._post(200, plain.usage.prompt_tokens, plain.usage.completion_tokens)

    @property
    def complete(self) -> bool:
        return False

    def spliced(self, read: bytes) -> bool:
        return False

    def events(self, payloads: list[bytes], source: int) -> None:
        self._gather().events(payloads, 0)

    def end(self, rest: list[bytes], source: int) -> None:
        self._gather().end(rest, 0)

    def fail(self, error: UpstreamError, source: int) -> None:
        self._gather().fail(error, 0)

    def _gather(self) -> Gather:
        """Who hears the rest of an answer that is not plain; with all of it, the turn takes the whole way."""
        if self.late is None:
            turn = self._turn()
            turn.attempts.append(Attempt(self.lane.route.targets[0], self.lane.model or self.model, self.sent))

            def told(error: UpstreamError | None) -> None:
                turn.failure = error
                self.get_off(turn, (self.lane.upstream, gather))

            gather = self.late = Gather(1, told, partial(folder, turn, self.gateway, turn.attempts[0].model, 1, False))
            if self.call is not None:
                gather.calls.append(self.call)
        return self.late

    def _turn(self) -> ChatTurn:
        return Turn(
            id=self.id,
            request=parse(decode(self.body), strict=False),  # cannot fail: it was plain
            dialect=self.dialect,
            client=self.client,
            strict=False,
            wants_receipt=False,
            key=self.key,
            headers=self.headers,
            began=self.began,
            route=self.lane.route,
        )

    def _post(self, status: int, prompt: int | None, completion: int | None) -> None:
        gateway = self.gateway
        gateway.ledger.post(
            Entry(
                time=gateway.wall(),
                request_id=self.id,
                status=status,
                ms=int((gateway.clock() - self.began) * 10_000) / 10,
                dialect=self.dialect.name,
                key=self.key,
                model=self.model[:200],
                route=self.lane.route.model,
                upstream=self.lane.upstream.name,
                attempts=1,
                stream=False,
                prompt_tokens=prompt,
                completion_tokens=completion,
                usage=None if prompt is None else "reported",
            )
        )
