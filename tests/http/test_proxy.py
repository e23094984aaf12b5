"""Which proxy the environment asks for, and what goes through it: CONNECT for https, absolute form for http."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from antiphon.http.client import Failure, Origin, Pool, Proxy, Timeouts, proxy_for, ssl_context
from tests.http.client_kit import (
    CA,
    OK,
    Peer,
    Recorder,
    answering,
    on_uvloop,
    post,
    server_context,
    upstream,
    within,
)

HTTP = Origin("api.test", 80)
HTTPS = Origin("api.test", 443, tls=True)

CHOSEN: dict[str, tuple[Origin, dict[str, str], str | None]] = {
    "nothing said": (HTTPS, {}, None),
    "https": (HTTPS, {"HTTPS_PROXY": "http://a:1"}, "a"),
    "lower case wins": (HTTPS, {"HTTPS_PROXY": "http://a:1", "https_proxy": "http://b:1"}, "b"),
    "empty is unset": (HTTPS, {"https_proxy": "", "HTTPS_PROXY": "http://a:1"}, "a"),
    "https is not for http": (HTTP, {"HTTPS_PROXY": "http://a:1"}, None),
    "http is not for https": (HTTPS, {"HTTP_PROXY": "http://a:1", "http_proxy": "http://a:1"}, None),
    "http": (HTTP, {"http_proxy": "http://a:1"}, "a"),
    "HTTP": (HTTP, {"HTTP_PROXY": "http://a:1"}, "a"),
    "HTTP in a CGI": (HTTP, {"HTTP_PROXY": "http://a:1", "REQUEST_METHOD": "GET"}, None),
    "http in a CGI": (HTTP, {"http_proxy": "http://a:1", "REQUEST_METHOD": "GET"}, "a"),
    "HTTPS in a CGI": (HTTPS, {"HTTPS_PROXY": "http://a:1", "REQUEST_METHOD": "GET"}, "a"),
    "all": (HTTPS, {"ALL_PROXY": "http://a:1"}, "a"),
    "the scheme's own before all": (HTTP, {"all_proxy": "http://a:1", "HTTP_PROXY": "http://b:1"}, "b"),
    "unix": (Origin("localhost", 80, unix="/s"), {"ALL_PROXY": "http://a:1"}, None),
    "localhost": (Origin("LocalHost", 80), {"ALL_PROXY": "http://a:1"}, None),
    "below localhost": (Origin("x.localhost", 80), {"ALL_PROXY": "http://a:1"}, None),
    "127/8": (Origin("127.9.9.9", 80), {"ALL_PROXY": "http://a:1"}, None),
    "::1": (Origin("::1", 80), {"ALL_PROXY": "http://a:1"}, None),
    "no localhost": (Origin("localhost.test", 80), {"ALL_PROXY": "http://a:1"}, "a"),
    "exempt": (HTTPS, {"ALL_PROXY": "http://a:1", "NO_PROXY": "api.test"}, None),
    "lower no_proxy wins": (HTTPS, {"ALL_PROXY": "http://a:1", "NO_PROXY": "api.test", "no_proxy": "x"}, "a"),
}
EXEMPT: dict[str, tuple[str, int, bool]] = {
    "*": ("api.test", 443, True),
    "x,*": ("api.test", 443, True),
    "api.test": ("api.test", 443, True),
    "API.Test": ("api.test", 443, True),
    "test": ("api.test", 443, True),
    ".test": ("api.test", 443, True),
    ".api.test": ("api.test", 443, True),
    "*.test": ("api.test", 443, True),
    "api.test.": ("api.test", 443, True),
    "pi.test": ("api.test", 443, False),
    "x.api.test": ("api.test", 443, False),
    ".": ("api.test", 443, False),
    "a.test  b.test, api.test": ("api.test", 443, True),
    "api.test:443": ("api.test", 443, True),
    "api.test:444": ("api.test", 443, False),
    ".test:443": ("api.test", 443, True),
    "10.1.2.3": ("10.1.2.3", 80, True),
    "10.1.2.3:80": ("10.1.2.3", 80, True),
    "10.1.2.3:81": ("10.1.2.3", 80, False),
    "10.0.0.0/8": ("10.1.2.3", 80, True),
    "10.1.0.0/24": ("10.1.2.3", 80, False),
    "10.1.2.99/24": ("10.1.2.3", 80, True),
    "2.3": ("10.1.2.3", 80, False),
    "fd00::/8": ("fd00::5", 80, True),
    "fd00:0::5": ("fd00::5", 80, True),
    "[fd00::5]": ("fd00::5", 80, True),
    "[fd00::5]:80": ("fd00::5", 80, True),
    "[fd00::5]:81": ("fd00::5", 80, False),
    "0.0.0.0/0": ("fd00::5", 80, False),
    "10.0.0.0/99": ("10.1.2.3", 80, False),
}
PARSED = {
    "http://p.test": Proxy("p.test", 80),
    "p.test:3128": Proxy("p.test", 3128),
    "https://p.test": Proxy("p.test", 443, tls=True),
    "http://[::5]:8080/": Proxy("::5", 8080),
    "http://u:p%40ss@p.test:1": Proxy("p.test", 1, authorization=b"Basic dTpwQHNz"),
    "u@p.test:1": Proxy("p.test", 1, authorization=b"Basic dTo="),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen(name: str) -> None:
    origin, environ, host = CHOSEN[name]
    proxy = proxy_for(origin, environ)
    assert (proxy.host if proxy else None) == host


@pytest.mark.parametrize("entry", EXEMPT)
def test_exempt(entry: str) -> None:
    host, port, exempt = EXEMPT[entry]
    origin = Origin(host, port, tls=True)
    assert (proxy_for(origin, {"HTTPS_PROXY": "http://a:1", "NO_PROXY": entry}) is None) is exempt


@pytest.mark.parametrize("url", PARSED)
def test_parsed(url: str) -> None:
    proxy = proxy_for(HTTPS, {"HTTPS_PROXY": url})
    assert proxy == PARSED[url]
    assert "Basic" not in repr(proxy)


@pytest.mark.parametrize("url", ["socks5://s3cret@p:1", "http://u:s3cret@", "http://u:s3cret@p:x", "http://[s3cret"])
def test_one_we_cannot_use(url: str) -> None:
    with pytest.raises(ValueError, match="prox") as caught:
        proxy_for(HTTPS, {"HTTPS_PROXY": url})
    assert "s3cret" not in str(caught.value)


# A small real proxy


class Forwarder:
    """Opens tunnels to one port, whatever name it is asked for, and keeps what it was asked."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.asked: list[bytes] = []
        self.gone = asyncio.Event()

    async def script(self, peer: Peer) -> None:
        while request := await peer.request():
            self.asked.append(request)
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            if request.startswith(b"CONNECT "):
                peer.send(b"HTTP/1.1 200 Connection established\r\nx-proxy: 1\r\n\r\n")
                await self._tunnel(peer, reader, writer)
                return
            writer.write(request)
            peer.send(await reader.readexactly(len(OK)))
            writer.close()

    async def _tunnel(self, peer: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            try:
                while data := await source.read(65536):
                    sink.write(data)
            except ConnectionError:
                pass

        pumps = [asyncio.create_task(pump(peer.reader, writer)), asyncio.create_task(pump(reader, peer.writer))]
        try:
            await asyncio.wait(pumps, return_when="FIRST_COMPLETED")
        finally:
            self.gone.set()
            writer.transport.abort()
            for task in pumps:
                task.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)


