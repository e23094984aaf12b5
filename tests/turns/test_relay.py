"""Relayed paths, end to end: bytes pass in both directions as they are."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from tests.support.gateway import Running
from tests.support.judge import WordJudge
from tests.support.raw import Answer, call, connect, request
from tests.support.relay import FORM, Play, RelayUpstream, form, sha
from tests.turns.conftest import StartRelay

PREFIXES = ("/v1", "/openai/v1", "/crazyrouter/v1", "/skytells/v1", "/maritaca/api")
NOISE = random.Random(7).randbytes(300_000)


async def ask(running: Running, path: str, body: bytes, headers: dict[str, str] | None = None) -> Answer:
    return await call(running.port, "POST", path, body=body, headers=headers)


# JSON

JSON_PATHS: dict[str, dict[str, Any]] = {
    "/images/generations": {"prompt": "a cat", "n": 2},
    "/audio/speech": {"input": "Hello", "voice": "alloy"},
    "/rerank": {"query": "q", "documents": ["a", "b"]},
    "/images/edits": {"prompt": "a hat", "images": [{"file_id": "f"}]},
}


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("path", JSON_PATHS)
async def test_json_travels_to_the_byte(start_relay: StartRelay, prefix: str, path: str) -> None:
    upstream = RelayUpstream(Play(NOISE, 201, "audio/mpeg", {"x-vendor": "1", "content-disposition": "attachment"}))
    running = await start_relay(upstream)
    body = json.dumps({"x_vendor": [1.50, "é\n"], "model": "m", **JSON_PATHS[path]}, indent=1).encode()
    headers = {"authorization": "Bearer sk-client", "accept": "audio/mpeg", "cookie": "c"}
    answer = await ask(running, prefix + path, body, headers)
    assert (answer.status, sha(answer.body)) == (201, sha(NOISE))
    assert answer.headers["content-type"] == "audio/mpeg"
    assert answer.headers["content-length"] == str(len(NOISE))
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["x-request-id"].startswith("req_")
    assert "x-vendor" not in answer.headers
    [got] = upstream.got
    assert (got.method, got.target, got.digest) == ("POST", "/v1" + path, sha(body))
    assert got.headers["authorization"] == "Bearer sk-upstream"
    assert (got.headers["accept"], got.headers["content-type"]) == ("audio/mpeg", "application/json")
    assert "cookie" not in got.headers


async def test_the_targets_model_takes_the_place_of_the_clients(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    assert (await ask(running, "/v1/rerank", b'{"a": 1.50, "model": "named", "b": [1e5]}')).status == 200
    assert upstream.got[0].body == b'{"a":1.50,"model":"a-longer-target","b":[1e5]}'


async def test_of_a_parameter_that_stands_twice_the_last_one_is_sent_alone(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    body = b'{"model": "other", "prompt": "x", "mod\\u0065l": "m"}'
    assert (await ask(running, "/v1/images/generations", body)).status == 200
    assert json.loads(upstream.got[0].body) == {"model": "m", "prompt": "x"}
    assert upstream.got[0].body.count(b"model") == 1


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        (b"{", None, "could not parse the JSON"),
        (b"", None, "could not parse the JSON"),
        (b"[]", None, "could not parse the JSON"),
        (b'{"model": 5}', "model", "expected a string"),
        (b'{"model": ""}', None, "you must provide a model parameter"),
        (b'{"Model": "m"}', "Model", "Did you mean 'model'?"),
        (b'{"model": "m", "PROMPT": "x"}', "PROMPT", "Did you mean 'prompt'?"),
        (b'{"model": "m", "a": ' + b"[" * 300 + b"]" * 300 + b"}", None, ""),
    ],
)
async def test_bad_json_is_refused(start_relay: StartRelay, body: bytes, param: str | None, words: str) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    answer = await ask(running, "/v1/images/generations", body)
    assert (answer.status, answer.json["error"]["param"]) == (400, param)
    assert words in answer.json["error"]["message"]
    assert not upstream.got


async def test_an_unknown_model_is_404(start_relay: StartRelay) -> None:
    running = await start_relay(RelayUpstream())
    answer = await ask(running, "/v1/audio/speech", b'{"model": "nobody", "input": "x"}')
    assert (answer.status, answer.json["error"]["code"]) == (404, "model_not_found")


async def test_moderations_of_a_model_that_a_route_names_are_relayed(start_relay: StartRelay) -> None:
    upstream = RelayUpstream(Play(b'{"results":[]}'))
    running = await start_relay(upstream)
    body = b'{"model": "m",  "input": [{"type": "image_url", "image_url": {"url": "u"}}]}'
    for prefix in PREFIXES:
        answer = await ask(running, f"{prefix}/moderations", body)
        assert (answer.status, answer.body) == (200, b'{"results":[]}')
    assert {(got.target, got.digest) for got in upstream.got} == {("/v1/moderations", sha(body))}


@pytest.mark.parametrize(
    "body", [b'{"input": "x"}', b'{"model": "other", "input": "x"}', b'{"model": "*", "input": "x"}']
)
async def test_other_moderations_are_answered_here(start_relay: StartRelay, body: bytes) -> None:
    upstream = RelayUpstream()
    more = '[[route]]\nmodel = "*"\ntargets = [{ upstream = "u0" }]\n'
    running = await start_relay(upstream, judge=WordJudge(), more=more)
    answer = await ask(running, "/v1/moderations", body)
    assert (answer.status, answer.json["results"][0]["flagged"]) == (200, False)
    assert not upstream.got
    for bad in (b"{", b'{"model": 5, "input": "x"}'):
        assert (await ask(running, "/v1/moderations", bad)).status == 400


# Forms


@pytest.mark.parametrize(
    "path", ["/images/edits", "/images/variations", "/audio/transcriptions", "/audio/translations"]
)
@pytest.mark.parametrize("is_first", [True, False])
async def test_forms_travel_to_the_byte(start_relay: StartRelay, path: str, is_first: bool) -> None:
    upstream = RelayUpstream(Play(b'{"text":"hi"}'))
    running = await start_relay(upstream)
    parts: list[Any] = [("model", b"m"), ("file", NOISE, "a.wav"), ("prompt", b"x")]
    body = form(*(parts if is_first else reversed(parts)))
    answer = await ask(running, "/v1" + path, body, FORM)
    assert (answer.status, answer.body) == (200, b'{"text":"hi"}')
    [got] = upstream.got
    assert (got.digest, got.size) == (sha(body), len(body))
    assert got.headers["content-type"] == FORM["content-type"]


@pytest.mark.parametrize("size", [10, len(NOISE)])
@pytest.mark.parametrize("is_first", [True, False])
async def test_the_targets_model_is_put_into_the_form(start_relay: StartRelay, size: int, is_first: bool) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)

    def made(model: bytes) -> bytes:
        parts: list[Any] = [("model", model), ("file", NOISE[:size], "a.wav")]
        return form(*(parts if is_first else reversed(parts)))

    assert (await ask(running, "/v1/audio/transcriptions", made(b"named"), FORM)).status == 200
    assert upstream.got[0].digest == sha(made(b"a-longer-target"))


async def test_a_form_in_chunks_travels_in_chunks(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    body = form(("model", b"named"), ("file", NOISE, "a.wav"))
    wire = await connect(running.port)
    await wire.send(
        request("POST", "/v1/audio/translations", headers={**FORM, "transfer-encoding": "chunked"}).replace(
            b"content-length: 0\r\n", b""
        )
    )
    for at in range(0, len(body), 10_007):
        piece = body[at : at + 10_007]
        await wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
    await wire.send(b"0\r\n\r\n")
    assert (await wire.answer()).status == 200
    await wire.send(request("GET", "/v1/models"))  # the connection goes on
    assert (await wire.answer()).status == 200
    wire.close()
    assert upstream.got[0].digest == sha(body.replace(b"named", b"a-longer-target"))
    assert upstream.got[0].headers["transfer-encoding"] == "chunked"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (form(("model", b"m"), ("file", b"x", "f"), ("model", b"named")), "'model' more than once"),
        (form(("model", b"m"), ("file", NOISE, "f"), ("model", b"named")), "'model' more than once"),
        (form(("model", b"m", "model.txt")), "must be plain text"),
        (form(("model", b"\xff")), "not UTF-8"),
        (form(("model", b"m"))[:-10], "not valid multipart"),
        (b"hello", "not valid multipart"),
        (b"", "not valid multipart"),
        (form(("model", b"m")).replace(b"\r\n", b"\n"), "not valid multipart"),
    ],
)
async def test_bad_forms_are_refused(start_relay: StartRelay, body: bytes, words: str) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    answer = await ask(running, "/v1/audio/transcriptions", body, FORM)
    assert answer.status == 400
    assert words in answer.json["error"]["message"]
    assert all(got.is_cut or not got.digest for got in upstream.got)


async def test_a_model_behind_too_large_a_file_is_asked_for_before_it(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream, server="max_body = 100000")
    answer = await ask(running, "/v1/audio/transcriptions", form(("file", NOISE, "f"), ("model", b"m")), FORM)
    assert (answer.status, answer.json["error"]["param"]) == (400, "model")
    assert "before the files" in answer.json["error"]["message"]
    assert not upstream.got
    body = form(("model", b"m"), ("file", NOISE, "f"))
    assert (await ask(running, "/v1/audio/transcriptions", body, FORM)).status == 200


async def test_what_is_larger_than_max_upload_is_413(start_relay: StartRelay) -> None:
    running = await start_relay(RelayUpstream(), server="max_upload = 200000\nmax_body = 100000")
    body = form(("model", b"m"), ("file", NOISE, "f"))
    answer = await ask(running, "/v1/audio/transcriptions", body, FORM)
    assert (answer.status, answer.json["error"]["code"]) == (413, "request_too_large")
    wire = await connect(running.port)
    head = request("POST", "/v1/audio/translations", headers={**FORM, "transfer-encoding": "chunked"})
    await wire.send(head.replace(b"content-length: 0\r\n", b"") + b"%x\r\n%b\r\n" % (len(body), body))
    answer = await wire.answer()
    assert (answer.status, answer.json["error"]["code"]) == (413, "request_too_large")
    wire.close()


# Files and batches


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_files(start_relay: StartRelay, prefix: str) -> None:
    upstream = RelayUpstream(
        Play(b'{"id":"file-1"}'),
        Play(b'{"data":[]}'),
        Play(b'{"id":"file-1","x":1}'),
        Play(NOISE, kind="application/octet-stream"),
        Play(b'{"deleted":true}'),
    )
    running = await start_relay(upstream)
    body = form(("purpose", b"batch"), ("file", NOISE, "a.jsonl"))
    assert (await ask(running, f"{prefix}/files", body, FORM)).json == {"id": "file-1"}
    assert (await running.get(f"{prefix}/files?purpose=batch&limit=2")).json == {"data": []}
    assert (await running.get(f"{prefix}/files/file-1")).json == {"id": "file-1", "x": 1}
    assert sha((await running.get(f"{prefix}/files/file-1/content")).body) == sha(NOISE)
    assert (await call(running.port, "DELETE", f"{prefix}/files/file-1")).json == {"deleted": True}
    assert upstream.got[0].digest == sha(body)
    assert [(got.method, got.target) for got in upstream.got] == [
        ("POST", "/v1/files"),
        ("GET", "/v1/files?purpose=batch&limit=2"),
        ("GET", "/v1/files/file-1"),
        ("GET", "/v1/files/file-1/content"),
        ("DELETE", "/v1/files/file-1"),
    ]


async def test_batches(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    body = b'{"input_file_id": "f", "endpoint": "/v1/chat/completions"}'
    assert (await ask(running, "/v1/batches", body)).status == 200
    assert (await ask(running, "/v1/batches/b-1/cancel", b"")).status == 200
    assert (await running.get("/v1/batches/b-1")).status == 200
    assert upstream.got[0].digest == sha(body)
    assert [got.target for got in upstream.got] == ["/v1/batches", "/v1/batches/b-1/cancel", "/v1/batches/b-1"]


async def test_of_several_upstreams_with_files_one_is_named(start_relay: StartRelay) -> None:
    first, second = RelayUpstream(), RelayUpstream()
    running = await start_relay(first, second)
    answer = await running.get("/v1/files")
    assert (answer.status, answer.json["error"]["code"]) == (400, "upstream_required")
    assert "x-antiphon-upstream" in answer.json["error"]["message"]
    assert (await running.get("/v1/files", {"x-antiphon-upstream": "u1"})).status == 200
    assert (len(first.got), len(second.got)) == (0, 1)
    answer = await running.get("/v1/files", {"x-antiphon-upstream": "u7"})
    assert (answer.status, answer.json["error"]["code"]) == (404, "unknown_upstream")


async def test_a_path_that_no_upstream_offers_is_404(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream, upstream='offers = ["embeddings", "rerank"]')
    answer = await running.get("/v1/files")
    assert (answer.status, answer.json["error"]["code"]) == (404, "unsupported_endpoint")
    answer = await ask(running, "/v1/images/generations", b'{"model": "m", "prompt": "x"}')
    assert (answer.status, answer.json["error"]["code"]) == (404, "unsupported_endpoint")
    assert (await ask(running, "/v1/rerank", b'{"model": "m"}')).status == 200
    assert len(upstream.got) == 1


async def test_without_a_model_the_only_upstream_is_asked(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(upstream)
    assert (await ask(running, "/v1/images/generations", b'{"prompt": "x"}')).status == 200
    body = form(("image", NOISE, "i.png"))
    assert (await ask(running, "/v1/images/variations", body, FORM)).status == 200
    assert upstream.got[1].digest == sha(body)


async def test_a_key_with_models_of_its_own_names_one(start_relay: StartRelay) -> None:
    """What names no model might use any: a picture of the upstream's choice, a batch [own-models]."""
    upstream = RelayUpstream()
    key = '[[key]]\nname = "app"\nsecret = "env:KEY"\nmodels = ["m"]\n'
    running = await start_relay(upstream, more=key)
    sent = {"authorization": "Bearer sk-client"}
    refused = [
        await ask(running, "/v1/images/generations", b'{"prompt": "x"}', headers=sent),
        await ask(running, "/v1/batches", b'{"input_file_id": "f"}', headers={**sent, "x-antiphon-upstream": "u0"}),
        await running.get("/v1/files", sent),
    ]
    assert [(one.status, one.json["error"]["code"]) for one in refused] == [(403, "model_not_allowed")] * 3
    assert upstream.got == []
    assert (await ask(running, "/v1/images/generations", b'{"model": "m", "prompt": "x"}', headers=sent)).status == 200


