"""Whole turns over real sockets with an upstream that speaks Bedrock's Converse, and with Claude by InvokeModel."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from typing import Any

from antiphon.upstreams.scripted import Script, cut, json_answer, sse
from tests.protocols import anthropic_recordings as anthropic
from tests.protocols.aws_frames import (
    arguments,
    end,
    event,
    exception,
    metadata,
    start,
    stop,
    text,
    thought,
    tool,
)
from tests.support.foreign import finishes, in_stream_error, said
from tests.upstreams.conftest import Begin

Document = dict[str, Any]
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PATH = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
FRAMES = {"content-type": "application/vnd.amazon.eventstream"}
SIGNING = (
    'region = "eu-west-1"\naccess_key_id = "env:ID"\nsecret_access_key = "env:SECRET"\nsession_token = "env:TOKEN"\n'
)
AWS = {"ID": "AKIDEXAMPLE12345", "SECRET": "wJalrXUtnFEMI/K7MDENG", "TOKEN": "session-token-9"}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def stream(data: bytes, *, broken: bool = False) -> Script:
    return sse(data, *([cut()] if broken else []), done=False, headers=FRAMES)


def whole(*content: Document, reason: str = "end_turn") -> Script:
    usage = {"inputTokens": 10, "outputTokens": 3, "totalTokens": 13, "cacheReadInputTokens": 4}
    output = {"message": {"role": "assistant", "content": list(content)}}
    return json_answer({"output": output, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 5}})


async def test_whole_and_streamed_answers_with_a_bearer_key(begin: Begin) -> None:
    streamed = stream(start() + text("The sea ") + text("is 𝄞 wide.") + stop(0) + end() + metadata())
    gateway, fake = await begin("bedrock", whole({"text": "Good day"}), streamed, model=MODEL)
    answer = await gateway.post()
    assert answer.json["choices"][0]["message"]["content"] == "Good day"
    assert answer.json["usage"]["prompt_tokens"] == 14
    answer = await gateway.post(stream=True, stream_options={"include_usage": True})
    assert said(answer) == "The sea is 𝄞 wide."
    assert finishes(answer) == ["stop"]
    assert answer.chunks[-1]["usage"]["completion_tokens"] > 0
    assert [request.path for request in fake.requests] == [f"{PATH}/converse", f"{PATH}/converse-stream"]
    assert fake.requests[0].headers["authorization"] == "Bearer sk-secret"


async def test_the_signature_is_of_what_was_sent(begin: Begin) -> None:
    """The server's side of the check, from the bytes that came."""
    gateway, fake = await begin("bedrock", whole({"text": "x"}), model=MODEL, upstream=SIGNING, environ=AWS)
    assert (await gateway.post()).status == 200
    [asked] = fake.requests
    sent = asked.headers
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE12345/(\d{8})/eu-west-1/bedrock/aws4_request, "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        sent["authorization"],
    )
    assert found is not None
    day, names, signature = found.groups()
    assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names.split(";"))
    path = asked.path.replace("%", "%25")
    lines = ["POST", path, "", *(f"{name}:{sent[name]}" for name in names.split(";")), "", names]
    canonical = "\n".join([*lines, hashlib.sha256(asked.body).hexdigest()])
    scope = f"{day}/eu-west-1/bedrock/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", sent["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + AWS["SECRET"].encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    assert hmac.new(key, text.encode(), "sha256").hexdigest() == signature
    assert sent["x-amz-security-token"] == AWS["TOKEN"]


async def test_calls_and_thinking_over_two_turns(begin: Begin) -> None:
    first = stream(
        start()
        + thought(0, text="Hm, ")
        + thought(0, text="Bern.")
        + thought(0, signature="c2ln")
        + stop(0)
        + tool(1, "tooluse_1", "weather")
        + arguments(1, '{"city":')
        + arguments(1, '"Bern"}')
        + stop(1)
        + end("tool_use")
        + metadata()
    )
    gateway, fake = await begin("bedrock", first, whole({"text": "Sunny"}), model=MODEL)
    messages: list[Document] = [{"role": "user", "content": "Weather?"}]
    answer = await gateway.post(messages=messages, tools=[TOOL], stream=True)
    assert finishes(answer) == ["tool_calls"]
    assert said(answer, "reasoning_content") == "Hm, Bern."
    function = {"name": "weather", "arguments": '{"city":"Bern"}'}
    messages += [
        {"role": "assistant", "tool_calls": [{"id": "tooluse_1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "tooluse_1", "content": "sunny"},
    ]
    answer = await gateway.post(messages=messages, tools=[TOOL])
    assert answer.json["choices"][0]["message"]["content"] == "Sunny"
    blocks = fake.requests[1].document["messages"][1]["content"]
    assert blocks[0] == {"reasoningContent": {"reasoningText": {"text": "Hm, Bern.", "signature": "c2ln"}}}
    assert blocks[1]["toolUse"]["input"] == {"city": "Bern"}


async def test_cut_streams_exceptions_and_errors(begin: Begin) -> None:
    throttled = exception("throttlingException", {"message": "Too many requests"})
    gateway, _ = await begin(
        "bedrock",
        stream(start() + text("Half"), broken=True),
        stream(start() + text("Half") + throttled),
        stream(throttled),
        json_answer({"message": "Slow down"}, 400, {"x-amzn-errortype": "ThrottlingException:http://x/"}),
        json_answer({"message": "Slow down"}, 429, {"retry-after": "3"}),
        model=MODEL,
    )
    assert in_stream_error(await gateway.post(stream=True))["code"] == "upstream_truncated"
    assert in_stream_error(await gateway.post(stream=True))["code"] == "rate_limit_exceeded"
    assert (await gateway.post(stream=True)).status == 429
    assert (await gateway.post()).status == 429
    answer = await gateway.post()
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")


def invoked(events: list[Document]) -> bytes:
    """Each event of the Messages API in a frame."""
    written = [base64.b64encode(json.dumps(one).encode()).decode() for one in events]
    return b"".join(event("chunk", {"bytes": one}) for one in written)


async def test_claude_by_invoke(begin: Begin) -> None:
    events = [anthropic.start(), *anthropic.text(0, "Good ", "day"), *anthropic.end("end_turn")]
    throttled = exception("throttlingException", {"message": "Too many requests"})
    gateway, fake = await begin(
        "anthropic-bedrock",
        stream(invoked(events)),
        stream(invoked(events[:4]) + throttled),
        stream(invoked(events[:4]), broken=True),
        stream(b"no frame at all, but quite long"),
        model=MODEL,
        upstream=SIGNING,
        environ=AWS,
    )
    answer = await gateway.post(stream=True, temperature=0.1)
    assert said(answer) == "Good day"
    [asked] = fake.requests
    assert asked.path == f"{PATH}/invoke-with-response-stream"
    assert asked.document["anthropic_version"] == "bedrock-2023-05-31"
    assert not {"model", "stream"} & asked.document.keys()
    assert asked.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE12345/")
    assert in_stream_error(await gateway.post(stream=True))["code"] == "rate_limit_exceeded"
    assert in_stream_error(await gateway.post(stream=True))["code"] == "upstream_truncated"
    answer = await gateway.post(stream=True)
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_malformed")
