"""Chat Completions requests of many shapes, for properties of the encoding and for the vendor's SDK as judge.

`python -m tests.protocols.anthropic_requests 500` writes encoded bodies for `judges/anthropic.py`.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from antiphon.errors import RequestError
from antiphon.protocols.anthropic import FLAVORS, Anthropic
from antiphon.protocols.facts import ModelFacts, Thinking

Document = dict[str, Any]

PIXEL = "data:image/png;base64,iVBORw0KGgo="
WORDS = st.sampled_from(["Hello", "a b", "é😀", " ", "", "\n", "x" * 40])
CACHED = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
PARTS = st.sampled_from(
    [
        {"type": "text", "text": "Hello"},
        {"type": "text", "text": ""},
        {"type": "text", "text": "kept", **CACHED},
        {"type": "text", "text": "kept", "prompt_cache_breakpoint": {}},
        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}, **CACHED},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_data": "data:text/csv;base64,YSxiCg==", "filename": "a.csv"}},
        {"type": "file", "file": {"file_id": "file_123"}},
        {"type": "document", "source": {"type": "url", "url": "https://pictures.example/a.pdf"}},
    ]
)
THOUGHTS = st.lists(
    st.sampled_from(
        [
            {"index": 0, "type": "thinking", "thinking": "So", "signature": "c2ln"},
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"index": 1, "text_offset": 3, "type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "thinking", "thinking": "of another vendor"},
        ]
    ),
    min_size=1,
    max_size=3,
)
SERVED = [
    {"index": 1, "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {"index": 2, "text_offset": 2, "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
]
IDS = st.sampled_from(["call_1", "toolu_2", "functions.look:0", "ünïcode", "call_1 "])
ARGUMENTS = st.sampled_from(["{}", "", '{"a": [1, 2.5, null, {"b": "é"}]}', '{"a": 1', "[1]", "text"])
RESULTS = st.fixed_dictionaries(
    {"content": WORDS | st.lists(PARTS, max_size=2)}, optional={"is_error": st.booleans(), "name": st.just("look")}
)
SCHEMAS = st.sampled_from(
    [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3, "description": "many"}}},
        {"properties": {"a": {"oneOf": [{"type": "string", "format": "color"}, {"type": "null"}]}}},
        {"type": "object", "$defs": {"n": {"type": "array", "items": {"type": "number"}, "minItems": 2}}},
    ]
)
TOOLS = st.one_of(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["look", "add"])},
        optional={
            "description": st.sampled_from(["", "Looks."]),
            "parameters": SCHEMAS,
            "strict": st.booleans() | st.none(),
        },
    ).map(lambda function: {"type": "function", "function": function}),
    st.just({"type": "function", "function": {"name": "kept"}, **CACHED}),
    st.just({"type": "custom", "custom": {"name": "say", "description": "Says."}}),
    st.just({"type": "web_search_20250305", "name": "web_search", "max_uses": 3}),
)
CHOICES = st.sampled_from(
    [
        *("auto", "none", "required"),
        {"type": "function", "function": {"name": "look"}},
        {"type": "any", "disable_parallel_tool_use": True},
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "look"}}]},
        },
    ]
)
FORMATS = st.one_of(
    st.sampled_from([{"type": "text"}, {"type": "json_object"}]),
    SCHEMAS.map(lambda schema: {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Document]:
    messages: list[Document] = []
    for _ in range(draw(st.integers(1, 5))):
        role = draw(st.sampled_from(["system", "developer", "user", "user", "assistant", "calls"]))
        if role == "calls":
            messages += draw(calls())
            continue
        content = WORDS if role == "system" or role == "developer" else WORDS | st.lists(PARTS, min_size=1, max_size=3)
        messages.append(draw(answers()) if role == "assistant" else {"role": role, "content": draw(content)})
    return messages


@st.composite
def answers(draw: st.DrawFn) -> Document:
    message: Document = {"role": "assistant", "content": draw(WORDS | st.none())}
    message |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "thinking_blocks": THOUGHTS,
                "content_parts": st.just(SERVED),
                "reasoning_content": WORDS,
                "refusal": st.sampled_from([None, "No."]),
                "annotations": st.just([{"type": "url_citation"}]),
            },
        )
    )
    return message


@st.composite
def calls(draw: st.DrawFn) -> list[Document]:
    message = draw(answers())
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    message["tool_calls"] = [
        {"id": call_id, "type": "function", "function": {"name": "look", "arguments": draw(ARGUMENTS)}}
        for call_id in ids
    ]
    results = [{"role": "tool", "tool_call_id": call_id, **draw(RESULTS)} for call_id in ids]
    return [message, *results]


REQUESTS = st.fixed_dictionaries(
    {"model": st.just("asked"), "messages": conversations()},
    optional={
        "max_tokens": st.sampled_from([0, 1, 900, 2000, 10**9]),
        "max_completion_tokens": st.sampled_from([1, 5000]),
        "temperature": st.sampled_from([0, 0.3, 1, 1.7]),
        "top_p": st.sampled_from([0.5, 0.97, 1]),
        "top_k": st.just(40),
        "stop": st.sampled_from(["END", ["a", "\n"], [" "]]),
        "stream": st.booleans(),
        "tools": st.lists(TOOLS, max_size=3),
        "tool_choice": CHOICES,
        "parallel_tool_calls": st.booleans(),
        "response_format": FORMATS,
        "reasoning_effort": st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        "thinking": st.sampled_from(
            [{"type": "enabled", "budget_tokens": 2048}, {"type": "adaptive"}, {"type": "disabled"}]
        ),
        "user": st.sampled_from(["u-1", "ada@people.example"]),
        "metadata": st.sampled_from([{"user_id": "u-2"}, {"team": "blue"}]),
        "service_tier": st.sampled_from(["auto", "default", "priority", "flex"]),
        "prompt_cache_options": st.sampled_from([{"mode": "implicit", "ttl": "30m"}, {"mode": "explicit"}]),
        "web_search_options": st.sampled_from([{}, {"user_location": {"approximate": {"city": "Rom"}}}]),
        "seed": st.just(7),
        "cache_control": st.just({"type": "ephemeral"}),
        "betas": st.just(["context-1m-2025-08-07"]),
        "extra_body": st.just({"inference_geo": "eu"}),
    },
)
FACTS = st.builds(
    ModelFacts,
    max_output=st.sampled_from([None, 4096, 64_000]),
    takes_sampling=st.booleans(),
    takes_prefill=st.booleans(),
    takes_forced_tools=st.booleans(),
    takes_schema=st.booleans(),
    takes_mid_system=st.booleans(),
    thinking=st.sampled_from([Thinking.NONE, Thinking.BUDGET, Thinking.ADAPTIVE, Thinking.ALWAYS]),
    efforts=st.sampled_from([(), ("low", "medium", "high", "max")]),
)
HOSTS = st.sampled_from(sorted(FLAVORS))


def write(count: int) -> None:
    @settings(max_examples=count, phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    @given(document=REQUESTS, facts=FACTS, host=HOSTS)
    def once(document: Document, facts: ModelFacts, host: str) -> None:
        try:
            encoded = Anthropic(FLAVORS[host]).encode(document, "claude-test", facts, None, strict=False)
        except RequestError:
            return
        print(json.dumps(encoded.body))

    once()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write(int(sys.argv[1]))
