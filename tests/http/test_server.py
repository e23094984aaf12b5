"""Requests and answers over real sockets: framing, order, keep-alive, back-pressure, loss."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import time
import zlib
from pathlib import Path

import pytest

from antiphon.http.server import Exchange, Limits
from tests.http.server_kit import DEADLINE, TEXT, Client, chunked, echo, get, later, post, running

CERTS = Path(__file__).parent / "certs"


def test_one_connection_serves_many_requests() -> None:
    with running() as run, run.client() as client:
        for body in (b"one", b"two", b""):
            client.send(post(body, path=b"/v1/x?a=b"))
            answer = client.answer()
            assert (answer.status, answer.body) == (200, b"POST /v1/x " + body)
            assert b"connection" not in answer.headers
        assert run.server.connections == 1


def test_the_handler_sees_the_request() -> None:
    with running() as run, run.client() as client:
        client.send(post(b"{}", b"X-Two: a", b"x-two: b \t", b"Empty:", path=b"/p%20q?x=1&y=2"))
        client.answer()
        exchange = run.next_exchange()
        request = exchange.request
        assert (request.method, request.path, request.query, request.body) == (b"POST", b"/p%20q", b"x=1&y=2", b"{}")
        assert request.headers[b"x-two"] == b"a, b"
        assert request.headers[b"empty"] == b""
        assert exchange.remote.address == "127.0.0.1"
        assert (exchange.status, exchange.closed, exchange.sent) == (200, True, len(b"POST /p%20q {}"))
        assert 0 < exchange.received <= run.on_loop(run.loop.time)


@pytest.mark.parametrize(
    ("request_line", "close"),
    [
        (get(b"/", b"Connection: close"), True),
        (get(b"/", version=b"1.0"), True),
        (get(b"/", b"Connection: keep-alive", version=b"1.0"), False),
        (get(b"/", b"Connection: keep-alive"), False),
        (b"GET / HTTP/1.0\r\n\r\n", True),
    ],
)
def test_connection_is_kept_or_closed_as_asked(request_line: bytes, close: bool) -> None:
    with running() as run, run.client() as client:
        client.send(request_line)
        answer = client.answer()
        assert answer.body == b"GET / "
        if close:
            assert answer.headers[b"connection"] == b"close"
            assert client.ended()
        else:
            client.send(get(b"/again"))
            assert client.answer().body == b"GET /again "


def test_http10_is_told_that_the_connection_stays() -> None:
    with running() as run, run.client() as client:
        client.send(get(b"/", b"Connection: keep-alive", version=b"1.0"))
        assert client.answer().headers[b"connection"] == b"keep-alive"


def test_bytes_after_a_last_request_are_ignored() -> None:
    with running() as run, run.client() as client:
        client.send(get(b"/", b"Connection: close") + get(b"/smuggled"))
        assert client.answer().body == b"GET / "
        assert client.ended()
        assert run.exchanges.qsize() == 1


def test_head_has_headers_and_no_body() -> None:
    with running() as run, run.client() as client:
        client.send(get(method=b"HEAD"))
        answer = client.answer(head=True)
        assert int(answer.headers[b"content-length"]) == len(b"HEAD / ")
        client.send(get(b"/next"))
        assert client.answer().body == b"GET /next "


def test_no_content_has_no_length() -> None:
    with running(lambda exchange: exchange.respond(204, b"x-a: 1\r\n", b"")) as run, run.client() as client:
        client.send(get() + get())
        first, second = client.answer(), client.answer()
        assert (first.status, second.status) == (204, 204)
        assert b"content-length" not in first.headers


def test_a_status_without_a_name() -> None:
    with running(lambda exchange: exchange.respond(529, b"", b"busy")) as run, run.client() as client:
        client.send(get())
        assert client.answer().status == 529


# Streams


def stream(exchange: Exchange) -> None:
    exchange.start(200, b"content-type: text/event-stream\r\n")
    for piece in (b"a", b"", b"bc"):
        exchange.write(piece)
    exchange.finish()


def test_stream_is_chunked_and_keeps_the_connection() -> None:
    with running(stream) as run, run.client() as client:
        for _ in range(2):
            client.send(get())
            answer = client.answer()
            assert (answer.body, answer.complete) == (b"abc", True)
            assert b"content-length" not in answer.headers
        assert run.next_exchange().sent == 3


def test_stream_to_http10_ends_with_the_connection() -> None:
    with running(stream) as run, run.client() as client:
        client.send(get(b"/", b"Connection: keep-alive", version=b"1.0"))
        answer = client.answer()
        assert (answer.body, answer.headers[b"connection"]) == (b"abc", b"close")
        assert b"transfer-encoding" not in answer.headers


def test_stream_to_head_has_no_body() -> None:
    with running(stream) as run, run.client() as client:
        client.send(get(method=b"HEAD"))
        assert client.answer(head=True).status == 200
        client.send(get())
        assert client.answer().body == b"abc"


def test_chunks_leave_as_they_are_written() -> None:
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        run.on_loop(lambda: exchange.start(200, TEXT))
        run.on_loop(lambda: exchange.write(b"first"))
        assert client._until(b"first")
        run.on_loop(lambda: exchange.finish())
        assert client._until(b"0\r\n\r\n") == b"\r\n"
        assert exchange.closed


def test_aborted_stream_is_seen_to_be_incomplete_but_keeps_what_was_written() -> None:
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()

        def cut() -> None:
            exchange.start(200, TEXT)
            exchange.write(b"first")
            exchange.abort()
            exchange.write(b"never")
            exchange.finish()

        run.on_loop(cut)
        answer = client.answer()
        assert (answer.body, answer.complete) == (b"first", False)


def test_aborted_stream_to_http10_is_a_reset() -> None:
    with running(later) as run, run.client() as client:
        client.send(get(version=b"1.0"))
        exchange = run.next_exchange()
        run.begin(exchange, b"first")
        client._until(b"first")
        run.on_loop(exchange.abort)
        with pytest.raises(ConnectionResetError):
            client.rest()


# Pipelining


def test_pipelined_requests_are_answered_in_order() -> None:
    with running() as run, run.client() as client:
        client.send(b"".join(get(b"/%d" % number) for number in range(100)))
        assert [client.answer().body for _ in range(100)] == [b"GET /%d " % number for number in range(100)]


def send_each(client: Client, requests: list[bytes]) -> None:
    for request in requests:
        client.send(request)


@pytest.mark.parametrize("split", [False, True])
def test_pipelined_requests_wait_for_each_other(split: bool) -> None:
    """Far more requests than may be read ahead; each is given to the handler after the answer before it."""
    count = 400
    with running(later, Limits(max_pipelined=4)) as run, run.client() as client:
        requests = [post(b"x" * number, path=b"/%d" % number) for number in range(count)]
        if split:
            threading.Thread(target=send_each, args=(client, requests), daemon=True).start()
        else:
            threading.Thread(target=client.send, args=(b"".join(requests),), daemon=True).start()
        for number in range(count):
            exchange = run.next_exchange()
            assert run.exchanges.empty()
            assert run.on_loop(lambda: run.server.active) == 1
            run.echo(exchange)
            assert client.answer().body == b"POST /%d " % number + b"x" * number


def test_a_fault_is_answered_after_what_came_before_it() -> None:
    with running(later) as run, run.client() as client:
        client.send(get(b"/one") + get(b"/two") + b"NOT HTTP\r\n\r\n" + get(b"/three"))
        for path in (b"/one", b"/two"):
            exchange = run.next_exchange()
            run.echo(exchange)
            assert client.answer().body == b"GET " + path + b" "
        assert client.answer().status == 400
        assert client.ended()
        assert run.exchanges.empty()


def test_continue_waits_for_the_answer_before_it() -> None:
    with running(later) as run, run.client() as client:
        client.send(get(b"/one") + get(b"/two", b"Expect: 100-continue", b"Content-Length: 2", method=b"POST"))
        exchange = run.next_exchange()
        run.echo(exchange)
        assert client.answer().body == b"GET /one "
        assert client.answer().status == 100
        client.send(b"ok")
        second = run.next_exchange()
        run.echo(second)
        assert client.answer().body == b"POST /two ok"


# Bodies


def test_continue_is_sent_once_and_before_the_body() -> None:
    with running() as run, run.client() as client:
        client.send(get(b"/", b"Expect: 100-Continue", b"Content-Length: 4", method=b"POST"))
        assert client.answer().status == 100
        client.send(b"body")
        assert client.answer().body == b"POST / body"
        client.send(get(b"/", b"Expect: 100-continue"))  # no body, nothing to wait for
        assert client.answer().status == 200


def test_chunked_body_with_extension_and_trailers() -> None:
    with running() as run, run.client() as client:
        head = get(b"/", b"Transfer-Encoding: chunked", b"Trailer: X-Sum", method=b"POST")
        client.send(head + b'3;a=b;c="d"\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\nHost: evil\r\n\r\n' + get(b"/next"))
        assert client.answer().body == b"POST / abcde"
        assert client.answer().body == b"GET /next "
        assert run.next_exchange().request.headers[b"host"] == b"localhost"
        assert b"x-sum" not in run.next_exchange().request.headers


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        (b"gzip", gzip.compress),
        (b"X-GZIP", gzip.compress),
        (b"deflate", zlib.compress),
        (b"deflate", lambda data: zlib.compress(data, wbits=-15)),
        (b"identity", bytes),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_encoded_bodies(encoding: bytes, encode: type[bytes], whole: bool) -> None:
    body = b'{"text": "' + b"hello " * 500 + b'"}'
    data = encode(body)
    with running() as run, run.client() as client:
        if whole:
            client.send(post(data, b"Content-Encoding: " + encoding))
        else:
            head = get(b"/", b"Transfer-Encoding: chunked", b"Content-Encoding: " + encoding, method=b"POST")
            client.send(head + chunked(*(data[at : at + 7] for at in range(0, len(data), 7))))
        assert client.answer().body == b"POST / " + body


def test_a_large_body() -> None:
    body = bytes(range(256)) * 16384
    with running() as run, run.client() as client:
        for _ in range(2):
            client.send(post(body))
            assert client.answer().body == b"POST / " + body


def test_a_bad_body_behind_a_declined_upgrade_is_the_clients_fault() -> None:
    upgrade = (b"Connection: upgrade", b"Upgrade: h2c", b"Transfer-Encoding: chunked")
    with running(echo) as run, run.client() as client:
        client.send(get(b"/", *upgrade, method=b"POST") + b"2\r\nhi\r\n0\r\nContent-Length: 3\r\n\r\n")
        assert client.answer().status == 400
        assert not run.errors


def test_upgrade_is_declined_and_its_body_read() -> None:
    """Java's HttpClient asks for h2c on every POST to an http:// address."""
    upgrade = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk")
    head = get(b"/", *upgrade, b"Transfer-Encoding: chunked", method=b"POST")
    requests = [post(b"body", *upgrade), head + chunked(b"bo", b"dy"), post(b"body" * 1, *upgrade)]
    for number, request in enumerate(requests):
        with running() as run, run.client() as client:
            cut = len(request) - number  # also split inside the body
            client.send(request[:cut])
            client.send(request[cut:])
            answer = client.answer()
            assert (answer.status, answer.body) == (200, b"POST / body")
            assert answer.headers[b"connection"] == b"close"
            assert client.ended()


