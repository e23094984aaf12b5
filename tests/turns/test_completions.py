"""Legacy completions, end to end: what reaches the upstream, what comes back, whole and streamed."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest
from openai import APIError, AsyncOpenAI

from antiphon.upstreams.scripted import Script, cut, error, hang, json_answer, raw, reset, sse, wait
from tests.support.gateway import Running, gateway
from tests.support.raw import Answer, Wire, call, connect, request
from tests.support.shapes import USAGE
from tests.turns.conftest import Start
from tests.turns.test_memory import ours
from tests.turns.test_routes import always, settings

PREFIXES = ("/v1", "/openai/v1", "/crazyrouter/v1", "/skytells/v1", "/maritaca/api", "/maritaca/v1", "/api/v1")
RECEIPT = {"x-antiphon-receipt": "1"}
FIRST, SECOND = '{ upstream = "u0" }', '{ upstream = "u1", priority = 1 }'


def completion(text: Any = "Hi!", finish: Any = "stop", **top: Any) -> dict[str, Any]:
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": finish}
    base = {"id": "cmpl-up1", "object": "text_completion", "created": 1700000000, "model": "target-2026"}
    return {**base, "choices": [choice], "usage": dict(USAGE), **top}


def chunk(text: str = "", finish: Any = None, index: int = 0, **top: Any) -> dict[str, Any]:
    choice = {"text": text, "index": index, "logprobs": None, "finish_reason": finish}
    base = {"id": "cmpl-up1", "object": "text_completion", "created": 1700000000, "model": "target-2026"}
    return {**base, "choices": [choice], **top}


def usage_chunk() -> dict[str, Any]:
    return {**chunk(), "choices": [], "usage": dict(USAGE)}


def hello() -> list[dict[str, Any]]:
    return [chunk("Hel"), chunk("lo"), chunk("", "stop"), usage_chunk()]


async def ask(running: Running, path: str = "/v1/completions", headers: Any = None, **more: Any) -> Answer:
    return await call(running.port, "POST", path, {"model": "m", "prompt": "Once", **more}, headers=headers)


def said(chunks: list[dict[str, Any]]) -> str:
    return "".join(choice["text"] for one in chunks for choice in one["choices"])


# Whole answers


async def test_the_document_passes_through_both_ways(start: Start) -> None:
    given = completion(system_fingerprint="fp_1", x_extra={"deep": [None, 0]})
    given["choices"][0]["x_choice"] = 1
    given["usage"]["x_cost"] = 0.5
    running, upstream = await start(json_answer(given))
    sent: dict[str, Any] = {"max_tokens": 0, "temperature": 0, "echo": False, "stop": None, "x_new": {"a": [1]}}
    answer = await ask(running, **sent)
    assert (answer.status, answer.json) == (200, given)
    assert answer.headers["content-type"] == "application/json"
    assert upstream.requests[0].path == "/v1/completions"
    assert upstream.requests[0].document == {"model": "target", "prompt": "Once", **sent}


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_every_dialect_has_it(start: Start, prefix: str) -> None:
    running, _ = await start(json_answer(completion()))
    answer = await ask(running, f"{prefix}/completions")
    assert (answer.status, answer.json["object"], answer.json["choices"][0]["text"]) == (200, "text_completion", "Hi!")


@pytest.mark.parametrize("prompt", ["Once", ["a", "b"], [1, 2, 3], [[1, 2], [3]], "", None])
async def test_every_form_of_prompt_travels(start: Start, prompt: Any) -> None:
    running, upstream = await start(json_answer(completion()))
    assert (await ask(running, prompt=prompt)).status == 200
    assert upstream.requests[0].document["prompt"] == prompt


async def test_no_prompt_is_openais_default_one(start: Start) -> None:
    running, upstream = await start(json_answer(completion()))
    assert (await call(running.port, "POST", "/v1/completions", {"model": "m"})).status == 200
    assert upstream.requests[0].document == {"model": "target"}


async def test_what_the_upstream_left_out_is_filled_in(start: Start) -> None:
    bare = {"choices": [{"text": "one two three", "finish_reason": "length"}]}
    running, _ = await start(json_answer(bare))
    answer = (await ask(running, headers=RECEIPT)).json
    assert (answer["object"], answer["model"], answer["id"][:5]) == ("text_completion", "target", "cmpl-")
    assert answer["created"] > 1_700_000_000
    assert answer["choices"] == [{"text": "one two three", "finish_reason": "length", "index": 0}]
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (1, 4, 5)
    assert answer["antiphon"]["usage"] == {"source": "estimated", "tokenizer": "rule-of-thumb"}


@pytest.mark.parametrize("stream", [False, True])
async def test_an_echo_is_not_counted_as_generated(start: Start, stream: bool) -> None:
    """`Once` comes back before what was generated, here cut in two: four characters more would be a token more."""
    pieces = [chunk("On"), chunk("ce upo"), chunk("n", "stop")]
    running, _ = await start(sse(*pieces) if stream else json_answer(completion("Once upon", usage=None)))
    options: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    answer = await ask(running, echo=True, **options)
    document = answer.chunks[-1] if stream else answer.json
    assert (document["usage"]["prompt_tokens"], document["usage"]["completion_tokens"]) == (1, 2)
    assert (said(answer.chunks) if stream else document["choices"][0]["text"]) == "Once upon"


@pytest.mark.parametrize(
    ("word", "finish", "native"), [("eos", "stop", None), ("max_tokens", "length", None), ("odd", "stop", "odd")]
)
async def test_finish_reasons_are_openais(start: Start, word: str, finish: str, native: str | None) -> None:
    running, _ = await start(json_answer(completion(finish=word)), sse(chunk("a"), chunk("", word)))
    for choice in (
        (await ask(running)).json["choices"][0],
        (await ask(running, stream=True)).chunks[-1]["choices"][0],
    ):
        assert (choice["finish_reason"], choice.get("native_finish_reason")) == (finish, native)


async def test_the_receipt_and_the_log_say_what_happened(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    running, _ = await start(
        json_answer(completion()), sse(*hello()), upstream='lacks = ["logit_bias"]', access_log=str(log)
    )
    answer = (await ask(running, headers=RECEIPT, logit_bias={"1": 1})).json
    receipt = answer["antiphon"]
    assert (receipt["route"], receipt["usage"]) == ("m", {"source": "reported"})
    assert [attempt["model"] for attempt in receipt["attempts"]] == ["target"]
    assert [change["param"] for change in receipt["rewritten"]] == ["model"]
    assert [change["param"] for change in receipt["dropped"]] == ["logit_bias"]
    await ask(running, "/openai/v1/completions", stream=True)
    running.worker.log.flush()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(e["path"], e["prompt_tokens"], e["completion_tokens"], e["usage"]) for e in entries] == [
        ("/v1/completions", 5, 2, "reported"),
        ("/openai/v1/completions", 5, 2, "reported"),
    ]
    assert [entry["stream"] for entry in entries] == [False, True]


async def test_strict_refuses_and_prunes(start: Start) -> None:
    given = completion(x_extra=1)
    given["choices"][0]["x_choice"] = 1
    running, upstream = await start(json_answer(given), sse(chunk("a", x_extra=1), chunk("", "stop")))
    strict = {"x-antiphon-strict": "1"}
    answer = await ask(running, headers=strict, x_new=1)
    assert (answer.status, answer.json["error"]["code"], answer.json["error"]["param"]) == (
        400,
        "unknown_parameter",
        "x_new",
    )
    assert not upstream.requests
    assert (await ask(running, headers=strict)).json == completion()
    assert (await ask(running, headers=strict, stream=True)).chunks == [chunk("a"), chunk("", "stop")]


# Requests that are refused


@pytest.mark.parametrize(
    ("wrong", "param", "message"),
    [
        ({"model": ""}, None, "you must provide a model parameter"),
        ({"prompt": 1}, "prompt", "Invalid type for 'prompt': expected one of a string, array of strings"),
        ({"prompt": []}, "prompt", "Invalid 'prompt': empty array."),
        ({"prompt": ["a", 1]}, "prompt[1]", "Invalid type for 'prompt[1]': expected a string, but got an integer"),
        ({"prompt": [1, True]}, "prompt[1]", "Invalid type for 'prompt[1]': expected an integer, but got a boolean"),
        ({"prompt": [[1], ["a"]]}, "prompt[1][0]", "Invalid type for 'prompt[1][0]': expected an integer"),
        ({"prompt": [{}]}, "prompt[0]", "Invalid type for 'prompt[0]': expected one of a string, integer"),
        ({"logprobs": 6}, "logprobs", "Invalid 'logprobs': integer above maximum value. Expected a value <= 5"),
        ({"logprobs": True}, "logprobs", "Invalid type for 'logprobs': expected an integer, but got a boolean"),
        ({"n": 3, "best_of": 2}, "best_of", "You requested that the server return more choices than it will generate"),
        ({"temperature": 3}, "temperature", "Invalid 'temperature': decimal above maximum value."),
        ({"stream_options": {}}, "stream_options", "The 'stream_options' parameter is only allowed when 'stream'"),
        ({"echo": "yes"}, "echo", "Invalid type for 'echo': expected a boolean, but got a string instead."),
        ({"suffix": 1}, "suffix", "Invalid type for 'suffix': expected a string, but got an integer instead."),
    ],
)
async def test_faults_are_told_in_openais_words(start: Start, wrong: Any, param: str | None, message: str) -> None:
    running, upstream = await start()
    answer = await ask(running, **wrong)
    told = answer.json["error"]
    assert (answer.status, told["type"], told["param"]) == (400, "invalid_request_error", param)
    assert told["message"].startswith(message)
    assert not upstream.requests


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/embeddings"])
async def test_the_doors_rules_are_chats(start: Start, path: str) -> None:
    more = '[[key]]\nname = "k"\nsecret = "env:K"\n'
    running, _ = await start(
        server='auth = true\ncors = ["https://app.example"]\nmax_body = 1000', more=more, environ={"K": "sk-0123456789"}
    )
    answer = await call(running.port, "GET", path)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    answer = await call(running.port, "POST", path, {"model": "m"})
    assert (answer.status, answer.json["error"]["type"]) == (401, "invalid_request_error")
    key = {"authorization": "Bearer sk-0123456789"}
    answer = await call(running.port, "POST", path, body=b"{nope", headers=key)
    assert answer.status == 400
    assert answer.json["error"]["message"].startswith("We could not parse the JSON body")
    answer = await call(running.port, "POST", path, body=b"x" * 2000, headers=key)
    assert (answer.status, answer.json["error"]["code"]) == (413, "request_too_large")
    answer = await call(running.port, "POST", path, {"model": "other", "prompt": "x", "input": "x"}, headers=key)
    assert (answer.status, answer.json["error"]["code"]) == (404, "model_not_found")
    preflight = {"origin": "https://app.example", "access-control-request-method": "POST"}
    assert (await call(running.port, "OPTIONS", path, headers=preflight)).status == 204
    answer = await call(running.port, "POST", "/skytells" + path, {"model": ""}, headers=key)
    assert answer.json["error"]["error_id"] == "INVALID_REQUEST"


# Upstreams that fail


@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"[]", b"{}", b'{"choices":[]}', b'{"choices":"x"}', b'{"choices":[{"text":7}]}', b"\xff"],
)
async def test_a_200_that_is_no_answer_is_502(start: Start, body: bytes) -> None:
    running, _ = await start(json_answer(body), json_answer(body))
    assert (await ask(running)).status == 502
    assert (await ask(running, stream=True)).status == 502


async def test_an_error_in_a_200_has_its_own_status(start: Start) -> None:
    failure = {"error": {"message": "no", "type": "invalid_request_error", "code": 400}}
    running, _ = await start(json_answer(failure), sse(failure))
    assert (await ask(running)).status == 400
    assert (await ask(running, stream=True)).status == 400


async def test_a_whole_answer_without_finish_reason_is_an_error(start: Start) -> None:
    running, _ = await start(*[json_answer(completion(finish=None))] * 2)
    for stream in (False, True):
        answer = await ask(running, stream=stream)
        assert (answer.status, answer.json["error"]["code"]) == (502, "upstream_truncated")


async def test_too_long_a_prompt_is_the_prompts_fault(start: Start) -> None:
    failure = {"error": {"message": "This model's maximum context length is 4097 tokens", "code": None}}
    running, _ = await start(error(400, failure), sse(chunk("a"), failure))
    answer = await ask(running)
    assert (answer.json["error"]["code"], answer.json["error"]["param"]) == ("context_length_exceeded", "prompt")
    assert (await ask(running, stream=True)).chunks[-1]["error"]["param"] == "prompt"


async def test_our_credential_stays_ours_and_headers_travel_as_chats_do(start: Start) -> None:
    failure = {"error": {"message": "tenant-pass-phrase is not allowed", "code": 400}}
    scripts = [error(400, failure), json_answer(failure), sse(failure), sse(chunk("a"), failure)]
    running, upstream = await start(
        *scripts,
        upstream='credential = "env:UP"\nforward_headers = ["x-team"]',
        environ={"UP": "tenant-pass-phrase"},
    )
    for stream in (False, False, True, True):
        answer = await ask(running, stream=stream, headers={"x-team": "blue", "cookie": "a=b", "x-api-key": "sk-mine"})
        assert "not allowed" in answer.body.decode()
        assert "tenant-pass-phrase" not in answer.body.decode()
    seen = upstream.requests[0].headers
    assert (seen["authorization"], seen["x-team"]) == ("Bearer tenant-pass-phrase", "blue")
    assert not {"cookie", "x-api-key"} & set(seen)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", [error(500), error(429), error(404), raw(cut()), sse(done=False), json_answer({})])
async def test_the_next_target_is_tried(tmp_path: Path, fault: Script, stream: bool) -> None:
    first, second = always(fault), always(sse(*hello()) if stream else json_answer(completion()))
    urls = [await first.start(), await second.start()]
    async with gateway(tmp_path, settings(urls, f"{FIRST}, {SECOND}")) as running:
        answer = await ask(running, stream=stream, headers=RECEIPT)
        assert answer.status == 200
        receipt = answer.chunks[-1]["antiphon"] if stream else answer.json["antiphon"]
        assert [attempt["upstream"] for attempt in receipt["attempts"]] == ["u0", "u1"]
    await first.stop()
    await second.stop()


@pytest.mark.parametrize("path", ["completions", "embeddings"])
async def test_a_target_that_does_not_offer_it_is_passed_over(tmp_path: Path, path: str) -> None:
    """Maritaca's API has neither. Alone, it cannot answer; before another, it is left out."""
    vectors = {"object": "list", "data": [{"embedding": [1.0]}], "model": "e", "usage": {"prompt_tokens": 1}}
    first, second = always(error(500)), always(json_answer(completion() if path == "completions" else vectors))
    urls = [await first.start(), await second.start()]
    document = {"model": "m", "prompt": "x"} if path == "completions" else {"model": "m", "input": "x"}
    both = settings(urls, f"{FIRST}, {SECOND}").replace('"openai"', '"maritaca"', 1)
    async with gateway(tmp_path, both) as running:
        answer = await call(running.port, "POST", f"/v1/{path}", document, headers=RECEIPT)
        outcomes = [attempt["outcome"] for attempt in answer.json["antiphon"]["attempts"]]
        assert (answer.status, outcomes) == (200, ["unsupported_endpoint", "answered"])
    async with gateway(tmp_path, both.replace(f", {SECOND}", "")) as running:
        answer = await call(running.port, "POST", f"/v1/{path}", document)
        told = answer.json["error"]
        assert (answer.status, told["code"]) == (404, "unsupported_endpoint")
        assert told["message"] == f"The model `m` is not supported in the v1/{path} endpoint."
    assert not first.requests
    await first.stop()
    await second.stop()


