"""The life of every turn: fast path → judge → plan → dispatch → conform → gate → settle.

`Turns.begin` takes each request that the server has admitted. Here a turn begins, here it ends, and here it leaves its
one entry in the ledger, whatever happens. A usual JSON turn takes the fast path, without a task (`quick`). Every other
turn is one task; cancelling that task, when the client goes away, closes its upstream connections at once. What differs
from one endpoint to another is in `endpoints/`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeAlias, cast

from antiphon.apis.api import rename
from antiphon.chat.bounds import FREE, is_light
from antiphon.chat.completion import Conformed
from antiphon.document import Document
from antiphon.errors import AntiphonError, OverloadError
from antiphon.flow import settle
from antiphon.flow.api_store import end_api_stream, goes_on, keep_api_answer
from antiphon.flow.dispatch import dispatch, outcome, read_outcome
from antiphon.flow.endpoints import CHAT, ENDPOINTS, Endpoint, LocalEndpoint
from antiphon.flow.endpoints.chat import ChatTurn
from antiphon.flow.fast_path import FastTarget, fast_body, fast_targets
from antiphon.flow.gateway import Gateway
from antiphon.flow.judge import (
    ask_prompt,
    find_policy,
    judge_answer,
    moderation,
    note_gate,
    race,
    weigh_prompt,
)
from antiphon.flow.keep import keep_answer, record_answer
from antiphon.flow.large import read_large
from antiphon.flow.ports import Incoming, Relayed
from antiphon.flow.quick import Begun, QuickTurn
from antiphon.flow.relay import RelayRequest, RelayTurn, relay
from antiphon.flow.relayed import RELAYED, RelayEndpoint
from antiphon.flow.running import Running
from antiphon.flow.stream import Ready, Stream, encode
from antiphon.flow.turn import CLIENT_CLOSED, OUR_FAULT, UNREAD, AnyTurn, Attempt, R, Turn
from antiphon.sse import DONE

AnyEndpoint: TypeAlias = Endpoint[R] | LocalEndpoint[R] | RelayEndpoint


class Turns:
    """All turns of a worker."""

    def __init__(self, gateway: Gateway, silence: float) -> None:
        """`silence`: seconds before a stream gets a keep-alive comment."""
        self._gateway = gateway
        self._fast_targets = fast_targets(gateway.routes, gateway.upstreams)
        billing = gateway.billing
        self._running = Running(gateway.clock, silence, None if billing is None else billing.look)

    def begin(self, incoming: Incoming) -> None:
        """Answers a request, now or later."""
        endpoint, bounds = ENDPOINTS[incoming.endpoint], self._gateway.bounds
        error: AntiphonError | None = None
        request: Any = None
        is_large = len(incoming.body) > FREE and not is_light(incoming.body, bounds)
        if incoming.api is not None and self._gateway.completions is not None:
            is_large = is_large or goes_on(incoming, incoming.api)  # what it goes on from has to be fetched first
        if not is_large:
            try:
                request = endpoint.parse(incoming, bounds)
            except AntiphonError as refused:
                error = refused
        turn: AnyTurn = Turn(
            incoming.id,
            request or UNREAD,
            incoming.dialect,
            incoming.client,
            incoming.strict,
            incoming.wants_receipt,
            incoming.key,
            incoming.headers,
            incoming.received,
            account=incoming.account,
            endpoint=incoming.endpoint,
        )
        if incoming.api_request is not None and request is not None:
            turn.speak_api(incoming.api_request)
        if is_large:
            self._start(turn, endpoint, unread=incoming)
            return
        try:
            if error is not None:
                raise error
            is_admitted = self._admit(turn, endpoint)
        except AntiphonError as refused:
            self._end(turn, _fail(turn, refused))
            return
        if self._gateway.completions is not None and endpoint is CHAT and incoming.api is None:
            record_answer(turn, incoming)
        if not is_admitted or endpoint is not CHAT or request.plain is None or not self._take_fast_path(turn):
            self._start(turn, endpoint, is_admitted=is_admitted)

    def _admit(self, turn: AnyTurn, endpoint: AnyEndpoint[Any]) -> bool:
        """False: it has to wait. Raises AntiphonError: its key may not use the model, or a limit is reached."""
        gateway = self._gateway
        if endpoint is CHAT or not isinstance(endpoint, LocalEndpoint):  # of an ABC: 0.3 us
            if turn.account is not None and turn.account.allows is not None:
                turn.check_model()
            if gateway.billing is not None:
                turn.route = gateway.routes.match(turn.request.model)
                if turn.route is None:
                    return True  # nobody will answer it
        return gateway.billing is None or gateway.billing.admit(turn)

    def relay(self, incoming: Incoming, asked: Relayed) -> None:
        """Hands a request on, and its answer back."""
        turn = Turn(
            incoming.id,
            RelayRequest(asked),
            incoming.dialect,
            incoming.client,
            incoming.strict,
            incoming.wants_receipt,
            incoming.key,
            incoming.headers,
            incoming.received,
            account=incoming.account,
            endpoint=asked.endpoint,
        )
        self._start(turn, RELAYED[asked.endpoint])

    def give_up(self) -> None:
        """The drain's time is over: clients that still wait are told so, rather than cut."""
        self._running.give_up()

    @property
    def open_turns(self) -> int:
        return len(self._running.turns)

    def describe(self) -> list[Document]:
        """The turns under way, for whoever looks after the gateway."""
        return self._running.describe()

    async def close(self) -> None:
        await self._running.close()

    def _take_fast_path(self, turn: ChatTurn) -> bool:
        """False: the turn takes the whole way."""
        is_judged = self._gateway.judge is not None
        if turn.wants_receipt or not turn.dialect.takes_plain or (is_judged and turn.request.stream):
            return False
        model = turn.request.model
        target = self._fast_targets.get(model)
        if target is None and model not in self._fast_targets:
            route = self._gateway.routes.match(model)
            target = None if route is None else self._fast_targets[route.model]
        if target is None:
            return False
        body = fast_body(turn.request, target.upstream, target.model or model)
        if body is None:
            return False
        turn.route = target.route
        if turn.request.stream:
            self._send_at_once(turn, target, body)
            return True
        quick = QuickTurn(turn, self._gateway, target, body, self._end, self._fall_back)
        self._running.turns[turn.client] = (turn, quick.cancel)
        turn.client.on_lost(quick.cancel)
        try:
            if is_judged:
                return quick.ask()
            quick.send()
        except Exception as error:
            quick.break_off(error)
        return True

    def _send_at_once(self, turn: ChatTurn, target: FastTarget, body: bytes) -> None:
        """Sends a request for a stream before its task begins: the task starts while the upstream works."""
        model, protocol = target.model or turn.request.model, target.upstream.protocol
        attempt = Attempt(target.route.targets[0], model, self._gateway.clock(), protocol)
        turn.attempts.append(attempt)
        ready: Ready = asyncio.get_running_loop().create_future()
        stream = CHAT.open_plain(turn, self._gateway, target.upstream, attempt, ready, body)
        self._start(turn, CHAT, (target.upstream, stream))

    def _fall_back(self, turn: AnyTurn, begun: Begun | None) -> None:
        """A turn leaves the fast path. `begun`: its attempt, which has ended already."""
        self._start(turn, CHAT, begun)

    def _start(
        self,
        turn: Turn[R],
        endpoint: AnyEndpoint[R],
        begun: Begun | None = None,
        unread: Incoming | None = None,
        is_admitted: bool = True,
    ) -> None:
        """`unread`: a request whose body has to be measured first."""
        reading = None
        if unread is not None and not isinstance(endpoint, RelayEndpoint):
            reading = self._read(turn, unread, endpoint)
        task = asyncio.get_running_loop().create_task(self._answer(turn, endpoint, begun, reading, is_admitted))
        self._running.add_task(turn, task)

    async def _read(self, turn: Turn[R], unread: Incoming, endpoint: Endpoint[R] | LocalEndpoint[R]) -> None:
        await read_large(turn, unread, endpoint, self._gateway)
        if self._gateway.completions is not None and unread.endpoint == "chat" and unread.api is None:
            record_answer(turn, unread)

    async def _answer(
        self,
        turn: Turn[R],
        endpoint: AnyEndpoint[R],
        begun: Begun | None,
        reading: Coroutine[Any, Any, None] | None,
        is_admitted: bool,
    ) -> None:
        gateway, status = self._gateway, CLIENT_CLOSED
        try:
            if reading is not None:
                await reading
                is_admitted = self._admit(turn, endpoint)
                self._running.watch(turn)
            if not is_admitted and gateway.billing is not None:
                await gateway.billing.admit_later(turn)
            if isinstance(endpoint, LocalEndpoint):
                turn.client.answer(encode(await endpoint.answer(turn, gateway)))
                status = 200
            elif isinstance(endpoint, RelayEndpoint):
                status = await relay(cast(RelayTurn, turn), gateway, endpoint)
            elif turn.request.stream:
                await _stream(turn, gateway, endpoint, begun)
                status = 200
            else:
                await _whole(turn, gateway, endpoint, begun)
                status = 200
        except AntiphonError as error:
            if error.code == "context_length_exceeded":
                error.param = endpoint.asks
            status = _fail(turn, error)
            if turn.usage is None and turn.texts:  # cut in the middle: what was said still counts
                await settle.count(turn, gateway, None, turn.texts)
        except asyncio.CancelledError:  # the client is gone, or was told why it must go; what was said still counts
            status = turn.error.status if turn.error is not None else CLIENT_CLOSED
            if turn.usage is None and turn.texts:
                await settle.count(turn, gateway, None, turn.texts)
        except MemoryError as error:
            gateway.ledger.error("a turn failed for want of memory", error, turn.id)
            status = _fail(turn, OverloadError("The server has no memory for this request.", retry_after=1))
        except Exception as error:
            gateway.ledger.error("a turn failed by our own fault", error, turn.id)
            status = _fail(turn, AntiphonError(OUR_FAULT))
        finally:
            self._end(turn, status)

    def _end(self, turn: AnyTurn, status: int) -> None:
        """Every turn ends here, once."""
        gateway = self._gateway
        self._running.turns.pop(turn.client, None)
        if turn.client.record is not None and status == 200:
            keep_answer(turn, gateway)
        now = gateway.clock()
        if gateway.meter is not None:
            gateway.meter.count_turn(turn, status, now)
        wall = gateway.wall()
        if gateway.billing is not None:
            gateway.billing.end(turn, status, now, wall)
        gateway.ledger.post(turn.entry(status, now, wall))


