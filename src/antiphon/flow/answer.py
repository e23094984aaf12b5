"""The life of a turn, in order: plan, dispatch, conform, settle. (Admission comes before, in `server`.)

A turn runs in one task. Cancelling that task, when the client goes away, closes its upstream connections at once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import msgspec

from antiphon.chat.completion import Conformed, conform
from antiphon.chat.request import NOT_JSON
from antiphon.chat.stream import ChatStream
from antiphon.dialects import WriteOptions, Writer
from antiphon.errors import AntiphonError, RequestError, UpstreamError
from antiphon.flow import settle
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Change, Document, Upstream
from antiphon.flow.relay import Gather, Ready, Relay, encode, tell
from antiphon.flow.turn import Attempt, Turn
from antiphon.routing.plan import plan
from antiphon.sse import DONE, frame

CLIENT_CLOSED = 499  # nginx's word for it; only ever logged
CLIENTS_FAULT = frozenset({400, 405, 409, 413, 414, 415, 422, 431})  # another target would say the same


async def answer(turn: Turn, gateway: Gateway, begun: tuple[Upstream, Gather] | None = None) -> None:
    """Answers the client, whatever happens, and posts one entry. `begun`: an attempt that has ended already."""
    status = CLIENT_CLOSED
    try:
        if turn.request.stream:
            status = await _stream(turn, gateway)
        else:
            status = await _whole(turn, gateway, begun)
    except AntiphonError as error:
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


async def _whole(turn: Turn, gateway: Gateway, begun: tuple[Upstream, Gather] | None) -> int:
    answered = _judge(turn, gateway, *begun) if begun is not None else await _dispatch(turn, gateway)
    assert isinstance(answered, Conformed)
    turn.upstream_id = answered.upstream_id
    if not settle.reported(turn, answered.usage):
        await settle.count(turn, gateway, answered.usage, answered.texts)
    assert turn.usage is not None
    document = _writer(turn, gateway, turn.attempts[-1]).completion(answered.document, turn.usage)
    if turn.wants_receipt:
        document["antiphon"] = turn.receipt()
    turn.client.answer(encode(document))
    return 200


async def _stream(turn: Turn, gateway: Gateway) -> int:
    relay = await _dispatch(turn, gateway)
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


def _finish(turn: Turn, relay: Relay) -> None:
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


async def _dispatch(turn: Turn, gateway: Gateway) -> Relay | Conformed:
    """Tries the route's targets until one begins to answer. After the first chunk there is no second try."""
    turn.route = route = gateway.routes.find(turn.request.model)
    failure: UpstreamError | None = None
    refusal: RequestError | None = None
    for target in plan(route, gateway.draw):
        upstream = gateway.upstreams[target.upstream]
        attempt = Attempt(target, target.model or turn.request.model, gateway.clock())
        turn.attempts.append(attempt)
        ready: Ready = asyncio.get_running_loop().create_future()
        try:
            receiver = _open(turn, gateway, upstream, attempt, ready)
        except RequestError as error:  # not for this target (strict); another may take it
            attempt.close(error.code or "refused", gateway.clock(), error.status)
            refusal = refusal or error
            continue
        try:
            turn.failure = await ready
            return _judge(turn, gateway, upstream, receiver)
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


def _judge(turn: Turn, gateway: Gateway, upstream: Upstream, receiver: Relay | Gather) -> Relay | Conformed:
    """What came of the attempt: a stream that has begun, a whole answer that is one, or its failure."""
    attempt = turn.attempts[-1]
    try:
        if turn.failure is not None:
            raise turn.failure
        if isinstance(receiver, Relay):
            return receiver
        stamp = gateway.stamp(turn.dialect, attempt.model)
        answered = conform(receiver.document, turn.request, stamp, think=upstream.think)
    except UpstreamError as error:
        attempt.close(error.code or "failed", gateway.clock(), error.status)
        raise upstream.conceal(error) from None
    attempt.close("answered", gateway.clock())
    return answered


def _open(turn: Turn, gateway: Gateway, upstream: Upstream, attempt: Attempt, ready: Ready) -> Relay | Gather:
    """Sends the request, n times where the upstream lacks `n`. `ready`: the answer has begun, or the attempt failed."""
    request = turn.request
    document, turn.changes = upstream.prepare(request.document, attempt.model, strict=turn.strict)
    sources = request.n if upstream.lacks_n else 1
    if sources > 1:
        turn.changes += (Change("n", "rewritten", f"sent as {sources} requests: the upstream answers one choice"),)
        if isinstance(document.get("seed"), int):
            turn.changes += (Change("seed", "rewritten", "choice i of the fan-out draws with seed + i"),)
    receiver: Relay | Gather
    if request.stream:
        machine = ChatStream(request, gateway.stamp(turn.dialect, attempt.model), sources=sources, think=upstream.think)
        writer = _writer(turn, gateway, attempt)

        def first() -> None:
            turn.first = gateway.clock()

        receiver = Relay(machine, writer, turn.client, ready, first)
    else:
        each = request.n if sources == 1 else 1
        receiver = Gather(
            sources, partial(tell, ready), partial(folder, turn, gateway, attempt.model, each, upstream.think)
        )
    turn.client.follow(receiver)
    for source in range(sources):
        body = _encode(_share(document, source) if source else document)
        call = upstream.open(body, turn.headers, stream=request.stream, receiver=receiver, source=source)
        receiver.calls.append(call)
    return receiver


def folder(turn: Turn, gateway: Gateway, model: str, n: int, think: bool) -> ChatStream:
    """Reads the stream of an upstream that was not asked for one. Every id is kept: `conform` judges it."""
    stamp = replace(gateway.stamp(turn.dialect, model), keeps_id=bool)
    return ChatStream(msgspec.structs.replace(turn.request, n=n), stamp, think=think)


def _encode(document: Document) -> bytes:
    try:
        return encode(document)
    except RecursionError:  # nested just below the decoder's own bound
        raise RequestError(NOT_JSON) from None


def _share(document: Document, source: int) -> Document:
    """Choice i of a fan-out draws with seed + i: the same seed would give the same text n times."""
    seed = document.get("seed")
    if not isinstance(seed, int):
        return document
    shifted = seed + source
    return {**document, "seed": shifted if shifted < 2**63 else shifted - 2**63}


def _writer(turn: Turn, gateway: Gateway, attempt: Attempt) -> Writer:
    options = WriteOptions(
        strict=turn.strict,
        annotations=gateway.annotations,
        target=f"{attempt.target.upstream}/{attempt.model}",
        maritaca_object=gateway.maritaca_object,
        entropy=(lambda size: gateway.entropy(size).hex()) if turn.request.include_obfuscation else None,
    )
    return turn.dialect.writer(turn.request, options)


def _fail(turn: Turn, error: AntiphonError) -> int:
    turn.error = error.with_traceback(None)  # its frames hold the turn, which holds it
    turn.client.fail(error, turn.receipt() if turn.wants_receipt else None)
    return error.status
