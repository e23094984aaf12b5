"""Paths that clients ask for by mistake, and what they meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from antiphon.errors import RequestError
from antiphon.http.server import Request
from antiphon.server.paths import EndpointName, find

MOST: Final = 200  # characters of a path that are looked at
_TWICE: Final = re.compile(r"/(v1|v1beta|api)(/\1)+(?=/|$)")
_SLASHES: Final = re.compile(r"/{2,}")
# Bases that SDKs put before the path of an endpoint.
_BASES: Final = ("/v1", "/api", "/v1beta", "/openai/v1")

Knows = Callable[[bytes], bool]


def find_meant(asked: bytes, knows: Knows) -> bytes | None:
    """The path that was meant. None: nobody can tell. `knows`: is there such a path?"""
    if len(asked) > MOST:
        return None
    path = asked.decode("latin-1")
    candidates = [path]
    tidy = _SLASHES.sub("/", path).rstrip("/")
    candidates += [tidy, tidy.lower(), _TWICE.sub(r"/\1", tidy)]
    candidates += [base + tidy for base in _BASES]
    for base in _BASES:  # behind a prefix that is not ours: /proxy/v1/chat/completions
        place = tidy.rfind(base + "/")
        if place > 0:
            candidates.append(tidy[place:])
    candidates += [tidy.removesuffix(suffix) for suffix in ("/chat/completions", "/messages", "/responses")]
    candidates.append(tidy.replace("/chat/completion", "/chat/completions") if tidy.endswith("/completion") else tidy)
    meant = [found.encode("latin-1") for found in candidates]
    return next((found for found in meant if found != asked and knows(found)), None)


def unknown_path(request: Request) -> RequestError:
    text = f"Invalid URL ({request.method.decode('latin-1')} {request.path[:200].decode('latin-1')})"
    meant = find_meant(request.path, lambda path: find(path) is not None)
    if meant is not None:
        text += f". Did you mean {meant.decode('latin-1')}?"
    return RequestError(text, status=404, code="unknown_url")


def wrong_method(request: Request) -> RequestError:
    text = f"Not allowed to {request.method.decode('latin-1')} on {request.path[:200].decode('latin-1')}."
    place = find(request.path)
    if place is not None and place.endpoint is EndpointName.MODEL and place.api == "gemini" and b":" in request.path:
        return unknown_path(request)  # an action that Gemini has and the gateway has not: /v1beta/models/m:embedContent
    if place is not None:
        text += f" It takes {b' or '.join(place.methods).decode()}."
    return RequestError(text, status=405, code="method_not_supported")
