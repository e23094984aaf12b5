"""Bodies: read only where they are wanted, within one budget of memory, at a pace, unpacked in small steps."""

from __future__ import annotations

import gzip
import random
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.http.request import Refusal
from antiphon.http.server import Exchange, Limits, Request
from antiphon.http.server_inflate import FREE_SIZE, MAX_RATIO, PIECE, RequestInflater
from tests.http.server_kit import DEADLINE, Client, Running, chunked, echo, get, later, post, running

CERTS = Path(__file__).parent / "certs"
MIB = 1024 * 1024
PACKED = b"Content-Encoding: gzip"
CHUNKED = b"Transfer-Encoding: chunked"
EXPECT = b"Expect: 100-continue"


def is_open(request: Request) -> bool:
    return request.path == b"/open"


def answer_without_body(exchange: Exchange) -> None:
    status = 200 if is_open(exchange.request) else 401
    exchange.respond(status, b"", b"%d bytes" % len(exchange.request.body))


# What is not wanted is not read

UNWANTED = {
    "announced": get(b"/shut", b"Content-Length: 100000", method=b"POST"),
    "begun": get(b"/shut", b"Content-Length: 100000", method=b"POST") + b"x" * 50_000,
    "chunked": get(b"/shut", CHUNKED, method=b"POST"),
    "chunks begun": get(b"/shut", CHUNKED, method=b"POST") + chunked(b"x" * 20_000)[:-5],
    "expected": get(b"/shut", EXPECT, b"Content-Length: 5", method=b"POST"),
    "packed": post(gzip.compress(bytes(5 * MIB)), PACKED, path=b"/shut")[:-1],
    "upgrade": get(b"/shut", b"Connection: upgrade", b"Upgrade: h2c", b"Content-Length: 99", method=b"POST") + b"x",
    "upgrade, expected": get(
        b"/shut", b"Connection: upgrade", b"Upgrade: h2c", EXPECT, b"Content-Length: 99", method=b"POST"
    ),
}


@pytest.mark.parametrize("name", UNWANTED)
def test_a_body_that_is_not_wanted_is_answered_at_the_end_of_the_head(name: str) -> None:
    with running(answer_without_body, wants_body=is_open) as run, run.client() as client:
        client.send(UNWANTED[name])
        answer = client.answer()
        assert (answer.status, answer.body, answer.headers[b"connection"]) == (401, b"0 bytes", b"close")
        assert run.on_loop(lambda: run.server.bodies.held) == 0
        assert client.ended()


def test_a_refused_client_can_go_on_sending_and_read_the_answer() -> None:
    with running(answer_without_body, wants_body=is_open) as run, run.client() as client:
        client.send(get(b"/shut", b"Content-Length: 9000000", method=b"POST"))
        client.send(b"x" * 8_000_000)
        assert client.answer().status == 401
        assert client.ended()


def test_a_refused_client_can_go_on_sending_in_tls() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / "server_cert.pem", CERTS / "server_key.pem")
    trust = ssl.create_default_context(cafile=str(CERTS / "server_cert.pem"))
    with running(answer_without_body, context=context, wants_body=is_open) as run:
        sock = trust.wrap_socket(socket.create_connection(("127.0.0.1", run.port)), server_hostname="localhost")
        client = Client(sock)
        client.send(get(b"/shut", b"Content-Length: 9000000", method=b"POST"))
        client.send(b"x" * 8_000_000)
        assert client.answer().status == 401
        client.close()


def test_what_came_before_is_answered_first() -> None:
    with running(later, wants_body=is_open) as run, run.client() as client:
        client.send(get(b"/first") + get(b"/shut", EXPECT, b"Content-Length: 5", method=b"POST"))
        first = run.next_exchange()
        run.echo(first)
        run.echo(run.next_exchange())
        assert [client.answer().body, client.answer().body] == [b"GET /first ", b"POST /shut "]
        assert client.ended()


def test_what_is_wanted_is_asked_for_and_read() -> None:
    with running(echo, wants_body=is_open) as run, run.client() as client:
        client.send(get(b"/open", EXPECT, b"Content-Length: 5", method=b"POST"))
        assert client.answer().status == 100
        client.send(b"hello")
        assert client.answer().body == b"POST /open hello"
        client.send(post(gzip.compress(b"packed"), PACKED, path=b"/open"))
        assert client.answer().body == b"POST /open packed"


