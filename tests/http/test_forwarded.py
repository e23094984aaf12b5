"""Whom a trusted proxy asks for: X-Forwarded-For and Forwarded, read from the right."""

from __future__ import annotations

import time

import pytest

from antiphon.http.forwarded import TrustedProxies
from tests.http.server_kit import get, running

PROXY = "10.0.0.1"
TRUSTED = TrustedProxies(["10.0.0.0/8", "2001:db8:f::/48", "192.0.2.44"])


def client(value: str, name: bytes = b"x-forwarded-for") -> str:
    return TRUSTED.find_client(PROXY, {name: value.encode("latin-1")})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("1.1.1.1, 203.0.113.9", "203.0.113.9"),  # what the client itself wrote does not count
        ("203.0.113.9, 10.1.2.3", "203.0.113.9"),
        ("1.1.1.1,203.0.113.9 , 192.0.2.44,10.1.2.3", "203.0.113.9"),
        ("203.0.113.9, 2001:db8:f::1", "203.0.113.9"),
        ("10.9.9.9, 10.1.2.3", "10.9.9.9"),  # nobody but proxies: the first of them
        ("203.0.113.9:51000", "203.0.113.9"),
        ("[2001:db8::9]:51000", "2001:db8::9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("2001:DB8:0::9", "2001:db8::9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("203.0.113.9, ::ffff:10.1.2.3", "203.0.113.9"),
        ("203.0.113.9,", "203.0.113.9"),
        ("", PROXY),
        (" , ", PROXY),
        ("unknown", PROXY),
        ("203.0.113.9, unknown", PROXY),
        ("203.0.113.9, unknown, 10.1.2.3", "10.1.2.3"),  # nobody can say what stands behind
        ("203.0.113.9, client.example", PROXY),
        ("203.0.113.9:port", PROXY),
        ("203.0.113.9:", PROXY),
        ("[2001:db8::9", "2001:db8::9"),
        ("fe80::1%eth0", PROXY),
        ("fe80::1%\n{}", PROXY),
        ("203.0.113.009", PROXY),
        ("0x7f.1", PROXY),
        ("1", PROXY),
        ("203.0.113.9/32", PROXY),
        ("\u00e9", PROXY),
    ],
)
def test_x_forwarded_for(value: str, expected: str) -> None:
    assert client(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("for=203.0.113.9", "203.0.113.9"),
        ("For=203.0.113.9;proto=https;by=10.0.0.1", "203.0.113.9"),
        ("proto=https ; for=203.0.113.9 ;", "203.0.113.9"),
        ("for=1.1.1.1, for=203.0.113.9", "203.0.113.9"),
        ("for=203.0.113.9, for=10.1.2.3;proto=http", "203.0.113.9"),
        ('for="203.0.113.9:4711"', "203.0.113.9"),
        ("for=203.0.113.9:4711", "203.0.113.9"),
        ('for="[2001:db8::9]:4711"', "2001:db8::9"),
        ('for="[2001:db8::9]", for=10.1.2.3', "2001:db8::9"),
        ('for="\\203.0.113.9"', "203.0.113.9"),
        ('for=203.0.113.9;x="a, for=6.6.6.6"', "203.0.113.9"),
        ('for=203.0.113.9;x="a;for=6.6.6.6"', "203.0.113.9"),
        ('for=203.0.113.9;x="a, \\"for=6.6.6.6"', "203.0.113.9"),
        # A client cannot hide what the proxy wrote behind a quote of its own.
        ('for=6.6.6.6;x=", for=203.0.113.9', "203.0.113.9"),
        ('for=6.6.6.6;x=", for="[2001:db8::9]"', "2001:db8::9"),
        ('x="\\, for=203.0.113.9', "203.0.113.9"),
        ("for=unknown", PROXY),
        ("for=_hidden, for=10.1.2.3", "10.1.2.3"),
        ("proto=https", PROXY),
        ("for=203.0.113.9;for=6.6.6.6", PROXY),
        ("for=203.0.113.9, nonsense", PROXY),
        ("for=203.0.113.9, nonsense, for=10.1.2.3", "10.1.2.3"),
        ("for=", PROXY),
        ("for", PROXY),
        ("", PROXY),
        (",,", PROXY),
        ("for=203.0.113.9,,", "203.0.113.9"),
        ('for="203.0.113.9', PROXY),
    ],
)
def test_forwarded(value: str, expected: str) -> None:
    assert client(value, b"forwarded") == expected


def test_which_header_is_believed() -> None:
    both = {b"x-forwarded-for": b"203.0.113.9", b"forwarded": b"for=203.0.113.10"}
    networks = ["10.0.0.0/8"]
    assert TrustedProxies(networks).find_client(PROXY, both) == "203.0.113.9"
    assert TrustedProxies(networks, "x-forwarded-for").find_client(PROXY, both) == "203.0.113.9"
    assert TrustedProxies(networks, "forwarded").find_client(PROXY, both) == "203.0.113.10"
    only = {b"x-forwarded-for": b"203.0.113.9"}
    assert TrustedProxies(networks, "forwarded").find_client(PROXY, only) == PROXY
    assert TrustedProxies(networks, "x-forwarded-for").find_client(PROXY, {b"forwarded": b"for=1.1.1.1"}) == PROXY


@pytest.mark.parametrize(
    "value",
    [
        "10.0.0.1," * 8000,
        "," * 60_000,
        " " * 60_000 + "x",
        'for="' * 12_000,
        "for=a;" + " " * 60_000 + "!",
        '\\"' * 30_000,
    ],
)
@pytest.mark.parametrize("name", [b"x-forwarded-for", b"forwarded"])
def test_hostile_headers_are_read_in_no_time(name: bytes, value: str) -> None:
    """Not a matter of speed: a reader that tries every way to split these takes minutes."""
    began = time.monotonic()
    client(value, name)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("networks", "address", "trusted"),
    [
        ([], "127.0.0.1", False),
        ([], "unix", False),
        (["unix"], "unix", True),
        (["unix"], "127.0.0.1", False),
        (["127.0.0.1"], "127.0.0.1", True),
        (["127.0.0.0/8"], "unix", False),
        (["0.0.0.0/0"], "::1", False),
        (["fe80::/10"], "fe80::1%eth0", True),
        (["::/0"], "2001:db8::1", True),
    ],
)
def test_who_is_trusted(networks: list[str], address: str, trusted: bool) -> None:
    assert TrustedProxies(networks).holds(address) == trusted


@pytest.mark.parametrize(("networks", "expected"), [([], "127.0.0.1"), (["127.0.0.0/8"], "203.0.113.9")])
def test_over_a_socket(networks: list[str], expected: str) -> None:
    with running(trusted=TrustedProxies(networks)) as run, run.client() as one:
        one.send(get(b"/", b"X-Forwarded-For: 1.1.1.1", b"X-Forwarded-For: 203.0.113.9"))
        one.answer()
        exchange = run.next_exchange()
        assert exchange.remote.client(exchange.request.headers) == expected
        assert exchange.remote.is_plain == (not networks)
