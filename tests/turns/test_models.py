"""GET /v1/models: the names of the settings, and what upstreams behind patterns say they have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from antiphon.upstreams.scripted import Script, ScriptedUpstream, error, hang, json_answer, raw, wait
from antiphon.upstreams.scripted.received import Received
from tests.support.gateway import Running, gateway
from tests.support.raw import call

Answerer = Callable[[Received], Script]


def listing(*names: str) -> Script:
    return json_answer({"object": "list", "data": [{"id": name, "created": 7, "owned_by": "them"} for name in names]})


def routes(**targets: str) -> Iterator[str]:
    for model, rows in targets.items():
        yield f"[[route]]\nmodel = {json.dumps(model)}\ntargets = [{rows}]\n"


def always(script: Script) -> Answerer:
    return lambda _: script


@asynccontextmanager
async def start(
    tmp_path: Path, text: str, *answers: Script | Answerer, upstream: str = ""
) -> AsyncIterator[tuple[Running, list[ScriptedUpstream]]]:
    """Upstreams u0, u1, …, and the routes of `text`."""
    async with AsyncExitStack() as stack:
        settings, upstreams = '[server]\nlisten = "127.0.0.1:0"\naccess_log = "off"\n', []
        settings += f'error_log = "{tmp_path}/errors"\n'
        for position, answer in enumerate(answers):
            found = ScriptedUpstream(answer if callable(answer) else always(answer))
            url = await found.start()
            stack.push_async_callback(found.stop)
            settings += f'[[upstream]]\nname = "u{position}"\nprotocol = "openai"\nurl = "{url}"\n{upstream}\n'
            upstreams.append(found)
        yield await stack.enter_async_context(gateway(tmp_path, settings + text)), upstreams


async def names(running: Running) -> list[str]:
    answer = await running.get("/v1/models")
    assert answer.status == 200
    return [model["id"] for model in answer.json["data"]]


async def test_the_star_route_lists_what_its_upstream_has(tmp_path: Path) -> None:
    text = "".join(routes(**{"m": '{ upstream = "u0", model = "x" }', "*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, listing("gpt-4o", "org/a:b", "m")) as (running, (upstream,)):
        assert not upstream.requests  # nobody has asked us yet
        assert await names(running) == ["m", "gpt-4o", "org/a:b"]
        found = (await running.get("/v1/models/org%2Fa%3Ab")).json
        assert found == {"id": "org/a:b", "object": "model", "created": 7, "owned_by": "them"}
        missing = await running.get("/v1/models/none")
        assert (missing.status, missing.json["error"]["code"]) == (404, "model_not_found")
        assert [(sent.method, sent.path) for sent in upstream.requests] == [("GET", "/v1/models")]


async def test_a_pattern_lists_what_fits_it_and_a_longer_one_takes_its_own(tmp_path: Path) -> None:
    text = "".join(routes(**{"gpt-*": '{ upstream = "u0" }', "gpt-4*": '{ upstream = "u1" }'}))
    answers = listing("gpt-3", "gpt-4", "o1"), listing("gpt-3-b", "gpt-4-b", "o1")
    async with start(tmp_path, text, *answers) as (running, _):
        assert await names(running) == ["gpt-3", "gpt-4-b"]
        assert (await running.get("/v1/models/gpt-4")).status == 404


async def test_every_target_of_a_pattern_is_asked(tmp_path: Path) -> None:
    text = "".join(routes(**{"*": '{ upstream = "u0" }, { upstream = "u1", priority = 1 }'}))
    async with start(tmp_path, text, listing("a", "b"), listing("b", "c")) as (running, _):
        assert await names(running) == ["a", "b", "c"]


async def test_a_pattern_whose_target_names_a_model_answers_to_any_name(tmp_path: Path) -> None:
    text = "".join(routes(**{"gpt-*": '{ upstream = "u0", model = "llama" }'}))
    async with start(tmp_path, text, listing("llama")) as (running, (upstream,)):
        found = (await running.get("/v1/models/gpt-9")).json
        assert (found["id"], found["owned_by"]) == ("gpt-9", "u0")
        assert (await running.get("/v1/models/claude")).status == 404
        assert await names(running) == []
        assert not upstream.requests


async def test_a_pattern_that_renames_lists_what_clients_may_say(tmp_path: Path) -> None:
    text = "".join(routes(**{"openai/*": '{ upstream = "u0", model = "*" }', "gpt-*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, listing("gpt-4o", "o1")) as (running, _):
        assert await names(running) == ["gpt-4o", "openai/gpt-4o", "openai/o1"]
        assert (await running.get("/v1/models/openai%2Fo1")).json["id"] == "openai/o1"
        assert (await running.get("/v1/models/openai%2Fnone")).status == 404


async def test_who_has_no_pattern_or_switched_it_off_is_never_asked(tmp_path: Path) -> None:
    text = "".join(routes(m='{ upstream = "u0" }'))
    async with start(tmp_path, text, listing("a")) as (running, (upstream,)):
        assert await names(running) == ["m"]
        assert not upstream.requests
    text = "".join(routes(**{"*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, listing("a"), upstream="list_models = false") as (running, (upstream,)):
        assert await names(running) == []
        assert (await running.get("/v1/models/a")).status == 404
        assert not upstream.requests


BROKEN = [
    error(500),
    error(404),
    error(401),
    json_answer({"object": "list"}),
    json_answer([1, "x", {"id": 3}, {"id": ""}, {"id": "a" * 300}, {"id": "a\n"}]),
    raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{not json"),
    raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"),
    json_answer({"data": [{"id": f"{number:0100}"} for number in range(40_000)]}),
    raw(hang()),
]


@pytest.mark.parametrize("broken", BROKEN)
async def test_an_upstream_that_cannot_say_changes_nothing(tmp_path: Path, broken: Script) -> None:
    text = "".join(routes(**{"m": '{ upstream = "u1" }', "*": '{ upstream = "u0" }, { upstream = "u1" }'}))
    async with start(tmp_path, text, broken, listing("a")) as (running, (upstream, _)):
        assert await names(running) == ["m", "a"]
        assert await names(running) == ["m", "a"]
        assert (await running.get("/v1/models/other")).status == 404
        assert len(upstream.requests) == 1  # not again at once


async def test_questions_at_once_are_one_question(tmp_path: Path) -> None:
    release = asyncio.Event()
    text = "".join(routes(**{"*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, raw(wait(release)) + listing("a")) as (running, (upstream,)):
        asked = [asyncio.create_task(names(running)) for _ in range(20)]
        await upstream.received()
        release.set()
        assert await asyncio.gather(*asked) == [["a"]] * 20
        assert len(upstream.requests) == 1


async def test_a_named_model_does_not_wait_for_an_upstream_that_hangs(tmp_path: Path) -> None:
    text = "".join(routes(**{"m": '{ upstream = "u0" }', "*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, raw(hang())) as (running, (upstream,)):
        assert (await running.get("/v1/models/m")).json["id"] == "m"
        assert not upstream.requests


async def test_a_client_that_leaves_while_it_waits_is_no_fault(tmp_path: Path) -> None:
    release = asyncio.Event()
    text = "".join(routes(**{"*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, raw(wait(release)) + listing("a")) as (running, (upstream,)):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call(running.port, "GET", "/v1/models"), 0.05)
        await upstream.received()
        release.set()
        assert await names(running) == ["a"]
        running.worker.log.flush()
    assert (tmp_path / "errors").read_text() == ""


async def test_the_upstream_gets_its_credential_and_the_log_does_not(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sk-very-secret")
    text = "".join(routes(**{"*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, error(403), upstream='credential = "file:secret"') as (running, (upstream,)):
        assert await names(running) == []
        running.worker.log.flush()
        assert upstream.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    logged = (tmp_path / "errors").read_text()
    assert "upstream u0: its models are not known: HTTP 403" in logged
    assert "secret" not in logged


# How large contexts are, in the dialect that says so

SIZED = "/maritaca/api/models"


async def sizes(running: Running) -> dict[str, tuple[object, object]]:
    answer = await running.get(SIZED)
    assert answer.status == 200
    return {model["id"]: (model["context_length"], model["top_provider"]) for model in answer.json["data"]}


def top(context: int, output: int | None) -> dict[str, int | None]:
    return {"context_length": context, "max_completion_tokens": output}


async def test_a_named_model_has_the_size_of_what_its_first_target_is_sent(tmp_path: Path) -> None:
    targets = {
        "gpt-4o": '{ upstream = "u0" }',
        "best": '{ upstream = "u0", model = "o3", priority = 1 }, { upstream = "u0", model = "claude-haiku-4-5" }',
        "gpt-4": '{ upstream = "u0", model = "nobodys-7b" }',  # a name of ours says nothing
        "gpt-4o-of-tomorrow": '{ upstream = "u0" }',  # nor does a model's family
    }
    async with start(tmp_path, "".join(routes(**targets)), listing()) as (running, (upstream,)):
        assert await sizes(running) == {
            "gpt-4o": (128_000, top(128_000, 16_384)),
            "best": (200_000, top(200_000, 64_000)),
            "gpt-4": (None, None),
            "gpt-4o-of-tomorrow": (None, None),
        }
        one = (await running.get(f"{SIZED}/gpt-4o")).json
        assert (one["context_length"], one["top_provider"]) == (128_000, top(128_000, 16_384))
        plain = (await running.get("/v1/models/gpt-4o")).json
        assert set(plain) == {"id", "object", "created", "owned_by"}
        assert not upstream.requests


async def test_a_model_that_only_a_pattern_names_has_a_size_too(tmp_path: Path) -> None:
    text = "".join(routes(**{"my-*": '{ upstream = "u0", model = "gpt-4o" }'}))
    async with start(tmp_path, text, listing()) as (running, _):
        assert (await running.get(f"{SIZED}/my-model")).json["context_length"] == 128_000


async def test_what_upstreams_say_comes_before_the_table(tmp_path: Path) -> None:
    told = [
        {"id": "gpt-4o", "context_length": 7, "top_provider": {"context_length": 6, "is_moderated": True}},
        {"id": "gpt-4o-mini"},
        {"id": "gpt-4.1", "max_model_len": 8},
        {"id": "gpt-4.1-mini", "context_window": 9},
        {"id": "gpt-4.1-nano", "max_context_length": 10},
        {"id": "gpt-4", "context_length": "wide", "max_model_len": -1, "context_window": True},
    ]
    text = "".join(routes(**{"*": '{ upstream = "u0" }'}))
    async with start(tmp_path, text, json_answer({"data": told})) as (running, _):
        assert await sizes(running) == {
            "gpt-4o": (7, {"context_length": 6, "is_moderated": True}),
            "gpt-4o-mini": (128_000, top(128_000, 16_384)),
            "gpt-4.1": (8, top(8, 32_768)),
            "gpt-4.1-mini": (9, top(9, 32_768)),
            "gpt-4.1-nano": (10, top(10, 32_768)),
            "gpt-4": (8192, top(8192, 4096)),
        }


async def test_the_settings_come_before_all(tmp_path: Path) -> None:
    text = "".join(routes(**{"*": '{ upstream = "u0" }'}))
    text += '[[model]]\nname = "gpt-4o"\ncontext = 5\n[[model]]\nname = "house-*"\ncontext = 4\nmax_output = 3\n'
    answer = json_answer({"data": [{"id": "gpt-4o", "context_length": 7}, {"id": "house-7b"}]})
    async with start(tmp_path, text, answer) as (running, _):
        assert await sizes(running) == {"gpt-4o": (5, top(5, 16_384)), "house-7b": (4, top(4, 3))}


async def test_many_models_are_all_sized(tmp_path: Path) -> None:
    """More than are looked up at once."""
    names_ = [f"m{number}" for number in range(950)]
    text = "".join(routes(**dict.fromkeys(names_, '{ upstream = "u0", model = "gpt-4o" }')))
    async with start(tmp_path, text, listing()) as (running, _):
        first, second = await asyncio.gather(sizes(running), sizes(running))
        assert first == second == {name: (128_000, top(128_000, 16_384)) for name in names_}


async def test_the_embedded_model_has_the_context_that_it_was_given(tmp_path: Path) -> None:
    text = '[server]\nlisten = "127.0.0.1:0"\naccess_log = "off"\nerror_log = "off"\n[engine]\ncontext = 512\n'
    async with gateway(tmp_path, text) as running:
        assert list((await sizes(running)).values()) == [(512, top(512, None))]
        assert (await running.get(f"{SIZED}/gpt-4o")).json["context_length"] == 512  # whatever it is called
