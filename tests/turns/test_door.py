"""The front door: keys, dialects, errors on every path and method, bad input."""

from __future__ import annotations

import gzip
import json
import re
import uuid
from pathlib import Path

import pytest

from antiphon.upstreams.scripted import error, json_answer, sse
from tests.support.raw import call, connect, request
from tests.support.shapes import completion, hello
from tests.turns.conftest import Start

KEYS = """
[[key]]
name = "plain"
secret = "env:K1"
[[key]]
name = "tells"
secret = "env:K2"
dialect = "skytells"
strict = true
"""
ENVIRON = {"K1": "sk-plain-0123456789", "K2": "sk-tells-0123456789"}


async def test_no_key_and_wrong_key(start: Start) -> None:
    running, upstream = await start(server="auth = true", more=KEYS, environ=ENVIRON)
    answer = await running.post()
    assert (answer.status, answer.json["error"]["code"]) == (401, None)
    assert answer.json["error"]["message"].startswith("You didn't provide an API key.")
    answer = await running.post(headers={"authorization": "Bearer sk-wrong-secret-key"})
    assert (answer.status, answer.json["error"]["code"]) == (401, "invalid_api_key")
    assert "wrong-secret" not in answer.body.decode()
    assert (await running.get("/v1/models")).status == 401
    assert (await running.get("/healthz")).status == 200
    assert not upstream.requests


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1", {"authorization": "Bearer sk-plain-0123456789"}),
        ("/maritaca/api", {"authorization": "Key sk-plain-0123456789"}),
        ("/skytells/v1", {"x-api-key": "sk-plain-0123456789"}),
    ],
)
async def test_each_dialects_own_header_works(start: Start, path: str, headers: dict[str, str]) -> None:
    running, _ = await start(json_answer(completion()), server="auth = true", more=KEYS, environ=ENVIRON)
    assert (await running.post(f"{path}/chat/completions", headers=headers)).status == 200


async def test_the_keys_dialect_holds_on_bare_v1_and_the_path_wins(start: Start) -> None:
    running, _ = await start(*[json_answer(completion())] * 2, more=KEYS, environ=ENVIRON)
    headers = {"authorization": "Bearer sk-tells-0123456789"}
    assert "prompt_filter_results" in (await running.post(headers=headers)).json
    assert "prompt_filter_results" not in (await running.post("/openai/v1/chat/completions", headers=headers)).json


async def test_the_keys_dialect_holds_for_errors_too(start: Start) -> None:
    running, _ = await start(more=KEYS, environ=ENVIRON)
    headers = {"authorization": "Bearer sk-tells-0123456789"}
    missing = await running.get("/v1/models/none", headers)
    assert missing.status == 404
    assert "error_id" in missing.json["error"]
    assert "error_id" not in (await running.get("/v1/models/none")).json["error"]


async def test_refusals_are_logged_with_their_code(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(server="auth = true", more=KEYS, environ=ENVIRON, access_log=str(log))
    await running.post(headers={"authorization": "Bearer sk-wrong-secret-key"})
    await running.get("/nowhere")
    running.worker.log.flush()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(entry["status"], entry["error"]) for entry in entries] == [(401, "invalid_api_key"), (404, "unknown_url")]
    assert "wrong" not in log.read_text()


RECEIPT_KEYS = (
    KEYS
    + """
[[key]]
name = "friend"
secret = "env:K3"
receipts = true
[[key]]
name = "stranger"
secret = "env:K4"
receipts = false
"""
)
RECEIPT_ENVIRON = {**ENVIRON, "K3": "sk-friend-0123456789", "K4": "sk-stranger-0123456789"}


@pytest.mark.parametrize(
    ("server", "key", "given"),
    [
        ("", None, True),
        ("", "sk-plain-0123456789", True),
        ("", "sk-stranger-0123456789", False),
        ("receipts = false", None, False),
        ("receipts = false", "sk-plain-0123456789", False),
        ("receipts = false", "sk-unknown-0123456789", False),
        ("receipts = false", "sk-friend-0123456789", True),
    ],
)
async def test_receipts_by_server_and_key(start: Start, server: str, key: str | None, given: bool) -> None:
    """On answers, on streams, on errors of a turn and on refusals before one."""
    running, _ = await start(
        json_answer(completion()), sse(*hello()), error(500), server=server, more=RECEIPT_KEYS, environ=RECEIPT_ENVIRON
    )
    headers = {"x-antiphon-receipt": "1"} | ({} if key is None else {"authorization": f"Bearer {key}"})
    assert ("antiphon" in (await running.post(headers=headers)).json) == given
    streamed = await running.post(headers=headers, stream=True)
    assert any("antiphon" in chunk for chunk in streamed.chunks) == given
    failed = await running.post(headers=headers)
    assert (failed.status, "antiphon" in failed.json) == (502, given)
    assert ("antiphon" in (await running.get("/nowhere", headers)).json) == given


async def test_the_keys_strictness_holds(start: Start) -> None:
    running, upstream = await start(json_answer(completion()), more=KEYS, environ=ENVIRON)
    answer = await running.post(headers={"authorization": "Bearer sk-tells-0123456789"}, x_new=1)
    assert (answer.status, answer.json["error"]["code"]) == (400, "unknown_parameter")
    assert not upstream.requests


