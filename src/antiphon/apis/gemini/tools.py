"""`tools` and `toolConfig`. Tools that Gemini itself runs stay under their own names."""

from __future__ import annotations

from typing import Final

from antiphon.apis.gemini.schema import json_schema
from antiphon.apis.gemini.words import named
from antiphon.apis.reading import fault, read_list, read_object, read_text, read_texts
from antiphon.document import Document

_DECLARED: Final = "functionDeclarations"


def read_tools(value: object) -> Document:
    tools: list[Document] = []
    for place, given in enumerate(read_list(value, "tools")):
        param = f"tools[{place}]"
        tool = named(given, param)
        for number, function in enumerate(read_list(tool.get(_DECLARED, []), f"{param}.{_DECLARED}")):
            tools.append(_read_function(function, f"{param}.{_DECLARED}[{number}]"))
        for name, options in tool.items():
            if name != _DECLARED:
                tools.append({"type": name, name: options})
    return {"tools": tools} if tools else {}


def _read_function(value: object, param: str) -> Document:
    given = named(value, param)
    function: Document = {"name": read_text(given, "name", param)}
    if "description" in given:
        function["description"] = read_text(given, "description", param)
    if "parametersJsonSchema" in given:
        function["parameters"] = read_object(given["parametersJsonSchema"], f"{param}.parametersJsonSchema")
    elif "parameters" in given:
        function["parameters"] = json_schema(read_object(given["parameters"], f"{param}.parameters"))
    return {"type": "function", "function": function}


def read_choice(value: object, out: Document) -> None:
    """`functionCallingConfig` is `tool_choice`; what else stands there is Gemini's own."""
    whole = named(value, "toolConfig")
    param = "toolConfig.functionCallingConfig"
    config = named(whole.pop("functionCallingConfig", {}), param)
    mode = str(config.get("mode", "AUTO")).upper()
    names = read_texts(config.get("allowedFunctionNames", []), f"{param}.allowedFunctionNames")
    if mode == "NONE":
        out["tool_choice"] = "none"
    elif mode == "ANY" and len(names) == 1:
        out["tool_choice"] = {"type": "function", "function": {"name": names[0]}}
    elif names:
        allowed = [{"type": "function", "function": {"name": name}} for name in names]
        word = "required" if mode == "ANY" else "auto"
        out["tool_choice"] = {"type": "allowed_tools", "allowed_tools": {"mode": word, "tools": allowed}}
    elif mode == "ANY":
        out["tool_choice"] = "required"
    elif mode not in ("AUTO", "VALIDATED", "MODE_UNSPECIFIED"):
        raise fault(f"{param}.mode", "Input should be AUTO, ANY, NONE or VALIDATED")
    elif mode == "VALIDATED":
        whole["functionCallingConfig"] = config
    if whole:
        out["toolConfig"] = whole
