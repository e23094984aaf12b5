"""What `response_format` demands of a text answer, as a grammar."""

from __future__ import annotations

from typing import Any, Final, Protocol

from antiphon.document import Document
from antiphon.engine.schema.compiler_client import SchemaPlace
from antiphon.engine.schema.grammar import START, any_object
from antiphon.engine.schema.lark import rule_of
from antiphon.engine.schema.narrow import SchemaBounds
from antiphon.errors import RequestError

SIGN: Final = '"properties"'  # that a text may hold a schema


class Reads(Protocol):
    async def rule(self, schema: Any, place: SchemaPlace) -> str: ...

    async def rule_in(self, texts: list[str]) -> str | None: ...


async def answer_grammar(
    document: Document, messages: list[Document], reads: Reads, bounds: SchemaBounds
) -> str | None:
    """None: free text. `messages` have their contents as plain strings. Raises RequestError."""
    form = document.get("response_format") or {"type": "text"}
    if form["type"] == "text":
        return None
    if form["type"] == "json_object":
        # The schema that the conversation itself spells, where it spells one; else any object.
        texts = [message["content"] for message in messages if SIGN in message["content"]]
        return START + (await reads.rule_in(texts) or rule_of(any_object(bounds)))
    if form["type"] != "json_schema":
        raise RequestError(
            f"Invalid parameter: 'response_format' of type '{form['type'][:64]}' is not supported with this model.",
            param="response_format",
        )
    wanted = form["json_schema"]
    place = SchemaPlace(f"response_format '{wanted['name']}'", "response_format", strict=wanted.get("strict") is True)
    return START + await reads.rule(wanted.get("schema") or {"type": "object"}, place)
