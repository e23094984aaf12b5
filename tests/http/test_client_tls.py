"""TLS is verified: against the usual CAs, SSL_CERT_FILE, and an upstream's own; by the name we asked for."""

from __future__ import annotations

import ssl
from dataclasses import replace

import pytest

from antiphon.http.client import Failure, Origin, Pool, ssl_context
from tests.http.client_kit import (
    CA,
    CERTS,
    OK,
    Peer,
    Recorder,
    answering,
    on_uvloop,
    post,
    server_context,
    upstream,
)


async def ask(origin: Origin, context: ssl.SSLContext | None) -> Recorder:
    pool, sink = Pool(origin, ssl_context=context), Recorder()
    post(pool, sink)
    try:
        await sink.ended()
    except AssertionError:
        assert sink.events == ["fail"]
    await pool.close()
    return sink


@on_uvloop
async def test_an_upstreams_own_ca() -> None:
    async with upstream(answering(OK), server_context()) as (origin, _):
        assert (await ask(origin, ssl_context(CA))).body == b"hi"


@on_uvloop
async def test_a_ca_directory() -> None:
    """OpenSSL looks up files there by hash; with none hashed, nothing is trusted, and nothing breaks."""
    async with upstream(answering(OK), server_context()) as (origin, _):
        sink = await ask(origin, ssl_context(str(CERTS)))
        assert await sink.failed() is Failure.TLS


@pytest.mark.parametrize("given", [False, True])
@on_uvloop
async def test_an_unknown_ca(given: bool) -> None:
    async with upstream(answering(OK), server_context()) as (origin, _):
        sink = await ask(origin, ssl_context(None) if given else None)
        assert await sink.failed() is Failure.TLS
        assert sink.error is not None
        assert "certificate" in sink.error.detail


@on_uvloop
async def test_ssl_cert_file_is_honoured_and_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", CA)
    async with upstream(answering(OK), server_context()) as (origin, _):
        assert (await ask(origin, None)).body == b"hi"
        # A further CA of an upstream's own does not replace it.
        assert (await ask(origin, ssl_context(str(CERTS / "other_ca.pem")))).body == b"hi"


@on_uvloop
async def test_the_name_is_verified_and_sent() -> None:
    asked: list[str | None] = []
    context = server_context()
    context.sni_callback = lambda _sock, name, _context: asked.append(name)
    async with upstream(answering(OK), context) as (origin, _):
        assert (await ask(replace(origin, server_name="upstream.test"), ssl_context(CA))).body == b"hi"
        sink = await ask(replace(origin, server_name="other.test"), ssl_context(CA))
        assert await sink.failed() is Failure.TLS
    assert asked == ["upstream.test", "other.test"]


@on_uvloop
async def test_a_peer_that_does_not_speak_tls() -> None:
    async def script(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.gone()

    async with upstream(script) as (origin, _):
        assert await (await ask(replace(origin, tls=True), ssl_context(CA))).failed() is Failure.TLS


@on_uvloop
async def test_a_peer_that_hangs_up_in_the_handshake() -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.read(1)
        peer.close()

    async with upstream(script) as (origin, _):
        assert await (await ask(replace(origin, tls=True), ssl_context(CA))).failed() is Failure.TLS


@on_uvloop
async def test_a_connection_with_tls_is_used_again() -> None:
    async with upstream(answering(OK), server_context()) as (origin, state):
        pool = Pool(origin, ssl_context=ssl_context(CA))
        for _ in range(3):
            sink = Recorder()
            post(pool, sink)
            assert await sink.ended() == b"hi"
        assert state.connections == 1
        await pool.close()


@pytest.mark.parametrize("politely", [True, False])
@on_uvloop
async def test_a_body_to_the_end_with_close_notify_or_without(politely: bool) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        await peer.writer.drain()
        if politely:
            peer.close()
            await peer.gone()

    async with upstream(script, server_context()) as (origin, _):
        assert (await ask(origin, ssl_context(CA))).body == b"all of it"


@pytest.mark.parametrize(("ca", "words"), [("nowhere.pem", "No such file"), ("server.key", "NO_CERTIFICATE")])
def test_a_ca_that_is_none(ca: str, words: str) -> None:
    with pytest.raises(OSError, match=words):
        ssl_context(str(CERTS / ca))
