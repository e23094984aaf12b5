"""What differs from one maker's models to another's on Bedrock. Rows: Converse itself is the same for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """How the models of one maker take what Converse has no field for, in `additionalModelRequestFields`."""

    mark: str  # in the model's id: "us.anthropic.claude-…"
    effort: str | None = None  # how it is told how much to think; a row of `thinking.EFFORTS`
    top_k: tuple[str, ...] = ("top_k",)  # where `top_k` goes
    keeps_tools: bool = False  # takes tools and tool choices in its maker's own shape


UNKNOWN: Final = ModelFamily("", effort="output_config")
CLAUDE: Final = ModelFamily("anthropic.", effort="claude", keeps_tools=True)
FAMILIES: Final = (
    CLAUDE,
    ModelFamily("amazon.nova", effort="nova", top_k=("inferenceConfig", "topK")),
    ModelFamily("openai.", effort="reasoning_effort"),
    ModelFamily("qwen.", effort="reasoning_config"),
    ModelFamily("deepseek.", effort="reasoning_config"),
    ModelFamily("meta."),
    ModelFamily("mistral."),
    ModelFamily("cohere.", top_k=("k",)),
)


def family_of(model: str) -> ModelFamily:
    """An ARN of an inference profile may not tell its maker."""
    name = model.lower()
    return next((family for family in FAMILIES if family.mark in name), UNKNOWN)
