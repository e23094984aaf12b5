"""`tools` and `tool_choice`. Tools that Anthropic runs, or whose schema it knows, stay in its own shape."""

from __future__ import annotations

from typing import Final

from antiphon.apis.reading import fault, missing, read_flag, read_object, read_objects, read_text
from antiphon.document import Document

_CHOICES: Final = {"auto": "auto", "any": "required", "none": "none"}
_READ: Final = frozenset({"type", "name", "description", "input_schema", "strict"})


def read_tools(value: object) -> list[Document]:
    return [_read_tool(tool, param) for param, tool in read_objects(value, "tools")]


def is_vendors(tool: Document) -> bool:
    """A tool of Chat Completions' list that is Anthropic's own."""
    return tool.get("type") not in ("function", "custom")


def _read_tool(tool: Document, param: str) -> Document:
    if tool.get("type") not in (None, "custom"):
        read_text(tool, "type", param)
        return dict(tool)
    function: Document = {"name": read_text(tool, "name", param)}
    if tool.get("description") is not None:
        function["description"] = read_text(tool, "description", param)
    if tool.get("input_schema") is None:
        raise missing(f"{param}.input_schema")
    schema = read_object(tool["input_schema"], f"{param}.input_schema")
    if schema.get("type", "object") != "object":
        raise fault(f"{param}.input_schema.type", "Input should be 'object'")
    function["parameters"] = schema
    if tool.get("strict") is not None:
        function["strict"] = read_flag(tool["strict"], f"{param}.strict")
    own = {key: value for key, value in tool.items() if key not in _READ and value is not None}
    return {"type": "function", "function": function, **own}


def read_choice(value: object) -> Document:
    """-> `tool_choice` and, where calls must come one by one, `parallel_tool_calls`."""
    choice = read_object(value, "tool_choice")
    kind = read_text(choice, "type", "tool_choice")
    out: Document = {}
    if kind == "tool":
        out["tool_choice"] = {"type": "function", "function": {"name": read_text(choice, "name", "tool_choice")}}
    elif kind in _CHOICES:
        out["tool_choice"] = _CHOICES[kind]
    else:
        raise fault("tool_choice.type", "Input should be 'auto', 'any', 'tool' or 'none'")
    if choice.get("disable_parallel_tool_use") is not None:
        is_single = read_flag(choice["disable_parallel_tool_use"], "tool_choice.disable_parallel_tool_use")
        if is_single:
            out["parallel_tool_calls"] = False
    return out