def test_connect_is_not_tunnelled() -> None:
    with running() as run, run.client() as client:
        client.send(get(b"example.com:443", method=b"CONNECT") + b"\x16\x03\x01")
        assert client.answer().body == b"CONNECT example.com:443 "
        assert client.ended()


def test_absolute_targets() -> None:
    with running() as run, run.client() as client:
        client.send(get(b"http://localhost/v1/models?x=1") + get(b"http://localhost") + get(b"*", method=b"OPTIONS"))
        assert [client.answer().body for _ in range(3)] == [b"GET /v1/models ", b"GET / ", b"OPTIONS * "]


# Loss and back-pressure


def lost(run_exchange: Exchange) -> threading.Event:
    event = threading.Event()
    run_exchange.on_lost = event.set
    return event


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("reset", [False, True])
def test_a_client_that_goes_away_is_noticed(started: bool, reset: bool) -> None:
    with running(later) as run:
        client = run.connect()
        client.send(get())
        exchange = run.next_exchange()
        event = run.on_loop(lambda: lost(exchange))
        if started:
            run.begin(exchange, b"x")
            if not reset:
                client._until(b"x")
        client.close()
        assert event.wait(1.0)
        assert exchange.closed

        def go_on() -> None:
            exchange.respond(200, TEXT, b"x")
            exchange.start(200, TEXT)
            exchange.write(b"y")
            exchange.finish()
            exchange.abort()

        run.on_loop(go_on)
        assert run.errors == []