# Streams


async def test_chunks_are_relayed_and_usage_is_not_shown_unasked(start: Start) -> None:
    running, upstream = await start(sse(*hello()))
    answer = await ask(running, stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.chunks == hello()[:3]
    assert upstream.requests[0].document["stream_options"] == {"include_usage": True}


async def test_usage_when_asked_and_last(start: Start) -> None:
    closing = {**usage_chunk(), "timings": {"ms": 1}}
    running, _ = await start(sse(*hello()[:3], closing), sse(*hello()[:2], chunk("", "stop", usage=USAGE)))
    asked: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = (await ask(running, **asked)).chunks
    assert chunks == [{**one, "usage": None} for one in hello()[:3]] + [closing]
    chunks = (await ask(running, **asked)).chunks
    assert chunks == [{**one, "usage": None} for one in hello()[:3]] + [usage_chunk()]


async def test_missing_usage_is_counted_at_the_end(start: Start) -> None:
    running, _ = await start(sse(*hello()[:3]))
    options = {"include_usage": True}
    chunks = (await ask(running, stream=True, stream_options=options, headers=RECEIPT)).chunks
    assert chunks[-1]["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert chunks[-2]["antiphon"]["usage"]["source"] == "estimated"
    assert chunks[-2]["choices"] == []


async def test_what_came_without_choices_rides_on_a_chunk(start: Start) -> None:
    """Azure's verdicts on the prompt come in a chunk without choices or name; what rides on usage is news as well."""
    verdicts = [{"prompt_index": 0, "content_filter_results": {}}]
    nameless = {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": verdicts}
    running, _ = await start(sse(nameless, *hello()[:3], {**usage_chunk(), "timings": {"ms": 1}}))
    chunks = (await ask(running, stream=True)).chunks
    assert chunks[0] == {**hello()[0], "prompt_filter_results": verdicts}
    assert chunks[1:3] == hello()[1:3]
    assert (chunks[3]["timings"], said(chunks)) == ({"ms": 1}, "Hello")
    assert len({one["id"] for one in chunks}) == 1


async def test_choices_of_several_prompts_end_each_by_itself(start: Start) -> None:
    pieces = [chunk(str(index), index=index) for index in range(4)]
    ends = [chunk("", "stop", index) for index in range(4)]
    running, _ = await start(
        sse(*pieces, *ends, done=False),
        sse(*pieces, *ends[:3]),  # one does not end
        sse(*pieces[:3], *ends[:3], done=False),  # one has not begun
    )
    asked: dict[str, Any] = {"prompt": ["a", "b"], "n": 2, "stream": True}
    assert (await ask(running, **asked)).chunks == [*pieces, *ends]
    for _ in range(2):
        assert (await ask(running, **asked)).chunks[-1]["error"]["code"] == "upstream_truncated"


@pytest.mark.parametrize("ending", [(), (cut(),), (reset(),)])
@pytest.mark.parametrize("done", [False, True])
async def test_an_end_without_finish_is_never_a_stop(start: Start, ending: Any, done: bool) -> None:
    script = sse(*hello()[:2], *([b"data: [DONE]\n\n"] if done else []), *ending, done=False)
    running, _ = await start(script)
    answer = await ask(running, stream=True)
    last = answer.chunks[-1]
    assert (last["error"]["code"], "choices" in last) == ("upstream_truncated", False)
    assert '"stop"' not in answer.body.decode()


@pytest.mark.parametrize("rest", [(), (cut(),), (b"data: [DO", cut()), (hang(),)])
async def test_a_finish_without_done_is_a_clean_end(start: Start, rest: Any) -> None:
    running, _ = await start(sse(*hello()[:3], *rest, done=False), upstream="timeout = { idle = 0.5 }")
    assert (await ask(running, stream=True)).chunks == hello()[:3]


@pytest.mark.parametrize("late", [{"error": {"message": "boom", "code": 500}}, chunk("", "error"), b"data: {nope\n\n"])
async def test_an_error_after_text_is_in_band_and_closes_the_upstream(start: Start, late: Any) -> None:
    running, upstream = await start(sse(chunk("Hel"), late, hang(), done=False))
    answer = await ask(running, stream=True, headers=RECEIPT)
    *_, last = answer.chunks
    assert "Hel" in answer.body.decode()
    assert "choices" not in last
    assert last["antiphon"]["attempts"][0]["outcome"] == last["error"]["code"]
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)


async def test_nothing_follows_done_or_a_finish(start: Start) -> None:
    late = chunk("late")
    annotated = {**late, "choices": [{**late["choices"][0], "content_filter_results": {"hate": {}}}]}
    running, _ = await start(sse(*hello()[:3], late, annotated, b"data: [DONE]\n\n", late))
    answer = await ask(running, stream=True)
    assert "late" not in answer.body.decode()
    assert answer.chunks[-1]["choices"][0]["content_filter_results"] == {"hate": {}}


async def test_a_whole_answer_to_a_stream_request_is_streamed(start: Start) -> None:
    running, _ = await start(json_answer(completion("All at once")))
    chunks = (await ask(running, stream=True, stream_options={"include_usage": True})).chunks
    assert said(chunks) == "All at once"
    assert chunks[0]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1] == usage_chunk()


async def test_a_stream_that_was_not_asked_for_is_put_together(start: Start) -> None:
    spoken = [chunk("Hel"), chunk("lo"), chunk("", "stop")]
    for place, one in enumerate(spoken[:2]):
        one["choices"][0]["logprobs"] = {"tokens": [one["choices"][0]["text"]], "text_offset": [place]}
    running, _ = await start(sse(*spoken, usage_chunk()), sse(*spoken[:2]))
    answer = (await ask(running)).json
    expected = completion("Hello")
    expected["choices"][0]["logprobs"] = {"tokens": ["Hel", "lo"], "text_offset": [0, 1]}
    assert answer == expected
    assert (await ask(running)).json["error"]["code"] == "upstream_truncated"


async def streamed(running: Running) -> Wire:
    wire = await connect(running.port)
    body = json.dumps({"model": "m", "prompt": "x", "stream": True}).encode()
    await wire.send(request("POST", "/v1/completions", body))
    return wire


async def test_a_chunk_leaves_when_it_comes_and_silence_gets_comments(start: Start) -> None:
    more = asyncio.Event()
    running, _ = await start(sse(chunk("Hel"), wait(more), *hello()[1:]), server="keepalive_comment = 1")
    wire = await streamed(running)
    assert (await wire.head())[0] == 200
    assert b"Hel" in await wire.chunk()
    assert await wire.chunk() == b": keep-alive\n\n"
    more.set()
    rest = b""
    while piece := await wire.chunk():
        rest += piece
    assert rest.endswith(b"data: [DONE]\n\n")
    wire.close()


async def test_one_read_is_one_write(start: Start) -> None:
    together = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in hello()[:2])
    more = asyncio.Event()
    running, _ = await start(sse(together, wait(more), *hello()[2:]))
    wire = await streamed(running)
    await wire.head()
    assert (await wire.chunk()).count(b"data: ") == 2
    more.set()
    wire.close()


