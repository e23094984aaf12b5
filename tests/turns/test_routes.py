"""Several targets on a route: priority, then weight; the next one only while nothing has left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from antiphon.upstreams.scripted import Script, ScriptedUpstream, cut, error, json_answer, raw, sse
from tests.support.gateway import gateway
from tests.support.shapes import chunk, completion, hello


def settings(urls: list[str], targets: str) -> str:
    upstreams = "".join(
        f'[[upstream]]\nname = "u{i}"\nprotocol = "openai"\nurl = "{url}"\n' for i, url in enumerate(urls)
    )
    head = '[server]\nlisten = "127.0.0.1:0"\naccess_log = "off"\nerror_log = "off"\n'
    return f'{head}{upstreams}[[route]]\nmodel = "m"\ntargets = [{targets}]\n'


def always(script: Script) -> ScriptedUpstream:
    return ScriptedUpstream(lambda _: script)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fault",
    [error(500), error(429), error(401), error(404), raw(cut()), sse({"error": {"message": "x"}}), sse(done=False)],
)
async def test_the_next_target_is_tried(tmp_path: Path, fault: Script, stream: bool) -> None:
    first, second = always(fault), always(sse(*hello()) if stream else json_answer(completion()))
    urls = [await first.start(), await second.start()]
    async with gateway(tmp_path, settings(urls, '{ upstream = "u0" }, { upstream = "u1", priority = 1 }')) as running:
        answer = await running.post(stream=stream, headers={"x-antiphon-receipt": "1"})
        assert answer.status == 200
        receipt = answer.chunks[-1]["antiphon"] if stream else answer.json["antiphon"]
        assert [attempt["upstream"] for attempt in receipt["attempts"]] == ["u0", "u1"]
        assert receipt["attempts"][1]["outcome"] == "answered"
    await first.stop()
    await second.stop()


async def test_the_clients_own_fault_is_not_tried_again(tmp_path: Path) -> None:
    first, second = always(error(400)), always(json_answer(completion()))
    urls = [await first.start(), await second.start()]
    async with gateway(tmp_path, settings(urls, '{ upstream = "u0" }, { upstream = "u1", priority = 1 }')) as running:
        assert (await running.post()).status == 400
    assert not second.requests
    await first.stop()
    await second.stop()


async def test_no_second_try_after_the_first_chunk(tmp_path: Path) -> None:
    first, second = always(sse(chunk({"role": "assistant", "content": "Hi"}), done=False)), always(sse(*hello()))
    urls = [await first.start(), await second.start()]
    async with gateway(tmp_path, settings(urls, '{ upstream = "u0" }, { upstream = "u1", priority = 1 }')) as running:
        answer = await running.post(stream=True)
        assert answer.chunks[-1]["error"]["code"] == "upstream_truncated"
    assert not second.requests
    await first.stop()
    await second.stop()


async def test_when_all_fail_the_first_failure_is_told(tmp_path: Path) -> None:
    first, second = always(error(429, None, {"retry-after": "3"})), always(error(500))
    urls = [await first.start(), await second.start()]
    async with gateway(tmp_path, settings(urls, '{ upstream = "u0" }, { upstream = "u1", priority = 1 }')) as running:
        answer = await running.post()
        assert (answer.status, answer.headers["retry-after"]) == (429, "3")
    await first.stop()
    await second.stop()


async def test_weights_share_the_load(tmp_path: Path) -> None:
    first, second = always(json_answer(completion())), always(json_answer(completion()))
    urls = [await first.start(), await second.start()]
    async with gateway(
        tmp_path, settings(urls, '{ upstream = "u0", weight = 3 }, { upstream = "u1", weight = 1 }')
    ) as running:
        for _ in range(80):
            assert (await running.post()).status == 200
    shares = Counter({"first": len(first.requests), "second": len(second.requests)})
    assert shares["first"] > shares["second"] > 0
    await first.stop()
    await second.stop()


async def test_an_unknown_model_is_404_in_every_dialect(tmp_path: Path) -> None:
    upstream = always(json_answer(completion()))
    url = await upstream.start()
    async with gateway(tmp_path, settings([url], '{ upstream = "u0" }')) as running:
        for prefix in ("/v1", "/openai/v1", "/crazyrouter/v1", "/skytells/v1", "/maritaca/api"):
            answer = await running.post(f"{prefix}/chat/completions", model="nope")
            assert (answer.status, answer.json["error"]["code"]) == (404, "model_not_found")
    await upstream.stop()


async def test_a_target_that_strict_rules_out_is_passed_over(tmp_path: Path) -> None:
    first, second = always(json_answer(completion())), always(json_answer(completion()))
    urls = [await first.start(), await second.start()]
    text = settings(urls, '{ upstream = "u0" }, { upstream = "u1", priority = 1 }')
    text = text.replace('name = "u0"', 'name = "u0"\nlacks = ["logit_bias"]')
    strict = {"x-antiphon-strict": "1", "x-antiphon-receipt": "1"}
    async with gateway(tmp_path, text) as running:
        answer = await running.post(headers=strict, logit_bias={"1": 1})
        assert answer.status == 200
        outcomes = [attempt["outcome"] for attempt in answer.json["antiphon"]["attempts"]]
        assert outcomes == ["unsupported_parameter", "answered"]
        await second.stop()
        assert (await running.post(headers=strict, logit_bias={"1": 1})).status == 502
    assert not first.requests
    await first.stop()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_pattern_leads_to_its_upstream_with_the_clients_own_name(tmp_path: Path, stream: bool) -> None:
    first, second = (always(sse(*hello()) if stream else json_answer(completion())) for _ in range(2))
    urls = [await first.start(), await second.start()]
    text = settings(urls, '{ upstream = "u0" }').replace('model = "m"', 'model = "gpt-*"')
    text += '[[route]]\nmodel = "gpt-4o*"\ntargets = [{ upstream = "u1" }]\n'
    async with gateway(tmp_path, text) as running:
        for model in ("gpt-3.5", "gpt-4o", "gpt-4o-mini"):
            assert (await running.post(model=model, stream=stream)).status == 200
        refused = await running.post(model="claude", stream=stream)
        assert (refused.status, refused.json["error"]["code"]) == (404, "model_not_found")
        receipt = (await running.post(model="gpt-5", headers={"x-antiphon-receipt": "1"})).json["antiphon"]
        assert receipt["route"] == "gpt-*"
    assert [sent.document["model"] for sent in first.requests] == ["gpt-3.5", "gpt-5"]
    assert [sent.document["model"] for sent in second.requests] == ["gpt-4o", "gpt-4o-mini"]
    await first.stop()
    await second.stop()


@pytest.mark.parametrize("stream", [False, True])
async def test_the_star_of_a_target_is_what_the_star_of_the_route_stands_for(tmp_path: Path, stream: bool) -> None:
    upstream = always(sse(*hello()) if stream else json_answer(completion()))
    target = '{ upstream = "u0", model = "org/*-v1" }'
    text = settings([await upstream.start()], target).replace('model = "m"', 'model = "openai/*"')
    async with gateway(tmp_path, text) as running:
        for model in ("openai/gpt-4o", "openai/a/b", "openai/"):
            assert (await running.post(model=model, stream=stream)).status == 200
        assert (await running.post(model="openai", stream=stream)).status == 404
        receipt = (await running.post(model="openai/x", headers={"x-antiphon-receipt": "1"})).json["antiphon"]
        assert receipt["route"] == "openai/*"
    sent = [request.document["model"] for request in upstream.requests]
    assert sent == ["org/gpt-4o-v1", "org/a/b-v1", "org/-v1", "org/x-v1"]
    await upstream.stop()