@asynccontextmanager
async def through(*, tls: bool, proxy_tls: bool, name: str = "upstream.test") -> AsyncIterator[tuple[Pool, Forwarder]]:
    """A pool whose origin exists only for the proxy."""
    async with upstream(answering(OK), server_context() if tls else None) as (origin, _):
        forwarder = Forwarder(origin.port)
        async with upstream(forwarder.script, server_context() if proxy_tls else None) as (at, _):
            proxy = Proxy("127.0.0.1", at.port, proxy_tls, b"Basic dTpw")
            port = 443 if tls else 8080
            pool = Pool(Origin(name, port, tls=tls), ssl_context=ssl_context(CA), proxy=proxy)
            yield pool, forwarder
            await pool.close()


@pytest.mark.parametrize("proxy_tls", [False, True])
@on_uvloop
async def test_a_tunnel_for_https(proxy_tls: bool) -> None:
    async with through(tls=True, proxy_tls=proxy_tls) as (pool, forwarder):
        for _ in range(2):
            sink = Recorder()
            post(pool, sink)
            assert await sink.ended() == b"hi"
        assert forwarder.asked == [
            b"CONNECT upstream.test:443 HTTP/1.1\r\nhost: upstream.test:443\r\nproxy-authorization: Basic dTpw\r\n\r\n"
        ]