async def test_strict_by_header_refuses_and_prunes(start: Start) -> None:
    running, _ = await start(json_answer(completion(x_extra={"a": 1})), json_answer(completion(x_extra={"a": 1})))
    strict = {"x-antiphon-strict": "1"}
    answer = await running.post(headers=strict, foo=1, temperature=9)
    assert (answer.status, answer.json["error"]["param"]) == (400, "foo")
    assert "x_extra" not in (await running.post(headers=strict)).json
    assert (await running.post()).json["x_extra"] == {"a": 1}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/chat/completions", 405, "method_not_supported"),
        ("DELETE", "/v1/models", 405, "method_not_supported"),
        ("POST", "/healthz", 405, "method_not_supported"),
        ("POST", "/v1/nothing", 404, "unknown_url"),
        ("GET", "/", 404, "unknown_url"),
        ("OPTIONS", "/v1/chat/completions", 405, "method_not_supported"),
        ("PUT", "/v1/chat/completions/", 404, "unknown_url"),
    ],
)
async def test_json_errors_on_every_path_and_method(
    start: Start, method: str, path: str, status: int, code: str
) -> None:
    running, _ = await start()
    answer = await call(running.port, method, path)
    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"].startswith("req_")


BODIES = [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b'{"model": "\\ud800"}', b'{"a": NaN}', b"{}" * 2]


@pytest.mark.parametrize("body", BODIES)
async def test_a_body_that_is_no_json_object(start: Start, body: bytes) -> None:
    running, _ = await start()
    answer = await call(running.port, "POST", "/v1/chat/completions", body=body)
    assert answer.status == 400
    assert answer.json["error"]["code"] is None
    assert answer.json["error"]["message"].startswith("We could not parse the JSON body")


async def test_gzip_bodies_and_their_bound(start: Start) -> None:
    running, upstream = await start(json_answer(completion()), server="max_body = 10000")
    document = json.dumps({"model": "m", "messages": [{"role": "user", "content": "zip"}]}).encode()
    headers = {"content-encoding": "gzip"}
    answer = await call(running.port, "POST", "/v1/chat/completions", body=gzip.compress(document), headers=headers)
    assert answer.status == 200
    assert upstream.requests[0].document["messages"][0]["content"] == "zip"
    bomb = gzip.compress(b" " * 1_000_000)
    answer = await call(running.port, "POST", "/v1/chat/completions", body=bomb, headers=headers)
    assert (answer.status, answer.json["error"]["type"]) == (413, "invalid_request_error")
    big = await call(running.port, "POST", "/v1/chat/completions", body=b"x" * 20_000)
    assert (big.status, big.json["error"]["code"]) == (413, "request_too_large")


async def test_error_bodies_of_the_dialects(start: Start) -> None:
    running, _ = await start()
    answers = {}
    for prefix in ("/openai/v1", "/crazyrouter/v1", "/skytells/v1", "/maritaca/api"):
        answers[prefix] = await running.post(f"{prefix}/chat/completions", temperature=5)
    assert {answer.status for answer in answers.values()} == {400}
    assert set(answers["/openai/v1"].json["error"]) == {"message", "type", "param", "code"}
    routed = answers["/crazyrouter/v1"]
    assert routed.json["error"]["message"].endswith(f"(request id: {routed.headers['x-request-id']})")
    told = answers["/skytells/v1"]
    assert told.json["error"]["request_id"] == told.headers["x-request-id"]
    assert (told.json["error"]["error_id"], told.json["error"]["status"]) == ("INVALID_PARAMETER", 400)
    assert set(told.json) == {"error"}
    said = answers["/maritaca/api"].json
    assert said["detail"] == said["error"]["message"]


async def test_maritaca_answers(start: Start) -> None:
    running, _ = await start(json_answer(completion()))
    answer = (await running.post("/maritaca/api/chat/completions")).json
    assert answer["object"] == "chat_completion"
    assert uuid.UUID(answer["id"]).version == 4
    assert re.fullmatch("[0-9a-f]{16}", answer["system_fingerprint"])


async def test_cors_by_setting(start: Start) -> None:
    running, _ = await start(json_answer(completion()), server='cors = ["https://app.example"]')
    preflight = {
        "origin": "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }
    answer = await call(running.port, "OPTIONS", "/v1/chat/completions", headers=preflight)
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    answer = await running.post(headers={"origin": "https://app.example"})
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    answer = await running.post(headers={"origin": "https://evil.example"}, temperature=9)
    assert "access-control-allow-origin" not in answer.headers


async def test_broken_http_gets_json_too(start: Start) -> None:
    running, _ = await start()
    wire = await connect(running.port)
    await wire.send(
        b"POST /skytells/v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"
    )
    answer = await wire.answer()
    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"
    wire.close()


async def test_request_ids_are_unique(start: Start) -> None:
    running, _ = await start()
    ids = {
        (await running.get(path)).headers["x-request-id"]
        for path in ("/healthz", "/v1/models", "/nope", "/v1/models/x")
    }
    assert len(ids) == 4


async def test_keep_alive_and_pipelining(start: Start) -> None:
    running, _ = await start(json_answer(completion("one")), json_answer(completion("two")))
    wire = await connect(running.port)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
    await wire.send(request("POST", "/v1/chat/completions", body) * 2)
    texts = [(await wire.answer()).json["choices"][0]["message"]["content"] for _ in range(2)]
    assert texts == ["one", "two"]
    wire.close()


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/models/zzz"), ("GET", "/v1/nope"), ("GET", "/v1/chat/completions")]
)
async def test_errors_on_bare_v1_speak_the_keys_dialect(start: Start, method: str, path: str) -> None:
    running, _ = await start(more=KEYS, environ=ENVIRON)
    answer = await call(running.port, method, path, headers={"x-api-key": "sk-tells-0123456789"})
    assert "error_id" in answer.json["error"]
