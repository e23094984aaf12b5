"""`reasoning_effort` -> what a model on Bedrock is told of thinking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from antiphon.document import Document
from antiphon.protocols.bedrock.families import CLAUDE, ModelFamily
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts, Thinking

WORDS: Final = ("minimal", "low", "medium", "high", "xhigh", "max")
# Tokens of thinking for each word, where the model wants a number.
BUDGETS: Final = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 32_768, "max": 65_536}
LEAST_BUDGET: Final = 1024
THREE: Final = ("low", "medium", "high")
EFFORT: Final = "reasoning_effort"


@dataclass(slots=True)
class Plan:
    """How a request's model will think."""

    additional: Document = field(default_factory=dict)  # for additionalModelRequestFields
    output_effort: str | None = None  # for outputConfig.effort
    max_tokens: int | None = None  # the limit that a budget needs beside it
    thinks: bool = False  # Claude, which then takes no forced tools and few values of temperature and top_p
    fixed_sampling: bool = False  # neither temperature nor top_p


@dataclass(frozen=True, slots=True)
class ThinkingRequest:
    word: str
    facts: ModelFacts
    max_tokens: int | None
    unsigned: bool  # the last calls of the history have no thinking before them
    changes: Changes


def plan(document: Document, family: ModelFamily, asked: ThinkingRequest) -> Plan:
    """A client's own `thinking` (Claude's shape) goes along as it is and decides alone."""
    own = document.get("thinking")
    if isinstance(own, dict):
        if asked.word:
            asked.changes.note(EFFORT, "dropped", "`thinking` says it.")
        return Plan({"thinking": own}, thinks=own.get("type") not in (None, "disabled"))
    if not asked.word:
        return Plan()
    # A profile that does not tell its maker: only Claude's facts have these words.
    claude_like = asked.facts.thinking in (Thinking.BUDGET, Thinking.ADAPTIVE, Thinking.ALWAYS)
    kind = CLAUDE.effort if not family.mark and claude_like else family.effort
    if kind is None:
        return _nothing(asked)
    return EFFORTS[kind](asked)


def _nothing(asked: ThinkingRequest) -> Plan:
    if asked.word != "none":
        asked.changes.drop(EFFORT, "This model does not think on request.")
    return Plan()


def _nearest(asked: ThinkingRequest, words: tuple[str, ...]) -> str:
    """The model's word for it; the nearest one where it has not this one."""
    word = asked.word
    if word in words or word not in WORDS:  # a word of a newer model travels
        return word
    rank = WORDS.index(word)
    known = [own for own in words if own in WORDS]
    nearest = min(known, key=lambda own: abs(WORDS.index(own) - rank), default=word)
    if nearest != word:
        asked.changes.rewrite(EFFORT, f"This model knows '{nearest}', not '{word}'.")
    return nearest


def _claude(asked: ThinkingRequest) -> Plan:
    thinking = asked.facts.thinking
    if asked.word == "none":
        if thinking is Thinking.ALWAYS:
            asked.changes.drop(EFFORT, "This model thinks always.")
        return Plan()
    if thinking is Thinking.BUDGET:
        return _budget(asked)
    if thinking in (Thinking.ADAPTIVE, Thinking.ALWAYS):
        word = _nearest(asked, asked.facts.efforts or ("low", "medium", "high", "max"))
        additional: Document = {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}}
        return Plan(additional, thinks=True)
    return _nothing(asked)


def _budget(asked: ThinkingRequest) -> Plan:
    """The budget is part of the limit, so it takes four fifths of it at most."""
    facts = asked.facts
    if asked.unsigned:
        asked.changes.drop(EFFORT, "The thinking before the last calls is missing, without which it cannot go on.")
        return Plan()
    least = max(facts.least_budget, LEAST_BUDGET)
    most = facts.most_budget if facts.most_budget is not None else BUDGETS["max"]
    room = asked.max_tokens if asked.max_tokens is not None else facts.max_output
    if room is not None:
        most = min(most, room * 4 // 5)
    if most < least:
        asked.changes.drop(EFFORT, f"The limit leaves no room for {least} tokens of thinking.")
        return Plan()
    tokens = min(max(BUDGETS.get(asked.word, BUDGETS["medium"]), least), most)
    limit = facts.max_output if asked.max_tokens is None else None
    return Plan({"thinking": {"type": "enabled", "budget_tokens": tokens}}, max_tokens=limit, thinks=True)


def _nova(asked: ThinkingRequest) -> Plan:
    """Amazon's rule: with the most effort neither temperature nor top_p."""
    if asked.word == "none" or (asked.facts.thinking is Thinking.NONE and not asked.facts.efforts):
        return _nothing(asked)
    word = _nearest(asked, asked.facts.efforts or THREE)
    config: Document = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": word}}
    return Plan(config, fixed_sampling=word == "high")


def _by_word(key: str) -> Callable[[ThinkingRequest], Plan]:
    def told(asked: ThinkingRequest) -> Plan:
        if asked.word == "none" and "none" not in asked.facts.efforts:
            asked.changes.drop(EFFORT, "This model cannot be kept from thinking this way.")
            return Plan()
        return Plan({key: _nearest(asked, asked.facts.efforts or THREE)})

    return told


def _output_config(asked: ThinkingRequest) -> Plan:
    """Converse's own field, for models that no row knows but whose efforts are known."""
    if not asked.facts.efforts or (asked.word == "none" and "none" not in asked.facts.efforts):
        return _nothing(asked)
    return Plan(output_effort=_nearest(asked, asked.facts.efforts))


EFFORTS: Final[Mapping[str, Callable[[ThinkingRequest], Plan]]] = {
    "claude": _claude,
    "nova": _nova,
    "reasoning_effort": _by_word("reasoning_effort"),
    "reasoning_config": _by_word("reasoning_config"),
    "output_config": _output_config,
}
