"""The stream machine: frame, deltas, logprobs, finish."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chat.checker import Answer, check
from tests.chat.machine import USAGE, call, chunk, deltas, fails, hold, machine, run, token

Document = dict[str, Any]


# Frame and envelope


def test_role_then_text_then_finish() -> None:
    out = run([chunk({"role": "assistant", "content": ""}), chunk({"content": "Hi"}), chunk({}, "stop")])
    assert deltas(out) == [{"role": "assistant", "content": ""}, {"content": "Hi"}, {}]
    assert [piece["choices"][0]["finish_reason"] for piece in out] == [None, None, "stop"]
    check(out)


def test_text_with_the_role_and_text_with_the_finish_are_split() -> None:
    out = run([chunk({"role": "assistant", "content": "Hi"}), chunk({"content": "!"}, "stop")])
    assert deltas(out) == [{"role": "assistant", "content": ""}, {"content": "Hi"}, {"content": "!"}, {}]


def test_the_whole_answer_in_one_chunk() -> None:
    out = run([chunk({"role": "assistant", "content": "Hi"}, "stop", usage=USAGE)])
    assert check(out) == [Answer("Hi", finish="stop")]


@pytest.mark.parametrize("role", [[True] * 4, [False] * 4, [False, True, False, True]])
def test_the_role_is_sent_once_whatever_comes(role: list[bool]) -> None:
    parts = [
        chunk({**({"role": "assistant"} if sent else {}), "content": text})
        for sent, text in zip(role, "abcd", strict=True)
    ]
    assert check(run([*parts, chunk({}, "stop")])) == [Answer("abcd", finish="stop")]


def test_id_created_and_model_are_the_first_ones() -> None:
    first = chunk({"content": "a"})
    other = {**chunk({"content": "b"}), "id": "chatcmpl-2", "created": 9, "model": "other", "object": "x"}
    out = run([first, other, chunk({}, "stop")])
    assert {(piece["id"], piece["created"], piece["model"], piece["object"]) for piece in out} == {
        ("chatcmpl-1", 1_755_000_000, "gpt-4o", "chat.completion.chunk")
    }


@pytest.mark.parametrize(
    ("told", "created"),
    [
        (1_755_000_000.7, 1_755_000_000),
        (1_755_000_000_123, 1_755_000_000),
        (0, 1_755_555_555),
        (None, 1_755_555_555),
        ("now", 1_755_555_555),
        (True, 1_755_555_555),
    ],
)
def test_created_is_integer_seconds(told: object, created: int) -> None:
    [first, *_] = run([{**chunk({"content": "a"}, "stop"), "created": told}])
    assert first["created"] == created


def test_facts_that_are_missing_are_made() -> None:
    document = {"choices": chunk({"content": "a"}, "stop")["choices"]}
    stream = machine()
    out = run([document], stream)
    assert (out[0]["id"], out[0]["model"], out[0]["created"]) == ("chatcmpl-made", "target", 1_755_555_555)
    assert stream.upstream_id is None
    check(out)


def test_an_id_of_another_form_is_replaced_and_kept_for_the_receipt() -> None:
    stream = machine()
    out = run([{**chunk({"content": "a"}, "stop"), "id": "gen-7"}], stream)
    assert out[0]["id"] == "chatcmpl-made"
    assert stream.upstream_id == "gen-7"


def test_an_id_that_comes_too_late() -> None:
    stream = machine()
    out = run([{**chunk({"content": "a"}), "id": ""}, chunk({"content": "b"}, "stop")], stream)
    assert {piece["id"] for piece in out} == {"chatcmpl-made"}
    assert stream.upstream_id == "chatcmpl-1"


def test_fingerprint_and_tier_stay_once_seen() -> None:
    out = run(
        [
            chunk({"content": "a"}, system_fingerprint=None, service_tier=None),
            chunk({"content": "b"}, system_fingerprint=None, service_tier=None),
            chunk({"content": "c"}, system_fingerprint="fp1", service_tier="default"),
            chunk({"content": "d"}, system_fingerprint="fp2", service_tier=None),
            chunk({}, "stop"),
        ]
    )
    assert [piece.get("system_fingerprint", "-") for piece in out] == ["-", "-", "-", "fp1", "fp1", "fp1"]
    assert [piece.get("service_tier", "-") for piece in out] == ["-", "-", "-", "default", "default", "default"]


def test_envelope() -> None:
    stream = machine()
    stream.feed(chunk({"content": "a"}, system_fingerprint="fp"))
    assert stream.envelope() == {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_755_000_000,
        "model": "gpt-4o",
        "system_fingerprint": "fp",
        "choices": [],
    }
    stream.envelope()["id"] = "x"
    assert stream.envelope()["id"] == "chatcmpl-1"


def test_obfuscation_and_null_errors_end_here() -> None:
    out = run(
        [chunk({"content": t}, obfuscation="xx", error=None) for t in "abc"] + [chunk({}, "stop", obfuscation="y")]
    )
    assert check(out) == [Answer("abc", finish="stop")]


# Deltas


@pytest.mark.parametrize(
    "delta",
    [
        None,
        {},
        {"content": None},
        {"content": ""},
        {"role": "assistant", "content": ""},
        {"tool_calls": None},
        {"tool_calls": []},
        {"refusal": ""},
        {"reasoning": ""},
        {"audio": None},
        {"function_call": None},
        [],
    ],
)
def test_empty_deltas_are_not_sent(delta: Any) -> None:
    assert hold().feed(chunk(delta)) == []
    nothing = chunk()
    nothing["choices"][0]["delta"] = delta
    assert hold().feed(nothing) == []


def test_a_choice_without_delta() -> None:
    missing = chunk()
    del missing["choices"][0]["delta"]
    assert hold().feed(missing) == []
    done = chunk(finish="stop")
    done["choices"][0]["delta"] = None
    assert deltas(hold().feed(done)) == [{}]


def test_choice_keys_may_be_missing() -> None:
    document = {"choices": [{"delta": {"content": "a"}}]}
    out = run([document, document, document, {"choices": [{"finish_reason": "stop"}]}])
    assert check(out) == [Answer("aaa", finish="stop")]


def test_nulls_beside_text_are_removed_and_unknown_ones_stay() -> None:
    noise = {"role": "assistant", "refusal": None, "tool_calls": None, "function_call": None, "reasoning_content": None}
    stream = hold()
    for _ in range(3):  # the whole way, then the fast path
        assert deltas(stream.feed(chunk({"content": "b", **noise}))) == [{"content": "b"}]
    for _ in range(3):
        assert deltas(stream.feed(chunk({"content": "b", "foo": None}))) == [{"content": "b", "foo": None}]


def test_a_message_in_place_of_the_delta() -> None:
    document = chunk()
    del document["choices"][0]["delta"]
    document["choices"][0]["message"] = {"role": "assistant", "content": "Hi", "tool_calls": None}
    document["choices"][0]["finish_reason"] = "stop"
    assert check(run([document])) == [Answer("Hi", finish="stop")]


def test_a_message_beside_deltas_is_a_copy_not_a_piece() -> None:
    both = [chunk({"content": t}, choice={"message": {"content": t}}) for t in "ab"]
    last = chunk(finish="stop", choice={"message": {"role": "assistant", "content": "ab"}})
    last["choices"][0]["delta"] = None
    out = run([*both, last])
    assert check(out) == [Answer("ab", finish="stop")]
    assert out[-1]["choices"][0]["message"]["content"] == "ab"


def test_content_of_other_types() -> None:
    parts = [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}, {"type": "image", "x": 1}]
    [_, first] = machine().feed(chunk({"content": parts}))
    assert first["choices"][0]["delta"] == {
        "reasoning_content": "t",
        "content": "a",
        "content_parts": [{"index": 0, "type": "image", "x": 1}],
    }
    assert deltas(hold().feed(chunk({"content": 5}))) == [{"content": "5"}]
    assert deltas(hold().feed(chunk("text"))) == [{"content": "text"}]


def test_refusal() -> None:
    out = run(
        [
            chunk({"role": "assistant", "content": None, "refusal": ""}),
            chunk({"refusal": "I "}),
            chunk({"refusal": "won't"}, "stop"),
        ]
    )
    assert check(out) == [Answer(refusal="I won't", finish="stop")]
    assert all("content" not in delta for delta in deltas(out)[1:])


@pytest.mark.parametrize(
    ("delta", "canonical"),
    [
        ({"reasoning": "r"}, {"reasoning_content": "r"}),
        ({"reasoning_content": "r"}, {"reasoning_content": "r"}),
        ({"reasoning_content": "r", "reasoning": "r"}, {"reasoning_content": "r"}),
        ({"reasoning_content": "r", "reasoning": "s"}, {"reasoning_content": "r", "reasoning": "s"}),
        ({"reasoning_content": None, "reasoning": "s", "content": ""}, {"reasoning_content": "s"}),
        ({"reasoning": {"text": "r"}}, {"reasoning": {"text": "r"}}),
        ({"reasoning_details": [{"text": "r"}]}, {"reasoning_details": [{"text": "r"}]}),
    ],
)
def test_reasoning(delta: Document, canonical: Document) -> None:
    assert deltas(hold().feed(chunk(delta))) == [canonical]


def test_think_is_split_only_where_asked() -> None:
    parts = [chunk({"content": text}) for text in ("a<thi", "nk>b</think>c", "<")]
    assert check(run([*parts, chunk({}, "stop")])) == [Answer("a<think>b</think>c<", finish="stop")]
    assert check(run([*parts, chunk({}, "stop")], think=True)) == [Answer("ac<", reasoning="b", finish="stop")]


def test_audio_ends_with_its_expiry() -> None:
    audio = [{"id": "audio_1"}, {"transcript": "Hi"}, {"data": "AAAA"}, {"expires_at": 7}]
    out = run([chunk({"audio": part}) for part in audio])
    assert deltas(out) == [{"role": "assistant", "content": ""}, *({"audio": part} for part in audio), {}]
    assert check(out)[0].finish == "stop"
    assert fails([chunk({"audio": part}) for part in audio[:-1]]).code == "upstream_truncated"
    assert [c["choices"][0]["finish_reason"] for c in run([chunk({"audio": audio[3]}), chunk({}, "length")])][
        -1
    ] == "length"


# Logprobs


def test_logprobs_have_both_keys_and_stay_with_their_text() -> None:
    document = chunk({"role": "assistant", "content": "a"}, "stop", choice={"logprobs": {"content": [token("a")]}})
    role, text, finish = run([document])
    assert role["choices"][0]["logprobs"] is None
    assert text["choices"][0]["logprobs"] == {"content": [token("a")], "refusal": None}
    assert finish["choices"][0]["logprobs"] is None
    refused = chunk({"refusal": "n"}, choice={"logprobs": {"refusal": [token("n")]}})
    assert hold().feed(refused)[0]["choices"][0]["logprobs"] == {"content": None, "refusal": [token("n")]}


def scored(text: str, *tokens: str, finish: str | None = None) -> Document:
    return chunk({"content": text}, finish, choice={"logprobs": {"content": [token(t) for t in tokens]}})


def test_tokens_without_text_wait_for_the_next_text() -> None:
    stream = hold()
    assert stream.feed(scored("", "x")) == []
    for _ in range(2):  # no shortcut past them: the same shape without tokens carries them, once
        [text] = stream.feed(chunk({"content": "b"}))
    assert text["choices"][0]["logprobs"] is None
    stream = hold()
    assert stream.feed(scored("", "x")) == []
    [text] = stream.feed(chunk({"content": "b"}))
    assert text["choices"][0]["logprobs"] == {"content": [token("x")], "refusal": None}
    assert stream.feed(scored("", "y")) == []
    [text] = stream.feed(scored("c", "c"))
    assert text["choices"][0]["logprobs"]["content"] == [token("y"), token("c")]


def test_tokens_that_no_text_follows_leave_before_the_finish() -> None:
    stream = hold()
    assert stream.feed(scored("", "x")) == []
    piece, finish = stream.feed(scored("", "y", finish="stop"))
    assert piece["choices"][0]["logprobs"]["content"] == [token("x"), token("y")]
    assert finish["choices"][0]["logprobs"] is None


def test_tokens_of_a_marker_ride_on_the_text_around_it() -> None:
    """<think> and </think> are tokens without text of their own."""
    parts = ["<think>", "hm", "</think>", "Hi", "<th"]
    out = run([*(scored(part, part) for part in parts), chunk({}, "stop")], think=True)
    assert check(out) == [Answer("Hi<th", reasoning="hm", finish="stop", tokens=parts)]
    assert deltas(out) == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "hm"},
        {"content": "Hi"},
        {"content": "<th"},
        {},
    ]


def test_tokens_wait_for_a_call_too() -> None:
    stream = hold()
    assert stream.feed(scored("", "x")) == []
    first, *rest = stream.feed(chunk(call()))
    assert [piece["choices"][0]["logprobs"] for piece in [first, *rest]][-1]["content"] == [token("x")]


def test_every_alternative_of_a_token_has_bytes() -> None:
    bare_token = {"token": "b", "logprob": -1.0, "top_logprobs": [{"token": "b", "logprob": -1.0}, {"token": "c"}]}
    [text] = hold().feed(chunk({"content": "b"}, choice={"logprobs": {"content": [bare_token]}}))
    [one] = text["choices"][0]["logprobs"]["content"]
    assert one["bytes"] is None
    assert one["top_logprobs"] == [{"token": "b", "logprob": -1.0, "bytes": None}, {"token": "c", "bytes": None}]


@pytest.mark.parametrize("logprobs", [None, "x", 5, {"content": None, "refusal": None}, {"content": []}])
def test_logprobs_that_hold_nothing_send_nothing(logprobs: Any) -> None:
    assert hold().feed(chunk({}, choice={"logprobs": logprobs})) == []


# Finish


@pytest.mark.parametrize("word", ["", None, "null"])
def test_an_empty_finish_is_none(word: Any) -> None:
    stream = hold()
    assert [piece["choices"][0]["finish_reason"] for piece in stream.feed(chunk({"content": "b"}, word))] == [None]


def test_a_finish_is_sent_once_and_nothing_but_annotations_after_it() -> None:
    stream = hold()
    stream.feed(chunk({}, "stop"))
    for late in (
        chunk({"content": "late"}),
        chunk({}, "length"),
        chunk({"tool_calls": [{"id": "x", "function": {"name": "f"}}]}),
    ):
        assert stream.feed(late) == []
    [note] = stream.feed(
        chunk({"content": "late"}, "stop", choice={"content_filter_results": {"hate": {"filtered": True}}})
    )
    assert note["choices"][0]["delta"] == {}
    assert note["choices"][0]["finish_reason"] is None
    assert stream.done() == []


def test_an_unknown_finish_stands_beside_stop() -> None:
    text, finish = hold().feed(chunk({"content": "b"}, "bored"))
    assert "native_finish_reason" not in text["choices"][0]
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert finish["choices"][0]["native_finish_reason"] == "bored"
    [finish] = hold().feed(chunk({}, "weird", choice={"native_finish_reason": "own"}))
    assert finish["choices"][0]["native_finish_reason"] == "own"


def test_a_finish_inside_the_delta() -> None:
    document = chunk({"content": "b", "finish_reason": "stop"})
    assert deltas(hold().feed(document)) == [{"content": "b"}, {}]


def test_a_call_turns_stop_into_tool_calls() -> None:
    [answer] = check(run([chunk({"content": "Let me see"}), chunk(call(), "stop")]))
    assert (answer.content, answer.finish, answer.tools[0].arguments) == ("Let me see", "tool_calls", "{}")
    [answer] = check(run([chunk(call(), "stop")], named_tool=True))
    assert answer.finish == "stop"
    [answer] = check(run([chunk(call(arguments='{"a'), "length")]))
    assert (answer.finish, answer.tools[0].arguments) == ("length", '{"a')
    [answer] = check(run([chunk(call(arguments="")), chunk({}, "tool_calls")]))
    assert answer.tools[0].arguments == "{}"


def test_a_call_is_sent_at_once_and_its_arguments_apart() -> None:
    stream = machine(document={"tools": [{"type": "function", "function": {"name": "f"}}]})
    out = stream.feed(chunk({"content": "t", **call(arguments='{"a":1}'), "foo": 1}, choice={"bar": 2}, baz=3))
    assert deltas(out) == [
        {"role": "assistant", "content": ""},
        {"content": "t", "foo": 1},
        {"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]},
    ]
    assert [piece["choices"][0].get("bar") for piece in out] == [None, None, None, 2]
    assert [piece.get("baz") for piece in out] == [3, None, None, None]


def test_legacy_functions() -> None:
    parts = [chunk({"function_call": {"name": "f", "arguments": ""}}), chunk({"function_call": {"arguments": "{}"}})]
    [answer] = check(run([*parts, chunk({}, "function_call")], legacy_functions=True))
    assert (answer.function_call, answer.finish) == (["f", "{}"], "function_call")
    [answer] = check(run([parts[0], chunk({}, "stop")], legacy_functions=True))
    assert (answer.function_call, answer.finish) == (["f", "{}"], "function_call")
