"""The life of a turn, in order: plan, dispatch, conform, settle. (Admission comes before, in `server`.)

A turn runs in one task. Cancelling that task, when the client goes away, closes its upstream connections at once.
What differs from one endpoint to another is its `Way`.
"""

from __future__ import annotations

import asyncio

from antiphon.chat.completion import Conformed
from antiphon.errors import AntiphonError
from antiphon.flow import settle
from antiphon.flow.dispatch import dispatch, judge
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Upstream
from antiphon.flow.relay import Gather, Relay, encode
from antiphon.flow.turn import AnyTurn, R, Turn
from antiphon.flow.way import Way
from antiphon.sse import DONE, frame

CLIENT_CLOSED = 499  # nginx's word for it; only ever logged


async def answer(turn: Turn[R], gateway: Gateway, way: Way[R], begun: tuple[Upstream, Gather] | None = None) -> None:
    """Answers the client, whatever happens, and posts one entry. `begun`: an attempt that has ended already."""
    status = CLIENT_CLOSED
    try:
        if turn.request.stream:
            status = await _stream(turn, gateway, way)
        else:
            status = await _whole(turn, gateway, way, begun)
    except AntiphonError as error:
        if error.code == "context_length_exceeded":
            error.param = way.asks
        status = _fail(turn, error)
    except asyncio.CancelledError:  # the client is gone, or was told why it must go; what was said so far still counts
        status = turn.error.status if turn.error is not None else CLIENT_CLOSED
        if turn.usage is None and turn.texts:
            await settle.count(turn, gateway, None, turn.texts)
    except Exception as error:
        gateway.ledger.error("a turn failed by our own fault", error, turn.id)
        status = _fail(turn, AntiphonError("The server had an error while processing your request. Sorry about that!"))
    finally:
        settle.post(turn, gateway, status)


async def _whole(turn: Turn[R], gateway: Gateway, way: Way[R], begun: tuple[Upstream, Gather] | None) -> int:
    answered = await dispatch(turn, gateway, way) if begun is None else judge(turn, gateway, way, *begun)
    assert isinstance(answered, Conformed)
    turn.upstream_id = answered.upstream_id
    if not settle.reported(turn, answered.usage):
        await settle.count(turn, gateway, answered.usage, answered.texts)
    document = way.write(turn, gateway, answered.document)
    if turn.wants_receipt:
        document["antiphon"] = turn.receipt()
    turn.client.answer(encode(document))
    return 200


async def _stream(turn: Turn[R], gateway: Gateway, way: Way[R]) -> int:
    relay = await dispatch(turn, gateway, way)
    assert isinstance(relay, Relay)
    attempt, machine = turn.attempts[-1], relay.machine
    turn.texts = machine.texts
    turn.upstream_id = machine.upstream_id
    try:
        failure = await relay.finished
    except asyncio.CancelledError:
        relay.close()
        attempt.close("cancelled", gateway.clock())
        raise
    if failure is not None:
        attempt.close(failure.code or "failed", gateway.clock(), failure.status)
        raise gateway.upstreams[attempt.target.upstream].conceal(failure)
    attempt.close("answered", gateway.clock())
    usage = machine.usage
    told = turn.request.include_usage or turn.wants_receipt
    known = settle.reported(turn, usage)
    if told and not known:
        await settle.count(turn, gateway, usage, machine.texts)
    _finish(turn, relay)
    if not told and not known:  # nobody waits for it but the ledger
        await settle.count(turn, gateway, usage, machine.texts)
    return 200


def _finish(turn: AnyTurn, relay: Relay) -> None:
    """Decision 15: finish (already sent), then receipt, usage, [DONE]."""
    last = DONE
    if turn.usage is not None:
        chunk = relay.writer.usage_chunk(relay.machine.usage_envelope(), turn.usage)
        if chunk is not None:
            last = frame(encode(chunk)) + last
    if turn.wants_receipt:
        envelope = {**relay.machine.envelope(), "antiphon": turn.receipt()}
        last = frame(encode(relay.writer.extra_chunk(envelope))) + last
    turn.client.write(last)
    turn.client.finish()


def _fail(turn: AnyTurn, error: AntiphonError) -> int:
    turn.error = error.with_traceback(None)  # its frames hold the turn, which holds it
    turn.client.fail(error, turn.receipt() if turn.wants_receipt else None)
    return error.status
