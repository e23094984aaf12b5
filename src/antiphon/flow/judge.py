"""Asks the judge: about the prompt, about a whole answer, and for the gate of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, TypeVar

from antiphon.chat.moderated_text import readings
from antiphon.chat.outline import Outline
from antiphon.chat.together import Join
from antiphon.document import Document
from antiphon.errors import AntiphonError, BlockedError, OverloadError, RequestError, UpstreamError
from antiphon.flow.gate import CONTENT_FILTER, RESULTS, Gate, GateRules
from antiphon.flow.gate_choice import EarlyLook, Look
from antiphon.flow.gateway import Gateway
from antiphon.flow.judge_large import ask_large
from antiphon.flow.ports import Judge, Scope, Texts
from antiphon.flow.stream import PROMPT_RESULTS, Stream
from antiphon.flow.stream_parts import GateKeeper, Machine
from antiphon.flow.turn import OUR_FAULT, AnyTurn
from antiphon.safety.annotation import merged, merged_prompts
from antiphon.safety.moderation import moderation_part
from antiphon.safety.policy import Annotations, Decision, Policy
from antiphon.safety.verdict import CLEAN, FAILURE, OVER_LENGTH, TOO_LONG, Stage, Verdict

# Two phrases by which LiteLLM's client knows a block: in its later versions the first, in all the code in brackets.
BLOCKED: Final = (
    "Your request was rejected as a result of the safety system of this server: the prompt triggers its content "
    "management policy (content_policy_violation). Please modify your prompt and retry."
)
UNJUDGED: Final = "The prompt could not be evaluated, and this server answers only what was. Please try again."
OVERLONG: Final = "The prompt is longer than what this server evaluates, and it answers only what was evaluated."

Asked = asyncio.Future[Verdict]
T = TypeVar("T")


def find_policy(turn: AnyTurn, gateway: Gateway) -> Policy | None:
    """The policy of this turn. None: nobody judges it."""
    if gateway.judge is None or turn.route is None:
        return None
    policy = gateway.policies.find(turn.route.model, turn.payer, turn.dialect.name)
    asked = turn.request.moderation
    return policy if policy is None or asked is None else _tightened(policy, asked)


def annotations_for(turn: AnyTurn) -> Annotations:
    """In skytells every delta has its own; elsewhere the settings decide."""
    if turn.policy is None:
        return Annotations.NONE
    return Annotations.EVERY if turn.dialect.spelling.filter_results else turn.policy.annotations


# The prompt


def ask_prompt(turn: AnyTurn, gateway: Gateway, texts: Texts) -> Asked | None:
    """Asks about the prompt. None: nobody judges this turn."""
    if turn.policy is None or gateway.judge is None:
        return None
    found = texts.prompt(turn.request, turn.policy.judge_tools)
    return ask_texts(turn, gateway.judge, turn.policy, found, turn.request.outline)


def ask_texts(
    turn: AnyTurn, judge: Judge, policy: Policy, found: list[str] | None, outline: Outline | None = None
) -> Asked:
    """`found`: the texts of the prompt. None: they cannot be read."""
    longest = policy.max_text
    if found and (longest is None or _characters(found, outline) <= longest):
        if outline is not None:
            return asyncio.ensure_future(ask_large(judge, Stage.PROMPT, found, outline, turn.scope))
        return judge.ask(Stage.PROMPT, [each for text in found for each in readings(text)], turn.scope)
    known: Asked = asyncio.get_running_loop().create_future()
    known.set_result(FAILURE if found is None else OVER_LENGTH if found else CLEAN)
    return known


def _characters(texts: list[str] | None, outline: Outline | None) -> int:
    """A join is made of texts that count already."""
    size = len if outline is None else outline.size
    return sum(size(text) for text in texts or () if type(text) is not Join)


def weigh_prompt(turn: AnyTurn, verdict: Verdict) -> None:
    """Notes the verdict. Raises BlockedError, or OverloadError where the prompt has to be judged and cannot be."""
    policy = turn.policy
    assert policy is not None
    turn.prompt_verdict = verdict
    decision = policy.prompt.decide(verdict)
    turn.prompt_results = decision.results
    if decision.blocked:
        raise _refusal(turn, decision, policy.block_status)


async def race(turn: AnyTurn, asked: Asked, dispatching: Coroutine[Any, Any, T]) -> T:
    """Asks the upstream while the prompt is judged. Nothing of its answer is used before the verdict."""
    attempt = asyncio.ensure_future(dispatching)
    try:
        weigh_prompt(turn, await asked)
        answered = await attempt
    except BaseException:
        attempt.cancel()
        [outcome] = await asyncio.gather(attempt, return_exceptions=True)
        if isinstance(outcome, Stream):
            outcome.close()
        raise
    if isinstance(answered, Stream):
        assert turn.prompt_results is not None
        answered.open_gate(turn.prompt_results)
    return answered


# The answer


async def judge_answer(turn: AnyTurn, gateway: Gateway, texts: Texts, document: Document) -> None:
    """A whole answer: each choice gets its verdict. What is blocked is taken away."""
    policy, judge = turn.policy, gateway.judge
    if judge is None or policy is None:
        return
    choices = document["choices"]
    asked = [_ask_answer(judge, texts.whole(choice), turn.scope) for choice in choices]
    shows = bool(annotations_for(turn))
    for choice, future in zip(choices, asked, strict=True):
        verdict = CLEAN if future is None else await future
        decision = policy.answer.decide(verdict)
        note_answer(turn, choice["index"], verdict, decision)
        if decision.blocked:
            texts.blank(choice)
            choice["finish_reason"] = CONTENT_FILTER
        if shows:
            choice[RESULTS] = merged(choice.get(RESULTS), decision.results)
    if shows:
        assert turn.prompt_results is not None
        document[PROMPT_RESULTS] = merged_prompts(document.get(PROMPT_RESULTS), turn.prompt_results)


def note_answer(turn: AnyTurn, index: int, verdict: Verdict, decision: Decision) -> None:
    """Notes the verdict on a choice of a whole answer."""
    turn.answer_verdicts.append(verdict)
    turn.answer_results[index] = decision.results
    if decision.blocked:
        turn.blocked = Stage.ANSWER.value


def _ask_answer(judge: Judge, texts: list[str], scope: Scope) -> Asked | None:
    return judge.ask(Stage.ANSWER, [each for text in texts for each in readings(text)], scope) if texts else None


def keeper_for(turn: AnyTurn, gateway: Gateway, machine: Machine, texts: Texts, n: int) -> GateKeeper | None:
    """The gate of the turn's stream and what it needs. None: nobody judges the answer. `n`: choices asked for."""
    policy, judge = turn.policy, gateway.judge
    if judge is None or policy is None:
        return None
    annotations = annotations_for(turn)
    prompt = texts.prompt(turn.request, policy.judge_tools) if policy.asynchronous else None
    size = _characters(prompt, turn.request.outline)
    rules = GateRules(policy, texts, annotations, size, judge.reach(turn.scope))
    gate = Gate(rules, machine.envelope)
    asker = StreamAsker(judge, turn.scope)

    def on_fault(error: Exception) -> UpstreamError:
        gateway.ledger.error("a stream's gate failed by our own fault", error, turn.id)
        return UpstreamError(OUR_FAULT, status=500, code="internal_error")

    return GateKeeper(gate, asker, on_fault, choices=n, prompt=turn.prompt_results, shows_prompt=bool(annotations))


