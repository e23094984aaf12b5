"""Faults in every language, after every event, as the gateway's own translation sees them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon.errors import UpstreamError
from antiphon.upstreams.scripted import FAULTS
from tests.upstreams.languages import FOREIGN, KEY, PROTOCOLS, SECONDS, Client, speaking

Document = dict[str, Any]

MID_ANSWER = ("truncated", "cut", "error-late", "malformed", "bad-frame")
SILENT = {"scripted-hang", "scripted-stall"}
NO_ANSWER = {"scripted-close", "scripted-nonsense"}
speaks = pytest.mark.parametrize("speaks", FOREIGN)
both = pytest.mark.parametrize("stream", [False, True])


def chat(model: str, *, stream: bool = True) -> Document:
    return {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 10_000, "stream": stream}


def after(fault: str, number: int) -> Document:
    """All names are of one length: Google repeats them in every event."""
    return chat(f"scripted-{fault}-after-{number:04}")


async def count_events(client: Client) -> int:
    whole = (await client.post(after("truncated", 9999))).body
    count = 0
    while len((await client.post(after("truncated", count))).body) < len(whole):
        count += 1
        assert count < 100
    return count


@speaks
@pytest.mark.parametrize("fault", MID_ANSWER)
async def test_after_every_event(speaks: str, fault: str) -> None:
    async with speaking(speaks) as client:
        count = await count_events(client)
        assert count >= 4
        pieces = []
        for number in range(count):
            answered = await client.post(after(fault, number))
            assert answered.status == 200
            if fault in ("truncated", "error-late", "malformed"):
                assert answered.is_whole
            elif fault == "cut":
                assert not answered.is_whole
            pieces.append(len(answered.body))
            if not finished(client, number, count):
                assert fails(speaks, answered.body), number
        assert pieces == sorted(pieces)
        assert pieces[0] < pieces[-1]


def finished(client: Client, number: int, count: int) -> bool:
    """Whether the answer is over for the gateway before its last event: Bedrock's usage comes after the stop."""
    return client.speaks == "bedrock" and number == count - 1


def fails(speaks: str, body: bytes) -> bool:
    decoder = PROTOCOLS[speaks].open_stream("m")
    try:
        decoder.feed(body)
    except UpstreamError:
        return True
    return not decoder.is_whole


@speaks
async def test_more_events_than_there_are(speaks: str) -> None:
    async with speaking(speaks) as client:
        cut = await client.post(after("cut", 9999))
        assert not fails(speaks, cut.body)
        assert not cut.is_whole


@speaks
async def test_a_reset_is_a_reset(speaks: str) -> None:
    async with speaking(speaks) as client:
        with pytest.raises(ConnectionResetError):
            await client.post(chat("scripted-reset-after-2"))


@speaks
@both
@pytest.mark.parametrize("model", sorted(FAULTS.keys() - SILENT - {"scripted-slow", "scripted-reset"}))
async def test_every_fault_is_played(speaks: str, model: str, stream: bool) -> None:
    """None is answered with another status than its own, and none with a traceback."""
    async with speaking(speaks) as client:
        if model in NO_ANSWER:
            with pytest.raises((ValueError, IndexError, KeyError)):
                _ = (await client.post(chat(model, stream=stream))).headers["content-type"]
            return
        answered = await client.post(chat(model, stream=stream))
        refused = model == "scripted-blocked" and speaks == "cohere"
        assert answered.status == (400 if refused else 200)


@speaks
@pytest.mark.parametrize("model", ["scripted-stall-after-2", "scripted-hang"])
async def test_silence_lasts_until_the_client_goes(speaks: str, model: str) -> None:
    async with speaking(speaks) as client:
        encoded = client.encode(chat(model))
        headers = {**client.shown, **dict(encoded.headers)}
        reader, writer = await client.open(client.base + encoded.path, encoded.body, headers=headers)
        if model != "scripted-hang":
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
            assert head.startswith(b"HTTP/1.1 200")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(-1), 0.2)
        writer.close()


STATUSES = {
    "anthropic": {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
    }
    | {404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error"}
    | {504: "timeout_error", 529: "overloaded_error"},
    "bedrock": {400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException"}
    | {408: "ModelTimeoutException", 424: "ModelErrorException", 429: "ThrottlingException"}
    | {500: "InternalServerException", 503: "ServiceUnavailableException"},
    "cohere": {400: "as asked", 401: "as asked", 429: "as asked", 500: "as asked", 503: "as asked"},
    "gemini": {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
    | {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"},
}


@both
@pytest.mark.parametrize(("speaks", "status"), [(name, status) for name in FOREIGN for status in STATUSES[name]])
async def test_any_status_by_the_vendor_s_taxonomy(speaks: str, status: int, stream: bool) -> None:
    async with speaking(speaks) as client:
        answered = await client.post(chat(f"scripted-error-{status}-retry-7", stream=stream))
        assert answered.status == status
        said = answered.body.decode() + answered.headers.get("x-amzn-errortype", "")
        assert STATUSES[speaks][status].lower() in said.lower()
        assert KEY not in said
        failure = PROTOCOLS[speaks].read_failure(status, answered.body)
        assert failure.status >= 400
        if speaks == "gemini":
            assert '"retryDelay":"7s"' in said
        else:
            assert answered.headers["retry-after"] == "7"


IN_STREAM = {
    "anthropic": {400: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"},
    "bedrock": {
        400: "validationException",
        424: "modelStreamErrorException",
        429: "throttlingException",
        500: "internalServerException",
        503: "serviceUnavailableException",
    },
    "gemini": {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"},
}


@pytest.mark.parametrize(
    ("speaks", "status"), [(name, status) for name, words in IN_STREAM.items() for status in words]
)
async def test_errors_in_a_stream_by_the_vendor_s_taxonomy(speaks: str, status: int) -> None:
    async with speaking(speaks) as client:
        answered = await client.post(chat(f"scripted-error-late-{status}-after-2"))
        assert answered.status == 200
        assert IN_STREAM[speaks][status].encode() in answered.body
        with pytest.raises(UpstreamError, match="as asked"):
            PROTOCOLS[speaks].open_stream("m").feed(answered.body)
        first = await client.post(chat(f"scripted-error-first-{status}", stream=False))
        with pytest.raises(UpstreamError):
            PROTOCOLS[speaks].decode(first.document, "m")


@pytest.mark.parametrize(
    "model",
    ["scripted-hang-after-2", "scripted-cut-429", "scripted-cut-after-2-retry-3", "scripted-reasons", "unscripted"],
)
async def test_names_that_are_none_of_these_get_a_plain_answer(model: str) -> None:
    async with speaking("anthropic") as client:
        assert not fails("anthropic", (await client.post(chat(model))).body)
