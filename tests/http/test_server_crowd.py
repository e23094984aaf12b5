"""Too many connections, in all or of one client: idle ones make room, probes of health are answered."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from antiphon.http.server import Limits
from tests.http.server_kit import Client, Running, get, later, running

VITAL = frozenset({b"/healthz"})
TWO = Limits(max_connections=2)
TWO_EACH = Limits(max_client_connections=2)


def ask(run: Running, client: Client, path: bytes = b"/") -> int:
    client.send(get(path))
    run.echo(run.next_exchange())
    return client.answer().status


def busy(run: Running) -> Client:
    """A connection whose request has no answer yet."""
    client = run.connect()
    client.send(get(b"/busy"))
    run.next_exchange()
    return client


def connect_from(run: Running, address: str) -> Client:
    sock = socket.socket()
    sock.bind((address, 0))
    sock.connect(("127.0.0.1", run.port))
    return Client(sock)


@pytest.mark.parametrize("limits", [TWO, TWO_EACH, replace(TWO, max_client_connections=1)])
def test_health_is_answered_in_any_crowd(limits: Limits) -> None:
    with running(later, limits, vital=VITAL) as run:
        clients = [busy(run)]
        if limits.max_client_connections != 1:
            clients.append(busy(run))
        for _ in range(3):
            with run.client() as probe:
                assert ask(run, probe, b"/healthz") == 200
                assert probe.ended()
        with run.client() as other:
            other.send(get(b"/other"))
            answer = other.answer()
            assert answer.status == (429 if limits.max_client_connections else 503)
            assert answer.headers[b"retry-after"] == b"1"
        for client in clients:
            client.close()


def test_health_is_answered_though_silent_connections_flood_in() -> None:
    with running(later, TWO, vital=VITAL) as run:
        clients = [busy(run), busy(run)]
        flood = [run.connect() for _ in range(200)]
        with run.client() as probe:
            assert ask(run, probe, b"/healthz") == 200
        run.wait_for(lambda: run.server.connections <= 2 + 64)
        for client in [*clients, *flood]:
            client.close()


def test_idle_connections_make_room_however_fast_new_ones_come() -> None:
    with running(later, TWO) as run:
        clients = []
        for _ in range(50):
            clients.append(run.connect())
            assert ask(run, clients[-1]) == 200
            run.wait_for(lambda: run.server.active == 0)
        for client in clients:
            client.close()


def test_the_connection_that_is_idle_for_longest_makes_room() -> None:
    with running(later, replace(TWO, max_connections=3)) as run:
        first, second = run.connect(), run.connect()
        for client in (second, first):  # the second is idle for longer
            assert ask(run, client) == 200
            run.wait_for(lambda: run.server.active == 0)
            before = run.on_loop(lambda: run.server.now)
            run.wait_for(lambda before=before: run.server.now > before)  # type: ignore[misc]
        working = busy(run)
        with run.client() as new:
            assert ask(run, new) == 200
            assert second.ended()
            assert ask(run, first) == 200
        for client in (first, second, working):
            client.close()


def test_idle_connections_make_room_before_a_limit_is_reached() -> None:
    with running(later, Limits(crowded=1)) as run, run.client() as first:
        assert ask(run, first) == 200
        with run.client() as second:
            assert ask(run, second) == 200
            assert first.ended()
        with run.client() as third, run.client() as fourth:
            clients = [busy(run) for _ in range(4)]
            assert ask(run, third) == 200
            assert ask(run, fourth) == 200
            for client in clients:
                client.close()


def test_the_limit_of_a_client_is_its_own() -> None:
    with running(later, TWO_EACH) as run:
        clients = [busy(run), busy(run)]
        other = connect_from(run, "127.0.0.2")
        assert ask(run, other) == 200
        with run.client() as third:
            third.send(get())
            assert third.answer().status == 429
        clients.pop().close()
        run.wait_for(lambda: run.server.active == 1)
        with run.client() as fourth:
            assert ask(run, fourth) == 200
        for client in [*clients, other]:
            client.close()


def test_an_idle_connection_of_the_same_client_makes_room() -> None:
    with running(later, TWO_EACH) as run, run.client() as idle:
        assert ask(run, idle) == 200
        working = busy(run)
        with run.client() as new:
            assert ask(run, new) == 200
            assert idle.ended()
        working.close()


def test_clients_are_counted_exactly_whatever_ends_their_connections() -> None:
    with running(later, replace(TWO_EACH, header_timeout=0.2)) as run:
        for turn in range(12):
            client = run.connect()
            if turn % 3 == 0:
                client.send(get())
                run.next_exchange()
            elif turn % 3 == 1:
                client.send(b"nonsense\r\n\r\n")
                assert client.answer().status == 400
            client.close()
            run.wait_for(lambda: run.server.connections == 0)
        with run.client() as one, run.client() as two:
            assert [ask(run, one), ask(run, two)] == [200, 200]
