"""What differs from one generation of Gemini to the next, by the model's name. Rows of the catalog go before it."""

from __future__ import annotations

import re
from typing import Final

from antiphon.protocols.facts import ModelFacts, Thinking

# Models that came before thought signatures were checked, and before tools and JSON went together.
_EARLIER: Final = re.compile(r"(?:[\w.-]+/)*(?:gemini-(?:1|2)[.-]|gemini-(?:pro|ultra)\b|gemma|learnlm|aqa\b)")

_LEVELS: Final = ("minimal", "low", "medium", "high")
_ROWS: Final = (
    ("gemini-2.5-pro", ModelFacts(thinking=Thinking.ALWAYS, least_budget=128, most_budget=32_768)),
    ("gemini-2.5-flash-lite", ModelFacts(thinking=Thinking.BUDGET, most_budget=24_576)),
    ("gemini-2.5-flash-image", ModelFacts(takes_schema=False)),
    ("gemini-2.5-flash", ModelFacts(thinking=Thinking.BUDGET, most_budget=24_576)),
    ("gemini-3-pro", ModelFacts(thinking=Thinking.LEVEL, efforts=("low", "high"))),
    ("gemini-3.1-pro", ModelFacts(thinking=Thinking.LEVEL, efforts=("low", "medium", "high"))),
)


def is_current(model: str) -> bool:
    """Gemini 3 or later, or a name that does not say."""
    return _EARLIER.match(model) is None


def default_facts(model: str) -> ModelFacts:
    """For a model that no row of the catalog knows."""
    name = model.rpartition("/")[2]
    for prefix, facts in _ROWS:
        if name.startswith(prefix):
            return facts
    return ModelFacts(thinking=Thinking.LEVEL, efforts=_LEVELS) if is_current(model) else ModelFacts()
