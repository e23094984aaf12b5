"""One row of the table: what is known of one model at one vendor. None: not known.

Prices are whole micro-dollars for a million tokens, which is as much as pico-dollars for one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import msgspec

from antiphon.protocols.facts import ModelFacts, Thinking

# Fields of a row -> of ModelFacts.
FACTS: Final = {
    "context": "context",
    "max_output": "max_output",
    "sampling": "takes_sampling",
    "prefill": "takes_prefill",
    "tools": "takes_tools",
    "forced_tools": "takes_forced_tools",
    "images": "takes_images",
    "json_schema": "takes_schema",
    "mid_system": "takes_mid_system",
    "efforts": "efforts",
    "least_budget": "least_budget",
    "most_budget": "most_budget",
    "max_tokens_name": "max_tokens_name",
}


class Rates(msgspec.Struct, frozen=True, omit_defaults=True):
    """Micro-dollars for a million tokens of each kind. None: as `input`, or as `output`."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None  # read from the prompt cache
    cache_write: int | None = None  # kept for five minutes
    cache_write_1h: int | None = None
    reasoning: int | None = None
    audio_input: int | None = None
    audio_cached: int | None = None
    audio_output: int | None = None
    image_input: int | None = None
    image_output: int | None = None


class Tier(Rates, frozen=True, omit_defaults=True):
    """For the whole of a turn whose prompt has more than `above` tokens."""

    above: int = 0


class Tariff(Rates, frozen=True, omit_defaults=True):
    tiers: tuple[Tier, ...] = ()  # the lowest first

    def at(self, prompt_tokens: int) -> Rates:
        """The rates of a turn with so long a prompt."""
        return next((tier for tier in reversed(self.tiers) if prompt_tokens > tier.above), self)


class Price(Tariff, frozen=True, omit_defaults=True):
    since: str | None = None  # the day from which it holds, where that is known
    services: dict[str, Tariff] = {}  # other tiers of service: batch, flex, priority


class ModelRow(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str  # as its vendor spells it
    source: str  # who says so
    date: str  # when the row last changed
    kind: str = "chat"  # or completion, embedding
    context: int | None = None
    max_output: int | None = None
    price: Price | None = None
    sampling: bool | None = None
    prefill: bool | None = None
    tools: bool | None = None
    forced_tools: bool | None = None
    images: bool | None = None
    json_schema: bool | None = None
    mid_system: bool | None = None
    thinking: Thinking | None = None
    efforts: tuple[str, ...] | None = None
    least_budget: int | None = None
    most_budget: int | None = None
    max_tokens_name: str | None = None
    shutdown: str | None = None  # the day on which it goes

    def facts(self, defaults: ModelFacts) -> ModelFacts:
        """What the row knows, over the defaults of a protocol."""
        known: dict[str, Any] = {
            fact: value for field, fact in FACTS.items() if (value := getattr(self, field)) is not None
        }
        if self.thinking is not None:
            known["thinking"] = self.thinking
        return replace(defaults, **known) if known else defaults

    def over(self, other: ModelRow) -> ModelRow:
        """This row, and what the other one knows besides."""
        known = {field: getattr(self, field) for field in self.__struct_fields__ if field != "kind"}
        return msgspec.structs.replace(other, **{field: value for field, value in known.items() if value is not None})