async def _dispatch(turn: Turn[R], gateway: Gateway, endpoint: Endpoint[R]) -> Stream | Conformed:
    """Judges the prompt before the upstream is asked; or meanwhile, where it may race or cannot be blocked."""
    asked = _ask_prompt(turn, gateway, endpoint)
    if asked is None:
        return await dispatch(turn, gateway, endpoint)
    assert turn.policy is not None
    if turn.policy.races or not turn.policy.prompt.blocks:
        return await race(turn, asked, dispatch(turn, gateway, endpoint))
    weigh_prompt(turn, await asked)
    return await dispatch(turn, gateway, endpoint)


def _ask_prompt(turn: Turn[R], gateway: Gateway, endpoint: Endpoint[R]) -> asyncio.Future[Any] | None:
    turn.route = turn.route or gateway.routes.find(turn.request.model)
    if gateway.judge is None or endpoint.texts is None:
        return None
    turn.policy = turn.policy or find_policy(turn, gateway)
    if turn.prompt_verdict is not None:  # on the fast path
        weigh_prompt(turn, turn.prompt_verdict)
        return None
    return ask_prompt(turn, gateway, endpoint.texts)


async def _whole(turn: Turn[R], gateway: Gateway, endpoint: Endpoint[R], begun: Begun | None) -> None:
    if begun is None:
        answered = await _dispatch(turn, gateway, endpoint)
    else:
        answered = read_outcome(turn, gateway, endpoint, *begun)
        asked = _ask_prompt(turn, gateway, endpoint)
        if asked is not None:
            weigh_prompt(turn, await asked)
    assert isinstance(answered, Conformed)
    turn.upstream_id, turn.unparsed = answered.upstream_id, answered.unparsed
    if not settle.reported(turn, answered.usage):
        await settle.count(turn, gateway, answered.usage, answered.texts)
    if endpoint.texts is not None:
        await judge_answer(turn, gateway, endpoint.texts, answered.document)
    moderated = moderation(turn)
    if moderated is not None:
        answered.document.setdefault("moderation", moderated)
    turn.finish = ",".join(finish_reasons(answered.document)) or None
    document = endpoint.write(turn, gateway, answered.document)
    if turn.api_request is not None:
        await keep_api_answer(turn, gateway)
    if turn.wants_receipt:
        turn.price = None if gateway.billing is None else gateway.billing.price(turn)
        document["antiphon"] = turn.receipt()
    turn.client.answer(encode(document))


