"""The life of a relayed turn: find the model → judge the prompt → plan → send → hand the answer on, unread.

Bodies pass in both directions while they arrive. The next target is tried as long as nothing has left for the client
and the body can be sent again.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from antiphon.document import Document
from antiphon.errors import AntiphonError, RequestError, UpstreamError
from antiphon.flow.dispatch import CLIENTS_FAULT
from antiphon.flow.form import FormReader
from antiphon.flow.gateway import Gateway
from antiphon.flow.judge import ask_texts, weigh_prompt
from antiphon.flow.large import measure
from antiphon.flow.ports import Change, Relayed, Upstream
from antiphon.flow.relay_answer import Transfer
from antiphon.flow.relay_body import FormBody, JsonBody, PlainBody, Sending, UploadBody, is_form, read_model
from antiphon.flow.relayed import RelayEndpoint
from antiphon.flow.turn import Attempt, Turn
from antiphon.routing.plan import plan
from antiphon.routing.route import Target

UPSTREAM: Final = b"x-antiphon-upstream"  # the header that names one
ECHO_LIMIT: Final = 200

Body = PlainBody | UploadBody


class NotSent(Exception):
    """An upstream could not be asked."""

    def __init__(self, refusal: RequestError) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class RelayRequest(msgspec.Struct):
    asked: Relayed
    model: str = ""  # "": it names none

    stream = False  # as it is meant of chat: no comment of ours breaks a silence here
    include_usage = False
    moderation = None
    outline = None

    @property
    def document(self) -> Document:
        return {}

    @property
    def light(self) -> Document:
        return {}


RelayTurn = Turn[RelayRequest]


async def relay(turn: RelayTurn, gateway: Gateway, endpoint: RelayEndpoint) -> int:
    """The status that the client was answered with. Raises AntiphonError."""
    asked = turn.request.asked
    try:
        body = await _read(turn, gateway, endpoint)
        if endpoint.names_model:
            turn.request.model = read_model((await body.find(("model",))).get("model"))
        targets = _targets(turn, gateway, endpoint)
        if gateway.billing is not None and not gateway.billing.admit(turn):
            await gateway.billing.admit_later(turn)
        await _judge(turn, gateway, endpoint, body)
        return await _dispatch(turn, gateway, endpoint, body, targets)
    finally:
        if asked.upload is not None:
            asked.upload.on_change = _nothing


async def _read(turn: RelayTurn, gateway: Gateway, endpoint: RelayEndpoint) -> Body:
    asked, kind = turn.request.asked, turn.headers.get(b"content-type", b"")
    names = ("model", *endpoint.judged)
    if asked.upload is not None:
        form = FormReader(kind, names) if endpoint.names_model else None
        return UploadBody(asked.upload, asked.most_held, form)
    if not endpoint.names_model:
        return PlainBody(asked.body)
    if is_form(kind):
        return FormBody(asked.body, kind, names)
    await measure(asked.body, gateway.bounds)
    return JsonBody(asked.body, gateway.bounds, names)


def _targets(turn: RelayTurn, gateway: Gateway, endpoint: RelayEndpoint) -> tuple[Target, ...]:
    """Those of the model's route. Without a model: the upstream that the client names, or the only one there is."""
    turn.check_model()
    if turn.request.model:
        turn.route = gateway.routes.find(turn.request.model)
        return plan(turn.route, gateway.draw)
    able = [name for name, upstream in gateway.upstreams.items() if upstream.offers(endpoint.name)]
    named = turn.headers.get(UPSTREAM)
    if named is not None:
        name = named.decode("utf-8", "replace")
        if name not in able:
            text = f"The upstream `{name[:ECHO_LIMIT]}` does not exist or does not offer v1/{endpoint.name}."
            raise RequestError(text, status=404, code="unknown_upstream")
        return (Target(name, None, 1, 0),)
    if not able:
        text = f"No upstream of this server offers v1/{endpoint.name}."
        raise RequestError(text, status=404, code="unsupported_endpoint")
    if len(able) > 1:
        first = "Name a model, or an upstream" if endpoint.names_model else "Name one"
        text = f"Several upstreams of this server offer v1/{endpoint.name}. {first} in the header {UPSTREAM.decode()}."
        raise RequestError(text, param="model" if endpoint.names_model else None, code="upstream_required")
    return (Target(able[0], None, 1, 0),)


