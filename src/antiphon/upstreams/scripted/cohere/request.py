"""A request for Cohere's chat: held to Cohere's rules, and told in OpenAI's words."""

from __future__ import annotations

import msgspec

from antiphon.document import Document, objects_in
from antiphon.upstreams.scripted.language import RefusedError
from antiphon.upstreams.scripted.reading import join, say_format

FIELDS = frozenset(
    {
        *("model", "messages", "stream", "tools", "strict_tools", "tool_choice", "documents", "citation_options"),
        *("response_format", "safety_mode", "max_tokens", "stop_sequences", "temperature", "seed", "p", "k"),
        *("frequency_penalty", "presence_penalty", "logprobs", "thinking", "priority", "reasoning_effort"),
    }
)
ROLES = ("system", "user", "assistant", "tool")
# Numbers, and the least and the greatest that each may be.
RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "p": (0.01, 0.99),
    "k": (0, 500),
    "frequency_penalty": (0, 1),
    "presence_penalty": (0, 1),
}
CHOICES = {"REQUIRED": "required", "NONE": "none"}


def read_request(data: bytes) -> Document:
    body = read_body(data)
    for name in body:
        if name not in FIELDS:
            raise RefusedError(400, f"unknown field: parameter '{name[:80]}' is not a valid field")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise RefusedError(400, "invalid request: model is required")
    for name, (least, most) in RANGES.items():
        value = body.get(name, least)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise RefusedError(400, f"invalid request: {name} must be between {least} and {most} inclusive.")
    document: Document = {"model": body["model"], "stream": body.get("stream") is True}
    document["messages"] = read_messages(body.get("messages"))
    document |= {"tools": read_tools(body.get("tools")), "stop": body.get("stop_sequences") or []}
    document |= {"max_tokens": read_limit(body), "tool_choice": read_choice(body)}
    thinking = body.get("thinking")
    document["thinks"] = isinstance(thinking, dict) and thinking.get("type") == "enabled"
    form = body.get("response_format")
    if isinstance(form, dict) and form.get("type") == "json_object":
        schema = form.get("json_schema") or form.get("schema")
        document["response_format"] = say_format(schema) if schema else {"type": "json_object"}
    return document


def read_body(data: bytes) -> Document:
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError(400, "invalid request: the body is not valid JSON") from None
    if not isinstance(document, dict):
        raise RefusedError(400, "invalid request: the body must be an object")
    return document


def read_limit(body: Document) -> int | None:
    limit = body.get("max_tokens")
    if limit is not None and (type(limit) is not int or limit < 0):
        raise RefusedError(400, "invalid request: max_tokens must be greater than or equal to 0")
    return limit


def read_choice(body: Document) -> str:
    choice = body.get("tool_choice")
    if choice is None:
        return "auto"
    if choice not in CHOICES:
        raise RefusedError(400, "invalid request: tool_choice must be REQUIRED or NONE")
    if not body.get("tools"):
        raise RefusedError(400, "invalid request: tool_choice needs tools")
    return CHOICES[choice]


def read_tools(tools: object) -> list[Document]:
    if tools is None:
        return []
    read = objects_in(tools)
    for index, tool in enumerate(read):
        function = tool.get("function")
        if tool.get("type") != "function" or not isinstance(function, dict) or not function.get("name"):
            raise RefusedError(400, f"invalid request: tools[{index}]: a function with a name is required")
        if not isinstance(function.get("parameters", {}), dict):
            raise RefusedError(400, f"invalid request: tools[{index}]: parameters must be an object")
    return read


def read_messages(messages: object) -> list[Document]:
    if not isinstance(messages, list) or not messages:
        raise RefusedError(400, "invalid request: messages must be at least 1 item long")
    waiting: list[str] = []  # calls whose results must come next
    said = []
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            raise RefusedError(400, f"invalid request: messages[{index}]: role must be one of {', '.join(ROLES)}")
        if role == "tool":
            take_result(message, waiting, index)
        elif waiting:
            raise RefusedError(400, f"invalid request: messages[{index}]: a tool result is missing for {waiting[0]}")
        said.append(say(message, index))
        waiting += [str(call.get("id")) for call in objects_in(message.get("tool_calls"))]
    if waiting:
        raise RefusedError(400, f"invalid request: a tool result is missing for {waiting[0]}")
    return said


def take_result(message: Document, waiting: list[str], index: int) -> None:
    identity = str(message.get("tool_call_id"))
    if identity not in waiting:
        raise RefusedError(
            400, f"invalid request: messages[{index}]: tool_call_id '{identity[:80]}' not found in previous tool calls"
        )
    waiting.remove(identity)


def say(message: Document, index: int) -> Document:
    content = message.get("content")
    if not content and not message.get("tool_calls") and message["role"] != "tool":
        raise RefusedError(
            400, f"invalid request: messages[{index}]: message must have non-empty content or tool calls"
        )
    for part in objects_in(content):
        if not isinstance(part.get("type"), str):
            raise RefusedError(400, f"invalid request: messages[{index}]: each part of the content needs a type")
    said: Document = {"role": message["role"], "content": text_of(content)}
    calls = objects_in(message.get("tool_calls"))
    return {**said, "tool_calls": calls} if calls else said


def text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    return join(part.get("text", data_of(part)) for part in objects_in(content) if part.get("type") != "thinking")


def data_of(part: Document) -> str:
    """A result of a tool may be a document."""
    document = part.get("document")
    data = document.get("data") if isinstance(document, dict) else None
    if isinstance(data, str):
        return data
    return msgspec.json.encode(data).decode() if data is not None else f"[{part.get('type')}]"
