"""A Chat Completions request as a Messages request."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from antiphon.chat.fields import FIELDS
from antiphon.document import Document
from antiphon.protocols.anthropic.blocks import EPHEMERAL, AnthropicBlocks, text_block
from antiphon.protocols.anthropic.conversation import AnthropicConversation
from antiphon.protocols.anthropic.flavor import NEWEST, Flavor
from antiphon.protocols.anthropic.schema import adapt
from antiphon.protocols.anthropic.thinking import Thoughts, encode_thinking
from antiphon.protocols.anthropic.tools import encode_tools, forces_tool
from antiphon.protocols.changes import Changes
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import Encoded, Memory

# The API needs a limit. This one is taken by every model since 2024.
USUAL_LIMIT: Final = 8192
SAMPLING: Final = ("temperature", "top_p", "top_k")
_LEAST_TOP_P: Final = 0.95  # of a model that thinks

# Fields that are read here or by a neighbour, or are the gateway's own matter.
_READ: Final = frozenset(
    {
        *("model", "messages", "max_tokens", "max_completion_tokens", "stop", "stream", "stream_options", "n"),
        *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "web_search_options"),
        *("response_format", "reasoning_effort", "metadata", "user", "safety_identifier", "service_tier"),
        *("prompt_cache_options", "moderation", "extra_body", *SAMPLING),
        *("thinking", "output_config", "stop_sequences", "betas", "anthropic_beta"),
    }
)
_OBJECTS: Final = frozenset({"thinking", "output_config", "extra_body"})  # of these; nobody has checked them
# What the vendor lacks, with the value that asks for nothing. `system` is said in `messages`, where it is judged.
_LACKS: Final[dict[str, Any]] = {
    "anthropic_version": None,
    "audio": None,
    "frequency_penalty": 0,
    "logit_bias": {},
    "logprobs": False,
    "modalities": ["text"],
    "prediction": None,
    "presence_penalty": 0,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
    "seed": None,
    "store": False,
    "system": None,
    "top_logprobs": 0,
    "verbosity": "medium",
}
_BETA: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_TIERS: Final = {"default": "standard_only", "priority": "auto"}
_LACKING_TIERS: Final = ("flex", "scale", "fast")
_JSON: Final = "Answer with one JSON object and nothing else: no Markdown, no words around it."
_JSON_BY_SCHEMA: Final = _JSON + " It must be valid against this JSON schema: "


def encode(
    document: Document, model: str, facts: ModelFacts, memory: Memory | None, flavor: Flavor, *, strict: bool
) -> Encoded:
    changes = Changes(strict=strict)
    asked = {key: value for key, value in document.items() if value is not None}
    if isinstance(asked.get("extra_body"), dict):
        asked = {**{key: value for key, value in asked["extra_body"].items() if key not in FIELDS}, **asked}
    blocks = AnthropicBlocks(facts, changes)
    conversation = AnthropicConversation(facts, memory, blocks, changes)
    conversation.say(asked["messages"])
    stream = asked.get("stream") is True
    body: Document = {"model": model} if flavor.names_model else {}
    limit = body["max_tokens"] = _limit(asked, facts, changes)
    _write_format(asked, body, facts, conversation, changes)
    if conversation.system:
        body["system"] = _system(conversation.system)
    body["messages"] = conversation.messages
    encode_tools(asked, body, facts, changes)
    _write_thinking(asked, body, limit, facts, conversation, changes)
    _write_rest(asked, body, changes)
    if stream and flavor.names_stream:
        body["stream"] = True
    headers = _write_version(asked, body, flavor, changes, needs_oldest=blocks.needs_oldest)
    return Encoded(flavor.path_of(model, stream=stream), body, headers, tuple(changes.made))


def _limit(asked: Document, facts: ModelFacts, changes: Changes) -> int:
    param = "max_completion_tokens" if "max_completion_tokens" in asked else "max_tokens"
    wanted = asked.get(param)
    if wanted is None:
        return facts.max_output or USUAL_LIMIT
    if facts.max_output is not None and wanted > facts.max_output:
        changes.rewrite(param, f"the model's answers have at most {facts.max_output} tokens")
        return facts.max_output
    return int(wanted)


def _system(blocks: list[Document]) -> str | list[Document]:
    return str(blocks[0]["text"]) if len(blocks) == 1 and len(blocks[0]) == 2 else blocks


def _write_format(
    asked: Document, body: Document, facts: ModelFacts, conversation: AnthropicConversation, changes: Changes
) -> None:
    """Structured output. Without a grammar the model is told in words what to write."""
    own = asked.get("output_config")
    config: Document = dict(own) if isinstance(own, dict) else {}
    form = asked.get("response_format") or {}
    if form.get("type") == "json_schema":
        schema = form["json_schema"].get("schema") or {"type": "object"}
        if facts.takes_schema:
            schema = adapt(schema, "response_format.json_schema.schema", changes)
            config.setdefault("format", {"type": "json_schema", "schema": schema})
        else:
            changes.rewrite("response_format", "the model has no structured output: it is asked in words")
            conversation.system.append(text_block(_JSON_BY_SCHEMA + msgspec.json.encode(schema).decode()))
    elif form.get("type") == "json_object":
        changes.rewrite("response_format", "the vendor has no JSON mode: it is asked in words")
        conversation.system.append(text_block(_JSON))
    elif form.get("type", "text") != "text":
        changes.drop("response_format", "the vendor does not know it")
    if config:
        body["output_config"] = config


def _write_thinking(
    asked: Document,
    body: Document,
    limit: int,
    facts: ModelFacts,
    conversation: AnthropicConversation,
    changes: Changes,
) -> None:
    """Thinking, and what it excludes: a budget goes with no forced call, and no thinking with sampling."""
    thoughts = encode_thinking(asked, limit, facts, changes)
    if thoughts.has_budget and forces_tool(body):
        thoughts.drop("a forced call excludes it", changes)
    if thoughts.has_budget and conversation.ends_unthinking:
        thoughts.drop("the assistant's last message came without its thinking", changes)
    if thoughts.config is not None:
        body["thinking"] = thoughts.config
    if thoughts.effort is not None:
        config = body.setdefault("output_config", {})
        config.setdefault("effort", thoughts.effort)
    if asked.get("parallel_tool_calls") is False and "tools" in body:
        choice = body.get("tool_choice", {"type": "auto"})
        if choice["type"] != "none":
            body["tool_choice"] = {**choice, "disable_parallel_tool_use": True}
    _write_sampling(asked, body, facts, thoughts, changes)


def _write_sampling(asked: Document, body: Document, facts: ModelFacts, thoughts: Thoughts, changes: Changes) -> None:
    for param in SAMPLING:
        if param not in asked:
            continue
        value = asked[param]
        if not facts.takes_sampling:
            changes.drop(param, "the model takes no sampling parameters")
        elif thoughts.is_on and not _goes_with_thinking(param, value):
            changes.drop(param, "a model that thinks does not take it")
        elif param == "top_p" and "temperature" in body:
            changes.drop(param, "the vendor takes either 'temperature' or 'top_p'")
        elif param == "temperature" and value > 1:
            changes.rewrite(param, "the vendor's highest is 1")
            body[param] = 1
        else:
            body[param] = value


def _goes_with_thinking(param: str, value: float) -> bool:
    return value == 1 if param == "temperature" else param == "top_p" and value >= _LEAST_TOP_P


def _write_rest(asked: Document, body: Document, changes: Changes) -> None:
    if stops := _stops(asked, changes):
        body["stop_sequences"] = stops
    if user := _user(asked, changes):
        body["metadata"] = {"user_id": user}
    if "service_tier" in asked:
        _write_tier(asked["service_tier"], body, changes)
    if "prompt_cache_options" in asked:
        _write_caching(asked["prompt_cache_options"], body, changes)
    for param, value in asked.items():
        if param in _READ:
            if param in _OBJECTS and not isinstance(value, dict):
                changes.drop(param, "it is no object")
            continue
        if param not in _LACKS:
            body[param] = value  # the vendor's own
        elif value != _LACKS[param]:
            changes.drop(param, "the vendor does not know it")


def _stops(asked: Document, changes: Changes) -> list[str]:
    words: list[object] = []
    for stop in (asked.get("stop"), asked.get("stop_sequences")):
        words += stop if isinstance(stop, list) else [] if stop is None else [stop]
    kept = [word for word in words if isinstance(word, str) and word.strip()]
    if len(kept) < len(words):
        changes.drop("stop", "the vendor takes texts only, and no spaces alone")
    return kept


def _user(asked: Document, changes: Changes) -> str | None:
    """An opaque id of the end user. The vendor refuses addresses."""
    metadata = asked.get("metadata") or {}
    if metadata.keys() - {"user_id"}:
        changes.drop("metadata", "the vendor takes 'user_id' only")
    for param, user in (
        ("metadata.user_id", metadata.get("user_id")),
        ("safety_identifier", asked.get("safety_identifier")),
        ("user", asked.get("user")),
    ):
        if not user:
            continue
        if "@" not in user:
            return str(user)
        changes.drop(param, "the vendor takes no address")
    return None


def _write_tier(tier: str, body: Document, changes: Changes) -> None:
    if tier in _LACKING_TIERS:
        changes.drop("service_tier", "the vendor does not know it")
        return
    if tier == "priority":
        changes.note("service_tier", "rewritten", "the vendor takes 'auto': priority where there is any")
    body["service_tier"] = _TIERS.get(tier, tier)


def _write_caching(options: Document, body: Document, changes: Changes) -> None:
    """OpenAI's implicit caching is a mark on the last block. The parts' own marks are explicit."""
    if options.get("mode", "implicit") == "implicit":
        body["cache_control"] = dict(EPHEMERAL)
        if options.get("ttl") is not None:
            changes.rewrite("prompt_cache_options.ttl", "the vendor keeps prompts for 5 minutes or an hour: it is '1h'")
            body["cache_control"]["ttl"] = "1h"
    elif options.get("ttl") is not None:
        changes.drop("prompt_cache_options.ttl", "it stands on the parts, as 'cache_control'")


def _betas(asked: Document, changes: Changes) -> list[str]:
    param = "betas" if "betas" in asked else "anthropic_beta"
    given = asked.get(param) or []
    betas = given if isinstance(given, list) else str(given).split(",")
    names = [beta.strip() for beta in betas if isinstance(beta, str) and _BETA.fullmatch(beta.strip())]
    if len(names) < len(betas):
        changes.drop(param, "it is no list of names")
    return names


def _write_version(
    asked: Document, body: Document, flavor: Flavor, changes: Changes, *, needs_oldest: bool
) -> tuple[tuple[str, str], ...]:
    """The API's version, and betas that the client asks for."""
    oldest = needs_oldest or any(param in body for param in SAMPLING)
    version = flavor.oldest if oldest else NEWEST
    names = _betas(asked, changes)
    headers: list[tuple[str, str]] = []
    if flavor.version_in_body:
        body["anthropic_version"] = version
    else:
        headers.append(("anthropic-version", version))
    if names and flavor.betas_in_body:
        body["anthropic_beta"] = names
    elif names:
        headers.append(("anthropic-beta", ",".join(names)))
    return tuple(headers)
