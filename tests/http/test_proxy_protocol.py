"""The PROXY protocol on a listener that asks for it: both versions, in pieces, before TLS, and what is refused."""

from __future__ import annotations

import os
import resource
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from antiphon.http.forwarded import TrustedProxies
from antiphon.http.proxy_protocol import LONGEST
from antiphon.http.remote import Remote
from antiphon.http.server import Limits
from antiphon.http.tls import server_context
from tests.http.client_kit import CA, CERTS
from tests.http.server_kit import DEADLINE, Client, Running, get, later, post, running

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
LINE = b"PROXY TCP4 198.51.100.7 192.0.2.1 56324 443\r\n"


def v2(command: int, family: int, body: bytes) -> bytes:
    return SIGNATURE + struct.pack("!BBH", command, family, len(body)) + body


def inet(source: str, tlvs: bytes = b"") -> bytes:
    addresses = socket.inet_aton(source) + socket.inet_aton("192.0.2.1") + struct.pack("!HH", 56324, 443)
    return v2(0x21, 0x11, addresses + tlvs)


def inet6(source: str) -> bytes:
    addresses = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, "2001:db8::1")
    return v2(0x21, 0x21, addresses + struct.pack("!HH", 56324, 443))


UNIX = v2(0x21, 0x31, b"/client".ljust(108, b"\0") + b"/server".ljust(108, b"\0"))
TLVS = b"\x04\x00\x10" + b"\0" * 16 + b"\xea\x00\x05\x01vpce"

LONG = ":".join(["ffff"] * 8)

