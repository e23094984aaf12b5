"""Embeddings, end to end: vectors pass through to the digit."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI

from antiphon.upstreams.scripted import cut, error, json_answer, raw, sse
from tests.support.gateway import Running, gateway
from tests.support.raw import Answer, call
from tests.turns.conftest import Start
from tests.turns.test_routes import always, settings

PREFIXES = ("/v1", "/openai/v1", "/crazyrouter/v1", "/skytells/v1", "/maritaca/api", "/maritaca/api/v1", "/api")
RECEIPT = {"x-antiphon-receipt": "1"}
USAGE = {"prompt_tokens": 8, "total_tokens": 8}


def vectors(*embeddings: Any, **top: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": one} for i, one in enumerate(embeddings or ([0.5, -1.0],))]
    return {"object": "list", "data": data, "model": "embed-2026", "usage": dict(USAGE), **top}


async def ask(running: Running, path: str = "/v1/embeddings", headers: Any = None, **more: Any) -> Answer:
    return await call(running.port, "POST", path, {"model": "m", "input": "Hello", **more}, headers=headers)


async def test_the_answer_is_the_upstreams_to_the_byte(start: Start) -> None:
    body = (
        b'{"object":"list","data":[{"object":"embedding","index":0,"embedding":[1e-05,0.10000000000000001,-0.0],"x":{}}],'
        b'"model":"embed-2026","x_vendor":[1.50,{"deep":null}],"usage":{"x":1.0,"prompt_tokens":8,"total_tokens":8}}'
    )
    running, upstream = await start(json_answer(body))
    sent: dict[str, Any] = {"encoding_format": "float", "dimensions": 3, "user": "u", "input_type": "query"}
    answer = await ask(running, **sent)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.body == body
    assert upstream.requests[0].path == "/v1/embeddings"
    assert upstream.requests[0].document == {"model": "target", "input": "Hello", **sent}


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_every_dialect_has_it(start: Start, prefix: str) -> None:
    running, _ = await start(json_answer(vectors()))
    answer = await ask(running, f"{prefix}/embeddings")
    assert (answer.status, answer.json) == (200, vectors())


@pytest.mark.parametrize("given", ["x", ["a", "b"], [1, 2, 3], [[1, 2], [3]], ["a"] * 2048])
async def test_every_form_of_input_travels(start: Start, given: Any) -> None:
    running, upstream = await start(json_answer(vectors()))
    assert (await ask(running, input=given)).status == 200
    assert upstream.requests[0].document["input"] == given


@pytest.mark.parametrize(
    ("wrong", "param", "message"),
    [
        ({"model": None}, None, "you must provide a model parameter"),
        ({"input": None}, "input", "Missing required parameter: 'input'."),
        ({"input": ""}, "input", "Invalid 'input': input cannot be an empty string."),
        ({"input": []}, "input", "Invalid 'input': input cannot be an empty array."),
        ({"input": ["a", ""]}, "input[1]", "Invalid 'input[1]': input cannot be an empty string."),
        ({"input": [[1], []]}, "input[1]", "Invalid 'input[1]': empty array."),
        ({"input": ["a"] * 2049}, "input", "Invalid 'input': array length must be 2048 or less."),
        ({"input": {"text": "a"}}, "input", "Invalid type for 'input': expected one of a string, array of strings"),
        ({"input": ["a", 1]}, "input[1]", "Invalid type for 'input[1]': expected a string, but got an integer"),
        ({"dimensions": 0}, "dimensions", "Invalid 'dimensions': integer below minimum value."),
        ({"encoding_format": 8}, "encoding_format", "Invalid type for 'encoding_format': expected a string, but got"),
        ({"user": 7}, "user", "Invalid type for 'user': expected a string, but got an integer instead."),
    ],
)
async def test_faults_are_told_in_openais_words(start: Start, wrong: Any, param: str | None, message: str) -> None:
    running, upstream = await start()
    answer = await ask(running, **wrong)
    told = answer.json["error"]
    assert (answer.status, told["type"], told["param"]) == (400, "invalid_request_error", param)
    assert told["message"].startswith(message)
    assert not upstream.requests


async def test_a_stream_is_never_asked_for(start: Start) -> None:
    """`stream` is no parameter of this endpoint: it travels like any unknown one, and nothing is added to it."""
    running, upstream = await start(json_answer(vectors()), sse(vectors()))
    assert (await ask(running, stream=True)).json == vectors()
    assert upstream.requests[0].document == {"model": "target", "input": "Hello", "stream": True}
    answer = await ask(running, stream=True)
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_malformed")


async def test_what_the_upstream_left_out_is_filled_in(start: Start) -> None:
    running, _ = await start(
        json_answer({"data": [{"embedding": [1]}], "x_new": 1}),
        json_answer(vectors(usage={"total_tokens": 5, "x_cost": 0.1})),
    )
    answer = (await ask(running, headers=RECEIPT, input=["one two", "three!"])).json
    assert (answer["object"], answer["model"], answer["x_new"]) == ("list", "target", 1)
    assert answer["usage"] == {"prompt_tokens": 4, "total_tokens": 4}
    assert answer["antiphon"]["usage"] == {"source": "estimated", "tokenizer": "rule-of-thumb"}
    answer = (await ask(running, headers=RECEIPT)).json
    assert answer["usage"] == {"total_tokens": 5, "x_cost": 0.1, "prompt_tokens": 5}
    assert answer["antiphon"]["usage"] == {"source": "reported"}


async def test_tokens_that_were_sent_are_counted_as_they_are(start: Start) -> None:
    running, _ = await start(json_answer(vectors(usage=None)))
    assert (await ask(running, input=[[1, 2, 3], [4]])).json["usage"] == {"prompt_tokens": 4, "total_tokens": 4}


async def test_the_receipt_and_the_log_say_what_happened(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(json_answer(vectors()), access_log=str(log))
    answer = await ask(running, headers=RECEIPT)
    receipt = answer.json["antiphon"]
    assert (receipt["route"], receipt["request_id"]) == ("m", answer.headers["x-request-id"])
    assert [change["param"] for change in receipt["rewritten"]] == ["model"]
    running.worker.log.flush()
    entry = json.loads(log.read_text())
    assert (entry["path"], entry["model"], entry["upstream"]) == ("/v1/embeddings", "m", "up")
    assert (entry["prompt_tokens"], entry["completion_tokens"], entry["usage"]) == (8, 0, "reported")


async def test_a_vendors_own_format_travels(start: Start) -> None:
    running, upstream = await start(json_answer(vectors()))
    assert (await ask(running, encoding_format="int8")).status == 200
    assert upstream.requests[0].document["encoding_format"] == "int8"


async def test_strict_refuses_and_prunes(start: Start) -> None:
    given = vectors(x_extra=1, usage={**USAGE, "x_cost": 1})
    given["data"][0]["x_item"] = 1
    running, upstream = await start(json_answer(given))
    strict = {"x-antiphon-strict": "1"}
    answer = await ask(running, headers=strict, input_type="query")
    assert (answer.status, answer.json["error"]["code"]) == (400, "unknown_parameter")
    answer = await ask(running, headers=strict, encoding_format="int8")
    assert answer.json["error"]["message"] == "Invalid value: 'int8'. Supported values are: 'float' and 'base64'."
    assert not upstream.requests
    assert (await ask(running, headers=strict)).json == vectors()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"data":[]}',
        b'{"data":{}}',
        b'{"data":[NaN]}',
        b'{"data":["\xff"]}',
        b'{"data":[{"embedding":[1]}',
        b'{"data":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
async def test_a_200_that_is_no_answer_is_502(start: Start, body: bytes) -> None:
    running, _ = await start(json_answer(body))
    answer = await ask(running)
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_malformed")


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        ({"error": {"message": "no", "type": "invalid_request_error", "code": 400}}, 400),
        ({"error": {"message": "slow down", "code": "rate_limit_exceeded"}, "data": []}, 429),
        ({**vectors(), "error": {"message": "half done", "code": 500}}, 502),
        ({"object": "error", "message": "boom", "code": 503}, 503),
        ({"detail": "Not Found"}, 502),
    ],
)
async def test_an_error_in_a_200_has_its_own_status(start: Start, failure: Any, status: int) -> None:
    running, _ = await start(json_answer(failure))
    assert (await ask(running)).status == status


async def test_what_only_looks_like_an_error_is_none(start: Start) -> None:
    given = vectors(error=None, message="success", usage=None)
    running, _ = await start(json_answer(given))
    answer = (await ask(running)).json
    assert (answer["message"], answer["data"]) == ("success", given["data"])


async def test_too_long_an_input_is_the_inputs_fault(start: Start) -> None:
    running, _ = await start(error(400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}))
    told = (await ask(running)).json["error"]
    assert (told["code"], told["param"]) == ("context_length_exceeded", "input")


async def test_a_body_cut_short_is_an_error(start: Start) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n"
    running, _ = await start(raw(head + json.dumps(vectors()).encode(), cut()))
    answer = await ask(running)
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_truncated")


@pytest.mark.parametrize("fault", [error(500), error(404), json_answer(b"nope"), json_answer({"data": []}), raw(cut())])
async def test_the_next_target_is_tried(tmp_path: Path, fault: Any) -> None:
    first, second = always(fault), always(json_answer(vectors()))
    urls = [await first.start(), await second.start()]
    targets = '{ upstream = "u0" }, { upstream = "u1", model = "other", priority = 1 }'
    async with gateway(tmp_path, settings(urls, targets)) as running:
        answer = await ask(running)
        assert (answer.status, answer.json) == (200, vectors())
    assert [upstream.requests[0].document["model"] for upstream in (first, second)] == ["m", "other"]
    await first.stop()
    await second.stop()


async def test_the_openai_package(start: Start) -> None:
    """It asks for base64 by default and decodes it; an upstream that answers numbers all the same is read as well."""
    numbers = [0.5, -1.0, 3.25]
    packed = base64.b64encode(struct.pack("<3f", *numbers)).decode()
    running, upstream = await start(
        json_answer(vectors(packed, packed)), json_answer(vectors(numbers)), json_answer(vectors(numbers))
    )
    async with AsyncOpenAI(base_url=f"http://127.0.0.1:{running.port}/v1", api_key="any", max_retries=0) as client:
        answer = await client.embeddings.create(model="m", input=["a", "b"])
        assert [one.embedding for one in answer.data] == [numbers, numbers]
        assert (answer.usage.prompt_tokens, answer.model) == (8, "embed-2026")
        assert upstream.requests[0].document["encoding_format"] == "base64"
        assert (await client.embeddings.create(model="m", input="a")).data[0].embedding == numbers
        plain = await client.embeddings.create(model="m", input="a", encoding_format="float", dimensions=3)
        assert plain.data[0].embedding == numbers
        assert upstream.requests[2].document["encoding_format"] == "float"