async def test_methods_that_a_path_does_not_have(start_relay: StartRelay) -> None:
    running = await start_relay(RelayUpstream())
    for method, path, allowed in (
        ("DELETE", "/v1/files", "GET, POST"),
        ("POST", "/v1/files/f", "GET, DELETE"),
        ("GET", "/v1/audio/speech", "POST"),
    ):
        answer = await call(running.port, method, path)
        assert (answer.status, answer.headers["allow"]) == (405, allowed)
    assert (await call(running.port, "HEAD", "/v1/files/f")).status == 200
    assert (await running.get("/v1/files/f/other")).status == 404


# Answers


async def test_events_pass_as_they_are(start_relay: StartRelay) -> None:
    between = asyncio.Event()
    pieces = [b"event: image_generation.partial_image\ndata: {}\n\n", b": odd\r\rdata: x\n\n"]
    upstream = RelayUpstream(Play(kind="text/event-stream", pieces=pieces, between=between))
    running = await start_relay(upstream)
    wire = await connect(running.port)
    await wire.send(request("POST", "/v1/images/generations", b'{"model": "m", "prompt": "x", "stream": true}'))
    status, headers = await wire.head()
    assert (status, headers["content-type"], headers["x-accel-buffering"]) == (200, "text/event-stream", "no")
    assert await wire.chunk() == pieces[0]
    between.set()
    assert await wire.chunk() == pieces[1]
    assert await wire.chunk() == b""
    wire.close()


