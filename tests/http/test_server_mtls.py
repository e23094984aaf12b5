"""Client certificates: asked for, required or not, and named."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from antiphon.http.remote import distinguished_name
from antiphon.http.tls import server_context
from tests.http.client_kit import CA, CERTS
from tests.http.server_kit import Answer, Client, Running, get, running

OWN = Path(__file__).parent / "certs_mtls"
SUBJECT = "CN=app-7,O=Example\\, Inc.,C=BR"
NAMES = "DNS:app-7.example, URI:spiffe://example/app-7"


def context(*, required: bool) -> ssl.SSLContext:
    cert, key = str(CERTS / "server.pem"), str(CERTS / "server.key")
    return server_context(cert, key, str(OWN / "client_ca.pem"), required=required)


def ask(run: Running, certificate: str | None, version: ssl.TLSVersion) -> Answer:
    """OSError: the server did not answer."""
    trust = ssl.create_default_context(cafile=CA)
    trust.minimum_version = trust.maximum_version = version
    if certificate is not None:
        trust.load_cert_chain(OWN / f"{certificate}.pem", OWN / f"{certificate}.key")
    with run.client() as raw, trust.wrap_socket(raw.sock, server_hostname="upstream.test") as sock:
        client = Client(sock)
        client.send(get())
        return client.answer()


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_certificate_is_named(required: bool, version: ssl.TLSVersion) -> None:
    with running(context=context(required=required)) as run:
        assert ask(run, "client", version).status == 200
        remote = run.next_exchange().remote
        assert (remote.address, remote.subject, remote.names) == ("127.0.0.1", SUBJECT, NAMES)
        assert not remote.is_plain


@pytest.mark.parametrize("version", VERSIONS)
def test_none_where_one_is_required(version: ssl.TLSVersion) -> None:
    with running(context=context(required=True)) as run:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(run, None, version)
        assert run.next_note() == "a connection from 127.0.0.1 was closed: it showed no certificate"
        assert run.exchanges.empty()


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_one_of_another_authority(required: bool, version: ssl.TLSVersion) -> None:
    with running(context=context(required=required)) as run:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            ask(run, "stranger", version)
        assert run.next_note().startswith("a connection from 127.0.0.1 was closed: its certificate was refused: ")
        assert run.exchanges.empty()


@pytest.mark.parametrize("version", VERSIONS)
def test_none_where_one_is_optional(version: ssl.TLSVersion) -> None:
    with running(context=context(required=False)) as run:
        assert ask(run, None, version).status == 200
        remote = run.next_exchange().remote
        assert (remote.subject, remote.names, remote.is_plain) == (None, None, True)


def test_without_tls() -> None:
    with running(context=context(required=True)) as run:
        with run.client() as client:
            client.send(get())
            client.ended()
        assert "the TLS handshake failed" in run.next_note()


def test_a_handshake_that_stalls_is_ended_by_a_drain() -> None:
    with running(context=context(required=True)) as run, run.client() as client:
        client.send(b"\x16\x03\x01")
        run.draining(0.1)()
        client.sock.settimeout(5)
        assert client.ended()


def test_after_a_proxy_header() -> None:
    with running(context=context(required=True), proxy_protocol=True) as run:
        trust = ssl.create_default_context(cafile=CA)
        trust.load_cert_chain(OWN / "client.pem", OWN / "client.key")
        with run.client() as raw:
            raw.send(b"PROXY TCP4 198.51.100.7 192.0.2.1 56324 443\r\n")
            with trust.wrap_socket(raw.sock, server_hostname="upstream.test") as sock:
                client = Client(sock)
                client.send(get())
                assert client.answer().status == 200
        remote = run.next_exchange().remote
        assert (remote.address, remote.socket, remote.subject) == ("198.51.100.7", "127.0.0.1", SUBJECT)


def test_no_delay_on_connections_of_our_own() -> None:
    """As on those that the loop accepts: a stream's chunks leave at once."""
    with running(proxy_protocol=True) as run, run.client() as client:
        client.send(b"PROXY UNKNOWN\r\n" + get())
        client.answer()
        held = run.on_loop(lambda: next(iter(run.server._connections)).transport.get_extra_info("socket"))
        assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ((), ""),
        (((("commonName", "a+b"),),), "CN=a\\+b"),
        (((("commonName", " a "),),), "CN=\\ a\\ "),
        (((("commonName", "#a"), ("userId", 'x"y')),), 'CN=\\#a+UID=x\\"y'),
        (((("domainComponent", "org"),), (("1.2.3.4", "x"),)), "1.2.3.4=x,DC=org"),
    ],
)
def test_names_are_written_so_that_they_can_be_told_apart(
    subject: tuple[tuple[tuple[str, str], ...], ...], expected: str
) -> None:
    assert distinguished_name(subject) == expected