GOOD = [
    (LINE, "198.51.100.7"),
    (b"PROXY TCP6 2001:db8::7 2001:db8::1 0 65535\r\n", "2001:db8::7"),
    (b"PROXY TCP6 ::ffff:198.51.100.7 ::1 1 2\r\n", "198.51.100.7"),
    (b"PROXY TCP6 %b %b 65535 65535\r\n" % (LONG.encode(), LONG.encode()), LONG),
    (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
    (b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", "127.0.0.1"),
    (inet("198.51.100.7"), "198.51.100.7"),
    (inet("198.51.100.7", TLVS), "198.51.100.7"),
    (inet("198.51.100.7", b"\x04" + struct.pack("!H", 4000) + b"\0" * 4000), "198.51.100.7"),
    (inet6("2001:db8::7"), "2001:db8::7"),
    (inet6("::ffff:198.51.100.7"), "198.51.100.7"),
    (v2(0x21, 0x12, inet("198.51.100.7")[16:]), "198.51.100.7"),  # over UDP, as a proxy for HTTP/3 says
    (UNIX, "unix"),
    (v2(0x20, 0x00, b""), "127.0.0.1"),
    (v2(0x20, 0x11, inet("198.51.100.7")[16:]), "127.0.0.1"),  # LOCAL: whatever it says does not count
    (v2(0x20, 0xFF, b"anything"), "127.0.0.1"),
    (v2(0x21, 0x00, b""), "127.0.0.1"),
    (v2(0x21, 0x00, TLVS), "127.0.0.1"),
]

BAD = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"proxy TCP4 198.51.100.7 192.0.2.1 56324 443\r\n",
    b"PROXY TCP4 198.51.100.7 192.0.2.1 56324\r\n",
    b"PROXY TCP4 198.51.100.7 192.0.2.1 56324 443 \r\n",
    b"PROXY  TCP4 198.51.100.7 192.0.2.1 56324 443\r\n",
    b"PROXY TCP4 198.51.100.7 192.0.2.1 56324 65536\r\n",
    b"PROXY TCP4 198.51.100.7 192.0.2.1 -1 443\r\n",
    b"PROXY TCP4 198.51.100.07 192.0.2.1 1 443\r\n",
    b"PROXY TCP4 2001:db8::7 2001:db8::1 1 443\r\n",
    b"PROXY TCP6 198.51.100.7 192.0.2.1 1 443\r\n",
    b"PROXY TCP6 fe80::1%eth0 ::1 1 443\r\n",
    b"PROXY TCP4 client.example 192.0.2.1 1 443\r\n",
    b"PROXY UDP4 198.51.100.7 192.0.2.1 1 443\r\n",
    b"PROXY UNKNOWN\nGET / HTTP/1.1\r\n",
    b"PROXY UNKNOWNGET / HTTP/1.1\r\n",
    b"PROXY UNKNOWN " + b"x" * 100 + b"\r\n",
    b"PROXY TCP4 " + b"1" * 5000,
    v2(0x11, 0x11, inet("198.51.100.7")[16:]),  # version 1 in binary
    v2(0x22, 0x11, inet("198.51.100.7")[16:]),  # an unknown command
    v2(0x21, 0x41, inet("198.51.100.7")[16:]),  # an unknown family
    v2(0x21, 0x13, inet("198.51.100.7")[16:]),  # an unknown transport
    v2(0x21, 0x11, b"\0" * 11),
    v2(0x21, 0x21, b"\0" * 35),
    v2(0x21, 0x31, b"\0" * 215),
    v2(0x21, 0x11, b"\0" * (LONGEST - 15)),
    SIGNATURE[:-1] + b"X" + b"\x21\x11\x00\x0c" + b"\0" * 12,
]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(proxy_protocol=True) as run:
        yield run


def remote(run: Running) -> Remote:
    return run.next_exchange().remote


@pytest.mark.parametrize(("header", "address"), GOOD)
def test_the_address_is_the_headers(server: Running, header: bytes, address: str) -> None:
    with server.client() as client:
        client.send(header + post(b"body", path=b"/a") + get(b"/b"))
        assert client.answer().body == b"POST /a body"
        assert client.answer().body == b"GET /b "
    for _ in range(2):  # the header stands once per connection
        seen = remote(server)
        assert (seen.address, seen.socket, seen.client({})) == (address, "127.0.0.1", address)
        assert seen.is_plain == (address == "127.0.0.1")


@pytest.mark.parametrize("header", [LINE, inet("198.51.100.7", TLVS), b"PROXY UNKNOWN\r\n", v2(0x20, 0, b"")])
def test_a_header_may_be_cut_anywhere(header: bytes) -> None:
    """As in TCP it may be. (Each piece waits until the one before was read.)"""
    with running(proxy_protocol=True) as run:
        for at in {*range(1, 18), *range(18, len(header), 5), len(header) - 1}:
            with run.client() as client:
                client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.send(header[:at])
                wait_until_read(run, client)
                client.send(header[at:] + get())
                assert client.answer().status == 200


def test_a_header_byte_by_byte(server: Running) -> None:
    with server.client() as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in inet("198.51.100.7") + get():
            client.send(bytes([byte]))
        assert client.answer().status == 200
    assert remote(server).address == "198.51.100.7"


def wait_until_read(run: Running, client: Client) -> None:
    """Until the server's side has taken every byte. (/proc/net/tcp shows what waits in its receive queue.)"""
    ends = f":{run.port:04X}", f":{client.sock.getsockname()[1]:04X}"
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        if [row[4] for row in rows if (row[1][-5:], row[2][-5:]) == ends] == ["00000000:00000000"]:
            return
    raise AssertionError("not read")


@pytest.mark.parametrize("sent", BAD)
def test_what_is_no_header_is_closed_and_noted(server: Running, sent: bytes) -> None:
    with server.client() as client:
        client.send(sent)
        assert client.ended()
    assert server.next_note().startswith("a connection from 127.0.0.1 was closed: ")
    assert server.server.connections == 0
    assert server.exchanges.empty()


@pytest.mark.parametrize("sent", [LINE[:-1], inet("198.51.100.7")[:-1], b"P"])
def test_an_unfinished_header_has_a_time_limit(sent: bytes) -> None:
    with running(proxy_protocol=True, limits=Limits(header_timeout=0.2)) as run, run.client() as client:
        client.send(sent)
        assert client.ended()
        assert run.next_note() == (
            "a connection from 127.0.0.1 was closed: the PROXY protocol header did not arrive in time"
        )


def test_silence_has_a_time_limit() -> None:
    with running(proxy_protocol=True, limits=Limits(header_timeout=0.2)) as run, run.client() as client:
        assert client.ended()
        assert "in time" in run.next_note()


def test_a_client_that_leaves(server: Running) -> None:
    with server.client() as client:
        client.send(LINE[:10])
    assert "ended before" in server.next_note()


def test_before_tls() -> None:
    context = server_context(str(CERTS / "server.pem"), str(CERTS / "server.key"))
    with running(proxy_protocol=True, context=context) as run:
        for header, address in ((LINE, "198.51.100.7"), (inet6("2001:db8::7"), "2001:db8::7")):
            with closing(tls_client(run, header)) as client:
                client.send(get(b"/secret"))
                assert client.answer().body == b"GET /secret "
            assert remote(run).address == address


def test_tls_before_the_header_is_refused() -> None:
    context = server_context(str(CERTS / "server.pem"), str(CERTS / "server.key"))
    with running(proxy_protocol=True, context=context) as run:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            tls_client(run, b"")
        assert "does not begin with" in run.next_note()


def tls_client(run: Running, header: bytes) -> Client:
    client = run.connect()
    client.send(header)
    try:
        return Client(ssl.create_default_context(cafile=CA).wrap_socket(client.sock, server_hostname="upstream.test"))
    except OSError:
        client.close()
        raise


def test_a_unix_listener(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("s") / "s")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    with running(proxy_protocol=True) as run:
        run.start_also(listener)
        for header, address in ((LINE, "198.51.100.7"), (v2(0x20, 0, b""), "unix")):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            client = Client(sock)
            client.send(header + get())
            assert client.answer().status == 200
            client.close()
            seen = remote(run)
            assert (seen.address, seen.socket) == (address, "unix")


def test_the_declared_address_may_be_a_trusted_proxys() -> None:
    trusted = TrustedProxies(["198.51.100.0/24"])
    with running(proxy_protocol=True, trusted=trusted) as run, run.client() as client:
        client.send(LINE + get())
        client.answer()
        headers = {b"x-forwarded-for": b"203.0.113.9"}
        assert remote(run).client(headers) == "203.0.113.9"
    with running(proxy_protocol=True, trusted=TrustedProxies(["127.0.0.0/8"])) as run, run.client() as client:
        client.send(LINE + get())
        client.answer()
        assert remote(run).client(headers) == "198.51.100.7"


def test_connections_are_bounded() -> None:
    limits = Limits(max_connections=1)
    with running(proxy_protocol=True, limits=limits) as run:
        silent = [run.connect() for _ in range(1 + 64)]  # the limit, and the spare ones
        try:
            with run.client() as client:
                assert client.ended()
        finally:
            for each in silent:
                each.close()
        run.wait_for(lambda: not run.server._acceptors[0].opening)
        with run.client() as client:
            client.send(LINE + get())
            assert client.answer().status == 200


def test_a_drain_serves_who_has_connected() -> None:
    with running(later, proxy_protocol=True) as run, run.client() as client, run.client() as waiting:
        client.send(LINE + get(b"/a"))
        exchange = run.next_exchange()
        waiting.send(LINE + get(b"/b"))
        done = run.draining(5)
        second = run.next_exchange()
        run.echo(exchange)
        run.echo(second)
        assert client.answer().body == b"GET /a "
        assert waiting.answer().body == b"GET /b "
        client.close()
        waiting.close()
        done()


def test_a_full_descriptor_table_is_noted_and_outlived() -> None:
    with running(proxy_protocol=True) as run, closing(Client(socket.socket())) as client:
        fill: list[int] = []
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (client.sock.fileno() + 1, hard))
            fill = take_descriptors()
            client.sock.connect(("127.0.0.1", run.port))
            client.send(LINE + get())
            assert run.next_note() == "connections cannot be accepted: Too many open files"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for each in fill:
                os.close(each)
        assert client.answer().status == 200
        assert run.notes.empty()  # one failure, one note: it did not spin


def take_descriptors() -> list[int]:
    taken = []
    while True:
        try:
            taken.append(os.dup(0))
        except OSError:
            return taken
