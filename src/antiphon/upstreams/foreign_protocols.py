"""The foreign protocols by the names that rows of the catalog use. Each is imported when an upstream first needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple

from antiphon.models.table import ModelTable
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import ForeignProtocol

DEFAULTS: Final = ModelFacts()


class Spoken(NamedTuple):
    """A protocol, and the facts of its models: `usual` where a row of the table says the rest, `unknown` where there is
    no row."""

    protocol: ForeignProtocol
    usual: Callable[[str], ModelFacts]
    unknown: Callable[[str], ModelFacts]

    def facts(self, table: ModelTable, vendor: str, model: str) -> ModelFacts:
        found = table.find(model, vendor)
        return self.unknown(model) if found is None else found.row.facts(self.usual(model))


def _usual(model: str) -> ModelFacts:
    return DEFAULTS


def _anthropic(flavor: str = "anthropic") -> Spoken:
    room = import_module("antiphon.protocols.anthropic")
    return Spoken(room.Anthropic(room.FLAVORS[flavor]), _usual, lambda model: room.DEFAULTS)


def _anthropic_bedrock() -> Spoken:
    room = import_module("antiphon.protocols.anthropic")
    return Spoken(import_module("antiphon.protocols.bedrock").Invoke(), _usual, lambda model: room.DEFAULTS)


def _gemini(name: str = "GEMINI") -> Spoken:
    room = import_module("antiphon.protocols.gemini")
    return Spoken(getattr(room, name), room.default_facts, room.default_facts)


def _bedrock() -> Spoken:
    return Spoken(import_module("antiphon.protocols.bedrock").Bedrock(), _usual, _usual)


def _cohere() -> Spoken:
    return Spoken(import_module("antiphon.protocols.cohere").Cohere(), _usual, _usual)


PROTOCOLS: Final[Mapping[str, Callable[[], Spoken]]] = MappingProxyType(
    {
        "anthropic": _anthropic,
        "anthropic-vertex": lambda: _anthropic("vertex"),
        "anthropic-bedrock": _anthropic_bedrock,
        "gemini": _gemini,
        "gemini-vertex": lambda: _gemini("VERTEX_GEMINI"),
        "bedrock": _bedrock,
        "cohere": _cohere,
    }
)
