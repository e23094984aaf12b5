"""The life of a turn, in order: judge, plan, dispatch, conform, guard, settle. (Admission comes before, in `server`.)

A turn runs in one task. Cancelling that task, when the client goes away, closes its upstream connections at once.
What differs from one endpoint to another is its `Way`.
"""

from __future__ import annotations

import asyncio

from antiphon.chat.completion import Conformed
from antiphon.errors import AntiphonError
from antiphon.flow import settle
from antiphon.flow.dispatch import dispatch, read_outcome
from antiphon.flow.gateway import Gateway
from antiphon.flow.guarded import GuardedRelay
from antiphon.flow.judge import ask, judge_answer, moderation, race, weigh
from antiphon.flow.ports import Upstream
from antiphon.flow.relay import Gather, Relay, encode
from antiphon.flow.turn import AnyTurn, R, Turn
from antiphon.flow.way import Way, Work
from antiphon.safety.verdict import Stage
from antiphon.sse import DONE, frame

CLIENT_CLOSED = 499  # nginx's word for it; only ever logged


async def answer(
    turn: Turn[R], gateway: Gateway, way: Way[R] | Work[R], begun: tuple[Upstream, Gather] | None = None
) -> None:
    """Answers the client, whatever happens, and posts one entry. `begun`: an attempt that has ended already."""
    status = CLIENT_CLOSED
    try:
        if isinstance(way, Work):
            status = await way.do(turn, gateway)
        elif turn.request.stream:
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


async def _dispatch(turn: Turn[R], gateway: Gateway, way: Way[R]) -> Relay | Conformed:
    """The prompt is judged before the upstream is asked; where the policy lets them race, meanwhile."""
    turn.route = gateway.routes.find(turn.request.model)
    asked = ask(turn, gateway, way.form)
    if asked is None:
        return await dispatch(turn, gateway, way)
    if turn.policy is not None and turn.policy.races:
        return await race(turn, asked, dispatch(turn, gateway, way))
    await weigh(turn, asked)
    return await dispatch(turn, gateway, way)


async def _whole(turn: Turn[R], gateway: Gateway, way: Way[R], begun: tuple[Upstream, Gather] | None) -> int:
    answered = await _dispatch(turn, gateway, way) if begun is None else read_outcome(turn, gateway, way, *begun)
    assert isinstance(answered, Conformed)
    turn.upstream_id = answered.upstream_id
    if not settle.reported(turn, answered.usage):
        await settle.count(turn, gateway, answered.usage, answered.texts)
    if way.form is not None:
        await judge_answer(turn, gateway, way.form, answered.document)
    moderated = moderation(turn)
    if moderated is not None:
        answered.document.setdefault("moderation", moderated)
    document = way.write(turn, gateway, answered.document)
    if turn.wants_receipt:
        document["antiphon"] = turn.receipt()
    turn.client.answer(encode(document))
    return 200


async def _stream(turn: Turn[R], gateway: Gateway, way: Way[R]) -> int:
    relay = await _dispatch(turn, gateway, way)
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
    finally:
        if isinstance(relay, GuardedRelay):
            turn.answer_results, turn.answer_verdicts = relay.guard.results(), relay.guard.verdicts()
            turn.blocked = Stage.ANSWER.value if relay.guard.blocked else None
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
    """Decision 15: finish (already sent), then moderation, receipt, usage, [DONE]."""
    last = DONE
    if turn.usage is not None:
        chunk = relay.writer.usage_chunk(relay.machine.usage_envelope(), turn.usage)
        if chunk is not None:
            last = frame(encode(chunk)) + last
    if turn.wants_receipt:
        envelope = {**relay.machine.envelope(), "antiphon": turn.receipt()}
        last = frame(encode(relay.writer.extra_chunk(envelope))) + last
    moderated = None if relay.machine.moderated else moderation(turn)
    if moderated is not None:
        envelope = {**relay.machine.envelope(), "moderation": moderated}
        last = frame(encode(relay.writer.extra_chunk(envelope))) + last
    turn.client.write(last)
    turn.client.finish()


def _fail(turn: AnyTurn, error: AntiphonError) -> int:
    turn.error = error.with_traceback(None)  # its frames hold the turn, which holds it
    turn.client.fail(error, turn.receipt() if turn.wants_receipt else None)
    return error.status