def test_a_head_is_judged_once_however_its_body_comes() -> None:
    asked: list[bytes] = []

    def wants(request: Request) -> bool:
        asked.append(request.path)
        return True

    with running(echo, wants_body=wants) as run, run.client() as client:
        client.send(post(b"x" * 100_000, path=b"/large"))
        assert len(client.answer().body) == len(b"POST /large ") + 100_000
        client.send(get(b"/slow", b"Content-Length: 3", method=b"POST"))
        run.wait_for(lambda: b"/slow" in asked)
        for letter in (b"a", b"b", b"c"):
            client.send(letter)
        assert client.answer().body == b"POST /slow abc"
        client.send(post(b"small", path=b"/at-once"))
        assert client.answer().body == b"POST /at-once small"
    assert asked == [b"/large", b"/slow"]


# The budget

TIGHT = Limits(max_body=100_000, max_body_memory=150_000)


def begin(run: Running, size: int, sent: int) -> Client:
    """A client that has sent a part of its body, which the server has read."""
    before = run.on_loop(lambda: run.server.bodies.held)
    client = run.connect()
    client.send(get(b"/", b"Content-Length: %d" % size, method=b"POST") + b"x" * sent)
    run.wait_for(lambda: run.server.bodies.held == before + sent)
    return client


def test_bodies_that_are_read_share_one_budget() -> None:
    with running(limits=TIGHT) as run:
        first, second = begin(run, 100_000, 90_000), begin(run, 60_000, 50_000)
        with run.client() as third:
            third.send(get(b"/third", b"Content-Length: 20000", method=b"POST"))
            answer = third.answer()
            assert (answer.status, answer.headers[b"retry-after"]) == (503, b"1")
            assert answer.body.startswith(b"fault 503 /third ")
            assert third.ended()
        with run.client() as empty:
            empty.send(get(b"/healthz"))
            assert empty.answer().status == 200
        first.close()
        run.wait_for(lambda: run.server.bodies.held == 50_000)
        with run.client() as fourth:
            fourth.send(post(b"y" * 20_000))
            assert fourth.answer().status == 200
        second.close()
        run.wait_for(lambda: run.server.bodies.held == 0)


@pytest.mark.parametrize("framing", ["chunked", "packed", "small"])
def test_a_body_that_grows_beyond_the_budget_is_refused(framing: str) -> None:
    noise = random.Random(1).randbytes(10_000)
    data = {
        "chunked": get(b"/", CHUNKED, method=b"POST") + chunked(noise * 4),
        "packed": post(gzip.compress(noise * 4), PACKED),
        "small": post(noise[:6000]),
    }
    with running(limits=TIGHT) as run:
        first, second = begin(run, 100_000, 99_000), begin(run, 50_001, 50_000)
        with run.client() as client:
            client.send(data[framing])
            assert client.answer().status == 503
        assert run.on_loop(lambda: run.server.bodies.held) == 149_000
        first.close()
        second.close()


def test_a_body_counts_until_its_answer_is_complete() -> None:
    with running(later) as run, run.client() as client:
        client.send(post(b"x" * 1000) + post(b"y" * 500))
        exchange = run.next_exchange()
        run.wait_for(lambda: run.server.bodies.held == 1500)
        run.begin(exchange, b"a")
        assert run.on_loop(lambda: run.server.bodies.held) == 1500
        run.on_loop(exchange.finish)
        second = run.next_exchange()
        assert run.on_loop(lambda: run.server.bodies.held) == 500
        run.on_loop(second.abort)
        run.wait_for(lambda: run.server.bodies.held == 0)


def test_what_is_read_ahead_counts_too() -> None:
    """A client that sends many requests at once: some wait, and what stands behind them is not parsed yet."""
    with running(later, Limits(max_pipelined=2)) as run, run.client() as client:
        requests = post(b"x" * 1000) * 50
        client.send(requests)
        run.next_exchange()
        run.wait_for(lambda: run.server.bodies.held > 20_000)
        run.draining(0)()
        assert run.on_loop(lambda: run.server.bodies.held) == 0


