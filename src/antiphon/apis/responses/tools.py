"""ToolList and the choice of one, as Chat Completions spells them."""

from __future__ import annotations

from typing import Final

from antiphon.apis.responses.notes import RequestNotes, as_list, as_object, at, text_of, type_of, unsupported_value
from antiphon.chat.checks import missing, wrong_type, wrong_value
from antiphon.document import Document

NO_BUILT_IN: Final = (
    "the model's upstream is asked by Chat Completions, which has no built-in tools; use 'function' or 'custom' tools"
)
WORDS: Final = ("none", "auto", "required")
SEPARATOR: Final = "__"  # between a namespace and a name
_FUNCTION: Final = ("name", "description", "parameters", "strict")
_CUSTOM: Final = ("name", "description")

Own = tuple[str, str | None]  # a tool's name, and its namespace


def chat_name(name: str, namespace: object) -> str:
    """Chat Completions has no namespaces."""
    return f"{namespace}{SEPARATOR}{name}" if type(namespace) is str and namespace else name


class ToolList:
    """The tools of a request."""

    def __init__(self, notes: RequestNotes, *, drops: bool = False) -> None:
        """`drops`: what cannot be offered is left out and named."""
        self.tools: list[Document] = []
        self.own: dict[str, Own] = {}  # by the name that chat knows; those in a namespace
        self._notes = notes
        self._drops = drops

    def read(self, value: object, path: str = "tools", namespace: str | None = None) -> None:
        """Raises RequestError or RequestFault."""
        for index, tool in enumerate(as_list(value, path)):
            self._read_tool(as_object(tool, f"{path}[{index}]"), f"{path}[{index}]", namespace)

    def _read_tool(self, tool: Document, path: str, namespace: str | None) -> None:
        kind = type_of(tool, path)
        if kind == "function":
            inner = {key: tool[key] for key in _FUNCTION if tool.get(key) is not None}
            self._notes.drop_others(tool, ("type", *_FUNCTION), path)
            self._add("function", inner, path, namespace)
        elif kind == "custom":
            inner = {key: tool[key] for key in _CUSTOM if tool.get(key) is not None}
            if tool.get("format") is not None:
                inner["format"] = _format(as_object(tool["format"], f"{path}.format"), f"{path}.format")
            self._notes.drop_others(tool, ("type", "format", *_CUSTOM), path)
            self._add("custom", inner, path, namespace)
        elif kind == "namespace" and namespace is None:
            if "tools" not in tool:
                raise missing(f"{path}.tools")
            self._notes.drop_others(tool, ("type", "name", "tools"), path)
            self.read(tool["tools"], f"{path}.tools", text_of(tool, "name", path))
        elif self._drops and not self._notes.strict:
            self._notes.drop(path, NO_BUILT_IN)
        else:
            self._notes.refuse(unsupported_value(f"{path}.type", kind, NO_BUILT_IN))

    def _add(self, kind: str, inner: Document, path: str, namespace: str | None) -> None:
        name = text_of(inner, "name", path)
        if namespace:
            inner["name"] = chat_name(name, namespace)
            self.own[inner["name"]] = name, namespace
        self._notes.names[f"tools[{len(self.tools)}].{kind}"] = path
        self._notes.names[f"tools[{len(self.tools)}]"] = path
        self.tools.append({"type": kind, kind: inner})


def read_choice(value: object, notes: RequestNotes, path: str = "tool_choice") -> object:
    """None: it is of no chat request. Raises RequestError or RequestFault."""
    if type(value) is str:
        if value not in WORDS:
            raise at(path, wrong_value(value, WORDS))
        return value
    if type(value) is not dict:
        raise at(path, wrong_type("one of a string or object", value))
    kind = type_of(value, path)
    if kind in ("function", "custom"):
        notes.drop_others(value, ("type", "name", "namespace"), path)
        return {"type": kind, kind: {"name": chat_name(text_of(value, "name", path), value.get("namespace"))}}
    if kind != "allowed_tools":
        notes.refuse(unsupported_value(f"{path}.type", kind, NO_BUILT_IN))
        return None
    notes.drop_others(value, ("type", "mode", "tools"), path)
    mode = text_of(value, "mode", path)
    if "tools" not in value:
        raise missing(f"{path}.tools")
    allowed = [
        read_choice(as_object(tool, f"{path}.tools[{index}]"), notes, f"{path}.tools[{index}]")
        for index, tool in enumerate(as_list(value["tools"], f"{path}.tools"))
    ]
    return {"type": kind, kind: {"mode": mode, "tools": [choice for choice in allowed if choice is not None]}}


def _format(value: Document, path: str) -> Document:
    """A grammar stands in an object of its own."""
    kind = type_of(value, path)
    if kind != "grammar":
        return value
    return {"type": kind, kind: {key: value[key] for key in value if key != "type"}}
