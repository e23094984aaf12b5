"""A body is measured before it is parsed: how deep it is, and how much its values cost. In pieces it is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.bounds import FREE, JsonBounds, Scan, check_depth, is_light
from antiphon.errors import RequestError

WIDE = JsonBounds(depth=200, values=10**9)
TEXT = st.text(st.sampled_from('\\"[]{},:.e\n\u00e9\ud7ffa0'), max_size=8)


def _inner(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=3) | st.dictionaries(TEXT, values, max_size=3)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    _inner,
    max_leaves=12,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def refusal(body: bytes, bounds: JsonBounds, size: int) -> str | None:
    scan = Scan(bounds)
    try:
        for start in range(0, len(body), size):
            scan.feed(body[start : start + size])
    except RequestError as error:
        return error.code
    return None


@given(VALUES, st.booleans(), st.integers(1, 9))
def test_the_depth_is_exact_whatever_stands_in_strings(value: Any, ascii_only: bool, size: int) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only, indent=size % 3 or None).encode()
    depth = depth_of(value)
    assert refusal(body, WIDE._replace(depth=depth), size) is None
    if depth:
        assert refusal(body, WIDE._replace(depth=depth - 1), size) == "json_too_deep"
        assert not is_light(body, WIDE._replace(depth=depth - 1))
        with pytest.raises(RequestError, match=f"At most {depth - 1} levels"):
            check_depth(body, WIDE._replace(depth=depth - 1))
    check_depth(body, WIDE._replace(depth=depth))


@given(st.recursive(st.none() | st.integers() | TEXT, _inner, max_leaves=12), st.integers(1, 9))
def test_values_cost_the_same_in_pieces(value: Any, size: int) -> None:
    body = json.dumps(value).encode()
    for most in (5, 20, 60):
        bounds = JsonBounds(values=most)
        assert refusal(body, bounds, size) == refusal(body, bounds, len(body))


@pytest.mark.parametrize(
    ("body", "cost"),
    [
        (b"[" + b",".join([b"7"] * 101) + b"]", 100 + 16),
        (b"[" + b",".join([b'"7,7"'] * 101) + b"]", 100 + 16 + 303),
        (b"[" + b",".join([b"[]"] * 101) + b"]", 100 + 16 + 1616),
        (b"[" + b",".join([b"1.5"] * 101) + b"]", 100 + 16 + 1010),
        (b"[" + b",".join([b"true", b"false"] * 50) + b"]", 99 + 16),
        (b"[" + b",".join([b"5e-324"] * 101) + b"]", 100 + 16 + 101 * 260),
        (b"[" + b",".join([b"5E0300"] * 101) + b"]", 100 + 16 + 101 * 260),
        (b"[" + b",".join([b"1" * 4000] * 11) + b"]", 10 + 16 + 44000),
        (b'["' + b"\\n" * 8000 + b"\\u0041" * 800 + b'"]', 16 + 3 + 1000),
        (b'["' + b"\\\\" * 8000 + b'\\"' * 800 + b'"]', 16 + 3 + 1100),
        (b'{"a": "' + b"[{,1e300" * 9999 + b'\\"\\\\", "b": 7}', 1 + 16 + 9),
    ],
)
def test_what_values_cost(body: bytes, cost: int) -> None:
    assert refusal(body, JsonBounds(values=cost), 64 * 1024) is None
    assert refusal(body, JsonBounds(values=cost - 1), 64 * 1024) == "json_too_many_values"


def test_usual_bodies_are_let_through_at_once() -> None:
    prose = "It was the best of times, it was the worst of times. [1] {2} " * 800
    assert len(prose) > FREE
    assert is_light(json.dumps({"messages": [{"role": "user", "content": prose}]}).encode(), JsonBounds()) is False
    plain = prose.replace("[1] {2}", "")
    assert is_light(json.dumps({"messages": [{"role": "user", "content": plain}]}).encode(), JsonBounds())
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"a": [[{}]]}}}] * 100
    assert is_light(json.dumps({"messages": [], "tools": tools}).encode(), JsonBounds())
    assert not is_light(b"[" * 201 + b"]" * 201, JsonBounds())
