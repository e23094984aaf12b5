"""A Messages request: held to the vendor's rules, and told in OpenAI's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from antiphon.document import Document, objects_in
from antiphon.upstreams.scripted.anthropic.messages import read_messages, read_system
from antiphon.upstreams.scripted.language import RefusedError
from antiphon.upstreams.scripted.reading import say_choice, say_format, say_tool
from antiphon.upstreams.scripted.received import Received

NEWEST = "2026-10-21"
VERSIONS = ("2023-01-01", "2023-06-01", NEWEST)
SAMPLING = ("temperature", "top_p", "top_k")
FIELDS = frozenset(
    {
        *("model", "max_tokens", "messages", "system", "stream", "stop_sequences", "metadata", "tools", "tool_choice"),
        *("thinking", "output_config", "output_format", "cache_control", "service_tier", "speed", "inference_geo"),
        *("container", "diagnostics", "user_profile_id", "context_management", "mcp_servers", "fallbacks", *SAMPLING),
    }
)
LEAST_BUDGET = 1024
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def check_version(request: Received) -> None:
    version = request.headers.get("anthropic-version")
    if not version:
        raise RefusedError(400, "anthropic-version: header is required")
    if version not in VERSIONS:
        raise RefusedError(400, f'anthropic-version: "{version[:40]}" is not a valid version')


def read_request(request: Received, *, counts_only: bool = False) -> Document:
    """`counts_only`: for the counting of tokens, which needs no `max_tokens`."""
    body = read_body(request.body)
    for name in ("model", "messages") if counts_only else ("model", "max_tokens", "messages"):
        if name not in body:
            raise RefusedError(400, f"{name}: Field required")
    check_fields(body, request.headers["anthropic-version"])
    tools = read_tools(body)
    document: Document = {"model": body["model"], "thinks": thinks(body)}
    document["messages"] = [*read_system(body.get("system")), *read_messages(body)]
    document |= {"stream": body.get("stream") is True, "max_tokens": body.get("max_tokens")}
    document |= {"stop": body.get("stop_sequences") or [], "tools": tools, "thinking": body.get("thinking")}
    document |= read_choice(body, tools)
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else body.get("output_format")
    if isinstance(form, dict):
        document["response_format"] = say_format(form.get("schema"))
    return document


def read_body(body: bytes) -> Document:
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError(400, "The request body is not valid JSON: it could not be parsed.") from None
    if not isinstance(document, dict):
        raise RefusedError(400, "The request body is not valid JSON: an object is expected.")
    return document


def check_fields(body: Document, version: str) -> None:
    for name in body:
        if name not in FIELDS or (name in SAMPLING and version == NEWEST):
            raise RefusedError(400, f"{name}: Extra inputs are not permitted")
    for name, value in body.items():
        rule = RULES.get(name)
        fault = rule(value) if rule else None
        if fault:
            raise RefusedError(400, f"{name}: {fault}")
    check_thinking(body)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return "Input should be a valid string"
    return None if value else "String should have at least 1 character"


def _count(value: object) -> str | None:
    if type(value) is not int:
        return "Input should be a valid integer"
    return None if value >= 0 else "Input should be greater than or equal to 0"


def _share(value: object) -> str | None:
    if not _is_number(value):
        return "Input should be a valid number"
    return None if 0 <= value <= 1 else "range: 0..1"  # type: ignore[operator]


def _flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "Input should be a valid boolean"


def _object(value: object) -> str | None:
    return None if isinstance(value, dict) else "Input should be a valid dictionary"


def _list(value: object) -> str | None:
    return None if isinstance(value, list) else "Input should be a valid list"


def _stops(value: object) -> str | None:
    if not isinstance(value, list) or not all(isinstance(stop, str) for stop in value):
        return "Input should be a valid list of strings"
    blank = any(not stop.strip() for stop in value)
    return "each stop sequence must contain non-whitespace" if blank else None


RULES: dict[str, Callable[[object], str | None]] = {
    "model": _text,
    "max_tokens": _count,
    "messages": _list,
    "stream": _flag,
    "stop_sequences": _stops,
    "metadata": _object,
    "tools": _list,
    "tool_choice": _object,
    "thinking": _object,
    "output_config": _object,
    "temperature": _share,
    "top_p": _share,
    "top_k": _count,
}


def thinks(body: Document) -> bool:
    thinking = body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") != "disabled"


def check_thinking(body: Document) -> None:
    thinking = body.get("thinking")
    if not isinstance(thinking, dict):
        return
    kind = thinking.get("type")
    if kind not in ("enabled", "disabled", "adaptive", "between_tools"):
        raise RefusedError(
            400, f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )
    if kind != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if type(budget) is not int:
        raise RefusedError(400, "thinking.enabled.budget_tokens: Field required")
    if budget < LEAST_BUDGET:
        raise RefusedError(
            400, f"thinking.enabled.budget_tokens: Input should be greater than or equal to {LEAST_BUDGET}"
        )
    if "max_tokens" in body and body["max_tokens"] <= budget:
        raise RefusedError(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature", 1) != 1:
        raise RefusedError(400, "`temperature` may only be set to 1 when thinking is enabled.")


def read_tools(body: Document) -> list[Document]:
    """Those that the client runs. The vendor's own tools have a `type`."""
    names: set[str] = set()
    tools: list[Document] = []
    for index, tool in enumerate(objects_in(body.get("tools"))):
        name = tool.get("name")
        if tool.get("type", "custom") == "custom":
            check_tool(tool, f"tools.{index}.custom")
            tools.append(say_tool(name, tool["input_schema"]))
        if isinstance(name, str):
            if name in names:
                raise RefusedError(400, "tools: Tool names must be unique.")
            names.add(name)
    return tools


def check_tool(tool: Document, at: str) -> None:
    for name in ("name", "input_schema"):
        if name not in tool:
            raise RefusedError(400, f"{at}.{name}: Field required")
    if not isinstance(tool["name"], str) or TOOL_NAME.fullmatch(tool["name"]) is None:
        raise RefusedError(400, f"{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    schema = tool["input_schema"]
    if not isinstance(schema, dict):
        raise RefusedError(400, f"{at}.input_schema: Input should be a valid dictionary")
    if schema.get("type") != "object":
        raise RefusedError(
            400, f"{at}.input_schema.type: " + ("Input should be 'object'" if "type" in schema else "Field required")
        )


def read_choice(body: Document, tools: list[Document]) -> Document:
    choice = body.get("tool_choice")
    if choice is None:
        return {}
    kind, name = choice.get("type"), choice.get("name")
    if kind not in ("auto", "any", "tool", "none"):
        raise RefusedError(
            400, f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )
    if not body.get("tools"):
        raise RefusedError(400, "tool_choice: tool_choice may only be specified while providing tools.")
    if kind in ("any", "tool") and thinks(body) and body["thinking"]["type"] == "enabled":
        raise RefusedError(400, "Thinking may not be enabled when tool_choice forces tool use.")
    if kind == "tool" and name not in [tool.get("name") for tool in objects_in(body["tools"])]:
        raise RefusedError(400, f"tool_choice: Tool '{name}' not found in provided tools")
    parallel = choice.get("disable_parallel_tool_use") is not True
    spoken: Any = say_choice(name) if kind == "tool" else {"any": "required"}.get(kind, kind)
    return {"tool_choice": spoken, "parallel_tool_calls": parallel} if tools else {}
