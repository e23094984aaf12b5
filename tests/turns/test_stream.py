"""Streams, end to end: the frames on the socket."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from antiphon.upstreams.scripted import cut, json_answer, sse, wait
from tests.support.raw import connect, request
from tests.support.shapes import chunk, completion, hello, usage_chunk
from tests.turns.conftest import Start


def text(chunks: list[dict]) -> str:  # type: ignore[type-arg]
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])


async def test_the_sequence_of_openai(start: Start) -> None:
    running, _ = await start(sse(*hello()))
    answer = await running.post(stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "content-length" not in answer.headers
    assert answer.headers["cache-control"] == "no-cache"
    assert re.fullmatch(rb"(data: [^\n]+\n\n)+", answer.body)
    chunks = answer.chunks
    assert [c["choices"][0]["delta"] for c in chunks] == [
        {"role": "assistant", "content": ""},
        {"content": "Hel"},
        {"content": "lo"},
        {},
    ]
    assert [c["choices"][0]["finish_reason"] for c in chunks] == [None, None, None, "stop"]
    assert all(c["choices"][0]["logprobs"] is None for c in chunks)
    assert all("usage" not in c for c in chunks)
    assert len({(c["id"], c["created"], c["model"], c["object"]) for c in chunks}) == 1


async def test_usage_only_when_asked_and_last(start: Start) -> None:
    running, upstream = await start(sse(*hello()), sse(*hello()))
    chunks = (await running.post(stream=True, stream_options={"include_usage": True})).chunks
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 7
    assert all(c["usage"] is None for c in chunks[:-1])
    chunks = (await running.post(stream=True, stream_options={"include_usage": False})).chunks
    assert all("usage" not in c and c["choices"] for c in chunks)
    assert [r.document["stream_options"]["include_usage"] for r in upstream.requests] == [True, True]


async def test_missing_usage_is_counted_at_the_end(start: Start) -> None:
    running, _ = await start(sse(*hello()[:-1]))
    chunks = (
        await running.post(stream=True, stream_options={"include_usage": True}, headers={"x-antiphon-receipt": "1"})
    ).chunks
    assert chunks[-1]["usage"]["completion_tokens"] > 0
    assert chunks[-2]["antiphon"]["usage"]["source"] == "estimated"
    assert chunks[-2]["choices"] == []
    assert chunks[-3]["choices"][0]["finish_reason"] == "stop"


async def test_a_chunk_leaves_when_it_comes(start: Start) -> None:
    """Nothing is held for the next chunk or for a timer: the client has the first word while the upstream waits."""
    more = asyncio.Event()
    running, _ = await start(
        sse(chunk({"role": "assistant", "content": "Hel"}), wait(more), chunk({"content": "lo"}), chunk({}, "stop"))
    )
    wire = await connect(running.port)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
    await wire.send(request("POST", "/v1/chat/completions", body))
    assert (await wire.head())[0] == 200
    seen = b""
    while b"Hel" not in seen:
        seen += await wire.chunk()
    more.set()
    while piece := await wire.chunk():
        seen += piece
    assert seen.endswith(b"data: [DONE]\n\n")
    wire.close()


async def test_silence_gets_comments_and_commits_the_200(start: Start) -> None:
    more = asyncio.Event()
    running, _ = await start(sse(wait(more), *hello()), server="keepalive_comment = 1")
    wire = await connect(running.port)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
    await wire.send(request("POST", "/v1/chat/completions", body))
    assert (await wire.head())[0] == 200
    assert await wire.chunk() == b": keep-alive\n\n"
    more.set()
    rest = b""
    while piece := await wire.chunk():
        rest += piece
    assert rest.endswith(b"data: [DONE]\n\n")
    wire.close()


async def test_a_whole_answer_to_a_stream_request_is_streamed(start: Start) -> None:
    running, _ = await start(json_answer(completion("All at once")))
    chunks = (await running.post(stream=True, stream_options={"include_usage": True})).chunks
    assert text(chunks) == "All at once"
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["total_tokens"] == 7


async def test_fan_out_interleaves_and_counts_once(start: Start) -> None:
    running, _ = await start(sse(*hello()), sse(*hello()), upstream='lacks = ["n"]')
    chunks = (await running.post(n=2, stream=True, stream_options={"include_usage": True})).chunks
    roles = [c["choices"][0]["index"] for c in chunks if c["choices"] and "role" in c["choices"][0]["delta"]]
    assert roles == [0, 1]
    finishes = [c["choices"][0]["index"] for c in chunks if c["choices"] and c["choices"][0]["finish_reason"]]
    assert sorted(finishes) == [0, 1]
    assert len({c["id"] for c in chunks}) == 1
    usage = chunks[-1]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (5, 4)


async def test_text_is_identical_end_to_end(start: Start) -> None:
    odd = 'a\u2028b\u0085c\x0bd\re\U0001f600\\u0000"\\'
    running, _ = await start(sse(chunk({"role": "assistant", "content": odd}), chunk({}, "stop")))
    assert text((await running.post(stream=True)).chunks) == odd


async def test_crlf_comments_and_missing_spaces_read_the_same(start: Start) -> None:
    lines = b"".join(b": note\r\ndata:" + json.dumps(c).encode() + b"\r\n\r\n" for c in hello())
    running, _ = await start(sse(lines, b"data:[DONE]\r\n\r\n", done=False))
    assert text((await running.post(stream=True)).chunks) == "Hello"


async def test_think_is_split_by_setting(start: Start) -> None:
    pieces = ["a<thi", "nk>b</thi", "nk>c"]
    script = sse(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"), usage_chunk())
    running, _ = await start(script, upstream='think = "split"')
    chunks = (await running.post(stream=True)).chunks
    assert text(chunks) == "ac"
    assert "".join(c["choices"][0]["delta"].get("reasoning_content") or "" for c in chunks) == "b"


async def test_skytells_opens_with_an_empty_delta(start: Start) -> None:
    running, _ = await start(sse(*hello()))
    chunks = (await running.post("/skytells/v1/chat/completions", stream=True)).chunks
    first, second, *rest = chunks
    assert first["choices"][0]["delta"] == {}
    assert first["prompt_filter_results"][0]["content_filter_results"]["error"]["code"] == "content_filter_error"
    assert second["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert all("prompt_filter_results" not in c for c in [second, *rest])
    for c in chunks:
        assert c["usage"] is None
        assert set(c["choices"][0]["content_filter_results"]) >= {
            "hate",
            "self_harm",
            "sexual",
            "violence",
            "protected_material_code",
            "protected_material_text",
            "error",
        }
    assert len({c["id"] for c in chunks}) == 1


async def test_skytells_takes_stream_by_query(start: Start) -> None:
    running, _ = await start(sse(*hello()))
    assert text((await running.post("/skytells/v1/chat/completions?stream=true")).chunks) == "Hello"


async def test_azures_empty_chunks_are_folded(start: Start) -> None:
    results = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}]
    empty = {"id": "", "object": "", "created": 0, "model": ""}
    offsets = {"check_offset": 1, "start_offset": 1, "end_offset": 5}
    running, _ = await start(
        sse(
            {**empty, "choices": [], "prompt_filter_results": results},
            *hello()[:-1],
            {
                **empty,
                "choices": [
                    {"index": 0, "finish_reason": None, "content_filter_results": {}, "content_filter_offsets": offsets}
                ],
            },
        )
    )
    chunks = (await running.post(stream=True)).chunks
    assert chunks[0]["prompt_filter_results"] == results
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert len({(c["id"], c["object"], c["created"], c["model"]) for c in chunks}) == 1
    assert chunks[-1]["choices"][0]["delta"] == {}
    assert chunks[-1]["choices"][0]["content_filter_offsets"] == offsets


@pytest.mark.parametrize("prefix", ["/openai/v1", "/skytells/v1", "/maritaca/api"])
async def test_strict_leaves_no_empty_deltas(start: Start, prefix: str) -> None:
    annotation = {**chunk(), "choices": [{"index": 0, "finish_reason": None, "x_verdict": {"a": 1}}]}
    script = sse(
        chunk({"role": "assistant", "reasoning_content": "hm"}), chunk({"content": "Hi"}), annotation, chunk({}, "stop")
    )
    running, _ = await start(script)
    strict = {"x-antiphon-strict": "1"}
    chunks = (await running.post(f"{prefix}/chat/completions", stream=True, headers=strict)).chunks
    opening = 1 if "skytells" in prefix else 0
    for c in chunks[opening:]:
        choice = c["choices"][0]
        assert choice["delta"] or choice["finish_reason"]
    assert text(chunks) == "Hi"


async def test_comments_come_every_so_many_seconds(start: Start) -> None:
    """Decision 15, with `keepalive` for the number. Five seconds are ample for three; at a wrong pace they are not."""
    more = asyncio.Event()
    running, _ = await start(sse(wait(more), *hello()), server="keepalive = 1")
    wire = await connect(running.port)
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
    await wire.send(request("POST", "/v1/chat/completions", body))
    async with asyncio.timeout(5):
        await wire.head()
        for _ in range(3):
            assert await wire.chunk() == b": keep-alive\n\n"
    more.set()
    wire.close()


@pytest.mark.parametrize("rest", [b"data: [DO", b'data: {"id":"chatcmpl-up1","choi', b"da"])
async def test_a_cut_after_the_finish_is_no_cut(start: Start, rest: bytes) -> None:
    running, _ = await start(sse(*hello()[:-1], rest, cut(), done=False))
    chunks = (await running.post(stream=True, stream_options={"include_usage": True})).chunks
    assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["usage"]["completion_tokens"] > 0


async def test_a_cut_between_two_choices_is_one(start: Start) -> None:
    running, _ = await start(sse(*hello()[:-1], cut(), done=False))
    chunks = (await running.post(stream=True, n=2)).chunks
    assert chunks[-1]["error"]["code"] == "upstream_truncated"


async def test_skytells_opening_keeps_the_verdicts_of_every_choice(start: Start) -> None:
    def verdict(severity: str) -> dict[str, Any]:
        safe = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "violence")}
        unseen = {"detected": False, "filtered": False}
        rest = {"protected_material_code": unseen, "protected_material_text": unseen}
        return {**safe, "sexual": {"filtered": False, "severity": severity}, **rest}

    def entry(index: int, **more: Any) -> dict[str, Any]:
        severity = "low" if index else "safe"
        return {"index": index, "delta": {}, "finish_reason": None, "content_filter_results": verdict(severity), **more}

    opening = {**chunk(), "choices": [entry(0), entry(1)]}
    ends = [{**chunk(), "choices": [entry(index, finish_reason="stop")]} for index in (0, 1)]
    running, _ = await start(sse(opening, *ends), more="[safety]\nannotations = false")
    chunks = (await running.post("/skytells/v1/chat/completions", stream=True, n=2)).chunks
    severities = [choice["content_filter_results"]["sexual"]["severity"] for choice in chunks[0]["choices"]]
    assert severities == ["safe", "low"]


async def test_reads_of_every_size_give_the_same_text(start: Start) -> None:
    """One event per read takes the shortest way; events in pieces and several at once do not. The text is the same."""
    words = [f'w{number} \u00e9\U0001f600\\" ' for number in range(30)]
    events = [b"data: " + json.dumps(chunk({"content": word})).encode() + b"\n\n" for word in words]
    steps: list[Any] = [b"data: " + json.dumps(hello()[0]).encode() + b"\n\n"]
    for position, event in enumerate(events):
        half = len(event) // 2
        pieces = [[event], [event[:half], event[half:]], [event[:-1], event[-1:]]][position % 7 % 3]
        for piece in pieces:
            steps += [piece, wait(0.005)]
    steps += [b"".join(events[:5]), json_event(chunk({}, "stop"))]
    running, _ = await start(sse(*steps))
    assert text((await running.post(stream=True)).chunks) == "".join(words) + "".join(words[:5])


def json_event(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


async def test_an_event_of_another_kind_in_between_changes_nothing(start: Start) -> None:
    spoken = [chunk({"content": "a"}), chunk({"content": "b"}), chunk({"content": "c"})]
    steps: list[Any] = []
    for document in [hello()[0], *spoken, chunk({"reasoning_content": "hm"}), *spoken, chunk({}, "stop"), *spoken]:
        steps += [json_event(document), wait(0.005)]
    running, _ = await start(sse(*steps))
    chunks = (await running.post(stream=True)).chunks
    assert text(chunks) == "abcabc"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
