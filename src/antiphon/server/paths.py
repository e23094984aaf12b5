"""Which path is what, and in which dialect. A path prefix decides the dialect [dialect-by-path]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from urllib.parse import unquote_to_bytes

POST = (b"POST",)
GET = (b"GET",)


class EndpointName(Enum):
    CHAT = "chat"
    COMPLETIONS = "completions"
    EMBEDDINGS = "embeddings"
    MODERATIONS = "moderations"
    MODELS = "models"
    MODEL = "model"
    COUNTING = "counting"
    SHOW = "show"
    VERSION = "version"
    RELAY = "relay"
    STORED = "stored"
    HEALTH = "health"
    READY = "ready"


CHAT = EndpointName.CHAT  # an Enum looks a member up by a descriptor, in 0.1 us
STORED = EndpointName.STORED
HEALTH = frozenset({EndpointName.HEALTH, EndpointName.READY})  # need no key, and are answered in any crowd


# Maritaca's own clients use /api and /api/v1 [dialect-by-path]; None: the key's dialect, else the server's.
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
class PathMatch:
    endpoint: EndpointName
    dialect: str | None
    model: str = ""
    methods: tuple[bytes, ...] = GET
    relay: str = ""  # which of `flow.relayed`; moderations are, where a route names their model
    path: bytes = b""  # of a relayed request, behind the prefix
    api: str = ""  # another API than Chat Completions (`apis`); its dialect has the same name
    action: str = ""  # which of the API's paths it is
    several: bool = field(
        default=False, compare=False
    )  # APIs have this path; a header tells which is meant (`listed_by`)
    word: str = field(init=False)  # of the endpoint

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", self.endpoint.value)


# Paths that are relayed, behind the prefix; `{}` stands for an id.
RELAYS: Mapping[bytes, tuple[bytes, ...]] = MappingProxyType(
    {
        b"/images/generations": POST,
        b"/images/edits": POST,
        b"/images/variations": POST,
        b"/audio/speech": POST,
        b"/audio/transcriptions": POST,
        b"/audio/translations": POST,
        b"/rerank": POST,
        b"/files": (b"GET", b"POST"),
        b"/files/{}": (b"GET", b"DELETE"),
        b"/files/{}/content": GET,
        b"/batches": (b"GET", b"POST"),
        b"/batches/{}": GET,
        b"/batches/{}/cancel": POST,
    }
)
OLLAMA = (
    (b"/api/chat", EndpointName.CHAT, POST, "chat"),
    (b"/api/generate", EndpointName.CHAT, POST, "generate"),
    (b"/api/show", EndpointName.SHOW, POST, "show"),
    (b"/api/tags", EndpointName.MODELS, GET, "tags"),
    (b"/api/version", EndpointName.VERSION, GET, "version"),
)
# Gemini's and Vertex's paths: /v1beta/models/{model}:generateContent
GEMINI = re.compile(
    rb"/v1(?:beta1?|alpha)?/(?:projects/[^/]+/locations/[^/]+/publishers/[^/]+/)?models/(.+)"
    rb":(generateContent|streamGenerateContent|countTokens)"
)
# Azure's older paths, with the deployment in them.
AZURE = re.compile(rb"/openai/deployments/([^/]+)/(chat/completions|completions|embeddings)")
AZURE_ENDPOINTS = {
    b"chat/completions": EndpointName.CHAT,
    b"completions": EndpointName.COMPLETIONS,
    b"embeddings": EndpointName.EMBEDDINGS,
}
LISTED_BY = ((b"anthropic-version", "messages"), (b"x-goog-api-key", "gemini"))
# Bases of other APIs, with the API whose errors are written below them.
API_BASES = ((b"/v1beta", "gemini"), (b"/v1alpha", "gemini"), (b"/anthropic", "messages"))
HOLDERS = (b"files", b"batches")  # of things that have ids
ID = re.compile(rb"(?!\.{1,2}$)[A-Za-z0-9._~:=@+-]{1,512}")


def _exact() -> Mapping[bytes, PathMatch]:
    places = {b"/healthz": PathMatch(EndpointName.HEALTH, None), b"/readyz": PathMatch(EndpointName.READY, None)}
    for prefix, dialect in PREFIXES.items():
        places[prefix + b"/chat/completions"] = PathMatch(EndpointName.CHAT, dialect, methods=POST)
        places[prefix + b"/completions"] = PathMatch(EndpointName.COMPLETIONS, dialect, methods=POST)
        places[prefix + b"/embeddings"] = PathMatch(EndpointName.EMBEDDINGS, dialect, methods=POST)
        places[prefix + b"/moderations"] = PathMatch(
            EndpointName.MODERATIONS, dialect, methods=POST, relay="moderations", path=b"/moderations"
        )
        places[prefix + b"/models"] = PathMatch(EndpointName.MODELS, dialect, several=dialect is None)
        response = PathMatch(EndpointName.CHAT, "responses", methods=POST, api="responses")
        places[prefix + b"/responses"] = response
        places[prefix + b"/responses/compact"] = replace(response, action="compact")
        places.update(_of_messages(prefix))
        for path, methods in RELAYS.items():
            if b"{" not in path:
                name = path[1:].decode()
                places[prefix + path] = PathMatch(EndpointName.RELAY, dialect, methods=methods, relay=name, path=path)
    places.update(_of_messages(b"/anthropic/v1"))
    for prefix in (b"/anthropic/v1", b"/v1beta"):
        api = "gemini" if prefix == b"/v1beta" else "messages"
        places[prefix + b"/models"] = PathMatch(EndpointName.MODELS, api, api=api)
    for path, endpoint, methods, action in OLLAMA:
        places[path] = PathMatch(endpoint, "ollama", methods=methods, api="ollama", action=action)
    for prefix in (b"/api", b"/maritaca/api"):
        places[prefix + b"/chat/inference"] = PathMatch(EndpointName.CHAT, "maritalk", methods=POST, api="maritalk")
    return MappingProxyType(places)


def _of_messages(prefix: bytes) -> Mapping[bytes, PathMatch]:
    return {
        prefix + b"/messages": PathMatch(EndpointName.CHAT, "messages", methods=POST, api="messages"),
        prefix + b"/messages/count_tokens": PathMatch(
            EndpointName.COUNTING, "messages", methods=POST, api="messages", action="count_tokens"
        ),
    }


EXACT = _exact()
STORED_LISTS: Mapping[bytes, PathMatch] = MappingProxyType(
    {prefix + b"/chat/completions": PathMatch(EndpointName.STORED, dialect) for prefix, dialect in PREFIXES.items()}
)
VITAL = frozenset(path for path, place in EXACT.items() if place.endpoint in HEALTH)


def find(path: bytes) -> PathMatch | None:
    place = EXACT.get(path) or _find_vendors(path)
    if place is not None:
        return place
    for prefix in BY_LENGTH:
        start = prefix + b"/models/"
        if path.startswith(start) and len(path) > len(start):
            dialect = PREFIXES[prefix]
            return PathMatch(EndpointName.MODEL, dialect, _unquoted(path[len(start) :]), several=dialect is None)
        start = prefix + b"/responses/"
        if path.startswith(start):
            return _find_response(path[len(start) :])
        start = prefix + b"/chat/completions/"
        if path.startswith(start):
            return _find_stored(path[len(start) :], PREFIXES[prefix])
        if path.startswith(prefix + b"/"):
            held = _find_held(path[len(prefix) :], PREFIXES[prefix])
            if held is not None:
                return held
    return None


def _find_vendors(path: bytes) -> PathMatch | None:
    """A path of Gemini's or Azure's that names a model."""
    if (found := GEMINI.fullmatch(path)) is not None:
        action = found[2].decode()
        endpoint = EndpointName.COUNTING if action == "countTokens" else EndpointName.CHAT
        return PathMatch(endpoint, "gemini", _unquoted(found[1]), POST, api="gemini", action=action)
    if (found := AZURE.fullmatch(path)) is not None:
        return PathMatch(AZURE_ENDPOINTS[found[2]], "openai", _unquoted(found[1]), POST)
    for base, api in ((b"/v1beta", "gemini"), (b"/anthropic/v1", "messages")):
        start = base + b"/models/"
        if path.startswith(start) and len(path) > len(start):
            return PathMatch(EndpointName.MODEL, api, _unquoted(path[len(start) :]), api=api)
    return None


def _unquoted(text: bytes) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace")


def listed_by(place: PathMatch, headers: Mapping[bytes, bytes]) -> PathMatch:
    """Several APIs list their models at /v1/models. A header tells who asks."""
    for header, api in LISTED_BY:
        if header in headers:
            return replace(place, dialect=api, api=api)
    return place


def _find_stored(rest: bytes, dialect: str | None) -> PathMatch | None:
    """A stored completion, or its messages."""
    id, slash, what = rest.partition(b"/")
    if ID.fullmatch(id) is None or (slash and what != b"messages"):
        return None
    methods = GET if slash else (b"GET", b"POST", b"DELETE")
    return PathMatch(EndpointName.STORED, dialect, id.decode(), methods, action="messages" if slash else "one")


# What can be done with a stored response, behind its id.
RESPONSES: Mapping[bytes, tuple[bytes, ...]] = MappingProxyType(
    {b"": (b"GET", b"DELETE"), b"input_items": GET, b"cancel": POST}
)


def _find_response(rest: bytes) -> PathMatch | None:
    """A stored response, or the items of its input."""
    id, slash, what = rest.partition(b"/")
    if ID.fullmatch(id) is None or what not in RESPONSES or bool(slash) != bool(what):
        return None
    return PathMatch(
        EndpointName.STORED, "responses", id.decode(), RESPONSES[what], api="responses", action=what.decode()
    )


def _find_held(path: bytes, dialect: str | None) -> PathMatch | None:
    """A file or a batch."""
    _, holder, *rest = path.split(b"/")
    if holder not in HOLDERS or not rest or ID.fullmatch(rest[0]) is None:
        return None
    methods = RELAYS.get(b"/".join((b"", holder, b"{}", *rest[1:])))
    if methods is None:
        return None
    return PathMatch(EndpointName.RELAY, dialect, methods=methods, relay=holder.decode(), path=path)


def dialect_of(path: bytes) -> str | None:
    """The dialect that errors on an unknown path are written in."""
    for base, api in API_BASES:
        if path == base or path.startswith(base + b"/"):
            return api
    for prefix in BY_LENGTH:
        if path == prefix or path.startswith(prefix + b"/"):
            return PREFIXES[prefix]
    first = path.split(b"/", 2)[1:2]
    return first[0].decode() if first and first[0] in (b"openai", b"crazyrouter", b"skytells", b"maritaca") else None