async def _stream(turn: Turn[R], gateway: Gateway, endpoint: Endpoint[R], begun: Begun | None) -> None:
    if begun is None:
        stream = await _dispatch(turn, gateway, endpoint)
    else:
        upstream, receiver = begun
        assert isinstance(receiver, Stream)
        stream = await outcome(turn, gateway, endpoint, upstream, receiver, receiver.ready)
    assert isinstance(stream, Stream)
    attempt, machine = turn.attempts[-1], stream.machine
    turn.texts, turn.cut_short = machine.texts, stream.cut_short
    turn.upstream_id = machine.upstream_id
    try:
        failure = await stream.finished
    except asyncio.CancelledError:
        stream.close()
        attempt.close("cancelled", gateway.clock())
        raise
    finally:
        turn.cut_short = None
        turn.finish = ",".join(machine.finishes) or None
        note_gate(turn, stream)
    if failure is not None:
        attempt.close(failure.code or "failed", gateway.clock(), failure.status)
        raise gateway.upstreams[attempt.target.upstream].conceal(failure)
    attempt.close("answered", gateway.clock())
    turn.unparsed = machine.unparsed
    usage = machine.usage
    is_shown = turn.request.include_usage or turn.wants_receipt
    is_known = settle.reported(turn, usage)
    if is_shown and not is_known:
        await settle.count(turn, gateway, usage, machine.texts)
    if turn.wants_receipt and gateway.billing is not None:
        turn.price = gateway.billing.price(turn)
    await _finish(turn, gateway, stream)
    if not is_shown and not is_known:  # nobody waits for it but the ledger
        await settle.count(turn, gateway, usage, machine.texts)


