"""`reasoning_effort` and `thinking` -> `thinkingConfig`."""

from __future__ import annotations

from typing import Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts, Thinking

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LEVELS: Final = ("minimal", "low", "medium", "high")
_BUDGETS: Final = {"none": 0, "minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}
_MOST: Final = 32_768


def thinking_config(document: Document, facts: ModelFacts, changes: Changes) -> Document:
    """Empty where the request says nothing of it."""
    effort = document.get("reasoning_effort")
    if isinstance(effort, str) and effort:
        return _by_effort(effort, facts, changes)
    thinking = document.get("thinking")  # Anthropic's spelling, which LiteLLM's clients send
    if isinstance(thinking, dict):
        return _by_budget(thinking, facts, changes)
    return {}


def _by_effort(effort: str, facts: ModelFacts, changes: Changes) -> Document:
    if facts.thinking is Thinking.NONE:
        if effort != "none":
            changes.drop("reasoning_effort", "the model does not think")
        return {}
    if facts.thinking in (Thinking.LEVEL, Thinking.ADAPTIVE):
        return {"includeThoughts": True, "thinkingLevel": _level(effort, facts, changes).upper()}
    if effort not in EFFORTS:
        changes.drop("reasoning_effort", "the model takes a number of tokens, and nothing says how many these are")
        return {}
    budget = _BUDGETS.get(effort, facts.most_budget or _MOST)
    return _budget(budget, "reasoning_effort", facts, changes)


def _level(effort: str, facts: ModelFacts, changes: Changes) -> str:
    """The level that is nearest; a word that no table knows is the model's to judge."""
    levels = facts.efforts or _LEVELS
    if effort in levels or effort not in EFFORTS:
        return effort
    rank = EFFORTS.index(effort)
    known = [level for level in levels if level in EFFORTS] or list(_LEVELS)
    nearest = next((level for level in known if EFFORTS.index(level) >= rank), known[-1])
    changes.rewrite("reasoning_effort", f"the model has no level '{effort}': '{nearest}' was sent")
    return nearest


def _budget(budget: int, param: str, facts: ModelFacts, changes: Changes) -> Document:
    least = facts.least_budget or (1 if facts.thinking is Thinking.ALWAYS else 0)
    most = facts.most_budget
    if budget >= 0 and (budget < least or (most is not None and budget > most)):
        wanted, budget = budget, max(least, min(budget, most if most is not None else budget))
        if param == "thinking" or wanted == 0:  # an effort is no exact number
            changes.rewrite(param, f"the model takes {least} to {most or 'any number of'} tokens of thinking")
    return {"includeThoughts": True, "thinkingBudget": budget} if budget else {"thinkingBudget": 0}


def _by_budget(thinking: Document, facts: ModelFacts, changes: Changes) -> Document:
    kind, tokens = thinking.get("type"), thinking.get("budget_tokens")
    if facts.thinking is Thinking.NONE:
        if kind != "disabled":
            changes.drop("thinking", "the model does not think")
        return {}
    if kind == "disabled":
        if facts.thinking is Thinking.LEVEL:
            level = (facts.efforts or _LEVELS)[0]
            changes.rewrite("thinking", f"the model always thinks: level '{level}' was sent")
            return {"thinkingLevel": level.upper()}
        return _budget(0, "thinking", facts, changes)
    if type(tokens) is int and tokens > 0:
        return _budget(tokens, "thinking", facts, changes)
    return {"includeThoughts": True}
