"""POST /v1/moderations: the evaluators' verdict on texts, in OpenAI's shape. No upstream is asked."""

from __future__ import annotations

from typing import Final

from antiphon.chat.bounds import JsonBounds
from antiphon.chat.moderated_text import readings
from antiphon.chat.prompt_request import PromptRequest, parse_moderation
from antiphon.document import Document
from antiphon.errors import OverloadError, RequestError
from antiphon.flow.endpoints.endpoint import LocalEndpoint, read_document
from antiphon.flow.gateway import Gateway
from antiphon.flow.judge_large import ask_large
from antiphon.flow.ports import Incoming, Scope
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
        document = read_document(incoming, bounds)
        return parse_moderation(document, strict=incoming.strict, outline=incoming.outline)

    async def answer(self, turn: Turn[PromptRequest], gateway: Gateway) -> Document:
        if gateway.judge is None:
            raise RequestError(OFF, status=404, code="evaluators_off")
        policy = gateway.policies.find("", turn.payer, turn.dialect.name)
        side = policy.prompt if policy is not None else Side(Stage.PROMPT)
        scope = Scope(None, turn.key)
        texts, outline = input_texts(turn.request.light), turn.request.outline
        verdicts: list[Verdict] = []
        for start in range(0, len(texts), TOGETHER):
            several = texts[start : start + TOGETHER]
            if outline is None:
                some = [gateway.judge.ask(Stage.PROMPT, readings(text), scope) for text in several]
                verdicts += [await future for future in some]
            else:
                verdicts += [await ask_large(gateway.judge, Stage.PROMPT, [text], outline, scope) for text in several]
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
