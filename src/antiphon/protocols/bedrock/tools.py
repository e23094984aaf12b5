"""What the model may call: `tools`, `tool_choice` and their forerunners -> Converse's `toolConfig`."""

from __future__ import annotations

from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.bedrock.blocks import cache_point
from antiphon.protocols.bedrock.families import ModelFamily
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts

OWN_TOOLS: Final = ("toolSpec", "systemTool", "cachePoint")
NO_ARGUMENTS: Final = {"type": "object", "properties": {}}


class Tools:
    """The tools of one request. `config` is None where it names none."""

    __slots__ = ("_changes", "_facts", "_family", "additional", "config")

    def __init__(self, facts: ModelFacts, family: ModelFamily, changes: Changes) -> None:
        self.config: Document | None = None
        self.additional: Document = {}  # what goes into additionalModelRequestFields
        self._facts = facts
        self._family = family
        self._changes = changes

    def read(self, document: Document, called: list[str], *, thinks: bool) -> None:
        """`called`: functions in the history. `thinks`: the model will think before it calls, which no choice may
        force."""
        choice = document.get("tool_choice")
        wanted = self._list(document)
        if choice is None and isinstance(document.get("function_call"), str | dict):
            choice = _modern(document["function_call"])
        if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
            allowed = choice.get("allowed_tools") or {}
            names = {_name_of(tool) for tool in allowed.get("tools") or ()}
            wanted = [tool for tool in wanted if "toolSpec" not in tool or _spec_name(tool["toolSpec"]) in names]
            choice = allowed.get("mode")
        if choice == "none" and not called:
            self.additional.pop("tools", None)
            return
        if not wanted and called:
            wanted = [{"toolSpec": _spec(name, {})} for name in called]
            reason = "This upstream wants definitions of the tools that were called earlier: they were added."
            self._changes.note("tools", "rewritten", reason)
        if not wanted:
            return
        self.config = {"tools": wanted}
        forced = self._choose(choice, thinks=thinks)
        if forced is not None:
            self.config["toolChoice"] = forced
        if document.get("parallel_tool_calls") is False:
            self._one_at_a_time(forced)

    def _list(self, document: Document) -> list[Document]:
        tools: list[Document] = []
        for place, tool in enumerate(document.get("tools") or ()):
            tools += self._tool(tool, f"tools[{place}]")
        if not document.get("tools"):
            for function in document.get("functions") or ():
                tools.append({"toolSpec": _spec(function["name"], function)})
        return tools

    def _tool(self, tool: Document, param: str) -> list[Document]:
        function = tool.get("function")
        if tool.get("type") == "function" and isinstance(function, dict):
            point = cache_point(tool) or cache_point(function)
            if function.get("strict") is True and not self._facts.takes_schema:
                self._changes.note(f"{param}.function.strict", "dropped", "This model follows no schema strictly.")
                function = {**function, "strict": False}
            spec: Document = {"toolSpec": _spec(function["name"], function)}
            return [spec] if point is None else [spec, point]
        for name in OWN_TOOLS:
            if name in tool:
                return [{name: tool[name]}]
        if self._family.keeps_tools and tool.get("type") != "custom":
            self.additional.setdefault("tools", []).append(tool)  # Claude's own: computer use and the like
            return []
        self._changes.drop(param, f"This upstream has no tools of the type '{str(tool.get('type'))[:64]}'.")
        return []

    def _choose(self, choice: Any, *, thinks: bool) -> Document | None:
        if choice is None:
            return None
        if choice == "auto":
            return {"auto": {}}
        if choice == "none":
            self._changes.rewrite("tool_choice", "This upstream cannot keep a model from calling tools of the history.")
            return None
        if thinks or not self._facts.takes_forced_tools:
            why = "while it thinks" if thinks else "at all"
            self._changes.rewrite("tool_choice", f"This model cannot be made to call a tool {why}: it chooses itself.")
            return {"auto": {}}
        if choice == "required":
            return {"any": {}}
        if isinstance(choice, dict) and (name := _name_of(choice)):
            return {"tool": {"name": name}}
        if isinstance(choice, dict) and choice.keys() & {"auto", "any", "tool"}:
            return choice  # in Converse's own shape
        self._changes.drop("tool_choice", "This upstream knows no such choice.")
        return None

    def _one_at_a_time(self, forced: Document | None) -> None:
        if not self._family.keeps_tools:
            self._changes.drop("parallel_tool_calls", "This model may call several tools at once.")
            return
        kind = next(iter(forced), "auto") if forced else "auto"
        choice: Document = {"type": kind, "disable_parallel_tool_use": True}
        if forced and kind == "tool":
            choice["name"] = forced["tool"]["name"]
        self.additional["tool_choice"] = choice


def _spec(name: str, function: Document) -> Document:
    """An empty description is a 400 from Bedrock, and so is a schema that is no object's."""
    spec: Document = {"name": name}
    if isinstance(described := function.get("description"), str) and described:
        spec["description"] = described
    schema = function.get("parameters") or NO_ARGUMENTS
    if "type" not in schema and "$ref" not in schema:
        schema = {"type": "object", **schema}
    spec["inputSchema"] = {"json": schema}
    if function.get("strict") is True:
        spec["strict"] = True
    return spec


def _spec_name(spec: Any) -> object:
    name = spec.get("name") if isinstance(spec, dict) else None
    return name if isinstance(name, str) else None


def _name_of(choice: Document) -> str | None:
    for kind in ("function", "custom"):
        if isinstance(body := choice.get(kind), dict) and isinstance(body.get("name"), str):
            return str(body["name"])
    return None


def _modern(function_call: Any) -> Any:
    """`function_call` as a `tool_choice`."""
    if isinstance(function_call, dict):
        return {"type": "function", "function": function_call}
    return function_call
