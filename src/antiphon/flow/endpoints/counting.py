"""How many tokens a prompt has, for APIs that can be asked. No upstream is asked."""

from __future__ import annotations

from typing import cast

from antiphon.apis.api import CountedRequest
from antiphon.chat.bounds import JsonBounds
from antiphon.chat.request import ChatRequest
from antiphon.document import Document
from antiphon.flow.api_turn import parse_api
from antiphon.flow.endpoints.endpoint import LocalEndpoint
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Incoming
from antiphon.flow.turn import Turn

RULE_OF_THUMB = "rule-of-thumb"  # the tokenizer that is none


class CountingEndpoint(LocalEndpoint[ChatRequest]):
    asks = "messages"

    def parse(self, incoming: Incoming, bounds: JsonBounds) -> ChatRequest:
        assert incoming.api is not None
        return parse_api(incoming, incoming.api, bounds)

    async def answer(self, turn: Turn[ChatRequest], gateway: Gateway) -> Document:
        request = turn.request
        turn.route = gateway.routes.find(request.model)
        target = turn.route.targets[0]
        counted = await gateway.counter.count(target.model or request.model, request.light, [], request.outline)
        asked = cast(CountedRequest, turn.api_request)
        return asked.count(counted.prompt, counted.tokenizer, is_exact=counted.tokenizer != RULE_OF_THUMB)


COUNTING = CountingEndpoint()
