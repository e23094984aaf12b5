"""Which path is what, and in which dialect. A path prefix always decides the dialect (decision 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from urllib.parse import unquote_to_bytes


class Endpoint(Enum):
    CHAT = "chat"
    COMPLETIONS = "completions"
    EMBEDDINGS = "embeddings"
    MODERATIONS = "moderations"
    MODELS = "models"
    MODEL = "model"
    HEALTH = "health"
    READY = "ready"

    @property
    def method(self) -> bytes:
        return b"POST" if self in TURNS else b"GET"


TURNS = frozenset({Endpoint.CHAT, Endpoint.COMPLETIONS, Endpoint.EMBEDDINGS, Endpoint.MODERATIONS})  # begin a turn
HEALTH = frozenset({Endpoint.HEALTH, Endpoint.READY})  # need no key, and are answered in any crowd


# Maritaca's own clients use /api and /api/v1 (spec §2); None: the key's dialect, else the server's.
PREFIXES: Mapping[bytes, str | None] = MappingProxyType(
    {
        b"/v1": None,
        b"/openai/v1": "openai",
        b"/crazyrouter/v1": "crazyrouter",
        b"/skytells/v1": "skytells",
        b"/maritaca/api": "maritaca",
        b"/maritaca/api/v1": "maritaca",
        b"/maritaca/v1": "maritaca",
        b"/api": "maritaca",
        b"/api/v1": "maritaca",
    }
)
BY_LENGTH = tuple(sorted(PREFIXES, key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class Place:
    endpoint: Endpoint
    dialect: str | None
    model: str = ""


def _exact() -> Mapping[bytes, Place]:
    places = {b"/healthz": Place(Endpoint.HEALTH, None), b"/readyz": Place(Endpoint.READY, None)}
    for prefix, dialect in PREFIXES.items():
        places[prefix + b"/chat/completions"] = Place(Endpoint.CHAT, dialect)
        places[prefix + b"/completions"] = Place(Endpoint.COMPLETIONS, dialect)
        places[prefix + b"/embeddings"] = Place(Endpoint.EMBEDDINGS, dialect)
        places[prefix + b"/moderations"] = Place(Endpoint.MODERATIONS, dialect)
        places[prefix + b"/models"] = Place(Endpoint.MODELS, dialect)
    return MappingProxyType(places)


EXACT = _exact()
VITAL = frozenset(path for path, place in EXACT.items() if place.endpoint in HEALTH)


def find(path: bytes) -> Place | None:
    place = EXACT.get(path)
    if place is not None:
        return place
    for prefix in BY_LENGTH:
        start = prefix + b"/models/"
        if path.startswith(start) and len(path) > len(start):
            model = unquote_to_bytes(path[len(start) :]).decode("utf-8", "replace")
            return Place(Endpoint.MODEL, PREFIXES[prefix], model)
    return None


def dialect_of(path: bytes) -> str | None:
    """The dialect that errors on an unknown path are written in."""
    for prefix in BY_LENGTH:
        if path == prefix or path.startswith(prefix + b"/"):
            return PREFIXES[prefix]
    first = path.split(b"/", 2)[1:2]
    return first[0].decode() if first and first[0] in (b"openai", b"crazyrouter", b"skytells", b"maritaca") else None
