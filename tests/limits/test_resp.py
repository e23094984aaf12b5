"""The client for Redis and Valkey: its URLs, its parser at every split, and servers that misbehave."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from antiphon.limits.resp import ReplyError, RespAddress, RespClient, parse_url
from tests.limits.valkey import Valkey

CERTS = Path(__file__).parent.parent / "http" / "certs"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def test_urls() -> None:
    assert parse_url("redis://cache") == RespAddress("cache", 6379)
    assert parse_url("redis://cache:1/3") == RespAddress("cache", 1, database=3)
    assert parse_url("rediss://:p%40ss@cache") == RespAddress("cache", 6379, tls=True, password="p@ss")
    assert parse_url("redis://u:p@[::1]:7") == RespAddress("::1", 7, user="u", password="p")
    assert parse_url("unix:///run/v.sock?db=2") == RespAddress(path="/run/v.sock", database=2)
    assert parse_url("unix://u:p@/run/v.sock") == RespAddress(path="/run/v.sock", user="u", password="p")
    assert "p" not in repr(parse_url("redis://:p@cache")).replace("Place", "")


@asynccontextmanager
async def served(folder: Path, handle: Handler) -> AsyncIterator[tuple[RespClient, list[list[object]]]]:
    """A client of a server that behaves as `handle` does."""
    path = str(folder / "sock")
    pushed: list[list[object]] = []
    ended: list[asyncio.Event] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.append(asyncio.Event())
        try:
            await handle(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            ended[-1].set()

    client = RespClient(RespAddress(path=path), pushed.append, timeout=5.0)
    async with await asyncio.start_unix_server(serve, path):
        yield client, pushed
        client.close()
        for each in ended:
            await each.wait()


def scripted(*replies: bytes) -> Handler:
    """Answers HELLO, then sends these pieces one by one."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(b"%1\r\n+server\r\n+x\r\n")
        await reader.read(1000)
        for reply in replies:
            writer.write(reply)
            await writer.drain()
            await asyncio.sleep(0)
        await reader.read()

    return handle


REPLY = b"*6\r\n:-12\r\n$5\r\na\r\nbc\r\n_\r\n+OK\r\n*0\r\n$-1\r\n"


@pytest.mark.parametrize("cut", range(1, len(REPLY)))
async def test_a_reply_may_come_in_pieces(tmp_path: Path, cut: int) -> None:
    async with served(tmp_path, scripted(REPLY[:cut], REPLY[cut:])) as (client, _):
        assert await client.call("X") == [-12, b"a\r\nbc", None, "OK", [], None]


async def test_pushed_messages_are_no_replies(tmp_path: Path) -> None:
    push = b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n"
    async with served(tmp_path, scripted(push + b":1\r\n" + push)) as (client, pushed):
        assert await client.call("X") == 1
        assert pushed[0] == [b"message", b"c", b"hi"]


@pytest.mark.parametrize(
    "reply",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$99999999999\r\n", b"*1\r\n" * 20, b":x\r\n", b"*99999999\r\n", b""],
)
async def test_what_is_no_reply_ends_the_connection(tmp_path: Path, reply: bytes) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(reply)
        writer.write_eof()
        await reader.read()

    async with served(tmp_path, handle) as (client, _):
        with pytest.raises(ConnectionError):
            await client.call("X")


async def test_no_answer_is_an_error_in_time(tmp_path: Path) -> None:
    async with served(tmp_path, scripted()) as _:
        hasty = RespClient(RespAddress(path=str(tmp_path / "sock")), lambda message: None, timeout=0.1)
        with pytest.raises(ConnectionError, match="in time"):
            await hasty.call("X")


async def test_commands_of_one_moment_are_answered_in_order(tmp_path: Path) -> None:
    valkey = Valkey(tmp_path)
    valkey.start()
    try:
        client = RespClient(parse_url(f"{valkey.url}?db=3"), lambda message: None)
        replies = await asyncio.gather(*(client.call("ECHO", str(number)) for number in range(200)))
        assert replies == [str(number).encode() for number in range(200)]
        with pytest.raises(ReplyError, match="unknown command"):
            await client.call("NONSENSE")
        assert await client.call("ECHO", "still here") == b"still here"
        client.close()
    finally:
        valkey.stop()


async def test_tls_and_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is trusted by the machine's certificates; another one is not spoken to."""
    said: list[bytes] = []
    ended = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said.append(await reader.read(1000))
        writer.write(b"+OK\r\n")
        await reader.read(1000)
        writer.write(b"+PONG\r\n")
        await reader.read()
        writer.close()
        ended.set()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / "server_cert.pem", CERTS / "server_key.pem")
    async with await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context) as server:
        place = parse_url(f"rediss://bob:s%2Fecret@localhost:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(ConnectionError):
            await RespClient(place, lambda message: None).call("PING")
        assert said == []
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTS / "server_cert.pem"))
        client = RespClient(place, lambda message: None, timeout=10.0)
        assert await client.call("PING") == "PONG"
        assert b"AUTH\r\n$3\r\nbob\r\n$7\r\ns/ecret\r\n" in said[0]
        client.close()
        await ended.wait()
