"""The prompt before the judge, and a whole answer. (A streamed answer: `guard`.)"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Final

from antiphon.chat.completion import Conformed
from antiphon.chat.spoken import readings
from antiphon.errors import AntiphonError, BlockedError, OverloadError
from antiphon.flow.gateway import Gateway
from antiphon.flow.guard import RESULTS, Terms
from antiphon.flow.guarded import PROMPT_RESULTS, GuardedRelay
from antiphon.flow.ports import Document, Scope
from antiphon.flow.relay import Relay
from antiphon.flow.turn import AnyTurn
from antiphon.flow.voice import CONTENT_FILTER, Form
from antiphon.safety.annotation import merged, merged_prompts
from antiphon.safety.moderation import moderation_part
from antiphon.safety.policy import Decision, Policy
from antiphon.safety.verdict import CALM, FAILURE, Stage, Verdict

BLOCKED: Final = (
    "The response was filtered due to the prompt triggering the content management policy of this server. "
    "Please modify your prompt and retry."
)
UNJUDGED: Final = "The prompt could not be evaluated, and this server answers only what was. Please try again."

Asked = asyncio.Future[Verdict]


def ask(turn: AnyTurn, gateway: Gateway, form: Form | None) -> Asked | None:
    """Puts the prompt before the judge. None: nobody is to judge this turn."""
    if gateway.judge is None or form is None or turn.route is None:
        return None
    policy = gateway.policies.find(turn.route.model, turn.key)
    if policy is None:
        return None
    turn.policy = _tightened(policy, turn.request.document.get("moderation"))
    texts = form.prompt(turn.request.document)
    if not texts:
        known: Asked = asyncio.get_running_loop().create_future()
        known.set_result(FAILURE if texts is None else CALM)
        return known
    return gateway.judge.ask(Stage.PROMPT, [reading for text in texts for reading in readings(text)], scope(turn))


async def weigh(turn: AnyTurn, asked: Asked) -> None:
    """Waits for the prompt's verdict. Raises BlockedError, or OverloadError where it has to be judged and cannot be."""
    policy = turn.policy
    assert policy is not None
    turn.prompt_verdict = await asked
    decision = policy.prompt.decide(turn.prompt_verdict)
    turn.prompt_results = decision.results
    if decision.blocked:
        raise _refusal(turn, decision, policy.block_status)


async def race(turn: AnyTurn, asked: Asked, dispatching: Coroutine[Any, Any, Relay | Conformed]) -> Relay | Conformed:
    """The upstream is asked while the prompt is judged; of its answer nothing is used before the verdict."""
    attempt = asyncio.ensure_future(dispatching)
    try:
        await weigh(turn, asked)
        answered = await attempt
    except BaseException:
        attempt.cancel()
        [left] = await asyncio.gather(attempt, return_exceptions=True)
        if isinstance(left, Relay):
            left.close()
        raise
    if isinstance(answered, GuardedRelay):
        assert turn.prompt_results is not None
        answered.open_gate(turn.prompt_results)
    return answered


async def judge_answer(turn: AnyTurn, gateway: Gateway, form: Form, document: Document) -> None:
    """A whole answer: each choice gets its verdict; what is blocked is taken away."""
    policy = turn.policy
    if gateway.judge is None or policy is None:
        return
    choices = document["choices"]
    texts = [form.text(choice) for choice in choices]
    asked = [gateway.judge.ask(Stage.ANSWER, readings(text), scope(turn)) if text else None for text in texts]
    for choice, future in zip(choices, asked, strict=True):
        verdict = CALM if future is None else await future
        turn.answer_verdicts.append(verdict)
        decision = policy.answer.decide(verdict)
        turn.answer_results[choice["index"]] = decision.results
        if decision.blocked:
            turn.blocked = Stage.ANSWER.value
            form.blank(choice)
            choice["finish_reason"] = CONTENT_FILTER
        if tells(turn):
            choice[RESULTS] = merged(choice.get(RESULTS), decision.results)
    if tells(turn):
        assert turn.prompt_results is not None
        document[PROMPT_RESULTS] = merged_prompts(document.get(PROMPT_RESULTS), turn.prompt_results)


def moderation(turn: AnyTurn) -> Document | None:
    """What a client asked for by `moderation` (spec §4.5). None: it did not, or nobody has judged."""
    policy = turn.policy
    if policy is None or turn.prompt_verdict is None or not turn.request.document.get("moderation"):
        return None
    return {
        "input": moderation_part([turn.prompt_verdict], policy.prompt),
        "output": moderation_part(turn.answer_verdicts, policy.answer),
    }


def terms(turn: AnyTurn, gateway: Gateway, form: Form) -> Terms | None:
    """What the turn's stream is guarded by. None: it is not."""
    if gateway.judge is None or turn.policy is None:
        return None
    size = sum(map(len, form.prompt(turn.request.document) or ()))
    return Terms(turn.policy, gateway.judge, scope(turn), form, tells(turn), size)


def tells(turn: AnyTurn) -> bool:
    """Decision 2: annotations are always on in skytells; elsewhere by setting."""
    return turn.policy is not None and (turn.policy.annotations or turn.dialect.spelling.filter_results)


def scope(turn: AnyTurn) -> Scope:
    return Scope(turn.route.model if turn.route else None, turn.key)


def _tightened(policy: Policy, asked: object) -> Policy:
    """A request may ask for a block where the policy has none. It cannot loosen anything (decision 20)."""
    modes = asked.get("policy") if isinstance(asked, dict) else None
    if not isinstance(modes, dict):
        return policy
    blocks = {side for side, mode in modes.items() if isinstance(mode, dict) and mode.get("mode") == "block"}
    return replace(
        policy,
        prompt=policy.prompt.tightened() if "input" in blocks else policy.prompt,
        answer=policy.answer.tightened() if "output" in blocks else policy.answer,
    )


def _refusal(turn: AnyTurn, decision: Decision, status: int) -> AntiphonError:
    if decision.unjudged:
        return OverloadError(UNJUDGED, code="content_filter_error", retry_after=1)
    turn.blocked = Stage.PROMPT.value
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": decision.results}
    extra = {"innererror": inner} if tells(turn) else None
    return BlockedError(BLOCKED, status=status, param="prompt", extra=extra)
