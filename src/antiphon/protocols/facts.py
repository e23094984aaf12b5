"""What one model takes and gives. Rows of data; a model that no row knows has the defaults of its protocol."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Thinking(Enum):
    NONE = "none"  # it does not think
    BUDGET = "budget"  # on request, with a number of tokens
    ADAPTIVE = "adaptive"  # on request, by effort
    ALWAYS = "always"  # it cannot be switched off
    LEVEL = "level"  # by a level (Gemini 3 and later)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    context: int | None = None  # tokens of a conversation
    max_output: int | None = None  # tokens of an answer
    takes_sampling: bool = True  # temperature, top_p, top_k
    takes_prefill: bool = True  # the last message may be the assistant's
    takes_forced_tools: bool = True  # tool_choice "required", or a named tool
    takes_images: bool = True
    takes_schema: bool = True  # structured output by a JSON schema
    takes_mid_system: bool = False  # system messages in mid-conversation
    thinking: Thinking = Thinking.NONE
    efforts: tuple[str, ...] = ()  # of reasoning, least first
    least_budget: int = 0  # tokens of thinking
    most_budget: int | None = None
    max_tokens_name: str | None = None  # the name of its limit, where that differs from the protocol's
    takes_tools: bool = True
