"""What the model may call: `tools`, `tool_choice`, `parallel_tool_calls`, their forerunners, and the web search."""

from __future__ import annotations

from typing import Final

from antiphon.document import Document
from antiphon.protocols.anthropic.schema import adapt
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts

_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}
_FORCED: Final = ("any", "tool")
# The vendor's own keys of a tool; clients write them beside `function` or in it.
_OWN: Final = ("cache_control", "eager_input_streaming", "defer_loading", "input_examples", "allowed_callers")
_NO_ARGUMENTS: Final = {"type": "object", "properties": {}}
_ONE_TEXT: Final = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_SEARCH: Final = {"type": "web_search_20250305", "name": "web_search"}


def encode_tools(asked: Document, body: Document, facts: ModelFacts, changes: Changes) -> None:
    """Writes `tools` and `tool_choice` into the body. Tools stay in their order: prompt caches depend on it."""
    tools = [_tool(tool, f"tools[{place}]", facts, changes) for place, tool in enumerate(asked.get("tools") or ())]
    if asked.get("functions") and not tools:
        changes.note("functions", "rewritten", "calls come as 'tool_calls'")
        tools = [
            _function(function, {}, f"functions[{place}]", facts, changes)
            for place, function in enumerate(asked["functions"])
        ]
    if "web_search_options" in asked and not any(tool.get("name") == _SEARCH["name"] for tool in tools):
        tools.append(_search(asked["web_search_options"], changes))
    choice = _choice(asked, tools, changes)
    if not tools:
        for param in ("tool_choice", "function_call", "parallel_tool_calls"):
            if param in asked:
                changes.note(param, "dropped", "there are no tools")
        return
    body["tools"] = tools
    if choice is not None:
        body["tool_choice"] = _settle(choice, asked, facts, changes)


def forces_tool(body: Document) -> bool:
    choice = body.get("tool_choice")
    return choice is not None and choice["type"] in _FORCED


def _tool(tool: Document, param: str, facts: ModelFacts, changes: Changes) -> Document:
    kind = tool.get("type")
    if kind == "function":
        return _function(tool["function"], tool, f"{param}.function", facts, changes)
    if kind != "custom" or "custom" not in tool:
        return tool  # the vendor's own
    custom = tool["custom"]
    changes.rewrite(param, "it takes functions only: its calls come as a function's, with one text 'input'")
    function = {"name": custom["name"], "description": custom.get("description"), "parameters": _ONE_TEXT}
    return _function(function, tool, param, facts, changes)


def _function(function: Document, tool: Document, param: str, facts: ModelFacts, changes: Changes) -> Document:
    out: Document = {"name": function["name"]}
    if function.get("description"):
        out["description"] = function["description"]
    schema = function.get("parameters") or _NO_ARGUMENTS
    if "type" not in schema:
        schema = {"type": "object", **schema}
    if function.get("strict"):
        if facts.takes_schema:
            schema = adapt(schema, f"{param}.parameters", changes)
            out["strict"] = True
        else:
            changes.drop(f"{param}.strict", "the model does not know it")
    out["input_schema"] = schema
    for key in _OWN:
        value = tool.get(key, function.get(key))
        if value is not None:
            out[key] = value
    return out


def _search(options: Document, changes: Changes) -> Document:
    """OpenAI's web search, as a tool of the vendor's own."""
    tool: Document = dict(_SEARCH)
    location = options.get("user_location")
    if location:
        approximate = location.get("approximate") or location
        known = {key: approximate[key] for key in ("city", "region", "country", "timezone") if approximate.get(key)}
        tool["user_location"] = {"type": "approximate", **known}
    if options.get("search_context_size"):
        changes.drop("web_search_options.search_context_size", "the vendor does not know it")
    return tool


def _choice(asked: Document, tools: list[Document], changes: Changes) -> Document | None:
    """`tool_choice` in the vendor's words. A list of allowed tools leaves only these in `tools`."""
    choice = asked.get("tool_choice", asked.get("function_call"))
    if isinstance(choice, str):
        return {"type": _CHOICES.get(choice, choice)}
    if not isinstance(choice, dict):
        return None
    kind = choice.get("type")
    if kind is None and "name" in choice:  # function_call
        return {"type": "tool", "name": choice["name"]}
    if kind in ("function", "custom"):
        return {"type": "tool", "name": choice[kind]["name"]}
    if kind != "allowed_tools":
        return choice  # the vendor's own
    allowed = choice["allowed_tools"]
    names = {_name(tool) for tool in allowed["tools"]}
    tools[:] = [tool for tool in tools if tool.get("name") in names]
    changes.note("tools", "rewritten", "only the allowed ones are sent")
    return {"type": _CHOICES.get(allowed["mode"], allowed["mode"])}


def _name(tool: Document) -> object:
    body = tool.get(str(tool.get("type")))
    return body.get("name") if isinstance(body, dict) else tool.get("name")


def _settle(choice: Document, asked: Document, facts: ModelFacts, changes: Changes) -> Document:
    if choice["type"] in _FORCED and not facts.takes_forced_tools:
        changes.rewrite("tool_choice", "the model cannot be made to call: it is 'auto'")
        choice = {**{key: value for key, value in choice.items() if key != "name"}, "type": "auto"}
    return choice