async def _judge(turn: RelayTurn, gateway: Gateway, endpoint: RelayEndpoint, body: Body) -> None:
    """Where a prompt may be blocked. Nothing can be annotated in an answer that is not read."""
    if gateway.judge is None or not endpoint.judged:
        return
    route = turn.route.model if turn.route is not None else ""
    policy = turn.policy = gateway.policies.find(route, turn.payer, turn.dialect.name)
    if policy is None or not policy.prompt.blocks:
        return
    found = (await body.find(endpoint.judged)).values()
    texts = [text for text in found if type(text) is str and text.strip()]
    is_readable = all(text is None or type(text) is str for text in found)
    verdict = await ask_texts(turn, gateway.judge, policy, texts if is_readable else None)
    try:
        weigh_prompt(turn, verdict)
    except AntiphonError as error:
        if error.param is not None:
            error.param = endpoint.asks
        raise


async def _dispatch(
    turn: RelayTurn, gateway: Gateway, endpoint: RelayEndpoint, body: Body, targets: tuple[Target, ...]
) -> int:
    failure: UpstreamError | None = None
    refusal: RequestError | None = None
    for target in targets:
        upstream = gateway.upstreams[target.upstream]
        attempt = Attempt(target, target.model or turn.request.model, gateway.clock(), upstream.protocol)
        turn.attempts.append(attempt)
        if not upstream.offers(endpoint.name):
            refusal = refusal or _unsupported(turn.request.model, endpoint)
            attempt.close("unsupported_endpoint", gateway.clock(), 404)
            continue
        _readdress(turn, body, attempt.model)
        try:
            return await _attempt(turn, gateway, upstream, body, attempt)
        except NotSent as error:  # not for this target; another may take it
            refusal = refusal or error.refusal
        except UpstreamError as error:
            if turn.first or error.status in CLIENTS_FAULT or not body.is_replayable:
                raise
            failure = failure or error
    first = failure or refusal
    assert first is not None
    raise first


def _readdress(turn: RelayTurn, body: Body, model: str) -> None:
    """The body as this target gets it; an earlier one may have had another model."""
    if model != turn.request.model:
        body.readdress(model)
        turn.changes = (Change("model", "rewritten", f"the route's target asks for '{model}'"),)
    elif turn.changes:
        body.readdress(model)
        turn.changes = ()


async def _attempt(turn: RelayTurn, gateway: Gateway, upstream: Upstream, body: Body, attempt: Attempt) -> int:
    def first() -> None:
        turn.first = gateway.clock()

    transfer = Transfer(turn.request.asked.client, first)
    turn.client.follow(transfer)
    asked, sending = turn.request.asked, None
    try:
        if isinstance(body, UploadBody):
            sending = Sending(body, transfer.break_off)
            transfer.call = upstream.relay(asked, attempt.model, turn.headers, sending, body.length, transfer)
            sending.call = transfer.call
        else:
            transfer.call = upstream.relay(asked, attempt.model, turn.headers, body.data, None, transfer)
        failure = await transfer.ended
    except RequestError as error:
        attempt.close(error.code or "refused", gateway.clock(), error.status)
        raise NotSent(error) from None
    except asyncio.CancelledError:
        transfer.close()
        attempt.close("cancelled", gateway.clock())
        raise
    finally:
        if sending is not None:
            sending.stop()
    if failure is None:
        attempt.close("answered", gateway.clock())
        return transfer.status
    attempt.close(failure.code or "failed", gateway.clock(), failure.status)
    raise upstream.conceal(failure) if isinstance(failure, UpstreamError) else failure


def _unsupported(model: str, endpoint: RelayEndpoint) -> RequestError:
    text = f"The model `{model[:ECHO_LIMIT]}` is not supported in the v1/{endpoint.name} endpoint."
    return RequestError(text, status=404, param="model", code="unsupported_endpoint")


def _nothing() -> None:
    """Nobody waits any more."""