def test_a_refused_body_is_given_back_before_its_connection_ends() -> None:
    with running(limits=Limits(max_body=1000, body_timeout=0.1)) as run, run.client() as client:
        client.send(get(b"/", b"Content-Length: 1000", method=b"POST") + b"x" * 900)
        assert client.answer().status == 408
        assert run.on_loop(lambda: (run.server.connections, run.server.bodies.held)) == (1, 0)


SIZES = st.sampled_from([0, 1, 100, 9_000, 30_000, 60_000])
FRAMINGS = st.sampled_from(["length", "chunked", "packed", "cut", "faulty"])
ENDS = st.sampled_from(["answer", "stream", "abort", "raise", "never"])


def framed(size: int, framing: str) -> bytes:
    body = random.Random(size).randbytes(size)
    if framing == "chunked":
        return get(b"/", CHUNKED, method=b"POST") + chunked(*filter(None, [body[: size // 2], body[size // 2 :]]))
    if framing == "packed":
        return post(gzip.compress(body), PACKED)
    if framing == "faulty":
        return get(b"/", CHUNKED, method=b"POST") + chunked(*filter(None, [body]))[:-5] + b"zz\r\n"
    return post(body)[: -size // 2 or None] if framing == "cut" else post(body)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.tuples(SIZES, FRAMINGS), min_size=1, max_size=4), ENDS, st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_the_budget_is_never_exceeded_and_always_given_back(
    clients: list[tuple[list[tuple[int, str]], str, bool]],
) -> None:
    """Any bodies on any connections, whose answers end in any way, some clients gone at once."""
    ends = iter([end for _, end, _ in clients] * 10)
    seen: list[int] = []

    def handler(exchange: Exchange) -> None:
        seen.append(run.server.bodies.held)
        end = next(ends)
        if end == "answer":
            echo(exchange)
        elif end == "raise":
            raise RuntimeError
        elif end == "abort":
            exchange.abort()
        elif end == "stream":
            exchange.start(200, b"")
            exchange.write(b"x")
            exchange.finish()

    limits = replace(TIGHT, max_body_memory=100_000)
    with running(handler, limits) as run:
        socks = []
        for requests, _, is_gone in clients:
            sock = socket.create_connection(("127.0.0.1", run.port))
            try:
                sock.sendall(b"".join(framed(*request) for request in requests))
                if is_gone:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    sock.close()
            except OSError:  # refused already
                pass
            socks.append(sock)
        seen.append(run.on_loop(lambda: run.server.bodies.held))
        for sock in socks:
            sock.close()
        run.wait_for(lambda: run.server.connections == 0)
        assert run.on_loop(lambda: run.server.bodies.held) == 0
        assert all(0 <= held <= limits.max_body_memory for held in seen)


# Pace


def test_a_body_that_crawls_is_refused() -> None:
    limits = Limits(body_timeout=0.3, min_body_rate=1000)
    with running(limits=limits) as run, run.client() as client:
        client.send(get(b"/slow", b"Content-Length: 1000", method=b"POST"))
        assert trickle(client, b"x") == 408


def test_a_body_at_the_least_rate_is_read() -> None:
    limits = Limits(body_timeout=0.3, min_body_rate=1000)
    with running(limits=limits) as run, run.client() as client:
        client.send(get(b"/", b"Content-Length: 2000", method=b"POST"))
        assert trickle(client, b"x" * 200, times=10) == 200


def test_a_request_has_a_time_for_all_of_it() -> None:
    limits = Limits(body_timeout=5, min_body_rate=0, request_timeout=0.5)
    with running(limits=limits) as run, run.client() as client:
        began = time.monotonic()
        client.send(get(b"/", CHUNKED, method=b"POST"))
        assert trickle(client, b"100\r\n" + b"x" * 256 + b"\r\n") == 408
        assert time.monotonic() - began < DEADLINE


def trickle(client: Client, piece: bytes, times: int = 200) -> int:
    """Sends it every 50 ms until there is an answer; gives its status."""
    over = threading.Event()

    def send() -> None:
        try:
            for _ in range(times):
                client.send(piece)
                if over.wait(0.05):
                    return
        except OSError:
            pass

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        return client.answer().status
    finally:
        over.set()
        thread.join(DEADLINE)


# Unpacking


def inflate(data: bytes, limit: int, *, deflate: bool = False, step: int = 8192) -> list[bytes]:
    inflater = RequestInflater(limit, deflate=deflate)
    pieces = [piece for at in range(0, len(data), step) for piece in inflater.feed(data[at : at + step])]
    inflater.close()
    return pieces


def raw_deflate(data: bytes) -> bytes:
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    return machine.compress(data) + machine.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zlib": zlib.compress, "raw": raw_deflate}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, PIECE + 258, 2 * PIECE, FREE_SIZE])
@pytest.mark.parametrize("step", [1, 8192, 10**9])
def test_bodies_are_unpacked_in_bounded_pieces(packer: str, size: int, step: int) -> None:
    plain = bytes(size)
    pieces = inflate(PACKERS[packer](plain), size, deflate=packer != "gzip", step=step)
    assert b"".join(pieces) == plain
    assert all(len(piece) <= PIECE for piece in pieces)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_bomb_is_refused_by_its_ratio(packer: str) -> None:
    with pytest.raises(Refusal, match="100 to 1") as refused:
        inflate(PACKERS[packer](bytes(20 * MIB)), 20 * MIB, deflate=packer != "gzip")
    assert refused.value.status == 413


def test_a_bomb_behind_noise_is_refused_too() -> None:
    noise = random.Random(1).randbytes(20_000)
    with pytest.raises(Refusal):
        inflate(gzip.compress(noise) + gzip.compress(bytes(19 * MIB)), 20 * MIB)


def test_what_is_packed_as_text_is_packed_is_no_bomb() -> None:
    noise = random.Random(1).randbytes(150)
    plain = b"".join(b"%d: %b" % (number, noise * 2) for number in range(10_000))
    packed = gzip.compress(plain)
    assert len(plain) > FREE_SIZE
    assert MAX_RATIO / 3 < len(plain) / len(packed) < MAX_RATIO
    assert b"".join(inflate(packed, 20 * MIB)) == plain


def test_unpacking_leaves_time_for_others() -> None:
    """A large body is unpacked in steps; a request on another connection is answered between two of them."""
    text = b"".join(b'{"id": %d, "content": "hello hello hello"}, ' % number for number in range(450_000))
    packed = gzip.compress(text, 9)
    assert len(text) > 19 * MIB
    seen: list[tuple[str, int]] = []

    def handler(exchange: Exchange) -> None:
        seen.append((exchange.request.path.decode(), run.server.bodies.held))
        exchange.respond(200, b"", b"")

    with running(handler, Limits(max_body=40 * MIB)) as run, run.client() as large, run.client() as small:
        large.send(post(packed, PACKED, path=b"/large"))
        thread = threading.Thread(target=large.answer, daemon=True)
        thread.start()
        while thread.is_alive():
            small.send(get(b"/small"))
            small.answer()
        between = [held for path, held in seen if path == "/small" and 0 < held < len(text)]
        assert len(between) > 1


# No memory

CHILD = """
import asyncio, resource, socket, sys
import uvloop
from antiphon.http.server import Limits, Server
from tests.http.server_kit import echo, render_fault

async def main():
    sock = socket.create_server(("127.0.0.1", 0))
    limits = Limits(max_body=2**31, max_body_memory=2**31)
    server = Server(echo, limits, render_fault, lambda error: print(repr(error), flush=True))
    await server.start([sock])
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 64 * 2**20,) * 2)
    print(sock.getsockname()[1], flush=True)
    await asyncio.Event().wait()

uvloop.run(main())
"""


def test_no_memory_is_an_overload_not_a_faulty_request() -> None:
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            port = int(child.stdout.readline())
            client = Client(socket.create_connection(("127.0.0.1", port)))
            client.send(get(b"/", b"Content-Length: 200000000", method=b"POST"))
            try:
                for _ in range(200):
                    client.send(bytes(MIB))
            except OSError:  # refused already
                pass
            answer = client.answer()
            assert (answer.status, answer.headers[b"retry-after"]) == (503, b"1")
            assert b"memory" in answer.body
            client.close()
            assert "MemoryError" in child.stdout.readline()
            again = Client(socket.create_connection(("127.0.0.1", port)))
            again.send(post(b"x"))
            assert again.answer().status == 200
            again.close()
        finally:
            child.kill()