async def test_leaving_closes_the_upstream_and_is_logged(start: Start, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    running, upstream = await start(sse(*hello()[:2], hang(), done=False), access_log=str(log))
    wire = await streamed(running)
    await wire.head()
    await wire.chunk()
    wire.close()
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)
    while not log.read_text():
        running.worker.log.flush()
        await asyncio.sleep(0)
    entry = json.loads(log.read_text())
    assert (entry["status"], entry["completion_tokens"], entry["usage"]) == (499, 2, "estimated")


async def test_a_slow_reader_holds_up_its_upstream(start: Start) -> None:
    flood = [chunk("x" * 60_000) for _ in range(800)]
    running, upstream = await start(
        sse(*flood, chunk("", "stop")), json_answer(completion()), upstream="timeout = { idle = 60 }"
    )
    wire = await streamed(running)
    await asyncio.wait_for(upstream.received(), 5)
    assert (await ask(running)).status == 200, "another client was disturbed"
    with pytest.raises(TimeoutError):  # 48 MB are more than the buffers on the way can hold
        await asyncio.wait_for(upstream.requests[0].answered.wait(), 1)
    total = 0
    await wire.head()
    while piece := await wire.chunk():
        total += piece.count(b"x")
    assert total >= 800 * 60_000
    wire.close()