@pytest.mark.parametrize("pieces", [None, [NOISE, NOISE]])
async def test_a_cut_answer_is_seen_to_be_cut(start_relay: StartRelay, pieces: list[bytes] | None) -> None:
    running = await start_relay(RelayUpstream(Play(NOISE, pieces=pieces, cut=True, repeat=3)))
    with pytest.raises((asyncio.IncompleteReadError, ValueError)):  # before the announced length, or the last chunk
        await ask(running, "/v1/audio/speech", b'{"model": "m", "input": "x"}')


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_errors_are_told_in_the_dialect(start_relay: StartRelay, prefix: str) -> None:
    said = json.dumps({"error": {"message": "no such voice, sk-upstream", "param": "voice", "code": "bad_voice"}})
    running = await start_relay(RelayUpstream(Play(said.encode(), 400)))
    answer = await ask(running, f"{prefix}/audio/speech", b'{"model": "m", "input": "x"}')
    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
    assert b"no such voice" in answer.body
    assert b"sk-upstream" not in answer.body


@pytest.mark.parametrize(("status", "seen"), [(401, 502), (404, 404), (429, 429), (500, 502), (503, 503), (302, 502)])
async def test_statuses_of_upstreams(start_relay: StartRelay, status: int, seen: int) -> None:
    running = await start_relay(RelayUpstream(Play(b"{}", status, headers={"retry-after": "7", "location": "/x"})))
    answer = await running.get("/v1/files/f/content")
    assert answer.status == seen
    assert answer.headers.get("retry-after") == ("7" if seen in (429, 503) else None)


