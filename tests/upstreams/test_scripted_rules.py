"""The scripted upstream refuses what the vendor would refuse, with the vendor's error."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from antiphon.protocols.sigv4 import Signer
from antiphon.upstreams.scripted import Credential, ScriptedUpstream
from tests.upstreams.languages import FOREIGN, KEY, SHOWN, Client, speaking

Document = dict[str, Any]

SCHEMA = {"type": "object", "properties": {}}
ANTHROPIC: Document = {"model": "m", "max_tokens": 5000, "messages": [{"role": "user", "content": "Hi"}]}
USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
GEMINI: Document = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
CALL = {"functionCall": {"name": "look", "args": {}}}
SKIPPED = {**CALL, "thoughtSignature": "skip_thought_signature_validator"}
RESPONSE = {"functionResponse": {"name": "look", "response": {"output": "x"}}}
BEDROCK: Document = {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
SPEC = {"name": "look", "description": "Looks.", "inputSchema": {"json": SCHEMA}}
CONFIG = {"tools": [{"toolSpec": SPEC}]}
TOOL_USE = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}
TOOL_RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}]}}
COHERE: Document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
CALLS = [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
BODIES = {"anthropic": ANTHROPIC, "bedrock": BEDROCK, "cohere": COHERE, "gemini": GEMINI}
PATHS = {
    "anthropic": "/v1/messages",
    "bedrock": "/model/any.model-v1%3A0/converse",
    "cohere": "/v2/chat",
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
}


def user(*parts: Any) -> Document:
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Any) -> Document:
    return {"role": "assistant", "content": list(parts)}


def said(role: str, *parts: Any) -> Document:
    return {"role": role, "parts": list(parts)}


HI: Document = {"role": "user", "content": "Hi"}
TEXT: Document = {"type": "text", "text": "Hi"}
REFUSED: list[tuple[str, Document, str]] = [
    ("anthropic", {"max_tokens": ...}, "max_tokens: Field required"),
    ("anthropic", {"messages": ...}, "messages: Field required"),
    ("anthropic", {"model": ""}, "model: String should have at least 1 character"),
    ("anthropic", {"max_tokens": "7"}, "max_tokens: Input should be a valid integer"),
    ("anthropic", {"n": 2}, "n: Extra inputs are not permitted"),
    ("anthropic", {"temperature": 1.5}, "temperature: range: 0..1"),
    ("anthropic", {"stop_sequences": [" "]}, "stop_sequences: each stop sequence must contain non-whitespace"),
    ("anthropic", {"messages": [{"role": "assistant", "content": "Hi"}, HI]}, 'first message must use the "user" role'),
    ("anthropic", {"messages": [{"role": "tool", "content": "Hi"}]}, 'Unexpected role "tool"'),
    ("anthropic", {"messages": [{"role": "user", "content": ""}]}, "must have non-empty content"),
    ("anthropic", {"messages": [{**HI, "name": "x"}]}, "messages.0.name: Extra inputs are not permitted"),
    ("anthropic", {"messages": [user({"type": "text", "text": ""})]}, "text content blocks must be non-empty"),
    ("anthropic", {"messages": [user({"type": "poem"})]}, "Input tag 'poem'"),
    ("anthropic", {"messages": [user(USE)]}, "can only be in `assistant` messages"),
    ("anthropic", {"messages": [HI, assistant(USE)]}, "`tool_use` ids were found without `tool_result` blocks"),
    ("anthropic", {"messages": [HI, assistant(USE), user(TEXT)]}, "without `tool_result` blocks immediately after: t1"),
    ("anthropic", {"messages": [HI, assistant(USE), user(TEXT, RESULT)]}, "immediately after: t1"),
    ("anthropic", {"messages": [user(RESULT)]}, "unexpected `tool_use_id` found in `tool_result` blocks: t1"),
    ("anthropic", {"messages": [HI, {"role": "assistant", "content": "So "}]}, "cannot end with trailing whitespace"),
    (
        "anthropic",
        {"messages": [HI, assistant({"type": "thinking", "thinking": "a", "signature": "b"}, TEXT), HI]},
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        "anthropic",
        {"messages": [HI, assistant({"type": "redacted_thinking", "data": "b"}, TEXT), HI]},
        "Invalid `data` in `redacted_thinking` block",
    ),
    ("anthropic", {"tools": [{"name": "a b", "input_schema": SCHEMA}]}, "tools.0.custom.name: String should match"),
    ("anthropic", {"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field required"),
    ("anthropic", {"tools": [{"name": "a", "input_schema": {}}]}, "input_schema.type: Field required"),
    ("anthropic", {"tools": [{"name": "a", "input_schema": SCHEMA}] * 2}, "Tool names must be unique"),
    ("anthropic", {"tool_choice": {"type": "any"}}, "may only be specified while providing tools"),
    ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 500}}, "greater than or equal to 1024"),
    ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 5000}}, "`max_tokens` must be greater than"),
    (
        "anthropic",
        {
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [HI, assistant(USE), user(RESULT)],
            "tools": [{"name": "look", "input_schema": SCHEMA}],
        },
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    ),
    ("gemini", {"contents": ...}, "contents is not specified"),
    ("gemini", {"messages": []}, 'Unknown name "messages": Cannot find field'),
    ("gemini", {"generationConfig": {"top_x": 1}}, "Unknown name"),
    ("gemini", {"generationConfig": {"temperature": 3}}, "temperature must be in the range"),
    ("gemini", {"generationConfig": {"responseJsonSchema": SCHEMA}}, "Response schema with response mime type"),
    ("gemini", {"contents": [said("assistant", {"text": "Hi"})]}, "Please use a valid role: user, model."),
    ("gemini", {"contents": [said("model", {"text": "Hi"})]}, "single turn requests end with a user role"),
    ("gemini", {"contents": [said("user")]}, "contents.parts must not be empty"),
    ("gemini", {"contents": [said("user", {"thought": True})]}, "required oneof field 'data'"),
    ("gemini", {"contents": [said("user", RESPONSE)]}, "function response turn comes immediately after"),
    (
        "gemini",
        {"contents": [said("user", {"text": "Hi"}), said("model", SKIPPED, CALL), said("user", RESPONSE)]},
        "number of function response parts is equal",
    ),
    (
        "gemini",
        {"contents": [said("user", {"text": "Hi"}), said("model", CALL), said("user", RESPONSE)]},
        "Function call is missing a thought_signature",
    ),
    (
        "gemini",
        {
            "contents": [
                said("user", {"text": "Hi"}),
                said("model", {**CALL, "thoughtSignature": "c2ln"}),
                said("user", RESPONSE),
            ]
        },
        "Corrupted thought signature",
    ),
    ("gemini", {"tools": [{"functionDeclarations": [{"name": "1 a"}]}]}, "Invalid function name"),
    ("bedrock", {"messages": ...}, "must start with a user message"),
    ("bedrock", {"messages": [assistant({"text": "Hi"})]}, "must start with a user message"),
    ("bedrock", {"messages": [user({"text": "a"}), user({"text": "b"})]}, "must alternate between user and assistant"),
    ("bedrock", {"messages": [user()]}, "The content field in the Message object at messages.0 is empty"),
    ("bedrock", {"messages": [user({"text": " "})]}, "is blank"),
    ("bedrock", {"messages": [user({"text": "a", "image": {}})]}, "must set one of the following keys"),
    (
        "bedrock",
        {"messages": [user({"text": "a"}), assistant(TOOL_USE), user(TOOL_RESULT)]},
        "toolConfig field must be",
    ),
    (
        "bedrock",
        {"messages": [user({"text": "a"}), assistant(TOOL_USE), user({"text": "b"})], "toolConfig": CONFIG},
        "Expected toolResult blocks at messages.2.content for the following Ids: t1",
    ),
    ("bedrock", {"messages": [user(TOOL_RESULT)], "toolConfig": CONFIG}, "exceeds the number of toolUse blocks"),
    ("bedrock", {"toolConfig": {"tools": []}}, "toolConfig.tools"),
    ("bedrock", {"toolConfig": {"tools": [{"toolSpec": {**SPEC, "description": ""}}]}}, "toolSpec.description"),
    ("bedrock", {"toolConfig": {"tools": [{"toolSpec": {**SPEC, "name": "a b"}}]}}, "toolSpec.name"),
    ("bedrock", {"inferenceConfig": {"temperature": 1.5}}, "less than or equal to 1"),
    ("bedrock", {"inferenceConfig": {"maxTokens": 0}}, "inferenceConfig.maxTokens"),
    (
        "bedrock",
        {
            "messages": [
                user({"text": "a"}),
                assistant({"reasoningContent": {"reasoningText": {"text": "a", "signature": "b"}}}, {"text": "b"}),
                user({"text": "c"}),
            ]
        },
        "Invalid `signature` in `thinking` block",
    ),
    ("cohere", {"model": ...}, "model is required"),
    ("cohere", {"messages": []}, "messages must be at least 1 item long"),
    ("cohere", {"top_p": 1}, "parameter 'top_p' is not a valid field"),
    ("cohere", {"p": 1}, "p must be between"),
    ("cohere", {"tool_choice": "auto"}, "tool_choice must be REQUIRED or NONE"),
    ("cohere", {"messages": [{"role": "developer", "content": "Hi"}]}, "role must be one of"),
    ("cohere", {"messages": [HI, {"role": "assistant", "tool_calls": CALLS}, HI]}, "a tool result is missing for t1"),
    (
        "cohere",
        {"messages": [{"role": "tool", "tool_call_id": "t1", "content": "x"}]},
        "not found in previous tool calls",
    ),
]


def changed(vendor: str, changes: Document) -> Document:
    body = {**copy.deepcopy(BODIES[vendor]), **changes}
    return {name: value for name, value in body.items() if value is not ...}


@pytest.mark.parametrize(("vendor", "changes", "message"), REFUSED)
async def test_bad_requests(vendor: str, changes: Document, message: str) -> None:
    async with speaking(vendor) as client:
        answered = await client.send(PATHS[vendor], changed(vendor, changes))
        assert answered.status == 400
        assert message in told(vendor, answered.document)


def told(vendor: str, document: Document) -> str:
    error = document["error"] if vendor in ("anthropic", "gemini") else document
    if vendor == "anthropic":
        assert (document["type"], error["type"]) == ("error", "invalid_request_error")
        assert document["request_id"]
    if vendor == "gemini":
        assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    message: str = error["message"]
    return message


@pytest.mark.parametrize("vendor", FOREIGN)
async def test_the_request_that_these_were_made_of_is_good(vendor: str) -> None:
    async with speaking(vendor) as client:
        assert (await client.send(PATHS[vendor], BODIES[vendor])).status == 200


@pytest.mark.parametrize("vendor", FOREIGN)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"messages": 1}', b"\xff", b"[" * 100_000])
async def test_what_is_no_request(vendor: str, body: bytes) -> None:
    async with speaking(vendor) as client:
        assert (await client.send(PATHS[vendor], body)).status == 400


@pytest.mark.parametrize(("vendor", "status"), [("anthropic", 401), ("bedrock", 403), ("cohere", 401), ("gemini", 403)])
async def test_a_credential_must_be_shown(vendor: str, status: int) -> None:
    headers = {name: value for name, value in SHOWN[vendor].items() if KEY not in value}
    async with speaking(vendor, credential=Credential()) as client:
        assert (await client.send(PATHS[vendor], BODIES[vendor], headers=headers)).status == status
        assert (await client.send(PATHS[vendor], BODIES[vendor])).status == 200  # any will do, where none is named


@pytest.mark.parametrize("vendor", FOREIGN)
async def test_no_credential_is_needed_unless_told(vendor: str) -> None:
    upstream = ScriptedUpstream(speaks=vendor)
    await upstream.start()
    headers = {name: value for name, value in SHOWN[vendor].items() if KEY not in value}
    answered = await Client(vendor, upstream).send(PATHS[vendor], BODIES[vendor], headers=headers)
    await upstream.stop()
    assert answered.status == 200


@pytest.mark.parametrize(("vendor", "status"), [("anthropic", 401), ("bedrock", 403), ("cohere", 401), ("gemini", 400)])
async def test_a_credential_must_be_right(vendor: str, status: int) -> None:
    wrong = {name: value.replace(KEY, "sk-wrong-one") for name, value in SHOWN[vendor].items()}
    async with speaking(vendor) as client:
        answered = await client.send(PATHS[vendor], BODIES[vendor], headers=wrong)
        assert answered.status == status
        assert b"sk-" not in answered.body


@pytest.mark.parametrize("vendor", FOREIGN)
async def test_paths_and_methods(vendor: str) -> None:
    async with speaking(vendor) as client:
        assert (await client.send("/v1/chat/completions", BODIES[vendor])).status == 404
        assert (await client.send(PATHS[vendor], b"", method="GET")).status in (404, 405)


@pytest.mark.parametrize(
    ("version", "status"), [("2023-06-01", 200), ("2026-10-21", 200), ("2024-01-01", 400), ("", 400)]
)
async def test_anthropic_s_version(version: str, status: int) -> None:
    async with speaking("anthropic") as client:
        answered = await client.send(
            PATHS["anthropic"], ANTHROPIC, headers={"x-api-key": KEY, "anthropic-version": version}
        )
        assert answered.status == status


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
async def test_anthropic_s_newest_version_takes_no_sampling(name: str) -> None:
    headers = {"x-api-key": KEY, "anthropic-version": "2026-10-21"}
    async with speaking("anthropic") as client:
        answered = await client.send(PATHS["anthropic"], {**ANTHROPIC, name: 1}, headers=headers)
        assert answered.document["error"]["message"] == f"{name}: Extra inputs are not permitted"
        assert (await client.send(PATHS["anthropic"], {**ANTHROPIC, name: 1})).status == 200


async def test_older_geminis_need_no_signature() -> None:
    body = {"contents": [said("user", {"text": "Hi"}), said("model", CALL), said("user", RESPONSE)]}
    async with speaking("gemini") as client:
        assert (await client.send("/v1beta/models/gemini-2.5-pro:generateContent", body)).status == 200


async def test_gemini_streams_an_array_unless_asked_for_events() -> None:
    async with speaking("gemini") as client:
        answered = await client.send("/v1beta/models/scripted:streamGenerateContent", GEMINI)
        assert answered.headers["content-type"].startswith("application/json")
        documents: Any = answered.document
        assert [document["modelVersion"] for document in documents] == ["scripted"] * len(documents)
        assert documents[-1]["candidates"][0]["finishReason"] == "STOP"


@pytest.mark.parametrize("model", ["error-first", "error-late", "error-late-429-after-0", "error-late-429-after-2"])
async def test_an_error_in_geminis_array_is_its_last_member(model: str) -> None:
    async with speaking("gemini") as client:
        answered = await client.send(f"/v1beta/models/scripted-{model}:streamGenerateContent", GEMINI)
    documents: Any = answered.document
    *told, last = documents
    assert last["error"]["code"] == (429 if "429" in model else 503)
    assert all("candidates" in document for document in told)


AWS = Credential(access_key="AKIDEXAMPLE", secret="own/secret")


async def send_signed(
    signer: Signer, now: float, body: bytes = b"", signed: bytes = b"", path: str = ""
) -> tuple[int, str]:
    path = path or PATHS["bedrock"]
    body = body or b'{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}'
    headers = signer.sign("POST", "scripted", path, signed or body, int(now), [("content-type", "application/json")])
    async with speaking("bedrock", credential=AWS) as client:
        answered = await client.send(path, body, headers={"content-type": "application/json", **dict(headers)})
        return answered.status, answered.headers.get("x-amzn-errortype", "").partition(":")[0]


def signer(access_key: str = "AKIDEXAMPLE", secret: str = "own/secret", service: str = "bedrock") -> Signer:
    return Signer(access_key, secret, region="eu-west-1", service=service)


async def test_aws_signatures_are_verified() -> None:
    now = time.time()
    assert await send_signed(signer(), now) == (200, "")
    arn = "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Aprofile%2Fscripted/converse"
    assert await send_signed(signer(), now, path=arn) == (200, "")
    assert await send_signed(signer(secret="other"), now) == (403, "invalidsignatureexception")
    assert await send_signed(signer(access_key="OTHER"), now) == (403, "unrecognizedclientexception")
    assert await send_signed(signer(service="s3"), now) == (403, "invalidsignatureexception")
    assert await send_signed(signer(), now - 3600) == (403, "invalidsignatureexception")
    assert await send_signed(signer(), now, signed=b"another body") == (403, "invalidsignatureexception")


@pytest.mark.parametrize("header", ["AWS4-HMAC-SHA256 nonsense", "Basic eDp5", "Bearer "])
async def test_a_proof_that_is_none(header: str) -> None:
    async with speaking("bedrock", credential=AWS) as client:
        answered = await client.send(PATHS["bedrock"], BEDROCK, headers={"authorization": header})
        assert answered.status == 403
