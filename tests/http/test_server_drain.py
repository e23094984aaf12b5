"""The end of a server: what is running finishes, what is queued is served, what is idle is closed."""

from __future__ import annotations

import socket
import threading

import pytest

from antiphon.http.server import Exchange
from tests.http.server_kit import DEADLINE, Client, echo, get, later, running


def test_a_running_answer_finishes_and_closes() -> None:
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        done = run.draining(DEADLINE)
        run.wait_for(lambda: run.server.draining)
        run.echo(exchange)
        answer = client.answer()
        assert (answer.status, answer.headers[b"connection"]) == (200, b"close")
        assert client.ended()
        client.close()
        done()
        assert run.server.connections == 0


def test_a_client_that_stays_open_after_its_answer_does_not_hold_the_drain() -> None:
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        done = run.draining(100 * DEADLINE)
        run.wait_for(lambda: run.server.draining)
        run.echo(exchange)
        assert client.answer().status == 200
        done()  # long before the drain's own time is over
        assert run.server.connections == 0


def test_a_stream_that_had_started_finishes() -> None:
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        run.begin(exchange, b"a")
        done = run.draining(DEADLINE)
        run.wait_for(lambda: run.server.draining)
        run.on_loop(lambda: exchange.write(b"b"))
        run.on_loop(exchange.finish)
        answer = client.answer()
        assert (answer.body, answer.complete) == (b"ab", True)
        assert client.ended()
        client.close()
        done()


def end(exchange: Exchange) -> None:
    exchange.write(b"b")
    exchange.finish()


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_keeps_its_connection_open_does_not_hold_the_drain(streams: bool) -> None:
    """Its pool sees that the server has closed when it uses the connection next."""
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        if streams:
            run.begin(exchange, b"a")
        done = run.draining(10 * DEADLINE)
        run.wait_for(lambda: run.server.draining)
        run.on_loop(lambda: end(exchange) if streams else echo(exchange))
        assert client.answer().complete
        assert client.ended()
        done()


def test_requests_already_read_are_answered() -> None:
    with running(later) as run, run.client() as client:
        client.send(get(b"/one") + get(b"/two"))
        first = run.next_exchange()
        done = run.draining(DEADLINE)
        run.wait_for(lambda: run.server.draining)
        run.echo(first)
        assert b"connection" not in client.answer().headers
        second = run.next_exchange()
        run.echo(second)
        assert client.answer().headers[b"connection"] == b"close"
        assert client.ended()
        client.close()
        done()


def test_idle_connections_are_closed_and_nobody_else_gets_in() -> None:
    with running() as run, run.client() as client:
        client.send(get())
        client.answer()
        run.draining(DEADLINE)()
        assert client.ended()
        with pytest.raises(ConnectionRefusedError):
            run.connect()


def test_what_does_not_finish_is_cut_and_told() -> None:
    lost = threading.Event()
    with running(later) as run, run.client() as client:
        client.send(get())
        exchange = run.next_exchange()
        run.on_loop(lambda: setattr(exchange, "on_lost", lost.set))
        run.begin(exchange, b"a")
        run.draining(0.1)()
        assert lost.is_set()
        assert not client.answer().complete
        assert run.server.connections == 0


def test_connections_in_the_kernel_queue_are_served() -> None:
    """They connected and sent while the loop was busy, in the very turn in which the drain began."""
    with running() as run:
        clients: list[Client] = []

        def drain_at_once() -> None:
            for number in range(20):
                sock = socket.create_connection(("127.0.0.1", run.port))
                sock.sendall(get(b"/%d" % number))
                clients.append(Client(sock))
            task = run.loop.create_task(run.server.drain(DEADLINE))
            task.add_done_callback(lambda _: drained.set())

        drained = threading.Event()
        run.on_loop(drain_at_once)
        for number, client in enumerate(clients):
            answer = client.answer()
            assert (answer.body, answer.headers[b"connection"]) == (b"GET /%d " % number, b"close")
            assert client.ended()
            client.close()
        assert drained.wait(DEADLINE)


def test_a_connection_that_never_asks_does_not_hold_the_drain() -> None:
    with running() as run, run.client() as client:
        run.wait_for(lambda: run.server.connections == 1)
        run.draining(DEADLINE)()
        assert client.ended()


def test_a_connection_that_does_not_come_to_http_does_not_hold_the_drain() -> None:
    with running(proxy_protocol=True) as run, run.client():
        with run.client() as other:  # accepted after the first one
            other.send(b"PROXY UNKNOWN\r\n" + get())
            assert other.answer().status == 200
        run.draining(10 * DEADLINE)()


def test_a_request_that_is_being_sent_is_still_answered() -> None:
    with running() as run, run.client() as client:
        client.send(get(b"/", b"Content-Length: 4", method=b"POST") + b"bo")
        run.wait_for(lambda: run.server.connections == 1)
        done = run.draining(DEADLINE)
        run.wait_for(lambda: run.server.draining)
        client.send(b"dy")
        answer = client.answer()
        assert (answer.body, answer.headers[b"connection"]) == (b"POST / body", b"close")
        client.close()
        done()


def test_counts() -> None:
    seen: list[tuple[int, int]] = []

    def handler(exchange: Exchange) -> None:
        seen.append((run.server.connections, run.server.active))
        echo(exchange)

    with running(handler) as run, run.client() as client:
        client.send(get())
        client.answer()
        assert seen == [(1, 1)]
        assert run.on_loop(lambda: run.server.active) == 0


def test_unix_sockets(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("s") / "s")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    with running() as run:
        run.start_also(listener)
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        client = Client(sock)
        client.send(get())
        assert client.answer().body == b"GET / "
        assert run.next_exchange().remote.address == "unix"
        client.close()
