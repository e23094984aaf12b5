"""One tool of a request: what the model is told of it, and the grammar of its arguments. What this model cannot call is
refused: tools that a vendor runs, and custom tools whose input has a grammar of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from antiphon.engine.calls import CallReader
from antiphon.engine.compiler_client import Place
from antiphon.engine.grammar import NO_OBJECT
from antiphon.engine.response_format import Reads
from antiphon.engine.telling import tool_line
from antiphon.errors import RequestError

Document = dict[str, Any]
INPUT: Final[Document] = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
NO_ARGUMENTS: Final[Document] = {"type": "object", "properties": {}, "additionalProperties": False}
ARGUMENTS: Final = frozenset({"properties", "$ref", "anyOf", "allOf", "oneOf", "required", "patternProperties"})


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    custom: bool
    line: str  # as it is told to the model
    rule: str  # its arguments, as the right side of a grammar rule

    def reader(self, is_likely: Callable[[str], bool] = lambda call: True) -> CallReader:
        return CallReader(self.name, custom=self.custom, is_likely=is_likely)


async def read_tool(tool: Document, param: str, reads: Reads) -> Tool:
    """Of a checked document; `param` is its place there."""
    if tool["type"] == "function":
        return await read_function(tool["function"], f"{param}.function", reads)
    if tool["type"] == "custom":
        return await read_custom(tool["custom"], f"{param}.custom", reads)
    raise RequestError(
        f"Invalid value: '{tool['type'][:64]}'. This model calls tools of the client only. "
        "Supported values are: 'function' and 'custom'.",
        param=f"{param}.type",
        code="invalid_value",
    )


async def read_function(function: Document, param: str, reads: Reads) -> Tool:
    name = function["name"]
    is_strict = function.get("strict") is True
    parameters = function.get("parameters") or {}
    # A function's object without properties takes no arguments; anywhere else it would be open.
    schema = parameters if ARGUMENTS & parameters.keys() else NO_ARGUMENTS
    param = f"{param}.parameters"
    place = Place(f"function '{name}'", param, "invalid_function_parameters", strict=is_strict, is_object=True)
    if parameters.get("type", "object") != "object":
        raise place.refusal(NO_OBJECT)
    rule = await reads.rule(schema, place)
    return Tool(name, False, tool_line(name, function.get("description") or "", schema), rule)


async def read_custom(custom: Document, param: str, reads: Reads) -> Tool:
    """Emulated as a function with one string, which `calls` spells out."""
    if (custom.get("format") or {"type": "text"})["type"] != "text":
        raise RequestError(
            "Invalid value: 'grammar'. This model writes a custom tool's input as free text. "
            "Supported values are: 'text'.",
            param=f"{param}.format.type",
            code="invalid_value",
        )
    name = custom["name"]
    line = tool_line(name, custom.get("description") or "", INPUT)
    return Tool(name, True, line, await reads.rule(INPUT, Place(f"custom tool '{name}'", param)))
