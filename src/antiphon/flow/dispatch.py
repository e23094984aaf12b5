"""Which target answers a turn: the route's targets in their order, until one begins to."""

from __future__ import annotations

import asyncio
from typing import Final

from antiphon.chat.completion import Conformed
from antiphon.errors import RequestError, UpstreamError
from antiphon.flow.endpoints.endpoint import Endpoint, Receiver
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Upstream
from antiphon.flow.stream import Ready, Stream
from antiphon.flow.turn import Attempt, R, Turn
from antiphon.routing.plan import plan

CLIENTS_FAULT: Final = frozenset({400, 405, 409, 413, 414, 415, 422, 431})  # another target would say the same


async def dispatch(turn: Turn[R], gateway: Gateway, endpoint: Endpoint[R]) -> Stream | Conformed:
    """Tries the route's targets until one begins to answer. After the first chunk there is no second try."""
    route = turn.route = turn.route or gateway.routes.find(turn.request.model)
    failure: UpstreamError | None = None
    refusal: RequestError | None = None
    for target in plan(route, gateway.draw):
        upstream = gateway.upstreams[target.upstream]
        attempt = Attempt(target, target.model or turn.request.model, gateway.clock(), upstream.protocol)
        turn.attempts.append(attempt)
        ready: Ready = asyncio.get_running_loop().create_future()
        try:
            receiver = endpoint.open(turn, gateway, upstream, attempt, ready)
        except RequestError as error:  # not for this target; another may take it
            attempt.close(error.code or "refused", gateway.clock(), error.status)
            attempt.is_unsent = True
            refusal = refusal or error
            continue
        try:
            return await outcome(turn, gateway, endpoint, upstream, receiver, ready)
        except UpstreamError as error:
            if error.status in CLIENTS_FAULT:
                raise
            failure = failure or error
    first = failure or refusal
    assert first is not None
    raise first


async def outcome(
    turn: Turn[R], gateway: Gateway, endpoint: Endpoint[R], upstream: Upstream, receiver: Receiver, ready: Ready
) -> Stream | Conformed:
    """Waits for the attempt under way, then as `read_outcome`."""
    try:
        turn.failure = await ready
    except asyncio.CancelledError:
        receiver.close()
        turn.attempts[-1].close("cancelled", gateway.clock())
        raise
    return read_outcome(turn, gateway, endpoint, upstream, receiver)


def read_outcome(
    turn: Turn[R], gateway: Gateway, endpoint: Endpoint[R], upstream: Upstream, receiver: Receiver
) -> Stream | Conformed:
    """What came of the attempt: a stream that has begun, or a whole answer. Raises the attempt's failure."""
    attempt = turn.attempts[-1]
    try:
        if turn.failure is not None:
            raise turn.failure
        if isinstance(receiver, Stream):
            return receiver
        answered = endpoint.read(turn, gateway, upstream, receiver.document)
    except UpstreamError as error:
        attempt.close(error.code or "failed", gateway.clock(), error.status)
        raise upstream.conceal(error) from None
    attempt.close("answered", gateway.clock())
    return answered
