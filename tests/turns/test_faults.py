"""What upstreams do wrong, and what the client is told."""

from __future__ import annotations

import asyncio
import json

import pytest

from antiphon.upstreams.scripted import Script, cut, error, hang, json_answer, raw, reset, sse, wait
from tests.support.raw import Answer
from tests.support.shapes import chunk, completion, hello
from tests.turns.conftest import Start

SECRET = "sk-upstream-secret-0123456789"


def in_band(answer: Answer) -> dict:  # type: ignore[type-arg]
    """The error event of a stream that had begun: without `choices`, and followed by [DONE] only."""
    assert answer.status == 200
    *_, last = answer.chunks
    assert "choices" not in last
    assert set(last["error"]) == {"message", "type", "param", "code"}
    return last["error"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("status", "given", "code"),
    [
        (500, 502, "upstream_error"),
        (401, 502, "upstream_error"),
        (403, 502, "upstream_error"),
        (407, 502, "upstream_error"),
        (529, 502, "upstream_error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_upstreams_own_trouble_is_502(start: Start, status: int, given: int, code: str, stream: bool) -> None:
    body = {"error": {"message": f"bad key {SECRET} at https://api.internal.example:8443/v1", "type": "x", "code": "y"}}
    running, _ = await start(error(status, body))
    answer = await running.post(stream=stream)
    assert answer.status == given
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["error"]["code"] == code
    for leak in (SECRET, "internal.example", ":8443"):
        assert leak not in answer.body.decode() + str(answer.headers)


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422])
async def test_the_clients_fault_keeps_its_status(start: Start, status: int) -> None:
    body = {
        "error": {
            "message": "too long",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    }
    running, _ = await start(error(status, body))
    answer = await running.post()
    assert answer.status == status
    assert answer.json["error"] == body["error"]


@pytest.mark.parametrize(("status", "after"), [(429, "7"), (503, "9")])
async def test_retry_after_is_kept(start: Start, status: int, after: str) -> None:
    running, _ = await start(error(status, {"error": {"message": "slow down"}}, {"retry-after": after}))
    answer = await running.post()
    assert (answer.status, answer.headers["retry-after"]) == (status, after)


async def test_html_from_an_upstream_stays_there(start: Start) -> None:
    running, _ = await start(error(500, b"<html><body>nginx</body></html>", {"content-type": "text/html"}))
    answer = await running.post()
    assert answer.status == 502
    assert "<html" not in answer.json["error"]["message"]


async def test_a_dead_upstream_is_502(start: Start) -> None:
    running, upstream = await start()
    await upstream.stop()
    answer = await running.post(stream=True)
    assert (answer.status, answer.json["error"]["type"]) == (502, "server_error")


@pytest.mark.parametrize("stream", [False, True])
async def test_silence_is_504(start: Start, stream: bool) -> None:
    running, _ = await start(Script((hang(),)), upstream="timeout = { first_byte = 0.5 }")
    answer = await running.post(stream=stream)
    assert (answer.status, answer.json["error"]["code"]) == (504, "timeout")


@pytest.mark.parametrize(
    "script", [raw(cut()), raw(reset()), raw(b"SSH-2.0-OpenSSH\r\n", cut()), raw(b"HTTP/1.1 200 OK\r\n", cut())]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_no_answer_at_all_is_502(start: Start, script: Script, stream: bool) -> None:
    running, _ = await start(script)
    assert (await running.post(stream=stream)).status == 502


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"null",
        b"{}",
        b'{"choices":null}',
        b'{"choices":[]}',
        b'{"choices":[{"index":0}]}',
        b'{"choices":"x"}',
        b"\xff\xfe",
        b"[" * 5000,
    ],
)
async def test_a_200_that_is_no_answer_is_502(start: Start, body: bytes) -> None:
    running, _ = await start(json_answer(body))
    answer = await running.post()
    assert answer.status == 502
    assert answer.json["error"]["type"] == "server_error"


async def test_an_error_in_a_200_has_its_own_status(start: Start) -> None:
    running, _ = await start(json_answer({"error": {"message": "no", "type": "invalid_request_error", "code": 400}}))
    assert (await running.post()).status == 400


async def test_a_whole_answer_without_finish_reason_is_an_error(start: Start) -> None:
    running, _ = await start(json_answer(completion(finish=None)))
    answer = await running.post()
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_truncated")


async def test_a_body_cut_short_is_an_error(start: Start) -> None:
    body = json.dumps(completion()).encode()
    running, _ = await start(
        raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n" + body, cut())
    )
    answer = await running.post()
    assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_truncated")


# Streams


async def test_an_error_as_first_event_is_a_real_status(start: Start) -> None:
    running, _ = await start(sse({"error": {"message": "bad", "type": "BadRequestError", "code": 400}}))
    answer = await running.post(stream=True)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "failure",
    [
        {"error": {"message": "boom", "type": "server_error", "code": 500}},
        {"object": "error", "message": "boom", "code": 500},
        {**chunk({}, "error"), "error": {"message": "boom", "code": 502}},
        chunk({}, "error"),
        {"error": "boom"},
    ],
)
async def test_an_error_after_text_is_in_band(start: Start, failure: dict) -> None:  # type: ignore[type-arg]
    running, _ = await start(sse(*hello()[:3], failure))
    answer = await running.post(stream=True)
    in_band(answer)
    assert "Hel" in answer.body.decode()