async def test_an_upstream_that_cannot_be_reached_is_502(start_relay: StartRelay) -> None:
    running = await start_relay(
        more='[[upstream]]\nname = "u0"\nprotocol = "openai"\nurl = "http://127.0.0.1:1/v1"\n',
        targets='{ upstream = "u0" }',
    )
    assert (await running.get("/v1/files")).status == 502
    body = form(("file", NOISE, "f"), ("purpose", b"x"))
    assert (await ask(running, "/v1/files", body, FORM)).status == 502


# Failover


@pytest.mark.parametrize("size", [10, len(NOISE)])
async def test_the_next_target_gets_the_same_body(start_relay: StartRelay, size: int) -> None:
    first, second = RelayUpstream(Play(status=500)), RelayUpstream(Play(b'{"text":"hi"}'))
    targets = '{ upstream = "u0", model = "one" }, { upstream = "u1", priority = 1 }'
    running = await start_relay(first, second, targets=targets)
    body = form(("model", b"m"), ("file", NOISE[:size], "f"))
    answer = await ask(running, "/v1/audio/transcriptions", body, FORM)
    assert (answer.status, answer.body) == (200, b'{"text":"hi"}')
    assert first.got[0].digest == sha(body.replace(b"\r\nm\r\n", b"\r\none\r\n"))
    assert second.got[0].digest == sha(body)


