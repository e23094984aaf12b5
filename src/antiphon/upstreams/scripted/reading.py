"""Short ways to read a foreign request, shared by its languages."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from antiphon.document import Document


def say_call(identity: object, name: object, arguments: object) -> Document:
    """A call, in OpenAI's words."""
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": text}}


def say_tool(name: object, schema: object) -> Document:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def say_choice(name: object) -> Document:
    return {"type": "function", "function": {"name": name}}


def say_format(schema: object) -> Document:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def join(texts: Iterable[object]) -> str:
    return " ".join(text for text in texts if isinstance(text, str) and text)
