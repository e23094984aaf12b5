"""`tools` and `tool_choice` -> `tools` and `toolConfig`."""

from __future__ import annotations

from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes, refuse
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.gemini.schema import adapt
from antiphon.protocols.gemini.words import camel

# Gemini's own tools. `{"type": "google_search", "google_search": {…}}` is `{"googleSearch": {…}}`.
_NATIVE: Final = frozenset(
    {
        *("googleSearch", "googleSearchRetrieval", "googleMaps", "codeExecution", "urlContext", "fileSearch"),
        *("computerUse", "retrieval", "enterpriseWebSearch", "parallelAiSearch", "exaAiSearch", "mcpServers"),
    }
)
# Tools of others that do the same.
_ALIKE: Final = {
    "web_search": "googleSearch",
    "web_search_preview": "googleSearch",
    "code_interpreter": "codeExecution",
}


def say_tools(document: Document, changes: Changes) -> tuple[list[Document], bool]:
    """-> (Gemini's tools in the order in which they came, is any of them strict?)"""
    said: list[Document] = []
    strict = False
    tools = document.get("tools") or [
        {"type": "function", "function": function} for function in document.get("functions") or ()
    ]
    for index, tool in enumerate(tools):
        function = tool.get("function")
        if tool.get("type", "function") == "function" and isinstance(function, dict):
            strict = strict or function.get("strict") is True
            declaration = _declaration(function, f"tools[{index}].function", changes)
            if said and "functionDeclarations" in said[-1]:
                said[-1]["functionDeclarations"].append(declaration)
            else:
                said.append({"functionDeclarations": [declaration]})
            if "cache_control" in tool or "cache_control" in function:
                changes.drop(f"tools[{index}].cache_control", "Gemini caches by itself, or by cachedContent")
        elif (native := _native(tool, f"tools[{index}]", changes)) is not None:
            said.append(native)
    if isinstance(options := document.get("web_search_options"), dict):
        if options:
            changes.drop("web_search_options", "Gemini searches without options")
        said.append({"googleSearch": {}})
    return said, strict


def _declaration(function: Document, param: str, changes: Changes) -> Document:
    said: Document = {"name": function["name"]}
    if isinstance(description := function.get("description"), str):
        said["description"] = description
    if isinstance(parameters := function.get("parameters"), dict) and parameters:
        said["parametersJsonSchema"] = adapt(parameters, param + ".parameters", changes)
    return said


def _native(tool: Document, param: str, changes: Changes) -> Document | None:
    kind = str(tool.get("type"))
    name = camel(kind)
    if name in _NATIVE:
        options = tool.get(kind, tool.get(name))
        if options is None:
            options = {key: value for key, value in tool.items() if key != "type"}
        return {name: options}
    if kind in _ALIKE:
        if len(tool) > 1:
            changes.rewrite(param, f"'{_ALIKE[kind]}' of Gemini was sent, without options")
        return {_ALIKE[kind]: {}}
    changes.drop(param, f"Gemini has no tools of the type '{kind[:64]}'")
    return None


def say_choice(
    document: Document, tools: list[Document], strict: bool, facts: ModelFacts, changes: Changes
) -> Document:
    """`functionCallingConfig`; empty where Gemini's own default is meant."""
    choice = document.get("tool_choice")
    if choice is None:
        choice = document.get("function_call")
    declared = [one["name"] for tool in tools for one in tool.get("functionDeclarations", ())]
    if document.get("parallel_tool_calls") is False and declared:
        changes.drop("parallel_tool_calls", "Gemini calls as many tools as it wants")
    if not declared:
        return {}
    mode, names = _read_choice(choice, changes)
    if names is not None and (unknown := [name for name in names if name not in declared]):
        raise refuse("tool_choice", f"there is no tool '{unknown[0][:64]}'")
    if mode == "ANY" and not facts.takes_forced_tools:
        changes.rewrite("tool_choice", "the model cannot be forced to call a tool")
        mode, names = "AUTO", None
    if mode == "AUTO" and (strict or names):
        mode = "VALIDATED"  # arguments by their schema; of these tools only
    if mode == "AUTO":
        return {}
    return {"mode": mode} if names is None else {"mode": mode, "allowedFunctionNames": names}


def _read_choice(choice: Any, changes: Changes) -> tuple[str, list[str] | None]:
    if choice is None or choice == "auto":
        return "AUTO", None
    if choice == "none":
        return "NONE", None
    if choice in ("required", "any"):
        return "ANY", None
    if isinstance(choice, dict):
        allowed = choice.get("allowed_tools")
        if isinstance(allowed, dict):
            names = [_name(tool) for tool in allowed.get("tools") or ()]
            return "ANY" if allowed.get("mode") == "required" else "AUTO", [name for name in names if name]
        if name := _name(choice):
            return "ANY", [name]
    changes.drop("tool_choice", "Gemini has no such choice")
    return "AUTO", None


def _name(choice: Any) -> str:
    if not isinstance(choice, dict):
        return ""
    function = choice.get("function")
    name = function.get("name") if isinstance(function, dict) else choice.get("name")
    return name if isinstance(name, str) else ""
