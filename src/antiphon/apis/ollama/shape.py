"""What is read of Ollama's messages and tools."""

from __future__ import annotations

from typing import Final

from antiphon.apis.unread import RequestShape, shape_of

_CALL: Final = shape_of("id", "type", function=shape_of("name", "arguments", "index"))
_MESSAGE: Final = shape_of(
    *("role", "content", "images", "thinking", "tool_name", "name", "tool_call_id"), tool_calls=_CALL
)

SHAPE: Final = RequestShape({"messages": _MESSAGE, "tools": shape_of("type", "function")}, at=".{}")
