"""Which target answers a turn: the route's targets in their order, until one begins to."""

from __future__ import annotations

import asyncio

from antiphon.chat.completion import Conformed
from antiphon.errors import RequestError, UpstreamError
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Upstream
from antiphon.flow.relay import Gather, Ready, Relay
from antiphon.flow.turn import Attempt, R, Turn
from antiphon.flow.way import Way
from antiphon.routing.plan import plan

CLIENTS_FAULT = frozenset({400, 405, 409, 413, 414, 415, 422, 431})  # another target would say the same


async def dispatch(turn: Turn[R], gateway: Gateway, way: Way[R]) -> Relay | Conformed:
    """Tries the route's targets until one begins to answer. After the first chunk there is no second try."""
    route = turn.route = turn.route or gateway.routes.find(turn.request.model)
    failure: UpstreamError | None = None
    refusal: RequestError | None = None
    for target in plan(route, gateway.draw):
        upstream = gateway.upstreams[target.upstream]
        attempt = Attempt(target, target.model or turn.request.model, gateway.clock())
        turn.attempts.append(attempt)
        ready: Ready = asyncio.get_running_loop().create_future()
        try:
            receiver = way.open(turn, gateway, upstream, attempt, ready)
        except RequestError as error:  # not for this target; another may take it
            attempt.close(error.code or "refused", gateway.clock(), error.status)
            refusal = refusal or error
            continue
        try:
            turn.failure = await ready
            return read_outcome(turn, gateway, way, upstream, receiver)
        except UpstreamError as error:
            if error.status in CLIENTS_FAULT:
                raise
            failure = failure or error
        except asyncio.CancelledError:
            receiver.close()
            attempt.close("cancelled", gateway.clock())
            raise
    told = failure or refusal
    assert told is not None
    raise told


def read_outcome(
    turn: Turn[R], gateway: Gateway, way: Way[R], upstream: Upstream, receiver: Relay | Gather
) -> Relay | Conformed:
    """What came of the attempt: a stream that has begun, a whole answer that is one, or its failure."""
    attempt = turn.attempts[-1]
    try:
        if turn.failure is not None:
            raise turn.failure
        if isinstance(receiver, Relay):
            return receiver
        answered = way.read(turn, gateway, upstream, receiver.document)
    except UpstreamError as error:
        attempt.close(error.code or "failed", gateway.clock(), error.status)
        raise upstream.conceal(error) from None
    attempt.close("answered", gateway.clock())
    return answered
