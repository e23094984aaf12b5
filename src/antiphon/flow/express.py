"""The express lane: a plain request, one target, a plain answer. No document, no task, no copy but the model's name.

Half of what a JSON turn costs is work that a usual one does not need (bench/RESULTS.md). Whatever is not usual gets off
here and takes the whole way in `answer`: the request before it is sent, the answer when it has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from antiphon.chat.plain_request import with_model
from antiphon.chat.request import ChatRequest, decode, parse
from antiphon.errors import UpstreamError
from antiphon.flow import settle
from antiphon.flow.answer import CLIENT_CLOSED
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Upstream
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


def plain_request(model: str) -> ChatRequest:
    """What a plain request answers to the rest of the gateway; its document is read only if it gets off."""
    return ChatRequest({}, model, False, 1, False, False, False, False, False)


class Express:
    """One turn on the lane. `get_off` takes it over with what has come so far."""

    __slots__ = ("_body", "_gateway", "_get_off", "_lane", "gather", "turn")

    def __init__(
        self, turn: Turn, body: bytes, lane: Lane, gateway: Gateway, get_off: Callable[[Express], None]
    ) -> None:
        self.turn = turn
        self._body = body
        self._lane = lane
        self._gateway = gateway
        self._get_off = get_off
        self.gather = Gather(1, self._told, turn.dialect.keeps_id)

    @property
    def upstream(self) -> Upstream:
        return self._lane.upstream

    def board(self) -> bool:
        """Sends the request. False: it is not plain which of its bytes name the model."""
        turn, lane = self.turn, self._lane
        asked = turn.request.model
        wanted = lane.model
        body = self._body if wanted is None or wanted == asked else with_model(self._body, asked, lane.spelled)
        if body is None:
            return False
        turn.route = lane.route
        turn.attempts.append(Attempt(lane.route.targets[0], wanted or asked, self._gateway.clock()))
        call = lane.upstream.open(body, turn.headers, stream=False, receiver=self.gather, source=0)
        self.gather.calls.append(call)
        return True

    def leave(self) -> None:
        """The client is gone."""
        self.gather.close()
        settle.post(self.turn, self._gateway, CLIENT_CLOSED)

    def _told(self, error: UpstreamError | None) -> None:
        plain, turn = self.gather.plain, self.turn
        if plain is None:
            turn.failure = error
            turn.request = parse(decode(self._body), strict=False)  # cannot fail: it was plain
            self._get_off(self)
            return
        usage = plain.usage
        turn.usage = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        turn.usage_source = "reported"
        turn.client.answer(self.gather.plain_body)
        settle.post(turn, self._gateway, 200)