async def test_the_next_target_gets_the_same_json(start_relay: StartRelay) -> None:
    first, second = RelayUpstream(Play(status=500)), RelayUpstream()
    targets = '{ upstream = "u0", model = "one" }, { upstream = "u1", priority = 1 }'
    running = await start_relay(first, second, targets=targets)
    body = b'{ "model": "m",  "query": "x" }'
    assert (await ask(running, "/v1/rerank", body)).status == 200
    assert (first.got[0].body, second.got[0].body) == (b'{"model":"one","query":"x"}', body)


async def test_a_body_that_was_not_kept_is_not_sent_again(start_relay: StartRelay) -> None:
    first, second = RelayUpstream(Play(status=500)), RelayUpstream()
    running = await start_relay(first, second)
    body = form(("model", b"m"), ("file", NOISE * 10, "f"))
    assert (await ask(running, "/v1/audio/transcriptions", body, FORM)).status == 502
    assert not second.got


async def test_a_large_body_goes_to_the_next_target_while_none_was_reached(start_relay: StartRelay) -> None:
    upstream = RelayUpstream()
    running = await start_relay(
        upstream,
        targets='{ upstream = "gone" }, { upstream = "u0", priority = 1 }',
        more='[[upstream]]\nname = "gone"\nprotocol = "openai"\nurl = "http://127.0.0.1:1/v1"\n',
    )
    body = form(("model", b"m"), ("file", NOISE * 10, "f"))
    assert (await ask(running, "/v1/audio/transcriptions", body, FORM)).status == 200
    assert upstream.got[0].digest == sha(body)


async def test_no_second_try_after_the_first_byte(start_relay: StartRelay) -> None:
    first, second = RelayUpstream(Play(NOISE, cut=True)), RelayUpstream()
    running = await start_relay(first, second)
    with pytest.raises(asyncio.IncompleteReadError):
        await ask(running, "/v1/audio/speech", b'{"model": "m", "input": "x"}')
    assert not second.got
