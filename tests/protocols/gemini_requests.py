"""Chat Completions requests of every kind, and how they are said to Gemini: `python -m … | python judges/gemini.py`."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from antiphon.protocols.gemini import GEMINI, VERTEX_GEMINI, default_facts

Document = dict[str, Any]
MODELS = ("gemini-3-flash", "gemini-3-pro", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.0-flash")
PARTS: tuple[Document, ...] = (
    {"type": "text", "text": "Look:"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1n", "detail": "high"}},
    {"type": "image_url", "image_url": {"url": "https://pics.example/a.jpg"}},
    {"type": "input_audio", "input_audio": {"data": "d2F2", "format": "wav"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
    {"type": "file", "file": {"file_id": "gs://bucket/b.csv"}},
    {"type": "video_url", "video_url": {"url": "https://youtu.be/abc"}},
)
SCHEMAS: tuple[Document, ...] = (
    {},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": {"const": 1}, "b": {"type": "integer", "exclusiveMinimum": 0}}},
    {"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"},
    {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", None]}}, "required": ["a"]},
)
TOOLS: tuple[Document, ...] = (
    *({"type": "function", "function": {"name": f"f{n}", "parameters": one}} for n, one in enumerate(SCHEMAS)),
    {"type": "function", "function": {"name": "g", "description": "does", "strict": True}},
    {"type": "google_search"},
    {"type": "code_execution"},
    {"type": "url_context"},
)
FIELDS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("temperature", (0, 0.7, 2)),
    ("top_p", (0.1, 1)),
    ("max_tokens", (0, 100)),
    ("max_completion_tokens", (64_000,)),
    ("stop", ("END", ["a", "b"])),
    ("seed", (7, -(2**40))),
    ("presence_penalty", (0.5,)),
    ("frequency_penalty", (-0.5,)),
    ("logprobs", (True,)),
    ("top_logprobs", (5,)),
    ("reasoning_effort", ("none", "minimal", "low", "high", "max")),
    ("thinking", ({"type": "enabled", "budget_tokens": 3000}, {"type": "disabled"})),
    (
        "response_format",
        ({"type": "json_object"}, *({"type": "json_schema", "json_schema": {"schema": s}} for s in SCHEMAS)),
    ),
    ("modalities", (["text"], ["text", "audio"])),
    ("audio", ({"voice": "Kore", "format": "wav"},)),
    ("service_tier", ("auto", "flex", "priority", "default")),
    ("metadata", ({"team": "red"}, {"Team": "Red!"})),
    ("user", ("u1",)),
    ("web_search_options", ({}, {"search_context_size": "low"})),
    ("tool_choice", ("auto", "none", "required")),
    ("parallel_tool_calls", (True, False)),
    ("safety_settings", ([{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],)),
    ("cachedContent", ("cachedContents/1",)),
    ("top_k", (40,)),
    ("google", ({"thinking_config": {"thinking_budget": 100}}, {"media_resolution": "MEDIA_RESOLUTION_LOW"})),
)


def documents(seed: int) -> Iterator[Document]:
    chance = random.Random(seed)
    while True:
        yield {
            "messages": list(_messages(chance)),
            "tools": chance.sample(TOOLS, chance.randrange(len(TOOLS))),
            **{name: chance.choice(values) for name, values in FIELDS if chance.random() < 0.25},
        }


def _messages(chance: random.Random) -> Iterator[Document]:
    if chance.random() < 0.7:
        yield {"role": chance.choice(["system", "developer"]), "content": "Be brief."}
    for turn in range(chance.randrange(4)):
        yield {"role": "user", "content": chance.choice(["Hi", chance.sample(PARTS, 3)])}
        calls = [_call(chance, f"{turn}{n}") for n in range(chance.randrange(3))]
        message: Document = {"role": "assistant", "content": chance.choice([None, "", "Well"])}
        if calls:
            message["tool_calls"] = calls
        if chance.random() < 0.3:
            message["thinking_blocks"] = [
                {"type": "thought_signature", "of": "text", "start": 0, "end": 2, "signature": "c2ln"},
                {"type": "gemini_part", "at": 2, "part": {"executableCode": {"code": "1", "language": "PYTHON"}}},
            ]
        yield message
        for call in calls:
            yield {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": chance.choice(["ok", [PARTS[0], PARTS[1]], ""]),
                "is_error": chance.random() < 0.2,
            }
    yield {"role": "user", "content": "Go on."}


def _call(chance: random.Random, number: str) -> Document:
    arguments = chance.choice(["", "{}", '{"a": [1, {"b": null}]}'])
    call: Document = {
        "id": chance.choice(["call_", "own"]) + number,
        "type": "function",
        "function": {"name": "f1", "arguments": arguments},
    }
    if chance.random() < 0.5:
        call["extra_content"] = {"google": {"thought_signature": "c2lnbmVk"}}
    return call


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for number, document in zip(range(count), documents(1), strict=False):
        model = MODELS[number % len(MODELS)]
        for protocol in (GEMINI, VERTEX_GEMINI):
            try:
                encoded = protocol.encode(document, model, default_facts(model), None, strict=False)
            except Exception as error:
                sys.exit(f"request {number}: {error}: {json.dumps(document)}")
            print(json.dumps({"body": encoded.body, "vertex": protocol.vertex}))


if __name__ == "__main__":
    main()