class StreamAsker:
    """Asks the judge about the looks of one stream."""

    __slots__ = ("_judge", "_scope")

    def __init__(self, judge: Judge, scope: Scope) -> None:
        self._judge = judge
        self._scope = scope

    def judge(self, look: Look, done: Callable[[Verdict], None]) -> None:
        texts = [each for text in look.texts for each in readings(text)]
        known = self._judge.ask_now(Stage.ANSWER, texts, self._scope, done)
        if known is not None:
            asyncio.get_running_loop().call_soon(done, known)

    def judge_early(self, look: EarlyLook, done: Callable[[bool], None]) -> bool:
        return self._judge.early(readings(look.text)[-1], self._scope, done)


def note_gate(turn: AnyTurn, stream: Stream) -> None:
    """Notes what the gate of a stream has found."""
    gate = stream.gate
    if gate is not None:
        turn.answer_results, turn.answer_verdicts = gate.results, gate.verdicts
        turn.blocked = Stage.ANSWER.value if gate.blocked else None
        turn.held = max(0.0, stream.held)  # a chunk that never left was not held for a time


# OpenAI's `moderation`


def moderation(turn: AnyTurn) -> Document | None:
    """What a client asked for by `moderation`. None: it did not, or nobody has judged."""
    policy = turn.policy
    if policy is None or turn.prompt_verdict is None or not turn.request.moderation:
        return None
    return {
        "input": moderation_part([turn.prompt_verdict], policy.prompt),
        "output": moderation_part(turn.answer_verdicts, policy.answer),
    }


def _tightened(policy: Policy, asked: object) -> Policy:
    """A request may ask for a block where the policy has none. It cannot loosen anything."""
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
    if decision.unjudged == TOO_LONG:
        return RequestError(OVERLONG, code="prompt_too_long", param="prompt")
    if decision.unjudged:
        return OverloadError(UNJUDGED, code="content_filter_error", retry_after=1)
    turn.blocked = Stage.PROMPT.value
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": decision.results}
    extra = {"innererror": inner} if annotations_for(turn) else None
    return BlockedError(BLOCKED, status=status, param="prompt", extra=extra)
