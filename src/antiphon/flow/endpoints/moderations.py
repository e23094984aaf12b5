"""POST /v1/moderations: the evaluators' verdict on texts, in OpenAI's shape. No upstream is asked."""

from __future__ import annotations

from typing import Final

from antiphon.chat.bounds import JsonBounds
from antiphon.chat.prompt_request import PromptRequest, parse_moderation
from antiphon.chat.request import decode
from antiphon.chat.spoken import readings
from antiphon.errors import OverloadError, RequestError
from antiphon.flow.endpoints.endpoint import LocalEndpoint
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Document, Incoming, Scope
from antiphon.flow.turn import Turn
from antiphon.safety.moderation import MODEL, moderation_result
from antiphon.safety.policy import Side
from antiphon.safety.verdict import FAILURES, Stage, Verdict

TOGETHER: Final = 8  # texts that are asked about at once
OFF: Final = "The evaluators of this server are switched off."
UNJUDGED: Final = "The input could not be evaluated. Please try again."


class ModerationsEndpoint(LocalEndpoint[PromptRequest]):
    asks = "input"

    def parse(self, incoming: Incoming, bounds: JsonBounds) -> PromptRequest:
        return parse_moderation(decode(incoming.body, bounds), strict=incoming.strict)

    async def answer(self, turn: Turn[PromptRequest], gateway: Gateway) -> Document:
        if gateway.judge is None:
            raise RequestError(OFF, status=404, code="evaluators_off")
        policy = gateway.policies.find("", turn.key, turn.dialect.name)
        side = policy.prompt if policy is not None else Side(Stage.PROMPT)
        scope = Scope(None, turn.key)
        texts = input_texts(turn.request.document)
        verdicts: list[Verdict] = []
        for start in range(0, len(texts), TOGETHER):
            some = [gateway.judge.ask(Stage.PROMPT, readings(text), scope) for text in texts[start : start + TOGETHER]]
            verdicts += [await future for future in some]
        if any(verdict.error in FAILURES for verdict in verdicts):
            raise OverloadError(UNJUDGED, code="content_filter_error", retry_after=1)
        results = [moderation_result(verdict, side) for verdict in verdicts]
        return {"id": "modr-" + gateway.entropy(12).hex(), "model": MODEL, "results": results}


def input_texts(document: Document) -> list[str]:
    """Of a checked request: one input, several, or one made of parts."""
    asked = document["input"]
    if type(asked) is str:
        return [asked]
    if type(asked[0]) is str:
        return list(asked)
    return ["\n".join(part["text"] for part in asked)]


MODERATIONS = ModerationsEndpoint()
