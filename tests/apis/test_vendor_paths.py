"""Vendors' own paths: Azure's deployments, Gemini's, Ollama's, Maritaca's older one; and paths that were meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.apis.conftest import KEY, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")
HELLO = [{"role": "user", "content": "Hello"}]
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
ECHO = "This is the scripted upstream. You said: Hello"


# Azure


@pytest.mark.parametrize("model", [{}, {"model": "scripted"}, {"model": "other"}])
async def test_a_deployment_is_the_model(api: Api, model: Any) -> None:
    """[azure-deployments]"""
    path = "/openai/deployments/scripted/chat/completions?api-version=2024-10-21"
    answer = await api.post(path, {**model, "messages": HELLO}, {"api-key": KEY})
    assert answer.status == 200, answer.body
    assert answer.json["choices"][0]["message"]["content"] == ECHO
    assert api.sent[-1].document["model"] == "scripted"
    assert api.sent[-1].body.count(b'"model"') == 1


async def test_other_endpoints_of_a_deployment(api: Api) -> None:
    for endpoint, asked in (("completions", {"prompt": "x"}), ("embeddings", {"input": "x"})):
        answer = await api.post(f"/openai/deployments/gpt-4o/{endpoint}?api-version=1", asked, {"api-key": KEY})
        assert api.sent[-1].path == f"/v1/{endpoint}"
        assert api.sent[-1].document["model"] == "gpt-4o"
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b" { } ", b'"x"', b"null"])
async def test_bad_bodies_of_a_deployment(api: Api, body: bytes) -> None:
    path = "/openai/deployments/scripted/chat/completions"
    answer = await api.post(path, headers={"api-key": KEY}, body=body)
    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"


# Gemini


@pytest.mark.parametrize("base", ["/v1beta", "/v1", "/v1beta1/projects/p/locations/l/publishers/google"])
@pytest.mark.parametrize("shown", ["header", "query", "bearer"])
async def test_generate_content(api: Api, base: str, shown: str) -> None:
    """[keys-by-header]"""
    headers = {"header": {"x-goog-api-key": KEY}, "query": {}, "bearer": {"authorization": f"Bearer {KEY}"}}[shown]
    query = f"?key={KEY}" if shown == "query" else ""
    answer = await api.post(f"{base}/models/scripted:generateContent{query}", CONTENTS, headers)
    assert answer.status == 200, answer.body
    candidate = answer.json["candidates"][0]
    assert candidate["content"] == {"role": "model", "parts": [{"text": ECHO}]}
    assert (candidate["finishReason"], answer.json["modelVersion"]) == ("STOP", "scripted")
    assert answer.json["usageMetadata"]["totalTokenCount"] == 17


async def test_a_stream_as_one_array(api: Api) -> None:
    path = "/v1beta/models/{}:streamGenerateContent"
    answer = await api.post(path.format("scripted"), CONTENTS)
    assert answer.headers["content-type"].startswith("application/json")
    parts = [part for each in answer.json for part in each["candidates"][0]["content"]["parts"]]
    assert "".join(part["text"] for part in parts) == ECHO
    assert [each["candidates"][0].get("finishReason") for each in answer.json][-1] == "STOP"
    cut = await api.post(path.format("scripted-truncated"), CONTENTS)
    assert cut.json[-1]["error"]["status"] == "INTERNAL"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"contents": None}, "contents"),
        ({"contents": []}, "contents"),
        ({"contents": [{"role": "bot", "parts": [{"text": "x"}]}]}, "contents[0].role"),
        ({"contents": [{"parts": []}]}, "contents[0].parts"),
        ({"contents": [{"parts": [{"inlineData": {"data": "x"}}]}]}, "contents[0].parts[0].inlineData.mimeType"),
        ({"contents": [{"parts": [{"functionResponse": {"name": "f"}}]}]}, "contents[0].parts[0].functionResponse"),
        ({"generationConfig": {"temperature": "hot"}}, "generationConfig.temperature"),
        ({"generation_config": {"max_output_tokens": 1.5}}, "generationConfig.maxOutputTokens"),
        ({"tools": [{"functionDeclarations": [{}]}]}, "tools[0].functionDeclarations[0].name"),
    ],
)
async def test_a_fault_names_geminis_field(api: Api, change: Any, field: str) -> None:
    answer = await api.post("/v1beta/models/scripted:generateContent", {**CONTENTS, **change})
    error = answer.json["error"]
    assert (answer.status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    fields = [each["field"] for detail in error["details"] for each in detail.get("fieldViolations", ())]
    assert fields == [field]


async def test_schemas_of_googles(api: Api) -> None:
    schema = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}, "required": ["a"]}
    config = {"response_mime_type": "application/json", "response_schema": schema}
    await api.post("/v1beta/models/scripted:generateContent", {**CONTENTS, "generation_config": config})
    form = api.sent[-1].document["response_format"]["json_schema"]["schema"]
    assert form == {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}


async def test_geminis_own_tools_are_refused_elsewhere(api: Api) -> None:
    asked = {**CONTENTS, "tools": [{"google_search": {}}]}
    answer = await api.post("/v1beta/models/scripted:generateContent", asked)
    assert answer.status == 400
    assert "googleSearch" in answer.json["error"]["message"]


async def test_tokens_and_models_of_geminis(api: Api) -> None:
    answer = await api.post("/v1beta/models/gpt-4o:countTokens", CONTENTS)
    assert answer.json["totalTokens"] > 0
    listed = (await api.get("/v1beta/models")).json["models"]
    assert "models/gpt-4o" in [model["name"] for model in listed]
    assert (await api.get("/v1beta/models/gpt-4o")).json["displayName"] == "gpt-4o"
    assert (await api.get("/v1/models", {"x-goog-api-key": KEY})).json["models"] == listed
    unknown = await api.post("/v1beta/models/none:generateContent", CONTENTS)
    assert (unknown.status, unknown.json["error"]["status"]) == (404, "NOT_FOUND")
    strange = await api.post("/v1beta/models/scripted:generateContent?key=%F0%9F%98%80%FF", CONTENTS, {})
    assert strange.status == 401
    wrong = await api.post("/v1beta/models/scripted:generateContent", CONTENTS, {"x-goog-api-key": "sk-wrong"})
    assert (wrong.status, wrong.json["error"]["status"]) == (401, "UNAUTHENTICATED")


# Ollama


async def test_ollama_generates(api: Api) -> None:
    asked = {"model": "scripted", "prompt": "Hello", "system": "Be kind.", "stream": False, "keep_alive": "5m"}
    answer = await api.post("/api/generate", asked)
    assert (answer.json["response"], answer.json["done"], answer.json["done_reason"]) == (ECHO, True, "stop")
    assert (answer.json["prompt_eval_count"], answer.json["eval_count"]) == (13, 10)
    streamed = await api.post("/api/generate", {**asked, "stream": True})
    lines = [json.loads(line) for line in streamed.body.splitlines()]
    assert "".join(line["response"] for line in lines) == ECHO
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]


async def test_ollama_lists(api: Api) -> None:
    models = (await api.get("/api/tags")).json["models"]
    assert "gpt-4o" in [model["name"] for model in models]
    assert (await api.get("/api/version")).json["version"].count(".") == 2
    shown = await api.post("/api/show", {"model": "gpt-4o"})
    assert shown.json["capabilities"] == ["completion", "tools"]
    assert (await api.post("/api/show", {"model": "none"})).status == 404
    for body in (b"", b"{", b"{}", b'{"model": 5}'):
        unnamed = await api.post("/api/show", body=body)
        assert (unnamed.status, unnamed.json["param"]) == (400, "model")


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
@pytest.mark.parametrize("stream", [False, True])
async def test_ollamas_logprobs(api: Api, path: str, stream: bool) -> None:
    asked = {"model": "scripted", "messages": HELLO, "prompt": "Hello", "stream": stream, "logprobs": True}
    answer = await api.post(path, asked)
    told = [token for line in answer.body.splitlines() for token in json.loads(line).get("logprobs", ())]
    assert "".join(token["token"] for token in told) == ECHO
    assert all(token["logprob"] <= 0 for token in told)


async def test_an_action_that_only_gemini_has(api: Api) -> None:
    answer = await api.post("/v1beta/models/scripted:embedContent", CONTENTS)
    assert (answer.status, answer.json["error"]["status"]) == (404, "NOT_FOUND")
    assert isinstance((await api.post("/api/chat", {"model": "scripted"})).json["error"], str)


async def test_what_ollama_alone_knows_is_named(api: Api) -> None:
    asked = {"model": "scripted", "messages": HELLO, "stream": False, "options": {"num_ctx": 8192, "seed": 7}}
    headers = {"authorization": f"Bearer {KEY}", "x-antiphon-receipt": "1"}
    answer = await api.post("/api/chat", {**asked, "keep_alive": -1}, headers)
    assert {change["param"] for change in answer.json["antiphon"]["dropped"]} == {"options.num_ctx", "keep_alive"}
    assert api.sent[-1].document["seed"] == 7


# Maritaca's older API


async def test_inference(api: Api) -> None:
    asked = {"model": "scripted", "messages": "Hello", "do_sample": False, "temperature": 0.7, "stopping_tokens": []}
    answer = await api.post("/api/chat/inference", asked, {"authorization": f"Key {KEY}"})
    assert answer.json["answer"] == ECHO
    assert api.sent[-1].document["temperature"] == 0
    streamed = await api.post("/api/chat/inference", {**asked, "stream": True})
    told = [json.loads(line[6:]) for line in streamed.body.decode().splitlines() if line.startswith("data: ")]
    assert "".join(each["text"] for each in told) == ECHO
    wrong = await api.post("/api/chat/inference", {"model": "scripted"})
    assert wrong.json["detail"].startswith("messages:")


# Near misses


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/chat/completions", "/v1/chat/completions"),
        ("/v1/v1/chat/completions", "/v1/chat/completions"),
        ("/v1/chat/completions/", "/v1/chat/completions"),
        ("//v1/chat/completions", "/v1/chat/completions"),
        ("/V1/Chat/Completions", "/v1/chat/completions"),
        ("/messages", "/v1/messages"),
        ("/v1/v1/messages", "/v1/messages"),
        ("/v1/messages/", "/v1/messages"),
        ("/v1/chat/completions/chat/completions", "/v1/chat/completions"),
        ("/proxy/v1/responses", "/v1/responses"),
        ("/v1beta/v1beta/models/m:generateContent", "/v1beta/models/m:generateContent"),
    ],
)
async def test_a_path_that_was_meant(api: Api, path: str, meant: str) -> None:
    """[near-misses]"""
    answer = await api.post(path, {})
    assert answer.status == 404
    assert f"Did you mean {meant}?" in answer.body.decode()


async def test_nothing_is_guessed_without_a_reason(api: Api) -> None:
    assert b"Did you mean" not in (await api.post("/v1/nothing", {})).body
    wrong = await api.get("/v1/chat/completions")
    assert wrong.status == 405
    assert "It takes POST." in wrong.json["error"]["message"]
