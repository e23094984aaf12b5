"""Ids and models of each dialect."""

from __future__ import annotations

import uuid

import pytest

from antiphon.dialects import DIALECTS

ENTROPY = bytes(range(240, 256))


def test_the_names() -> None:
    assert list(DIALECTS) == ["openai", "crazyrouter", "skytells", "maritaca"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_new_id_has_the_form_that_is_kept(dialect: str) -> None:
    row = DIALECTS[dialect]
    assert row.keeps_id(row.new_id(ENTROPY))
    assert row.new_id(ENTROPY) != row.new_id(bytes(16))


def test_maritacas_ids_are_uuid4() -> None:
    for entropy in (bytes(16), b"\xff" * 16, ENTROPY):
        parsed = uuid.UUID(DIALECTS["maritaca"].new_id(entropy))
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)


@pytest.mark.parametrize(
    ("id", "prefixed", "is_uuid"),
    [
        ("chatcmpl-1", True, False),
        ("chatcmpl-", False, False),
        ("chatcmpl", False, False),
        ("gen-1", False, False),
        ("", False, False),
        ("6fa459ea-ee8a-3ca4-894e-db77e160355e", False, True),
        ("6FA459EA-EE8A-3CA4-894E-DB77E160355E", False, True),
        ("123abc45-67de-f89g-1011-12h131415i16", False, False),
        ("6fa459ea-ee8a-3ca4-894e-db77e160355e\n", False, False),
    ],
)
def test_which_ids_are_kept(id: str, prefixed: bool, is_uuid: bool) -> None:
    assert [DIALECTS[name].keeps_id(id) for name in ("openai", "crazyrouter", "skytells")] == [prefixed] * 3
    assert DIALECTS["maritaca"].keeps_id(id) == is_uuid


MODEL = {
    "id": "org/a:b",
    "created": 5,
    "owned_by": "org",
    "context_length": 8192,
    "top_provider": {"context_length": 8192},
    "internal": True,
}


def test_models() -> None:
    plain = {"id": "org/a:b", "object": "model", "created": 5, "owned_by": "org"}
    for name in ("openai", "skytells"):
        assert DIALECTS[name].write_models([MODEL]) == {"object": "list", "data": [plain]}
    assert DIALECTS["crazyrouter"].write_models([MODEL]) == {"object": "list", "data": [plain], "success": True}
    known = {**plain, "context_length": 8192, "top_provider": {"context_length": 8192}}
    assert DIALECTS["maritaca"].write_models([MODEL]) == {"object": "list", "data": [known]}
    assert DIALECTS["maritaca"].write_model({"id": "m"}) == {
        "id": "m",
        "object": "model",
        "created": 0,
        "owned_by": "antiphon",
        "context_length": None,
        "top_provider": None,
    }
