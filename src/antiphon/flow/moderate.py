"""POST /v1/moderations: the evaluators' verdict on texts, in OpenAI's shape."""

from __future__ import annotations

from typing import Final

from antiphon.chat.prompt_request import PromptRequest
from antiphon.chat.spoken import readings
from antiphon.errors import OverloadError, RequestError
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Document, Scope
from antiphon.flow.relay import encode
from antiphon.flow.turn import Turn
from antiphon.flow.way import Work
from antiphon.safety.moderation import MODEL, moderation_result
from antiphon.safety.policy import Side
from antiphon.safety.verdict import FAILED, Stage, Verdict

ModerationTurn = Turn[PromptRequest]
TOGETHER: Final = 8  # texts that are asked about at once
OFF: Final = "The evaluators of this server are switched off."
UNJUDGED: Final = "The input could not be evaluated. Please try again."


async def _moderate(turn: ModerationTurn, gateway: Gateway) -> int:
    if gateway.judge is None:
        raise RequestError(OFF, status=404, code="evaluators_off")
    policy = gateway.policies.find("", turn.key)
    side = policy.prompt if policy is not None else Side(Stage.PROMPT)
    scope = Scope(None, turn.key)
    texts = texts_of(turn.request.document)
    verdicts: list[Verdict] = []
    for start in range(0, len(texts), TOGETHER):
        some = [gateway.judge.ask(Stage.PROMPT, readings(text), scope) for text in texts[start : start + TOGETHER]]
        verdicts += [await future for future in some]
    if any(verdict.error == FAILED for verdict in verdicts):
        raise OverloadError(UNJUDGED, code="content_filter_error", retry_after=1)
    results = [moderation_result(verdict, side) for verdict in verdicts]
    document = {"id": "modr-" + gateway.entropy(12).hex(), "model": MODEL, "results": results}
    turn.client.answer(encode(document))
    return 200


def texts_of(document: Document) -> list[str]:
    """Of a checked request: one input, several, or one made of parts."""
    asked = document["input"]
    if type(asked) is str:
        return [asked]
    if type(asked[0]) is str:
        return list(asked)
    return ["\n".join(part["text"] for part in asked)]


MODERATIONS: Final = Work("input", _moderate)