@pytest.mark.parametrize("ending", [(), (cut(),), (reset(),)])
@pytest.mark.parametrize("done", [False, True])
async def test_an_end_without_finish_is_never_a_stop(start: Start, ending: tuple, done: bool) -> None:  # type: ignore[type-arg]
    script = sse(*hello()[:3], *([b"data: [DONE]\n\n"] if done else []), *ending, done=False)
    running, _ = await start(script)
    answer = await running.post(stream=True)
    assert in_band(answer)["code"] == "upstream_truncated"
    assert '"stop"' not in answer.body.decode()


@pytest.mark.parametrize("ending", [(), (cut(),)])
async def test_a_finish_without_done_is_a_clean_end(start: Start, ending: tuple) -> None:  # type: ignore[type-arg]
    running, _ = await start(sse(*hello(), *ending, done=False))
    chunks = (await running.post(stream=True)).chunks
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"


async def test_malformed_json_after_text_is_in_band_and_closes_the_upstream(start: Start) -> None:
    running, upstream = await start(sse(*hello()[:3], b"data: {nope\n\n", hang(), done=False))
    answer = await running.post(stream=True)
    assert in_band(answer)["code"] == "upstream_malformed"
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)


async def test_nothing_follows_done(start: Start) -> None:
    running, _ = await start(
        sse(*hello(), b"data: [DONE]\n\n", chunk({"content": "late"}), b"data: [DONE]\n\n", done=False)
    )
    assert "late" not in (await running.post(stream=True)).body.decode()


async def test_idle_in_mid_stream_is_an_error(start: Start) -> None:
    running, _ = await start(sse(*hello()[:3], hang(), done=False), upstream="timeout = { idle = 0.5 }")
    assert in_band(await running.post(stream=True))["code"] == "timeout"


async def test_the_receipt_stands_beside_the_error(start: Start) -> None:
    running, _ = await start(error(500), sse(*hello()[:3], done=False))
    answer = await running.post(headers={"x-antiphon-receipt": "1"})
    assert answer.json["antiphon"]["attempts"][0]["status"] == 502
    streamed = await running.post(stream=True, headers={"x-antiphon-receipt": "1"})
    assert streamed.chunks[-1]["antiphon"]["attempts"][0]["outcome"] == "upstream_truncated"


async def test_the_next_request_works_after_every_failure(start: Start) -> None:
    running, _ = await start(raw(cut()), sse(*hello()[:2], reset(), done=False), error(500), json_answer(completion()))
    for stream in (False, True, False):
        await running.post(stream=stream)
    assert (await running.post()).status == 200


@pytest.mark.parametrize("stream", [False, True])
async def test_our_credential_never_comes_back(start: Start, stream: bool) -> None:
    """Not even one that looks like words, in an error that came as a 200."""
    failure = {"error": {"message": "tenant-pass-phrase is not allowed", "code": 400}}
    scripts = [sse(failure), sse(*hello()[:3], failure)] if stream else [json_answer(failure), error(400, failure)]
    environ = {"UP": "tenant-pass-phrase"}
    running, _ = await start(*scripts, upstream='credential = "env:UP"', environ=environ)
    for _ in scripts:
        answer = await running.post(stream=stream)
        assert "not allowed" in answer.body.decode()
        assert "tenant-pass-phrase" not in answer.body.decode()


async def test_retry_after_in_a_body_is_kept(start: Start) -> None:
    running, _ = await start(
        error(429, {"error": {"message": "slow", "code": "rate_limit_exceeded", "retry_after": 17}})
    )
    assert (await running.post()).headers["retry-after"] == "17"


async def test_silence_after_the_last_word_is_no_failure(start: Start) -> None:
    running, _ = await start(sse(*hello(), hang(), done=False), upstream="timeout = { idle = 0.5 }")
    chunks = (await running.post(stream=True, stream_options={"include_usage": True})).chunks
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] == 7


@pytest.mark.parametrize(("headers", "seconds"), [({"retry-after-ms": "2500"}, "3"), ({"retry-after": "1e308"}, "1")])
async def test_other_spellings_of_retry_after(start: Start, headers: dict[str, str], seconds: str) -> None:
    running, _ = await start(error(429, {"error": {"message": "slow"}}, headers))
    assert (await running.post()).headers["retry-after"] == seconds


@pytest.mark.parametrize("work", [0.0, 0.9])
async def test_a_request_that_was_read_is_not_sent_twice(start: Start, work: float) -> None:
    """Also on a connection that had served before: the upstream may have worked on it, and it may have cost tokens."""
    good = json_answer(completion())
    running, upstream = await start(good, Script((wait(work), cut())), good)
    assert (await running.post()).status == 200
    assert (await running.post()).status == 502
    assert len(upstream.requests) == 2
