"""What is read of requests of the Messages API. Blocks of other types stay as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from antiphon.apis.unread import ObjectShape, RequestShape, shape_of

_TEXT: Final = shape_of("type", "text", "cache_control", "citations")
_IN_RESULT: Final = ObjectShape({}, types={"text": _TEXT})
_BLOCK: Final = ObjectShape(
    {},
    types={
        "text": _TEXT,
        "tool_use": shape_of("type", "id", "name", "input", "caller", "toolset_name", "extra_content", "cache_control"),
        "tool_result": shape_of("type", "tool_use_id", "is_error", "cache_control", content=_IN_RESULT),
    },
)

SHAPE: Final = RequestShape(
    {
        "system": _TEXT,
        "messages": shape_of("role", content=_BLOCK),
        "tool_choice": shape_of("type", "name", "disable_parallel_tool_use"),
        "output_config": replace(shape_of(format=shape_of("type", "schema")), takes_others=True),
    },
    at=".{}",
)