def test_loss_is_not_told_after_the_answer() -> None:
    told: list[str] = []

    def handler(exchange: Exchange) -> None:
        exchange.on_lost = lambda: told.append("lost")
        echo(exchange)

    with running(handler) as run:
        client = run.connect()
        client.send(get())
        client.answer()
        client.close()
    assert told == []


def test_a_slow_reader_pauses_its_exchange_only() -> None:
    """The buffer stays bounded because the writer stops when told; another connection is served meanwhile."""
    paused, resumed = threading.Event(), threading.Event()
    piece = b"x" * 16384
    with running(later) as run, run.client(receive_buffer=4096) as client:
        client.send(get())
        exchange = run.next_exchange()

        def begin() -> None:
            exchange.on_pause, exchange.on_resume = paused.set, resumed.set
            exchange.start(200, TEXT)

        run.on_loop(begin)
        for _ in range(2000):
            if paused.is_set():
                break
            run.on_loop(lambda: exchange.write(piece))
        assert paused.is_set()
        assert exchange.paused
        waiting = run.on_loop(exchange._connection.transport.get_write_buffer_size)
        assert waiting <= 64 * 1024 + len(piece) + 64
        assert not resumed.is_set()
        with run.client() as other:
            other.send(get(b"/other"))
            second = run.next_exchange()
            run.echo(second)
            assert other.answer().body == b"GET /other "
        reader = threading.Thread(target=client.answer, daemon=True)
        reader.start()
        assert resumed.wait(DEADLINE)
        run.on_loop(exchange.finish)
        reader.join(DEADLINE)
        assert not reader.is_alive()


