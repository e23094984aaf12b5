"""The foreign protocols by the names that rows of the catalog use. Each is imported when an upstream first needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple

from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import ForeignProtocol

DEFAULTS: Final = ModelFacts()


class Spoken(NamedTuple):
    """A protocol, and what is known of a model that no table knows."""

    protocol: ForeignProtocol
    facts: Callable[[str], ModelFacts]


def _anthropic(flavor: str = "anthropic") -> Spoken:
    room = import_module("antiphon.protocols.anthropic")
    return Spoken(room.Anthropic(room.FLAVORS[flavor]), lambda model: room.DEFAULTS)


def _anthropic_bedrock() -> Spoken:
    room = import_module("antiphon.protocols.anthropic")
    return Spoken(import_module("antiphon.protocols.bedrock").Invoke(), lambda model: room.DEFAULTS)


def _gemini(name: str = "GEMINI") -> Spoken:
    room = import_module("antiphon.protocols.gemini")
    return Spoken(getattr(room, name), room.default_facts)


def _bedrock() -> Spoken:
    return Spoken(import_module("antiphon.protocols.bedrock").Bedrock(), lambda model: DEFAULTS)


def _cohere() -> Spoken:
    return Spoken(import_module("antiphon.protocols.cohere").Cohere(), lambda model: DEFAULTS)


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
