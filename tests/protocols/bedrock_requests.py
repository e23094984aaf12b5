"""Arbitrary Chat Completions requests that the front door lets through, and facts of models.

`python -m tests.protocols.bedrock_requests 500` writes what is said to Bedrock, as lines for judges/bedrock.py.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from antiphon.errors import RequestError
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.event_stream import EventMessage, MessageReader
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.sigv4 import Signer
from tests.protocols.bedrock_streams import RECORDINGS

Document = dict[str, Any]

MODELS = st.sampled_from(
    [
        "us.anthropic.claude-sonnet-4-5-v1:0",
        "amazon.nova-2-lite-v1:0",
        "openai.gpt-oss-120b-1:0",
        "meta.llama4-maverick-17b-instruct-v1:0",
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123def456",
    ]
)
FACTS = st.builds(
    ModelFacts,
    max_output=st.sampled_from([None, 500, 64_000]),
    takes_sampling=st.booleans(),
    takes_prefill=st.booleans(),
    takes_forced_tools=st.booleans(),
    takes_schema=st.booleans(),
    takes_mid_system=st.booleans(),
    thinking=st.sampled_from(Thinking),
    efforts=st.sampled_from([(), ("low", "high"), ("low", "medium", "high", "xhigh", "max")]),
)
WORDS = st.text(max_size=12)
NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,10}", fullmatch=True)
CONTROL = st.sampled_from(
    [{}, {"cache_control": {"type": "ephemeral"}}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]
)
TEXT = st.builds(lambda text, more: {"type": "text", "text": text, **more}, WORDS, CONTROL)
BYTES = st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode())
IMAGE = st.builds(
    lambda kind, data: {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{data}"}},
    st.sampled_from(["png", "jpeg", "gif", "webp"]),
    BYTES,
)
FILE = st.builds(
    lambda name, kind, data: {"type": "file", "file": {"filename": f"{name}.{kind}", "file_data": data}},
    st.text(max_size=30),
    st.sampled_from(["pdf", "csv", "docx", "md", "html"]),
    BYTES,
)
AUDIO = st.builds(
    lambda data: {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}},
    BYTES,
)
THOUGHTS = st.lists(
    st.one_of(
        st.builds(
            lambda t, s: {"type": "thinking", "thinking": t, "signature": s}, WORDS, st.text(min_size=1, max_size=9)
        ),
        BYTES.map(lambda data: {"type": "redacted_thinking", "data": data}),
    ),
    max_size=2,
)
ARGUMENTS = st.dictionaries(WORDS, st.integers() | WORDS | st.none(), max_size=2).map(json.dumps) | st.just("")


@st.composite
def exchanges(draw: st.DrawFn) -> list[Document]:
    """What may stand between two messages of the user: an answer, or calls with their results."""
    user = {"role": "user", "content": draw(WORDS | st.lists(TEXT | IMAGE | FILE | AUDIO, min_size=1, max_size=3))}
    said: Document = {"role": "assistant", "content": draw(WORDS | st.none()), "thinking_blocks": draw(THOUGHTS)}
    calls = [
        {
            "id": draw(st.text(max_size=80)),
            "type": "function",
            "function": {"name": draw(NAMES), "arguments": draw(ARGUMENTS)},
        }
        for _ in range(draw(st.integers(0, 2)))
    ]
    if not calls:
        return [user, said]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": draw(WORDS), "is_error": draw(st.booleans())}
        for call in calls
    ]
    return [user, {**said, "tool_calls": calls}, *results]


SYSTEM = st.builds(lambda role, said: {"role": role, "content": said}, st.sampled_from(["system", "developer"]), WORDS)
TALKS = st.builds(
    lambda system, turns, more, last: [*system, *(message for turn in turns for message in turn), *more, *last],
    st.lists(SYSTEM, max_size=2),
    st.lists(exchanges(), max_size=3),
    st.lists(SYSTEM, max_size=1),
    st.lists(st.builds(lambda said: {"role": "user", "content": said}, WORDS), max_size=1),
)
TOOL = st.builds(
    lambda name, described, schema, more: {
        "type": "function",
        "function": {"name": name, "description": described, **schema},
        **more,
    },
    NAMES,
    WORDS,
    st.sampled_from(
        [
            {},
            {"parameters": {}},
            {"parameters": {"type": "object", "properties": {"a": {"type": "string"}}}, "strict": True},
        ]
    ),
    CONTROL,
)
REQUESTS = st.fixed_dictionaries(
    {"model": st.just("asked"), "messages": TALKS.filter(bool)},
    optional={
        "max_tokens": st.integers(0, 100_000),
        "temperature": st.floats(0, 2),
        "top_p": st.floats(0, 1),
        "top_k": st.integers(1, 50),
        "stop": WORDS | st.lists(WORDS, max_size=4),
        "stream": st.booleans(),
        "tools": st.lists(TOOL, min_size=1, max_size=3),
        "tool_choice": st.sampled_from(["auto", "none", "required", {"type": "function", "function": {"name": "f"}}]),
        "parallel_tool_calls": st.booleans(),
        "reasoning_effort": st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        "response_format": st.sampled_from(
            [
                {"type": "text"},
                {"type": "json_object"},
                {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
            ]
        ),
        "metadata": st.dictionaries(st.text(max_size=20), st.text(max_size=30), max_size=16),
        "user": st.text(max_size=20),
        "service_tier": st.sampled_from(["auto", "default", "flex", "priority", "scale"]),
        "seed": st.integers(0, 9),
        "cache_control": st.just({"type": "ephemeral"}),
    },
)


def main(count: int) -> None:
    @settings(max_examples=count, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(REQUESTS, MODELS, FACTS)
    def write(document: Document, model: str, facts: ModelFacts) -> None:
        try:
            encoded = Bedrock().encode(document, model, facts, None, strict=False)
        except RequestError:
            return
        print(json.dumps({"path": encoded.path, "body": encoded.body}))

    write()
    host = "bedrock-runtime.eu-west-1.amazonaws.com"
    for token in (None, "SESSION/token+x=="):
        given_: Document = {"access_key": "AKIDEXAMPLE", "secret": "own/secret", "token": token, "host": host}
        given_ |= {"region": "eu-west-1", "service": "bedrock", "path": "/model/a%3A0/converse", "body": "{}"}
        given_ |= {"now": 1_794_787_200, "headers": [["content-type", "application/json"]]}
        own = Signer("AKIDEXAMPLE", "own/secret", region="eu-west-1", service="bedrock", token=token)
        signed = own.sign("POST", host, given_["path"], b"{}", given_["now"], [("content-type", "application/json")])
        print(json.dumps({"sign": given_, "authorization": dict(signed)["authorization"]}))
    for stream in RECORDINGS.values():
        read: list[EventMessage] = []
        MessageReader().feed(stream, read)
        payloads = [base64.b64encode(message.payload).decode() for message in read]
        print(json.dumps({"messages": base64.b64encode(stream).decode(), "events": payloads}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
