"""Browser clients, by setting."""

from __future__ import annotations

from antiphon.server.cors import Cors

PREFLIGHT = {b"origin": b"https://a.example", b"access-control-request-method": b"POST"}


def test_off_by_default() -> None:
    cors = Cors(())
    assert not cors.on
    assert cors.preflight(b"OPTIONS", PREFLIGHT) is None


def test_a_listed_origin_is_told_so_and_another_is_not() -> None:
    cors = Cors(("https://a.example",))
    assert b"access-control-allow-origin: https://a.example\r\n" in cors.headers({b"origin": b"https://a.example"})
    assert b"allow-origin" not in cors.headers({b"origin": b"https://b.example"})
    assert cors.preflight(b"OPTIONS", PREFLIGHT) is not None
    assert cors.preflight(b"OPTIONS", {**PREFLIGHT, b"origin": b"https://b.example"}) is None


def test_star_allows_any_origin() -> None:
    assert b"access-control-allow-origin: *\r\n" in Cors(("*",)).headers({b"origin": b"https://b.example"})


def test_only_a_preflight_is_one() -> None:
    cors = Cors(("*",))
    assert cors.preflight(b"POST", PREFLIGHT) is None
    assert cors.preflight(b"OPTIONS", {b"origin": b"https://a.example"}) is None
