"""What the endpoints beside chat share: the document goes to the upstream with the target's model in it."""

from __future__ import annotations

from dataclasses import replace

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.prompt_request import PromptRequest
from antiphon.errors import RequestError
from antiphon.flow.endpoints.endpoint import Receiver, send, sent_document
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Upstream
from antiphon.flow.turn import Attempt, Turn

PromptTurn = Turn[PromptRequest]


def pass_on(turn: PromptTurn, upstream: Upstream, attempt: Attempt, receiver: Receiver) -> Receiver:
    """Sends the request. Raises RequestError where the upstream does not have the endpoint."""
    request = turn.request
    there = upstream.at(request.endpoint)
    if there is None:
        text = f"The model `{request.model[:200]}` is not supported in the v1/{request.endpoint} endpoint."
        raise RequestError(text, status=404, param="model", code="unsupported_endpoint")
    prepared = there.prepare(sent_document(request, there), attempt.model, strict=turn.strict, key=turn.key)
    turn.changes = prepared.changes
    turn.client.follow(receiver)
    send(turn, there, prepared, receiver)
    return receiver


def prompt_stamp(turn: PromptTurn, gateway: Gateway) -> AnswerDefaults:
    stamp = gateway.stamp(turn.dialect, turn.attempts[-1].model)
    return replace(stamp, new_id=lambda: "cmpl-" + gateway.entropy(16).hex())
