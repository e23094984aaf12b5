"""Schemas read in the test's own process, for tests of what is made of them."""

from __future__ import annotations

from typing import Any

from antiphon.engine.schema.compiler_client import SchemaPlace
from antiphon.engine.schema.grammar import Grammars, SchemaFault
from antiphon.engine.schema.in_prompt import schema_in


class Here:
    def __init__(self) -> None:
        self._grammars = Grammars()

    async def rule(self, schema: Any, place: SchemaPlace) -> str:
        try:
            return self._grammars.rule(schema, strict=place.strict, is_object=place.is_object)
        except SchemaFault as fault:
            raise place.refusal(str(fault)) from None

    async def rule_in(self, texts: list[str]) -> str | None:
        schema = schema_in(texts)
        try:
            return None if schema is None else self._grammars.rule(schema, strict=False, is_object=True)
        except SchemaFault:
            return None
