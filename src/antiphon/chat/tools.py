"""What a model may call: `tools`, `tool_choice` and their forerunners `functions`, `function_call`.

Tools of a vendor's own type (`web_search`, `code_interpreter`, …) travel unless strict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from antiphon.chat.checks import (
    Check,
    RequestFault,
    array,
    boolean,
    either,
    mapping,
    missing,
    record,
    string,
    tagged,
    text,
    word,
)

MOST_TOOLS: Final = 128
NAME: Final = text(least=1, most=64, pattern="^[a-zA-Z0-9_-]+$")

NAMED_CHOICES: Final = frozenset({"function", "custom"})

FUNCTION_SHAPE: Final = record(
    {"description": string, "name": NAME, "parameters": mapping, "strict": boolean},
    "name",
)


def check_function(value: Any, strict: bool) -> None:
    FUNCTION_SHAPE(value, strict)
    parameters = value.get("parameters")
    kind = parameters.get("type") if parameters else None
    # No upstream calls a function whose arguments are no object. A schema without a type (`$ref`) is its own matter.
    if type(kind) is str and kind != "object":
        head = f"Invalid schema for function '{value['name']}': schema must be a JSON Schema of 'type: \"object\"', "
        raise RequestFault(head + f"got 'type: \"{kind[:64]}\"'.", None, "invalid_function_parameters", ".parameters")


CUSTOM: Final = record(
    {
        "description": string,
        "format": tagged(
            {
                "text": record({"type": string}),
                "grammar": record(
                    {
                        "grammar": record({"definition": string, "syntax": word("lark", "regex")}, "definition"),
                        "type": string,
                    },
                    "grammar",
                ),
            },
        ),
        "name": NAME,
    },
    "name",
)

TOOL_KINDS: Final[Mapping[str, Check]] = {
    "function": record({"function": check_function, "type": string}, "function"),
    "custom": record({"custom": CUSTOM, "type": string}, "custom"),
}
TYPED_TOOL: Final = tagged(TOOL_KINDS)


def check_tool(value: Any, strict: bool) -> None:
    # A bare function, as in Maritaca's own sample: naming `function` tells its author more than naming `type` would.
    if type(value) is dict and "type" not in value and "function" not in value:
        raise missing(".function")
    TYPED_TOOL(value, strict)


TOOLS: Final = array(check_tool, "an array of objects", most=MOST_TOOLS, travels=True)
FUNCTIONS: Final = array(check_function, "an array of objects", least=1, most=MOST_TOOLS, travels=True)

NAMED: Final = record({"name": string}, "name")
CHOICE_OBJECT: Final = tagged(
    {
        "function": record({"function": NAMED, "type": string}, "function"),
        "custom": record({"custom": NAMED, "type": string}, "custom"),
        "allowed_tools": record(
            {
                "allowed_tools": record(
                    {"mode": word("auto", "required"), "tools": array(mapping, "an array of objects")}, "mode", "tools"
                ),
                "type": string,
            },
            "allowed_tools",
        ),
    },
)
CHOICE_WORD: Final = word("none", "auto", "required")
TOOL_CHOICE: Final = either(CHOICE_WORD, CHOICE_OBJECT, "one of a string or object")
FUNCTION_CALL: Final = either(word("none", "auto"), NAMED, "one of a string or object")


def names_one_tool(document: Mapping[str, Any]) -> bool:
    """Is the model told which one to call? (checked document)"""
    choice = document.get("tool_choice")
    if type(choice) is dict:
        return choice["type"] in NAMED_CHOICES
    return type(document.get("function_call")) is dict


def tool_names(tools: object) -> frozenset[str]:
    """The names of the request's tools, which tell a whole name from a cut one."""
    names = set()
    for tool in tools if isinstance(tools, list) else ():
        for kind in NAMED_CHOICES:
            body = tool.get(kind) if isinstance(tool, dict) else None
            if isinstance(body, dict) and isinstance(body.get("name"), str):
                names.add(body["name"])
    return frozenset(names)