@pytest.mark.parametrize("proxy_tls", [False, True])
@on_uvloop
async def test_absolute_form_for_http(proxy_tls: bool) -> None:
    async with through(tls=False, proxy_tls=proxy_tls) as (pool, forwarder):
        for _ in range(2):
            sink = Recorder()
            post(pool, sink)
            assert await sink.ended() == b"hi"
        assert forwarder.asked == 2 * [
            b"POST http://upstream.test:8080/v1/x HTTP/1.1\r\nhost: upstream.test:8080\r\naccept-encoding: identity\r\n"
            b"proxy-authorization: Basic dTpw\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
        ]


@on_uvloop
async def test_the_origin_behind_a_tunnel_is_verified() -> None:
    async with through(tls=True, proxy_tls=False, name="other.test") as (pool, forwarder):
        sink = Recorder()
        post(pool, sink)
        assert await sink.failed() is Failure.TLS
        assert len(forwarder.asked) == 1
        await within(forwarder.gone.wait(), 1.0)


REFUSALS = {
    "407": b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
    "not HTTP": b"hello\r\n\r\n",
    "early data": b"HTTP/1.1 200 OK\r\n\r\nsurprise",
    "too large": b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000,
    "closes": b"",
}


@pytest.mark.parametrize("name", REFUSALS)
@on_uvloop
async def test_a_tunnel_refused(name: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.send(REFUSALS[name])
        if REFUSALS[name]:
            await peer.gone()

    async with upstream(script) as (at, state):
        proxy = Proxy("127.0.0.1", at.port, authorization=b"Basic czNjcmV0")
        pool, sink = Pool(HTTPS, ssl_context=ssl_context(CA), proxy=proxy), Recorder()
        post(pool, sink)
        assert await sink.failed() is Failure.CONNECT
        assert sink.error is not None
        assert b64decode("czNjcmV0") == b"s3cret"
        assert "czNjcmV0" not in str(sink.error)
        assert "s3cret" not in str(sink.error)
        await within(state.gone.wait(), 1.0)
        await pool.close()


@pytest.mark.parametrize("how", ["cancel", "timeout"])
@on_uvloop
async def test_a_tunnel_that_never_opens(how: str) -> None:
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()

    async with upstream(script) as (at, state):
        proxy = Proxy("127.0.0.1", at.port)
        pool, sink = Pool(HTTPS, Timeouts(connect=0.3), ssl_context=ssl_context(CA), proxy=proxy), Recorder()
        call = post(pool, sink)
        await within(asked.wait())
        if how == "cancel":
            call.cancel()
        else:
            assert await sink.failed() is Failure.CONNECT_TIMEOUT
        await within(state.gone.wait(), 1.0)
        assert sink.events == ([] if how == "cancel" else ["fail"])
        await pool.close()
