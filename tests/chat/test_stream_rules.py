"""Rules of the stream that clients' accumulators depend on: role chunks, content parts, ends, mended arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.chat.fold import fold
from tests.chat.checker import check
from tests.chat.machine import call, chunk, deltas, hold, machine, run

Document = dict[str, Any]

ROLE = {"role": "assistant", "content": ""}


# The role chunk [role-chunk]


@pytest.mark.parametrize(
    ("first", "role"),
    [
        ({"role": "assistant", "content": ""}, ROLE),
        ({"role": "assistant"}, ROLE),
        ({"content": "Hi"}, ROLE),
        ({"role": "assistant", "content": None}, {**ROLE, "content": None}),
        ({"role": "assistant", "content": None, "refusal": None}, {**ROLE, "content": None, "refusal": None}),
        ({"role": "assistant", "content": "", "refusal": None}, {**ROLE, "refusal": None}),
        ({"role": "assistant", "content": "Hi", "refusal": None}, {**ROLE, "refusal": None}),
        ({"role": "assistant", "content": None, **call()}, {**ROLE, "content": None}),
        ({"role": "assistant", "content": "", **call()}, ROLE),
        ({"role": "assistant", **call()}, ROLE),
        ({"role": "assistant", "content": "Hi", **call()}, ROLE),
        ({"role": "assistant", "content": None, "function_call": {"name": "f"}}, {**ROLE, "content": None}),
        ({"role": "assistant", "content": [], **call()}, {**ROLE, "content": None}),
    ],
)
def test_the_role_chunk_says_what_the_upstream_said(first: Document, role: Document) -> None:
    assert deltas(machine().feed(chunk(first)))[0] == role


def test_a_turn_with_only_calls_has_no_text_chunk() -> None:
    noise = {"role": "assistant", "content": "", "refusal": None}
    parts = [{"role": "assistant", "content": None, "refusal": None}, {**noise, **call()}, {"content": None}, noise]
    out = run([*(chunk(delta) for delta in parts), chunk({"content": ""}, "tool_calls")])
    assert [list(delta) for delta in deltas(out)] == [
        ["role", "content", "refusal"],
        ["tool_calls"],
        ["tool_calls"],
        [],
    ]
    assert check(out)[0].finish == "tool_calls"


def test_each_choice_has_its_own_role_chunk() -> None:
    out = run(
        [
            chunk({"role": "assistant", "content": None, **call()}, index=1),
            chunk({"content": "Hi"}, "stop"),
            chunk({}, "stop", index=1),
        ],
        n=2,
    )
    roles = {
        piece["choices"][0]["index"]: delta for piece, delta in zip(out, deltas(out), strict=True) if "role" in delta
    }
    assert roles == {0: ROLE, 1: {**ROLE, "content": None}}


# No finish reason of a call without a call


@pytest.mark.parametrize("word", ["tool_calls", "function_call", "tool_use"])
@pytest.mark.parametrize(
    "delta", [{}, {"tool_calls": []}, {"tool_calls": None}, {"tool_calls": [{}]}, {"content": "x"}]
)
@pytest.mark.parametrize("asked", [{}, {"named_tool": True}, {"legacy_functions": True}])
def test_no_call_no_tool_calls(word: str, delta: Document, asked: Document) -> None:
    [answer] = check(run([chunk({"content": "Hi"}), chunk(delta, word)], **asked))
    assert answer.finish == "stop"


def test_a_vendors_own_call_travels_and_keeps_the_upstreams_word() -> None:
    first = {"index": 0, "id": "x", "type": "web_browser", "web_browser": {"input": "a"}}
    for word in ("tool_calls", "stop"):
        out = run([chunk({"tool_calls": [first]}), chunk({"tool_calls": [{"index": 0, "more": 1}]}), chunk({}, word)])
        assert [entry for delta in deltas(out) for entry in delta.get("tool_calls", ())] == [
            first,
            {"index": 0, "more": 1},
        ]
        assert check(out)[0].finish == word


def test_a_vendors_own_call_stands_beside_ours() -> None:
    own = {"index": 0, "id": "w", "type": "web_search", "web_search": {"query": "q"}}
    ours = {"index": 1, "id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    out = run([chunk({"tool_calls": [own, ours]}, "stop")])
    [answer] = check(out)
    assert [(tool.id, tool.type) for tool in answer.tools] == [("w", "web_search"), ("x", "function")]
    assert answer.finish == "tool_calls"
    odd = [{"index": 0, "id": "x", "type": "tool_call"}, {"index": 0, "function": {"name": "f", "arguments": "{}"}}]
    [answer] = check(run([*(chunk({"tool_calls": [entry]}) for entry in odd), chunk({}, "stop")]))
    assert [(tool.id, tool.type, tool.name) for tool in answer.tools] == [("x", "function", "f")]


# Content parts


def test_content_parts_are_numbered_over_all_deltas() -> None:
    image, sound = {"type": "image", "data": "a"}, {"type": "audio", "data": "b"}
    contents: list[Any] = [[image, sound], [{"type": "text", "text": "Hi"}], [image], image]
    out = run([*(chunk({"content": content}) for content in contents), chunk({}, "stop")])
    parts = [part for delta in deltas(out) for part in delta.get("content_parts", ())]
    assert parts == [{"index": place, **part} for place, part in enumerate([image, sound, image, image])]
    assert fold(out, None)["choices"][0]["message"]["content_parts"] == [image, sound, image, image]


def test_a_part_that_comes_in_pieces_keeps_one_number() -> None:
    pieces = [{"index": 4, "type": "image", "data": "a"}, {"index": 7, "type": "image", "data": "x"}]
    out = run(
        [
            *(chunk({"content": [piece]}) for piece in [*pieces, {"index": 4, "type": "image", "data": "b"}]),
            chunk({}, "stop"),
        ]
    )
    parts = [part for delta in deltas(out) for part in delta.get("content_parts", ())]
    assert [part["index"] for part in parts] == [0, 1, 0]
    assert fold(out, None)["choices"][0]["message"]["content_parts"] == [
        {"type": "image", "data": "ab"},
        {"type": "image", "data": "x"},
    ]


def test_choices_number_their_parts_apart() -> None:
    part = {"type": "image", "x": 1}
    out = run([chunk({"content": [part]}, "stop", index=index) for index in (0, 1)], n=2)
    assert [d["content_parts"][0]["index"] for d in deltas(out) if "content_parts" in d] == [0, 0]


# What belongs to the end


def test_extras_of_the_end_ride_on_the_finish_chunk() -> None:
    of_text = {"content_filter_results": {"hate": {"filtered": False}}, "token_ids": [1, 2]}
    of_end = {"stop_reason": "###", "matched_stop": 7, "unseen": {"a": 1}, "native_finish_reason": "eos"}
    text, finish = hold().feed(chunk({"content": "b"}, "stop", choice={**of_text, **of_end}))
    assert {key: text["choices"][0].get(key) for key in of_text} == of_text
    assert text["choices"][0].keys().isdisjoint(of_end)
    assert {key: finish["choices"][0].get(key) for key in of_end} == of_end
    assert finish["choices"][0].keys().isdisjoint(of_text)


def test_extras_of_the_end_after_a_call() -> None:
    out = hold().feed(chunk(call(), "tool_calls", choice={"stop_reason": "x"}))
    assert ["stop_reason" in piece["choices"][0] for piece in out] == [False] * (len(out) - 1) + [True]


def test_extras_before_the_end_stay_with_their_text() -> None:
    [text] = hold().feed(chunk({"content": "b"}, choice={"stop_reason": None, "seed": 7}))
    assert (text["choices"][0]["stop_reason"], text["choices"][0]["seed"]) == (None, 7)


# An empty object before the real arguments


def arguments(*pieces: str, finish: str = "tool_calls", **more: Any) -> tuple[list[str], Any]:
    """(the arguments as they were sent, the machine)"""
    stream = machine()
    first = {"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": pieces[0]}}
    later = [{"index": 0, **more, "function": {"arguments": piece}} for piece in pieces[1:]]
    out = run([*(chunk({"tool_calls": [entry]}) for entry in [first, *later]), chunk({}, finish)], stream)
    check(out)
    sent = [entry["function"]["arguments"] for delta in deltas(out) for entry in delta.get("tool_calls", ())]
    return [words for words in sent if words], stream


PARIS = '{"city": "Paris"}'


@pytest.mark.parametrize(
    ("pieces", "sent"),
    [
        (["{}", PARIS], [PARIS]),
        (["", "{}", PARIS], [PARIS]),
        (["{}", '{"city":', ' "Paris"}'], ['{"city":', ' "Paris"}']),
        (["{}" + PARIS], [PARIS]),
        (["{}" + PARIS[:5], PARIS[5:]], [PARIS[:5], PARIS[5:]]),
        (["{}", "\n", PARIS], [PARIS]),
        (["{ }", PARIS], [PARIS]),
        (["{}", "{}", PARIS], [PARIS]),
        (["{}"], ["{}"]),
        (["{}", ""], ["{}"]),
        (["{}", "{}"], ["{}"]),
        (["{", "}"], ["{", "}"]),
        (['{"a":', "{}", "}"], ['{"a":', "{}", "}"]),
    ],
)
def test_an_empty_object_before_the_arguments_is_removed(pieces: list[str], sent: list[str]) -> None:
    words, stream = arguments(*pieces)
    assert words == sent
    json.loads("".join(words))
    assert stream.unparsed == []


def test_an_empty_object_is_removed_where_each_fragment_repeats_the_call() -> None:
    stream = machine()
    entries = [{"index": 0, "id": "x", "function": {"name": "f", "arguments": words}} for words in ("{}", PARIS)]
    [answer] = check(run([*(chunk({"tool_calls": [entry]}) for entry in entries), chunk({}, "tool_calls")], stream))
    assert [(tool.id, tool.name, tool.arguments) for tool in answer.tools] == [("x", "f", PARIS)]


def test_an_empty_object_is_not_sent_before_it_is_known_to_be_all() -> None:
    stream = machine()
    out = stream.feed(chunk(call(arguments="{}")))
    assert [entry["function"]["arguments"] for d in deltas(out) for entry in d.get("tool_calls", ())] == [""]
    assert stream.feed(chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}))[0]["choices"][0][
        "delta"
    ] == {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}


def test_a_cut_answer_keeps_its_empty_object() -> None:
    words, stream = arguments("{}", finish="length")
    assert (words, stream.unparsed) == (["{}"], [])


def test_a_custom_tools_input_is_left_alone() -> None:
    entry = {"index": 0, "id": "x", "type": "custom", "custom": {"name": "c", "input": "{}"}}
    more = {"index": 0, "custom": {"input": "{}x"}}
    stream = machine()
    [answer] = check(run([chunk({"tool_calls": [entry]}), chunk({"tool_calls": [more]}), chunk({}, "stop")], stream))
    assert answer.tools[0].arguments == "{}{}x"
    assert stream.unparsed == []


# Arguments that cannot be parsed are named


@pytest.mark.parametrize("words", ["{broken", "{}x", '{"a":1}{"a":1}', "[" * 5000, "no"])
def test_arguments_that_are_no_json_are_named(words: str) -> None:
    sent, stream = arguments(words)
    assert "".join(sent) == words
    assert stream.unparsed == ["f"]
    assert arguments(words, finish="length")[1].unparsed == []


def test_a_legacy_functions_arguments_are_named_too() -> None:
    stream = machine(legacy_functions=True)
    run([chunk({"function_call": {"name": "g", "arguments": "{"}}), chunk({}, "function_call")], stream)
    assert stream.unparsed == ["g"]
    stream = machine(legacy_functions=True)
    parts = [{"name": "g", "arguments": "{}"}, {"arguments": PARIS}]
    [answer] = check(run([*(chunk({"function_call": part}) for part in parts), chunk({}, "function_call")], stream))
    assert (answer.function_call, stream.unparsed) == (["g", PARIS], [])
