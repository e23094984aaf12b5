"""Rules of the Messages API that its types do not say: what it answers with a 400."""

from __future__ import annotations

import re
from typing import Any

from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import Encoded

Document = dict[str, Any]

THINKING = ("thinking", "redacted_thinking")


def broken_rules(encoded: Encoded, facts: ModelFacts) -> list[str]:
    body = encoded.body
    return [*_of_messages(body["messages"], facts), *_of_fields(body, facts), *_of_version(encoded)]


def _blocks(message: Document) -> list[Document]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _of_messages(messages: list[Document], facts: ModelFacts) -> list[str]:
    broken = []
    if not messages or messages[0]["role"] != "user":
        broken.append("the first message is the user's")
    for message in messages:
        if not message["content"]:
            broken.append("no message is empty")
        for block in _blocks(message):
            if block["type"] == "text" and not block["text"].strip():
                broken.append("no text is blank")
            if block["type"] == "thinking" and not block["signature"]:
                broken.append("thinking is signed")
            if "index" in block or "text_offset" in block:
                broken.append("nothing of ours is in a block")
    for place, message in enumerate(messages):
        if message["role"] == "system":
            if not facts.takes_mid_system:
                broken.append("the model takes no system message here")
            if messages[place - 1]["role"] == "assistant":
                broken.append("a system message follows the user's")
    last = _blocks(messages[-1])[-1]
    if messages[-1]["role"] == "assistant" and last["type"] in ("text", *THINKING):
        if not facts.takes_prefill:
            broken.append("the model takes no begun answer")
        if last.get("text", "").rstrip() != last.get("text", ""):
            broken.append("a begun answer ends with no space")
    return broken + _of_calls(messages)


def _of_calls(messages: list[Document]) -> list[str]:
    broken = []
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        blocks = _blocks(message)
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if waiting and answered != waiting:
            broken.append("the next message answers every call")
        if [block["type"] for block in blocks[: len(answered)]] != ["tool_result"] * len(answered):
            broken.append("results stand before everything else")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for call_id in waiting:
            if call_id in seen or not re.fullmatch("[a-zA-Z0-9_-]+", call_id):
                broken.append("ids of calls are unique words")
            seen.add(call_id)
    return broken


def _of_fields(body: Document, facts: ModelFacts) -> list[str]:
    broken = []
    thinking, choice = body.get("thinking") or {}, body.get("tool_choice") or {}
    forced = choice.get("type") in ("any", "tool")
    if facts.max_output is not None and body["max_tokens"] > facts.max_output:
        broken.append("the limit is the model's")
    if thinking.get("type") == "enabled":
        if not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
            broken.append("the budget is below the limit")
        if forced:
            broken.append("a forced call excludes a budget")
        if facts.thinking in (Thinking.ADAPTIVE, Thinking.ALWAYS):
            broken.append("the model takes no budget")
    if thinking.get("type") == "disabled" and facts.thinking is Thinking.ALWAYS:
        broken.append("the model always thinks")
    if thinking.get("type") in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        broken.append("thinking excludes a temperature")
    if forced and not facts.takes_forced_tools:
        broken.append("the model cannot be made to call")
    if choice and not body.get("tools"):
        broken.append("a choice needs tools")
    if "temperature" in body and "top_p" in body:
        broken.append("either temperature or top_p")
    if any(not stop.strip() for stop in body.get("stop_sequences", ())):
        broken.append("no stop is blank")
    return broken


def _of_version(encoded: Encoded) -> list[str]:
    version = dict(encoded.headers).get("anthropic-version") or encoded.body["anthropic_version"]
    sampling = {"temperature", "top_p", "top_k"} & encoded.body.keys()
    return ["this version takes no sampling"] if sampling and version == "2026-10-21" else []