@pytest.mark.parametrize("stream", [False, True])
async def test_finished_turns_are_no_garbage(start: Start, stream: bool) -> None:
    scripts = [sse(*hello()) if stream else json_answer(completion())] * 3 + [error(500)]
    running, _ = await start(*scripts)
    gc.collect()
    gc.disable()
    try:
        for _ in scripts:
            await ask(running, stream=stream)
        assert ours() == []
    finally:
        gc.enable()


# The real client


async def test_the_openai_package(start: Start) -> None:
    running, _ = await start(json_answer(completion()), sse(*hello()), sse(chunk("Hel"), cut(), done=False))
    async with AsyncOpenAI(
        base_url=f"http://127.0.0.1:{running.port}/v1", api_key="any", max_retries=0, _strict_response_validation=True
    ) as client:
        whole = await client.completions.create(model="m", prompt="Once")
        assert (whole.choices[0].text, whole.usage and whole.usage.total_tokens) == ("Hi!", 7)
    async with AsyncOpenAI(base_url=f"http://127.0.0.1:{running.port}/v1", api_key="any", max_retries=0) as client:
        stream = await client.completions.create(
            model="m", prompt="Once", stream=True, stream_options={"include_usage": True}
        )
        chunks = [one async for one in stream]
        assert "".join(choice.text for one in chunks for choice in one.choices) == "Hello"
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.total_tokens == 7
        with pytest.raises(APIError, match="ended its answer"):
            async for _ in await client.completions.create(model="m", prompt="Once", stream=True):
                pass
