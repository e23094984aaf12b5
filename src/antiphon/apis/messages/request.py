"""A Messages request as a Chat Completions request.

What both APIs know is said in the words of Chat Completions. What only Anthropic knows (`thinking`, `cache_control`,
its own tools and blocks) stays as it is, for an upstream that speaks Anthropic's protocol; `targets` fits it to
others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from antiphon.apis.messages.conversation import MessagesConversation
from antiphon.apis.messages.tools import read_choice, read_tools
from antiphon.apis.reading import (
    fault,
    missing,
    read_flag,
    read_integer,
    read_number,
    read_object,
    read_text,
    read_texts,
)
from antiphon.document import Document
from antiphon.errors import RequestError

_TIERS: Final = {"standard_only": "default"}
_THINKING: Final = ("enabled", "disabled", "adaptive", "between_tools")


def read_request(document: Document, conversation: MessagesConversation, *, counting: bool = False) -> Document:
    """`conversation`: takes the messages. `counting`: for count_tokens, which needs no limit. Raises RequestError."""
    asked = {key: value for key, value in document.items() if value is not None}
    out: Document = {"model": read_text(asked, "model", "")}
    if "max_tokens" not in asked and not counting:
        raise missing("max_tokens")
    if "thread" in asked:
        raise _no_threads()
    conversation.read_system(asked.get("system", ""))
    conversation.read_messages(asked.get("messages"))
    out["messages"] = conversation.messages
    for param, value in asked.items():
        read = _READERS.get(param)
        if read is not None:
            read(value, out)
        elif param not in _READ:
            out[param] = value  # Anthropic's own
    return out


def _no_threads() -> RequestError:
    """Conversations that the server keeps. Anthropic's SDK goes on without one when it is told so in these words."""
    words = "thread: the gateway keeps no conversations. Send all messages with every request."
    extra = {"unsupported": ["thread"]}
    return RequestError(words, param="thread", code="thread_unsupported_request", extra=extra)


def _read_limit(value: object, out: Document) -> None:
    out["max_completion_tokens"] = read_integer(value, "max_tokens")


def _read_stream(value: object, out: Document) -> None:
    if read_flag(value, "stream"):
        out["stream"] = True


def _read_stops(value: object, out: Document) -> None:
    stops = read_texts(value, "stop_sequences")
    if stops:
        out["stop"] = stops


def _read_temperature(value: object, out: Document) -> None:
    out["temperature"] = read_number(value, "temperature")


def _read_top_p(value: object, out: Document) -> None:
    out["top_p"] = read_number(value, "top_p")


def _read_top_k(value: object, out: Document) -> None:
    out["top_k"] = read_integer(value, "top_k")


def _read_metadata(value: object, out: Document) -> None:
    metadata = dict(read_object(value, "metadata"))
    user = metadata.pop("user_id", None)
    if user is not None:
        out["user"] = read_text({"user_id": user}, "user_id", "metadata")
    if metadata:
        out["metadata"] = {key: read_text(metadata, key, "metadata") for key in metadata}


def _read_tier(value: object, out: Document) -> None:
    tier = read_text({"service_tier": value}, "service_tier", "")
    out["service_tier"] = _TIERS.get(tier, tier)


def _read_thinking(value: object, out: Document) -> None:
    thinking = read_object(value, "thinking")
    kind = read_text(thinking, "type", "thinking")
    if kind == "enabled":
        if "budget_tokens" not in thinking:
            raise missing("thinking.enabled.budget_tokens")
        read_integer(thinking["budget_tokens"], "thinking.enabled.budget_tokens", 1024)
    elif kind not in _THINKING:
        raise fault("thinking.type", f"Input should be one of {', '.join(_THINKING)}")
    out["thinking"] = thinking


def _read_output(value: object, out: Document) -> None:
    config = dict(read_object(value, "output_config"))
    form = config.pop("format", None)
    if form is not None:
        _read_format(form, "output_config.format", out)
    if config.get("effort") is not None:
        read_text(config, "effort", "output_config")
    if config:
        out["output_config"] = config


def _read_older_format(value: object, out: Document) -> None:
    _read_format(value, "output_format", out)


def _read_format(value: object, param: str, out: Document) -> None:
    form = read_object(value, param)
    if read_text(form, "type", param) != "json_schema":
        raise fault(f"{param}.type", "Input should be 'json_schema'")
    schema = read_object(form.get("schema"), f"{param}.schema")
    named = {"name": "response", "schema": schema, "strict": True}
    out["response_format"] = {"type": "json_schema", "json_schema": named}


def _read_choice(value: object, out: Document) -> None:
    out.update(read_choice(value))


def _read_tools(value: object, out: Document) -> None:
    tools = read_tools(value)
    if tools:
        out["tools"] = tools


_READERS: Final[Mapping[str, Callable[[object, Document], None]]] = {
    "max_tokens": _read_limit,
    "stream": _read_stream,
    "stop_sequences": _read_stops,
    "temperature": _read_temperature,
    "top_p": _read_top_p,
    "top_k": _read_top_k,
    "metadata": _read_metadata,
    "service_tier": _read_tier,
    "thinking": _read_thinking,
    "output_config": _read_output,
    "output_format": _read_older_format,
    "tools": _read_tools,
    "tool_choice": _read_choice,
}
_READ: Final = frozenset({"model", "messages", "system", "betas", "anthropic_beta", "anthropic_version"})
# The names of what is told in other words.
NAMES: Final[Mapping[str, str]] = {
    "max_completion_tokens": "max_tokens",
    "stop": "stop_sequences",
    "user": "metadata.user_id",
    "response_format": "output_config.format",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "betas": "anthropic-beta",
}
# Anthropic's parameters.
KNOWN: Final = frozenset(
    {
        *_READERS,
        *_READ,
        *("cache_control", "container", "context_management", "diagnostics", "inference_geo", "mcp_servers", "speed"),
        *("user_profile_id", "workspace_id", "fallbacks"),
    }
)
