"""Whatever bytes come, in whatever pieces: no crash, no connection outlives its times, the next client is served."""

from __future__ import annotations

import gzip
import itertools
import random
import selectors
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.http.server import Limits
from tests.http.server_kit import Running, chunked, get, post, running

LIMITS = Limits(
    max_body=4096,
    max_header_bytes=1024,
    max_header_count=20,
    max_target=256,
    header_timeout=0.1,
    body_timeout=0.1,
    keepalive=0.1,
    write_timeout=0.5,
    max_pipelined=3,
)
# The longest of the times above, the lingering close that only ends when we close, two ticks, and a slow machine.
PATIENCE = 4.0
BATCH = 60

SEEDS = [
    get(b"/v1/models?limit=3", b"Accept: */*", b"Connection: keep-alive"),
    post(b'{"model": "m", "messages": []}', b"Content-Type: application/json"),
    post(gzip.compress(b"body " * 40, mtime=0), b"Content-Encoding: gzip"),
    get(b"/", b"Transfer-Encoding: chunked", b"Trailer: x", method=b"POST") + chunked(b"hello", b"world" * 20),
    get(b"/", b"Expect: 100-continue", b"Content-Length: 5", method=b"POST") + b"hello",
    post(b"body", b"Connection: Upgrade", b"Upgrade: h2c"),
    get(b"a:443", method=b"CONNECT") + b"\x00\x01",
    get(b"/1") + post(b"two") + get(b"/3", b"Connection: close"),
    get(b"/", version=b"1.0") + b"rest",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]
SPICE = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\x00",
    b" ",
    b"\t",
    b":",
    b"0\r\n\r\n",
    b"HTTP/1.1",
    b"chunked",
    b"\xff",
    b"Host: a\r\n",
]


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Running]:
    with running(limits=LIMITS) as run:
        yield run
        assert run.errors == []


def still_serves(run: Running) -> None:
    with run.client() as client:
        client.send(post(b"ping"))
        assert client.answer().body == b"POST / ping"


def all_end(run: Running, attacks: list[list[bytes]]) -> None:
    """Send each attack on its own connection, all at once; the server must end every one of them by itself."""
    left: set[socket.socket] = set()
    with selectors.DefaultSelector() as selector:
        for attack in attacks:
            sock = run.connect().sock
            left.add(sock)
            selector.register(sock, selectors.EVENT_READ, sock)
            try:
                for piece in attack:
                    sock.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused already
        end = time.monotonic() + PATIENCE
        while left and time.monotonic() < end:
            for key, _ in selector.select(0.1):
                if hung_up(key.data):
                    selector.unregister(key.data)
                    left.discard(key.data)
                    key.data.close()
    for sock in left:
        sock.close()
    assert not left


def hung_up(sock: socket.socket) -> bool:
    try:
        return not sock.recv(65536)
    except ConnectionResetError:
        return True


def mutate(rng: random.Random) -> list[bytes]:
    """One or two good requests, damaged in a few places and cut into pieces."""
    data = bytearray(b"".join(rng.choices(SEEDS, k=rng.choice([1, 1, 2]))))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at:at] = rng.choice(SPICE) * rng.choice([1, 1, 1, 2, 500])
        elif kind == 2:
            del data[at : at + rng.randint(1, 20)]
        elif kind == 3:
            data[at:at] = data[at : at + rng.randint(1, 60)]
        else:
            del data[at:]
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice([0, 0, 1, 3])))
    bounds = [0, *cuts, len(data)]
    return [bytes(data[a:b]) for a, b in itertools.pairwise(bounds)]


@pytest.mark.parametrize("seed", range(5))
def test_damaged_requests(fuzzed: Running, seed: int) -> None:
    rng = random.Random(seed)
    all_end(fuzzed, [mutate(rng) for _ in range(BATCH)])
    still_serves(fuzzed)


def test_every_beginning_of_every_request(fuzzed: Running) -> None:
    beginnings = [[seed[:at]] for seed in SEEDS for at in range(0, len(seed), 7)]
    all_end(fuzzed, beginnings)
    still_serves(fuzzed)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.binary(max_size=400), max_size=3), min_size=20, max_size=BATCH))
def test_any_bytes(fuzzed: Running, attacks: list[list[bytes]]) -> None:
    all_end(fuzzed, attacks)
    still_serves(fuzzed)
