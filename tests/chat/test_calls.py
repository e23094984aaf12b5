from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from antiphon.chat.calls import Calls, LegacyCall
from antiphon.errors import UpstreamError

Document = dict[str, Any]


def make(*names: str) -> Calls:
    ids = itertools.count(1)
    return Calls(frozenset(names), lambda: f"made{next(ids)}", [])


def call(index: Any = None, id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> Document:
    """An entry with those keys that are given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    entry = {"function": function, **more}
    if index is not None:
        entry["index"] = index
    if id is not None:
        entry["id"] = id
    return entry


def fold(deltas: list[Any], *names: str, whole: bool = True) -> list[tuple[str, str, str]]:
    """(id, name, arguments) of each call as a client puts them together; one list of entries per delta."""
    calls = make(*names)
    fragments = [fragment for delta in deltas for fragment in calls.take(delta)] + calls.close(whole=whole)
    folded: list[list[str]] = []
    for fragment in fragments:
        if fragment["index"] == len(folded):
            assert fragment["type"] == "function"
            assert fragment["function"]["arguments"] == ""
            folded.append([fragment["id"], fragment["function"]["name"], ""])
            continue
        assert 0 <= fragment["index"] < len(folded)
        assert fragment.keys().isdisjoint({"id", "type"})
        mine = folded[fragment["index"]]
        mine[1] += fragment["function"].get("name", "")
        mine[2] += fragment["function"].get("arguments", "")
    assert calls.called == bool(folded)
    return [(id, name, arguments) for id, name, arguments in folded]


A1, A2 = '{"a":', "1}"
ONE = [("x", "f", '{"a":1}')]
TWO = [("x", "f", '{"a":1}'), ("y", "g", '{"b":2}')]


@pytest.mark.parametrize(
    ("deltas", "folded"),
    [
        # as OpenAI sends it
        ([[call(0, "x", "f", "")], [call(0, arguments=A1)], [call(0, arguments=A2)]], ONE),
        # whole in one entry, with and without an index (D1)
        ([[call(0, "x", "f", '{"a":1}')]], ONE),
        ([[call(None, "x", "f", '{"a":1}')]], ONE),
        ([call(None, "x", "f", '{"a":1}')], ONE),
        # id and name on every fragment (D3)
        ([[call(0, "x", "f", "")], [call(0, "x", "f", A1)], [call(0, "x", "f", A2)]], ONE),
        ([[call(None, "x", "f", "")], [call(None, "x", "f", A1)], [call(None, "x", "f", A2)]], ONE),
        ([[call(0, "x", "f", "")], [call(0, "", "", A1)], [call(0, None, None, A2)]], ONE),
        # no index: by id, by name, or the last one
        ([[call(None, "x", "f", A1)], [call(None, None, None, A2)], [call(None, "y", "g", '{"b":2}')]], TWO),
        (
            [
                [call(None, "x", "f", A1), call(None, "y", "g", '{"b"')],
                [call(None, "x", None, A2)],
                [call(None, "y", None, ":2}")],
            ],
            TWO,
        ),
        # interleaved by index
        (
            [[call(0, "x", "f", A1)], [call(1, "y", "g", '{"b"')], [call(0, arguments=A2)], [call(1, arguments=":2}")]],
            TWO,
        ),
        # the upstream counts from one, from five, backwards
        ([[call(1, "x", "f", '{"a":1}')], [call(2, "y", "g", '{"b":2}')]], TWO),
        ([[call(7, "x", "f", A1)], [call(7, arguments=A2)], [call(3, "y", "g", '{"b":2}')]], TWO),
        ([[call("0", "x", "f", A1)], [call(0.0, arguments=A2)]], ONE),
        # every call has index 0 (litellm#33678)
        ([[call(0, "x", "f", '{"a":1}')], [call(0, "y", "g", '{"b":2}')]], TWO),
        (
            [
                [call(0, "x", "f", "")],
                [call(0, arguments='{"a":1}')],
                [call(0, "y", "g", "")],
                [call(0, arguments='{"b":2}')],
            ],
            TWO,
        ),
        # another id without a name is the same call
        ([[call(0, "x", "f", A1)], [call(0, "z", None, A2)]], ONE),
        # a known id without a name finds its call though the index was reused
        ([[call(0, "x", "f", A1)], [call(0, "y", "g", '{"b":2}')], [call(0, "x", None, A2)]], TWO),
        # the whole call once more at the end
        ([[call(0, "x", "f", "")], [call(0, arguments='{"a":1}')], [call(0, "x", "f", '{"a":1}')]], ONE),
        # arguments under a number never seen go on with the last call
        ([[call(0, "x", "f", "")], [call(1, arguments='{"a":1}')]], ONE),
        # arguments as an object, null, and null first (A8, D6)
        ([[call(0, "x", "f", {"a": 1})]], ONE),
        (
            [[{"index": 0, "id": "x", "function": {"name": "f", "arguments": None}}], [call(0, arguments='{"a":1}')]],
            ONE,
        ),
        # nothing but empty arguments (D5)
        ([[call(0, "x", "f", "")]], [("x", "f", "{}")]),
        ([[call(0, "x", "f", "")], [call(0, arguments="")]], [("x", "f", "{}")]),
        ([[call(0, "x", "f")]], [("x", "f", "{}")]),
        ([[call(0, "x", "f", "  ")]], [("x", "f", "  {}")]),
        # no id
        ([[call(0, None, "f", '{"a":1}')]], [("made1", "f", '{"a":1}')]),
        (
            [[call(0, "", "f", '{"a":1}')], [call(1, "", "f", '{"a":1}')]],
            [("made1", "f", '{"a":1}'), ("made2", "f", '{"a":1}')],
        ),
        # neither index nor id: the same tool twice, told by its arguments being complete
        (
            [[call(None, None, "f", '{"a":1}')], [call(None, None, "f", '{"a":2}')]],
            [("made1", "f", '{"a":1}'), ("made2", "f", '{"a":2}')],
        ),
        ([[call(None, None, "f", A1)], [call(None, None, "f", A2)]], [("made1", "f", '{"a":1}')]),
        (
            [[call(0, None, "f", '{"a":1}')], [call(0, None, "f", '{"a":2}')]],
            [("made1", "f", '{"a":1}'), ("made2", "f", '{"a":2}')],
        ),
        (
            [[call(0, None, "f", '{"a":')], [call(0, None, "f", '{"a":')], [call(0, None, "f", "1}}")]],
            [("made1", "f", '{"a":{"a":1}}')],
        ),
        # the same id for two calls: it stays with the first
        (
            [[call(0, "x", "f", '{"a":1}')], [call(1, "x", "g", '{"b":2}')]],
            [("x", "f", '{"a":1}'), ("made1", "g", '{"b":2}')],
        ),
        (
            [[call(None, "x", "f", '{"a":1}')], [call(None, "x", "g", '{"b":2}')]],
            [("x", "f", '{"a":1}'), ("made1", "g", '{"b":2}')],
        ),
        # the name after the id, the arguments before the name
        ([[call(0, "x")], [call(0, None, "f")], [call(0, arguments='{"a":1}')]], ONE),
        ([[call(0, "x", None, A1)], [call(0, None, "f", A2)]], ONE),
        ([[call(0, "x", None, '{"a":1}')]], [("x", "", '{"a":1}')]),
        # other name at the same index, no id: after arguments it is another call
        (
            [[call(0, None, "f", '{"a":1}')], [call(0, None, "g", '{"b":2}')]],
            [("made1", "f", '{"a":1}'), ("made2", "g", '{"b":2}')],
        ),
        # before arguments it is the rest of a name
        ([[call(0, "x", "get_")], [call(0, None, "time")], [call(0, arguments="{}")]], [("x", "get_time", "{}")]),
        # written flat
        ([[{"name": "f", "arguments": {"a": 1}, "id": "x"}]], ONE),
        # nothing
        ([None, [], "", {}, [None]], []),
        ([[{"index": 0, "id": "x"}]], []),
        ([[{}]], []),
    ],
)
def test_repairs(deltas: list[Any], folded: list[tuple[str, str, str]]) -> None:
    assert fold(deltas) == folded


def test_declared_names_tell_a_cut_name_from_another_tool() -> None:
    names = ("get_time", "get_place")
    calls = make(*names)
    assert calls.take([call(0, "x", "get_")]) == []  # the beginning of a name: waits
    [first] = calls.take([call(0, None, "time")])
    assert first["function"]["name"] == "get_time"
    two = [[call(0, None, "get_time")], [call(0, None, "get_place")]]
    assert fold(two, *names) == [("made1", "get_time", "{}"), ("made2", "get_place", "{}")]
    assert fold([[call(0, "x", "get_", "")], [call(0, arguments="{}")]], *names) == [("x", "get_", "{}")]
    assert fold([[call(0, "x", "get_")], [call(0, None, "get_time")]], *names) == [("x", "get_time", "{}")]


def test_a_whole_name_never_waits() -> None:
    for declared in ((), ("f",), ("other",)):
        [first] = make(*declared).take([call(0, "x", "f", "")])
        assert first == {"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": ""}}


def test_a_cut_call_is_left_as_it_is() -> None:
    assert fold([[call(0, "x", "f", A1)]], whole=False) == [("x", "f", A1)]
    assert fold([[call(0, "x", "f", "")]], whole=False) == [("x", "f", "")]


def test_extras_travel_at_both_depths() -> None:
    calls = make()
    entry = call(0, "x", "f", "{", extra_content={"sig": 1})
    entry["function"]["strict"] = True
    first, second = calls.take([entry])
    assert first["extra_content"] == {"sig": 1}
    assert first["function"]["strict"] is True
    assert second == {"index": 0, "function": {"arguments": "{"}}
    [third] = calls.take([call(0, "x", "f", "}", extra_content={"sig": 2})])
    assert third == {"index": 0, "function": {"arguments": "}"}, "extra_content": {"sig": 2}}
    assert calls.take([call(0, "x", "f", "", extra_content={"sig": 2}, note=None)]) == []
    [late] = calls.take([call(0, extra_content={"sig": 3})])
    assert late == {"index": 0, "function": {"arguments": ""}, "extra_content": {"sig": 3}}


def test_custom_tools() -> None:
    calls = make()
    fragments = calls.take([{"index": 0, "id": "x", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}}])
    fragments += calls.take([{"index": 0, "custom": {"input": " 1"}}])
    fragments += calls.close(whole=True)
    assert fragments == [
        {"index": 0, "id": "x", "type": "custom", "custom": {"name": "sql", "input": ""}},
        {"index": 0, "custom": {"input": "SELECT"}},
        {"index": 0, "custom": {"input": " 1"}},
    ]
    empty = make()
    empty.take([{"id": "x", "type": "custom", "custom": {"name": "sql"}}])
    assert empty.close(whole=True) == []


def test_a_character_cut_in_two() -> None:
    calls = make()
    fragments = calls.take([call(0, "x", "f", '{"a":"\ud83d')], lenient=True)
    fragments += calls.take([call(0, arguments='\ude00"}')], lenient=True)
    assert "".join(fragment["function"]["arguments"] for fragment in fragments) == '{"a":"😀"}'
    calls.take([call(0, arguments="\ud83d")], lenient=True)
    [last] = calls.close(whole=True)
    assert last["function"]["arguments"] == "\ufffd"


def test_the_texts_are_kept_for_counting() -> None:
    texts: list[str] = []
    calls = Calls(frozenset(), str, texts)
    calls.take([call(0, "x", "f", A1)])
    calls.take([call(0, arguments=A2)])
    assert texts == ["f", A1, A2]


@pytest.mark.parametrize("value", ["text", 5, True, ["text"], [[]], [3], [{"function": "f"}], [{"function": []}]])
def test_what_cannot_be_read(value: Any) -> None:
    with pytest.raises(UpstreamError) as caught:
        make().take(value)
    assert caught.value.code == "upstream_malformed"


def test_legacy_function_call() -> None:
    legacy = LegacyCall([])
    assert not legacy.called
    fragments = legacy.take({"name": "f", "arguments": ""}) + legacy.take({"arguments": A1})
    fragments += legacy.take({"name": "f", "arguments": A2}) + legacy.take(None) + legacy.close(whole=True)
    assert fragments == [{"name": "f", "arguments": ""}, {"arguments": A1}, {"arguments": A2}]
    assert legacy.called
    assert legacy.take({"name": "g", "arguments": "{}"}) == [{"arguments": "{}"}]  # there is only one


def test_legacy_function_call_without_arguments_or_with_an_object() -> None:
    legacy = LegacyCall([])
    assert legacy.take({"name": "f"}) == [{"name": "f", "arguments": ""}]
    assert legacy.close(whole=True) == [{"arguments": "{}"}]
    legacy = LegacyCall([])
    [_, second] = legacy.take({"name": "f", "arguments": {"a": [1]}})
    assert json.loads(second["arguments"]) == {"a": [1]}
    with pytest.raises(UpstreamError):
        LegacyCall([]).take("f")
