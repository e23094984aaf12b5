"""What the head of the application has to know of a body: the model that it names."""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import Decoder, encode

from antiphon.apis.reading import missing


class NamedModel(Struct):
    """Of a body, the model."""

    model: str = ""
    name: str = ""  # Ollama's older word for it


DECODER = Decoder(NamedModel)


def asked_model(body: bytes) -> str:
    """ "": it names none, or cannot be read."""
    try:
        asked = DECODER.decode(body)
    except (ValueError, RecursionError):
        return ""
    return asked.model or asked.name


def shown_model(body: bytes) -> str:
    """The model that is to be shown. Raises RequestError: none is named."""
    if not (model := asked_model(body)):
        raise missing("model")
    return model


def addressed(body: bytes, model: str) -> bytes:
    """The body with the model that the path names (Azure's deployment). Of a name that stands twice the last counts."""
    if asked_model(body) == model:
        return body
    start, brace, rest = body.rstrip().rpartition(b"}")
    if not brace or rest or not start.strip():
        return body  # no object: for the endpoint to say
    comma = b"" if start.strip() == b"{" else b","
    return b'%b%b"model":%b}' % (start, comma, encode(model))
