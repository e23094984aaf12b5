"""`reasoning_effort`, and the vendor's own `thinking`, as one model takes them."""

from __future__ import annotations

from typing import Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts, Thinking

_LEAST: Final = 1024  # tokens: the vendor's own limit
# Tokens of thinking for each effort, where a model takes a number.
_BUDGETS: Final = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 32_768, "max": 65_536}
_ORDER: Final = ("minimal", "low", "medium", "high", "xhigh", "max")
_USUAL: Final = ("low", "medium", "high")
_OFF: Final = {"type": "disabled"}


class Thoughts:
    """How the model shall think: what stands in `thinking` and in `output_config.effort`."""

    __slots__ = ("config", "effort", "param")

    def __init__(self, config: Document | None, effort: str | None, param: str) -> None:
        self.config = config
        self.effort = effort
        self.param = param  # what the client asked it with

    @property
    def is_on(self) -> bool:
        return self.config is not None and self.config.get("type") != "disabled"

    @property
    def has_budget(self) -> bool:
        return self.config is not None and self.config.get("type") == "enabled"

    def drop(self, reason: str, changes: Changes) -> None:
        changes.drop(self.param, reason)
        self.config = None


def encode_thinking(asked: Document, limit: int, facts: ModelFacts, changes: Changes) -> Thoughts:
    """`limit`: tokens of the answer, thinking among them."""
    own = asked.get("thinking")
    if isinstance(own, dict):
        return Thoughts(_adapted(own, limit, facts, changes), _effort_of(asked, facts, changes), "thinking")
    word = asked.get("reasoning_effort")
    if word is None:
        return Thoughts(None, None, "reasoning_effort")
    if facts.thinking is Thinking.NONE:
        if word != "none":
            changes.drop("reasoning_effort", "the model does not think")
        return Thoughts(None, None, "reasoning_effort")
    if facts.thinking is Thinking.BUDGET:
        budget = _BUDGETS.get(word, _BUDGETS["medium"])
        config = None if word == "none" else _with_budget(budget, "reasoning_effort", limit, facts, changes)
        return Thoughts(config, None, "reasoning_effort")
    if word == "none" and facts.thinking is not Thinking.ALWAYS:
        return Thoughts(dict(_OFF), None, "reasoning_effort")
    adaptive = {"type": "adaptive", "display": "summarized"}
    return Thoughts(adaptive, _effort(word, facts, changes), "reasoning_effort")


def _adapted(own: Document, limit: int, facts: ModelFacts, changes: Changes) -> Document | None:
    """The client's own `thinking`, where the model takes another kind."""
    kind, thinks = own.get("type"), facts.thinking
    if kind == "enabled" and thinks in (Thinking.ADAPTIVE, Thinking.ALWAYS):
        changes.rewrite("thinking", "the model takes no number of tokens: it is 'adaptive'")
        return {"type": "adaptive", "display": own.get("display", "summarized")}
    if kind == "adaptive" and thinks is Thinking.BUDGET:
        changes.rewrite("thinking", "the model needs a number of tokens")
        return _with_budget(_BUDGETS["medium"], "thinking", limit, facts, changes)
    if kind == "enabled" and thinks is Thinking.BUDGET:
        return _with_own_budget(own, limit, facts, changes)
    if kind == "disabled" and thinks is Thinking.ALWAYS:
        changes.drop("thinking", "the model always thinks")
        return None
    if kind != "disabled" and thinks is Thinking.NONE:
        changes.drop("thinking", "the model does not think")
        return None
    return own


def _effort_of(asked: Document, facts: ModelFacts, changes: Changes) -> str | None:
    word = asked.get("reasoning_effort")
    if word in (None, "none") or facts.thinking in (Thinking.NONE, Thinking.BUDGET):
        return None
    return _effort(str(word), facts, changes)


def _effort(word: str, facts: ModelFacts, changes: Changes) -> str | None:
    """The model's nearest effort, a lower one where two are near. A word that no table knows travels."""
    efforts = facts.efforts or _USUAL
    if word in efforts:
        return word
    if word != "none" and word not in _ORDER:
        return word
    rank = _ORDER.index(word) if word in _ORDER else 0
    lower = [effort for effort in efforts if effort in _ORDER and _ORDER.index(effort) < rank]
    nearest = lower[-1] if lower else efforts[0]
    changes.rewrite("reasoning_effort", f"the model's nearest is '{nearest}'")
    return nearest


def _with_own_budget(own: Document, limit: int, facts: ModelFacts, changes: Changes) -> Document | None:
    budget = own.get("budget_tokens")
    if type(budget) is not int or budget < limit:
        return own
    config = _with_budget(budget, "thinking", limit, facts, changes)
    if config is None:
        return None
    changes.rewrite("thinking.budget_tokens", "it must be below the limit of the answer")
    return {**own, **config}


def _with_budget(budget: int, param: str, limit: int, facts: ModelFacts, changes: Changes) -> Document | None:
    """Thinking counts toward the answer's limit: at least a fifth of it stays for the answer."""
    least = max(facts.least_budget, _LEAST)
    if limit <= least:
        changes.drop(param, f"thinking needs a limit of more than {least} tokens")
        return None
    budget = min(budget, facts.most_budget or limit, limit * 4 // 5)
    return {"type": "enabled", "budget_tokens": max(budget, least)}