def test_a_client_that_does_not_read_is_cut() -> None:
    with running(later, Limits(write_timeout=0.2)) as run, run.client(receive_buffer=4096) as client:
        client.send(get())
        exchange = run.next_exchange()
        event = run.on_loop(lambda: lost(exchange))
        run.begin(exchange, b"x" * 16_000_000)
        assert event.wait(2.0)
        assert exchange.closed


def test_a_whole_answer_that_is_not_read_is_cut_too() -> None:
    big = b"x" * 16_000_000
    with running(lambda exchange: exchange.respond(200, TEXT, big), Limits(write_timeout=0.2)) as run:
        client = run.connect(receive_buffer=4096)
        client.send(get())
        run.next_exchange()
        run.wait_for(lambda: run.server.connections == 0)
        client.close()


def test_a_slow_reader_of_a_last_answer_is_not_cut_while_it_reads() -> None:
    """It takes longer than the write timeout in all, but never that long without taking anything."""
    big = b"x" * 6_000_000
    limits = Limits(write_timeout=0.3)
    with running(lambda exchange: exchange.respond(200, TEXT, big), limits) as run:
        client = run.connect(receive_buffer=65536)
        begin = time.monotonic()
        client.send(get(b"/", b"Connection: close"))
        pace, size = threading.Event(), 0
        while piece := client.sock.recv(200_000, socket.MSG_WAITALL):
            size += len(piece)
            pace.wait(0.02)
        assert size > len(big)
        assert time.monotonic() - begin > 2 * limits.write_timeout
        client.close()


# Faults of the handler


def test_a_failing_handler_is_a_500_and_is_logged() -> None:
    def handler(exchange: Exchange) -> None:
        if exchange.request.path == b"/bad":
            raise ValueError("broken")
        echo(exchange)

    with running(handler) as run, run.client() as client:
        client.send(get(b"/bad"))
        answer = client.answer()
        assert (answer.status, answer.body[:9]) == (500, b"fault 500")
        client.send(get(b"/good"))
        assert client.answer().body == b"GET /good "
        assert [str(error) for error in run.errors] == ["broken"]


def test_a_handler_that_fails_inside_its_answer_cuts_it() -> None:
    def handler(exchange: Exchange) -> None:
        exchange.start(200, TEXT)
        exchange.write(b"half")
        raise ValueError("broken")

    with running(handler) as run, run.client() as client:
        client.send(get())
        answer = client.answer()
        assert (answer.body, answer.complete) == (b"half", False)
        assert len(run.errors) == 1


def test_failing_callbacks_are_logged_and_stay_inside() -> None:
    def fail() -> None:
        raise ValueError("callback")

    with running(later) as run:
        client = run.connect()
        client.send(get())
        exchange = run.next_exchange()
        run.on_loop(lambda: setattr(exchange, "on_lost", fail))
        client.close()
        run.wait_for(lambda: run.server.connections == 0)
        assert [str(error) for error in run.errors] == ["callback"]
        with run.client() as other:
            other.send(get())
            run.echo(run.next_exchange())
            assert other.answer().status == 200


def test_answering_twice_is_a_fault_of_the_handler() -> None:
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        with pytest.raises(RuntimeError):
            run.on_loop(lambda: exchange.write(b"early"))
        run.on_loop(lambda: exchange.start(200, TEXT))
        with pytest.raises(RuntimeError):
            run.on_loop(lambda: exchange.respond(200, TEXT, b""))
        run.on_loop(exchange.finish)
        assert client.answer().complete


# TLS


def test_tls() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTS / "server_cert.pem", CERTS / "server_key.pem")
    trust = ssl.create_default_context(cafile=str(CERTS / "server_cert.pem"))
    with running(stream, context=context) as run:
        raw = run.connect().sock
        with trust.wrap_socket(raw, server_hostname="localhost") as sock:
            client = Client(sock)
            for _ in range(2):
                client.send(get())
                assert client.answer().body == b"abc"
            client.send(get(version=b"1.0"))
            assert client.answer().body == b"abc"  # ends with the connection
        with trust.wrap_socket(run.connect().sock, server_hostname="localhost") as sock:
            client = Client(sock)
            client.send(b"nonsense\r\n\r\n")
            assert client.answer().status == 400
        with run.client() as plain:
            plain.send(get())
            assert b"HTTP" not in plain.rest()
