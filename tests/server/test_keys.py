"""Who may ask, and with which header."""

from __future__ import annotations

import pytest

from antiphon.errors import AuthError
from antiphon.server.keys import ClientKey, KeyRing, digest, masked, presented

ALICE = ClientKey("alice", digest(b"sk-alice-0123456789"), None, None)
BOB = ClientKey("bob", digest(b"sk-bob-0123456789"), "skytells", True)


def ring(*, required: bool = True) -> KeyRing:
    return KeyRing([ALICE, BOB], required=required)


@pytest.mark.parametrize(
    "value",
    [
        b"Bearer sk-alice-0123456789",
        b"bearer  sk-alice-0123456789 ",
        b"Key sk-alice-0123456789",
        b"KEY sk-alice-0123456789",
    ],
)
def test_schemes_are_case_insensitive_and_both_spellings_work(value: bytes) -> None:
    assert ring().admit({b"authorization": value}, dialect="openai") is ALICE


def test_x_api_key_alone_works_in_every_dialect() -> None:
    for dialect in ("openai", "crazyrouter", "skytells", "maritaca"):
        assert ring().admit({b"x-api-key": b"sk-bob-0123456789"}, dialect=dialect) is BOB


def test_in_a_conflict_x_api_key_wins_in_skytells_only() -> None:
    both = {b"authorization": b"Bearer sk-alice-0123456789", b"x-api-key": b"sk-bob-0123456789"}
    assert ring().admit(both, dialect="skytells") is BOB
    assert ring().admit(both, dialect="openai") is ALICE


def test_no_key_is_401_with_code_null() -> None:
    with pytest.raises(AuthError) as caught:
        ring().admit({}, dialect="openai")
    assert (caught.value.status, caught.value.code) == (401, None)
    assert caught.value.message.startswith("You didn't provide an API key.")


def test_a_wrong_key_is_named_but_masked() -> None:
    with pytest.raises(AuthError) as caught:
        ring().admit({b"authorization": b"Bearer sk-wrong-secret-abcd"}, dialect="openai")
    assert caught.value.code == "invalid_api_key"
    assert caught.value.message.startswith("Incorrect API key provided: sk-***abcd")
    assert "wrong-secret" not in caught.value.message


def test_other_schemes_are_no_key() -> None:
    assert presented({b"authorization": b"Basic dXNlcjpwYXNz"}, "openai") is None


def test_without_auth_a_known_key_counts_and_an_unknown_one_is_ignored() -> None:
    open_door = ring(required=False)
    assert open_door.admit({b"authorization": b"Bearer sk-bob-0123456789"}, dialect="openai") is BOB
    assert open_door.admit({b"authorization": b"Bearer nobody"}, dialect="openai") is None


@pytest.mark.parametrize("secret", [b"short", b"", b"\xff" * 40, b"a\x07" * 20])
def test_short_or_odd_keys_are_not_shown_at_all(secret: bytes) -> None:
    assert "short" not in masked(secret)
    assert masked(secret) == "***" or "\N{REPLACEMENT CHARACTER}" in masked(secret)


def test_only_a_static_key_is_the_same_for_ever() -> None:
    issued = ClientKey("carol", digest(b"sk-carol-0123456789"), None, None)
    keys = KeyRing([ALICE], required=False, issued=lambda _: issued)
    assert [keys.is_static(key) for key in (ALICE, issued, None)] == [True, False, False]
    assert KeyRing([], required=False).is_static(None)
