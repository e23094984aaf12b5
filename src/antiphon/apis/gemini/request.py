"""A generateContent request as a Chat Completions request.

What both APIs know is said in the words of Chat Completions. What only Gemini knows stays under Gemini's own name, for
an upstream that speaks its protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from antiphon.apis.gemini.contents import GeminiContents
from antiphon.apis.gemini.schema import json_schema
from antiphon.apis.gemini.tools import read_choice, read_tools
from antiphon.apis.gemini.words import named
from antiphon.apis.reading import (
    read_flag,
    read_integer,
    read_number,
    read_object,
    read_texts,
)
from antiphon.document import Document

_CONFIG: Final = "generationConfig"
_READ: Final = frozenset({"contents", "systemInstruction", "model", _CONFIG, "tools", "toolConfig"})
_JSON: Final = "application/json"
_PLAIN: Final = "text/plain"
_LEAST: Final = 1024  # tokens: fewer are no budget of Anthropic's


def read_request(document: Document, model: str, contents: GeminiContents) -> Document:
    """`contents`: takes the messages. Raises RequestError."""
    asked = named(document, "")
    out: Document = {"model": model}
    if "systemInstruction" in asked:
        contents.read_system(asked["systemInstruction"])
    contents.read(asked.get("contents"))
    out["messages"] = contents.messages
    if "tools" in asked:
        out.update(read_tools(asked["tools"]))
    if "toolConfig" in asked and out.get("tools"):
        read_choice(asked["toolConfig"], out)
    _read_config(asked.get(_CONFIG, {}), out)
    for param, value in asked.items():
        if param == "labels":
            out["metadata"] = read_object(value, "labels")
        elif param == "serviceTier":
            out["service_tier"] = {"standard": "default"}.get(str(value).lower(), str(value).lower())
        elif param not in _READ:
            out[param] = value  # Gemini's own
    return out


def _read_config(value: object, out: Document) -> None:
    config = named(value, _CONFIG)
    own: Document = {}
    for key, inner in config.items():
        read = _READERS.get(key)
        if read is not None:
            read(inner, f"{_CONFIG}.{key}", out)
        elif key not in ("responseMimeType", "responseSchema", "responseJsonSchema"):
            own[key] = inner
    _read_format(config, own, out)
    if own:
        out[_CONFIG] = own


def _read_format(config: Document, own: Document, out: Document) -> None:
    kind = config.get("responseMimeType", _PLAIN)
    schema = config.get("responseJsonSchema")
    if schema is None and "responseSchema" in config:
        schema = json_schema(config["responseSchema"])
    if schema is not None:
        named_schema = {"name": "response", "schema": read_object(schema, f"{_CONFIG}.responseSchema")}
        out["response_format"] = {"type": "json_schema", "json_schema": named_schema}
    elif kind == _JSON:
        out["response_format"] = {"type": "json_object"}
    if kind not in (_JSON, _PLAIN):
        own["responseMimeType"] = kind


def _plain(name: str, read: Callable[[object, str], object]) -> Callable[[object, str, Document], None]:
    def put(value: object, param: str, out: Document) -> None:
        out[name] = read(value, param)

    return put


def _read_thinking(value: object, param: str, out: Document) -> None:
    """A level is an effort. All of it stays, for a model of Gemini's."""
    config = named(value, param)
    level = config.get("thinkingLevel")
    if isinstance(level, str) and level.lower() in ("minimal", "low", "medium", "high"):
        out["reasoning_effort"] = level.lower()
    elif type(config.get("thinkingBudget")) is int:
        out["thinking"] = _budget(config["thinkingBudget"])
    elif config.get("includeThoughts") is True:
        out["thinking"] = {"type": "adaptive"}
    out["thinking_config"] = config


def _budget(tokens: int) -> Document:
    if tokens == 0:
        return {"type": "disabled"}
    return {"type": "enabled", "budget_tokens": max(tokens, _LEAST)} if tokens > 0 else {"type": "adaptive"}


def _read_modalities(value: object, param: str, out: Document) -> None:
    out["modalities"] = [word.lower() for word in read_texts(value, param)]


_READERS: Final[Mapping[str, Callable[[object, str, Document], None]]] = {
    "temperature": _plain("temperature", read_number),
    "topP": _plain("top_p", read_number),
    "topK": _plain("top_k", read_number),
    "candidateCount": _plain("n", read_integer),
    "maxOutputTokens": _plain("max_completion_tokens", read_integer),
    "stopSequences": _plain("stop", read_texts),
    "seed": _plain("seed", lambda value, param: read_integer(value, param, -(2**63))),
    "presencePenalty": _plain("presence_penalty", read_number),
    "frequencyPenalty": _plain("frequency_penalty", read_number),
    "responseLogprobs": _plain("logprobs", read_flag),
    "logprobs": _plain("top_logprobs", read_integer),
    "responseModalities": _read_modalities,
    "thinkingConfig": _read_thinking,
}
NAMES: Final[Mapping[str, str]] = {
    "max_completion_tokens": f"{_CONFIG}.maxOutputTokens",
    "stop": f"{_CONFIG}.stopSequences",
    "n": f"{_CONFIG}.candidateCount",
    "top_p": f"{_CONFIG}.topP",
    "top_k": f"{_CONFIG}.topK",
    "temperature": f"{_CONFIG}.temperature",
    "seed": f"{_CONFIG}.seed",
    "logprobs": f"{_CONFIG}.responseLogprobs",
    "top_logprobs": f"{_CONFIG}.logprobs",
    "presence_penalty": f"{_CONFIG}.presencePenalty",
    "frequency_penalty": f"{_CONFIG}.frequencyPenalty",
    "response_format": f"{_CONFIG}.responseSchema",
    "reasoning_effort": f"{_CONFIG}.thinkingConfig.thinkingLevel",
    "thinking": f"{_CONFIG}.thinkingConfig.thinkingBudget",
    "thinking_config": f"{_CONFIG}.thinkingConfig",
    "modalities": f"{_CONFIG}.responseModalities",
    "metadata": "labels",
    "service_tier": "serviceTier",
    "tool_choice": "toolConfig.functionCallingConfig",
}
