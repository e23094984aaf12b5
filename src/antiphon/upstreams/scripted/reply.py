"""What the scripted upstream says: text that echoes the request, calls of its tools, or JSON to its schema.

Everything follows from the request alone, so the same request always gets the same reply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import sha256

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.schema import instance

OPENING = "This is the scripted upstream."

# A "token" here: a word or a run of other signs, with the space before it. The pieces joined are the text.
_PIECE = re.compile(r"\s*(?:\w+|[^\w\s]+)|\s+")


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    id: str
    name: str
    input: str  # arguments as JSON, or a custom tool's text
    custom: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """One choice, before it is spelled as a completion or as chunks."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str = "stop"
    legacy: bool = False  # asked with `functions`: answered with `function_call`
    reasoning: str = ""
    redacted: bool = False  # the reasoning is shown encrypted only
    refusal: str = ""
    citation: str = ""  # the URL of a source of the text
    cited_title: str = "A source"
    stopped_by: str = ""  # the stop sequence that ended the text

    @property
    def tokens(self) -> int:
        spoken = (self.reasoning, self.refusal, self.text, *(call.name + call.input for call in self.calls))
        return sum(len(pieces(text)) for text in spoken)


def pieces(text: str) -> list[str]:
    return _PIECE.findall(text)


def compose(document: Document) -> list[Reply]:
    """One reply per choice that was asked for."""
    count = document.get("n")
    base = _calls(document) or _text(document)
    replies = [base]
    for index in range(1, count if isinstance(count, int) else 1):
        replies.append(
            replace(base, text=f"{base.text} (choice {index})") if base.text and not _wants_json(document) else base
        )
    return [_bound(reply, document) for reply in replies]


def _text(document: Document) -> Reply:
    form = document.get("response_format")
    kind = form.get("type") if isinstance(form, dict) else None
    if isinstance(form, dict) and kind == "json_schema":
        spec = form.get("json_schema")
        return Reply(_json(instance(spec.get("schema") if isinstance(spec, dict) else {})))
    said = last_text(document)
    if kind == "json_object":
        return Reply(_json({"upstream": "scripted", "said": said}))
    if _answers_tool(document):
        return Reply(f"{OPENING} The tool said: {said}")
    return Reply(f"{OPENING} You said: {said}" if said else OPENING)


def _wants_json(document: Document) -> bool:
    form = document.get("response_format")
    return isinstance(form, dict) and form.get("type") in ("json_object", "json_schema")


def _bound(reply: Reply, document: Document) -> Reply:
    """Stop sequences first, then the limit: both cut, and only the limit is told as `length`."""
    stop = document.get("stop")
    for sequence in [stop] if isinstance(stop, str) else stop or ():
        if sequence and sequence in reply.text:
            reply = replace(reply, text=reply.text.partition(sequence)[0], stopped_by=sequence)
    limit = document.get("max_completion_tokens")
    if limit is None:
        limit = document.get("max_tokens")
    if not isinstance(limit, int) or reply.tokens <= limit:
        return reply
    if reply.calls:
        first = reply.calls[0]
        room = max(0, limit - len(pieces(first.name)))
        return replace(reply, calls=(replace(first, input="".join(pieces(first.input)[:room])),), finish="length")
    return replace(reply, text="".join(pieces(reply.text)[:limit]), finish="length")


def _calls(document: Document) -> Reply | None:
    """The tools to call: those that must be called, or whose names the last user message mentions."""
    legacy = bool(document.get("functions")) and not document.get("tools")
    tools = {name: tool for tool in _offered(document, legacy) if (name := _name(tool))}
    choice = document.get("function_call" if legacy else "tool_choice") or "auto"
    if isinstance(choice, dict) and isinstance(allowed := choice.get("allowed_tools"), dict):
        names = {_name(tool) for tool in allowed.get("tools") or ()}
        tools = {name: tool for name, tool in tools.items() if name in names}
        choice = allowed.get("mode", "auto")
    if isinstance(choice, dict):
        chosen = [name for name in (_name(choice),) if name in tools]
    elif choice == "none" or not tools:
        chosen = []
    else:
        chosen = _mentioned(document, list(tools))
        if choice == "required" and not chosen:
            chosen = [_untried(document, list(tools))]
    if document.get("parallel_tool_calls") is False or legacy:
        chosen = chosen[:1]
    if not chosen:
        return None
    calls = tuple(_call(document, tools[name], index) for index, name in enumerate(chosen))
    finish = "stop" if isinstance(choice, dict) else "function_call" if legacy else "tool_calls"
    return Reply(calls=calls, finish=finish, legacy=legacy)


def _offered(document: Document, legacy: bool) -> list[Document]:
    offered = document.get("functions" if legacy else "tools")
    return [tool for tool in offered if isinstance(tool, dict)] if isinstance(offered, list) else []


def _name(tool: object) -> str:
    """A tool's name, as `tools`, `functions` and the choices of both spell it."""
    if not isinstance(tool, dict):
        return ""
    inner = tool.get("function") or tool.get("custom") or tool
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else ""


def _mentioned(document: Document, names: list[str]) -> list[str]:
    if _answers_tool(document):
        return []
    said = last_text(document).lower()
    return [name for name in names if name.lower() in said or re.sub(r"[_-]+", " ", name.lower()) in said]


def _untried(document: Document, names: list[str]) -> str:
    """Where a call is required: the first tool that was not called yet, so that a tool loop comes to its end."""
    called = {
        _name(call)
        for message in document.get("messages") or ()
        if isinstance(message, dict)
        for call in message.get("tool_calls") or ()
    }
    return next((name for name in names if name not in called), names[-1])


def _call(document: Document, tool: Document, index: int) -> ScriptedCall:
    seed = sha256(msgspec.json.encode([document.get("messages"), index])).hexdigest()
    name = _name(tool)
    if "custom" in tool:
        return ScriptedCall(f"call_{seed[:24]}", name, last_text(document) or "text", custom=True)
    inner = tool.get("function") or tool
    schema = inner.get("parameters") if isinstance(inner, dict) else None
    value = instance(schema) if isinstance(schema, dict) and schema else {}
    return ScriptedCall(f"call_{seed[:24]}", name, _json(value))


def _answers_tool(document: Document) -> bool:
    last = _last(document)
    return last.get("role") in ("tool", "function")


def _last(document: Document) -> Document:
    messages = document.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return last if isinstance(last, dict) else {}


def last_text(document: Document) -> str:
    """The text of the last user message, or of the tool's answer where that comes last."""
    if _answers_tool(document):
        return flat(_last(document).get("content"))
    messages = document.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            return flat(message.get("content"))
    return ""


def flat(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts if isinstance(part, dict))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
