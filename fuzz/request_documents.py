"""Valid request documents, the base of the mutated ones. `marker` is the word by which a request is known again."""

from __future__ import annotations

import random
from typing import Any

Document = dict[str, Any]

# Routes of the fuzzed gateway. The scripted upstream takes the fault from the model's name.
PLAIN_MODELS = (
    "scripted",
    "scripted",
    "scripted",
    "scripted",
    "scripted-judged",
    "scripted-no-usage",
    "scripted-azure",
)
FAILING_MODELS = (
    "scripted-error-500",
    "scripted-error-429",
    "scripted-error-404",
    "scripted-error-401",
    "scripted-close",
    "scripted-cut",
    "scripted-nonsense",
    "scripted-malformed",
    "scripted-error-first",
)
MODELS = (*dict.fromkeys(PLAIN_MODELS), *FAILING_MODELS)
TOOL: Document = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def pick_model(chance: random.Random) -> str:
    return chance.choice(PLAIN_MODELS if chance.random() < 0.9 else FAILING_MODELS)


def chat(chance: random.Random, marker: str) -> Document:
    document: Document = {"model": pick_model(chance), "messages": _messages(chance, marker)}
    for name, values in CHAT_OPTIONS.items():
        if chance.random() < 0.12:
            document[name] = chance.choice(values)
    if document.get("stream") and chance.random() < 0.5:
        document["stream_options"] = {"include_usage": True}
    return document


def completions(chance: random.Random, marker: str) -> Document:
    prompts: tuple[Any, ...] = (f"Once upon a time {marker}", [marker, "two"], [1, 2, 3], [[1, 2], [3]])
    document: Document = {"model": pick_model(chance), "prompt": chance.choice(prompts)}
    for name, values in COMPLETION_OPTIONS.items():
        if chance.random() < 0.15:
            document[name] = chance.choice(values)
    return document


def embeddings(chance: random.Random, marker: str) -> Document:
    inputs: tuple[Any, ...] = (f"text {marker}", [marker, "two"], [1, 2, 3], [[1, 2], [3]])
    document: Document = {"model": pick_model(chance), "input": chance.choice(inputs)}
    if chance.random() < 0.3:
        document["encoding_format"] = chance.choice(("float", "base64"))
    if chance.random() < 0.2:
        document["dimensions"] = 8
    return document


def moderations(chance: random.Random, marker: str) -> Document:
    inputs: tuple[Any, ...] = (f"text {marker}", [marker, "forbidden word"], [{"type": "text", "text": marker}])
    document: Document = {"input": chance.choice(inputs)}
    if chance.random() < 0.5:
        document["model"] = "omni-moderation-latest"
    return document


CHAT_OPTIONS: dict[str, tuple[Any, ...]] = {
    "stream": (True, True, False),
    "n": (1, 2),
    "temperature": (0, 0.7, 2),
    "top_p": (1, 0.1),
    "max_tokens": (5, 100),
    "max_completion_tokens": (5, 100),
    "stop": ("x", ["a", "b"]),
    "seed": (7,),
    "user": ("someone",),
    "presence_penalty": (0.5,),
    "logit_bias": ({"50256": -100},),
    "logprobs": (True,),
    "tools": ([TOOL], [TOOL, TOOL]),
    "tool_choice": ("auto", "none", {"type": "function", "function": {"name": "weather"}}),
    "parallel_tool_calls": (False,),
    "response_format": ({"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}),
    "reasoning_effort": ("low",),
    "metadata": ({"a": "b"},),
    "store": (False,),
    "modalities": (["text"],),
    "prediction": ({"type": "content", "content": "what is said"},),
    "functions": ([TOOL["function"]],),
    "service_tier": ("auto",),
    "x_vendor": ({"any": [1, 2.5, None]},),
}
COMPLETION_OPTIONS: dict[str, tuple[Any, ...]] = {
    "stream": (True, False),
    "n": (1, 2),
    "best_of": (2,),
    "echo": (True,),
    "suffix": ("the end",),
    "logprobs": (0, 5),
    "max_tokens": (5,),
    "stop": (["\n"],),
    "seed": (7,),
    "x_vendor": ({"any": 1},),
}
ENDPOINTS = {
    "chat/completions": chat,
    "completions": completions,
    "embeddings": embeddings,
    "moderations": moderations,
}


def _messages(chance: random.Random, marker: str) -> list[Document]:
    messages: list[Document] = [{"role": "user", "content": f"Say this: {marker} über 水 🙂"}]
    if chance.random() < 0.2:
        messages.insert(0, {"role": chance.choice(("system", "developer")), "content": "Be brief."})
    if chance.random() < 0.15:
        messages[-1]["content"] = [{"type": "text", "text": marker}, _part(chance)]
    if chance.random() < 0.1:
        messages += _tool_round(marker)
    if chance.random() < 0.05:
        messages[-1]["name"] = "someone"
    return messages


def _part(chance: random.Random) -> Document:
    parts: tuple[Document, ...] = (
        {"type": "text", "text": "more"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,AAAA"}},
    )
    return chance.choice(parts)


def _tool_round(marker: str) -> list[Document]:
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
        {"role": "user", "content": marker},
    ]