def finish_reasons(document: Document) -> list[str]:
    found = [choice.get("finish_reason") for choice in document.get("choices") or ()]
    return [reason for reason in found if isinstance(reason, str)]


async def _finish(turn: AnyTurn, gateway: Gateway, stream: Stream) -> None:
    """The finish chunk has left; moderation, receipt, usage and [DONE] follow."""
    machine, writer = stream.machine, stream.writer
    chunks = []
    moderated = None if machine.moderated else moderation(turn)
    if moderated is not None:
        chunks.append(writer.extra_chunk({**machine.envelope(), "moderation": moderated}))
    if turn.wants_receipt:
        chunks.append(writer.extra_chunk({**machine.envelope(), "antiphon": turn.receipt()}))
    if turn.usage is not None:
        usage = writer.usage_chunk(machine.usage_envelope(), turn.usage)
        if usage is not None:
            chunks.append(usage)
    frames = [*map(stream.frame, chunks)]
    frames.append(DONE if stream.api is None else await end_api_stream(turn, gateway, stream.api))
    turn.client.write(b"".join(frames))
    turn.client.finish()


def _fail(turn: AnyTurn, error: AntiphonError) -> int:
    if turn.api_request is not None and not turn.is_native:
        rename(error, turn.api_request.names)
    turn.error = error.with_traceback(None)  # its frames hold the turn, which holds it
    turn.client.fail(error, turn.receipt() if turn.wants_receipt else None)
    return error.status
