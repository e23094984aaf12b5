"""Whatever an upstream or a client sends, nothing but our own errors is raised."""

from __future__ import annotations

import copy
import json
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.request import parse
from antiphon.errors import RequestError, UpstreamError
from antiphon.protocols.gemini import GEMINI, VERTEX_GEMINI, default_facts
from tests.chat.machine import run
from tests.protocols.gemini_recordings import RECORDINGS, frames
from tests.protocols.gemini_requests import documents

Document = dict[str, Any]
ODD = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["[]", "{}", "[[]]", "[{}]", '{"a": 1}', "[null]", '["x"]']).map(json.loads)
)
ALL = list(islice(documents(3), 60))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to every value within."""
    found = [path] if path else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found += places(item, (*path, key))
    return found


def spoil(data: st.DataObject, value: Any) -> Any:
    """One or two values replaced or removed."""
    value = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(1, 2))):
        paths = places(value)
        if not paths:
            break
        path = data.draw(st.sampled_from(paths))
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        if isinstance(holder, dict) and data.draw(st.booleans()):
            del holder[path[-1]]
        else:
            holder[path[-1]] = data.draw(ODD)
    return value


@pytest.mark.parametrize("name", RECORDINGS)
@settings(max_examples=40)
@given(data=st.data())
def test_answers(name: str, data: st.DataObject) -> None:
    events = spoil(data, RECORDINGS[name])
    stream = GEMINI.open_stream("m")
    try:
        chunks = stream.feed(frames(events))
        msgspec.json.encode(chunks)
        if stream.is_whole:
            run(chunks)
    except UpstreamError:
        msgspec.json.encode(stream.pending)
    for event in events:
        try:
            msgspec.json.encode(GEMINI.decode(event, "m"))
        except UpstreamError:
            continue


@settings(max_examples=400)
@given(data=st.data())
def test_requests(data: st.DataObject) -> None:
    document = spoil(data, {"model": "m", **data.draw(st.sampled_from(ALL))})
    try:
        parse(document, strict=False)
    except RequestError:
        return
    model = data.draw(st.sampled_from(["gemini-3-flash", "gemini-2.5-pro", "gemini-2.0-flash"]))
    strict = data.draw(st.booleans())
    for protocol in (GEMINI, VERTEX_GEMINI):
        try:
            encoded = protocol.encode(document, model, default_facts(model), None, strict=strict)
        except RequestError:
            continue
        msgspec.json.encode(encoded.body)
        assert not (strict and encoded.changes)


@given(st.binary(max_size=60), st.integers(300, 600))
def test_failures(body: bytes, status: int) -> None:
    assert GEMINI.read_failure(status, body).message


@given(st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)))
def test_failures_of_any_json(value: Any) -> None:
    for body in ({"error": value}, value, [{"error": {"code": value, "message": value, "details": value}}]):
        assert GEMINI.read_failure(400, json.dumps(body).encode()).message
