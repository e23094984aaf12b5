"""Whole turns over real sockets with an upstream that speaks Cohere's chat, version 2."""

from __future__ import annotations

from typing import Any

from antiphon.upstreams.scripted import cut, json_answer, sse
from tests.protocols import cohere_streams as cohere
from tests.support.foreign import finishes, in_stream_error, said
from tests.support.judge import WordJudge
from tests.upstreams.conftest import Begin

Document = dict[str, Any]
MODEL = "command-a-03-2025"


def whole(words: str) -> Document:
    usage = {"tokens": {"input_tokens": 11, "output_tokens": 4}, "billed_units": {"input_tokens": 2}}
    message = {"role": "assistant", "content": [{"type": "text", "text": words}]}
    return {"id": "1f", "message": message, "finish_reason": "COMPLETE", "usage": usage}


async def test_whole_and_streamed_answers(begin: Begin) -> None:
    usage = {"tokens": {"input_tokens": 11, "output_tokens": 4}}
    finish = cohere.event("message-end", delta={"finish_reason": "COMPLETE", "usage": usage})
    data = cohere.start() + cohere.begin() + cohere.text("Good ") + cohere.text("day") + cohere.stop() + finish
    gateway, fake = await begin("cohere", json_answer(whole("Good day")), sse(data, done=False), model=MODEL)
    answer = await gateway.post(top_p=0.5)
    assert answer.json["choices"][0]["message"]["content"] == "Good day"
    assert answer.json["usage"]["prompt_tokens"] == 11
    answer = await gateway.post(stream=True)
    assert said(answer) == "Good day"
    assert finishes(answer) == ["stop"]
    asked = fake.requests[0]
    assert (asked.path, asked.headers["authorization"]) == ("/v2/chat", "Bearer sk-secret")
    assert asked.document["p"] == 0.5


async def test_documents_are_judged(begin: Begin) -> None:
    more = '[safety]\nmode = "filter"'
    gateway, fake = await begin("cohere", json_answer(whole("Yes")), model=MODEL, judge=WordJudge(), more=more)
    for text, status in (("kill them", 400), ("a calm text", 200)):
        answer = await gateway.post(documents=[{"id": "1", "data": {"text": text}}, "another"])
        assert answer.status == status
    assert fake.requests[0].document["documents"][0]["data"]["text"] == "a calm text"


async def test_cut_streams_and_errors(begin: Begin) -> None:
    data = cohere.start() + cohere.begin() + cohere.text("Half")
    gateway, _ = await begin(
        "cohere",
        sse(data, cut(), done=False),
        json_answer({"id": "1", "message": "invalid api token"}, 401),
        json_answer({"id": "1", "message": "slow down"}, 429, {"retry-after": "2"}),
        model=MODEL,
    )
    assert in_stream_error(await gateway.post(stream=True))["code"] == "upstream_truncated"
    assert (await gateway.post()).status == 502
    answer = await gateway.post()
    assert (answer.status, answer.headers["retry-after"]) == (429, "2")


async def test_the_models_that_it_has(begin: Begin) -> None:
    gateway, fake = await begin(
        "cohere",
        json_answer({"models": [{"name": "command-a-03-2025", "endpoints": ["chat"]}], "next_page_token": None}),
        more='[[route]]\nmodel = "command-*"\ntargets = [{ upstream = "up" }]\n',
    )
    answer = await gateway.get("/v1/models")
    assert "command-a-03-2025" in [row["id"] for row in answer.json["data"]]
    assert fake.requests[0].path == "/v1/models"
