"""A turn whose client speaks another API than Chat Completions (`apis`): it is read and written there, at the edges."""

from __future__ import annotations

from antiphon.apis.api import ApiCall, rename
from antiphon.chat.bounds import JsonBounds
from antiphon.chat.request import ChatRequest, parse
from antiphon.errors import RequestError
from antiphon.flow.endpoints.endpoint import read_document
from antiphon.flow.ports import Incoming


def parse_api(incoming: Incoming, call: ApiCall, bounds: JsonBounds) -> ChatRequest:
    """Reads a request as its API says it, then as any chat request. Raises RequestError."""
    document = read_document(incoming, bounds)
    if incoming.outline is not None:
        call = call._replace(restore=incoming.outline.restore)
    asked = incoming.api_request = call.api.read(document, call)
    try:
        return parse(asked.document, strict=incoming.strict and not call.api.judges_strict, outline=incoming.outline)
    except RequestError as error:
        rename(error, asked.names)
        raise
