"""The stream machine, rule by rule (spec §3 and §6 C-F, I6; decisions 7, 9, 11-14)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from chat.checker import Answer, check
from chat.machine import bare, chunk, machine, run

from antiphon.chat.stream import ChatStream, decode, is_done
from antiphon.errors import UpstreamError
from antiphon.sse import Named

Document = dict[str, Any]
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def deltas(chunks: list[Document]) -> list[Document]:
    return [piece["choices"][0]["delta"] for piece in chunks]


def fails(chunks: list[Document], **fields: Any) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        run(chunks, **fields)
    return caught.value


def hold(**fields: Any) -> ChatStream:
    """A stream in the middle of its text."""
    stream = machine(**fields)
    stream.feed(chunk({"role": "assistant", "content": "a"}))
    return stream


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
    [(1_755_000_000.7, 1_755_000_000), (1_755_000_000_123, 1_755_000_000), (0, 1_755_555_555), (None, 1_755_555_555), ("now", 1_755_555_555), (True, 1_755_555_555)],
)  # fmt: skip
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


@pytest.mark.parametrize("delta", [None, {}, {"content": None}, {"content": ""}, {"role": "assistant", "content": ""}, {"tool_calls": None}, {"tool_calls": []}, {"refusal": ""}, {"reasoning": ""}, {"audio": None}, {"function_call": None}, []])  # fmt: skip
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
        "content_parts": [{"type": "image", "x": 1}],
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


def token(text: str) -> Document:
    return {"token": text, "logprob": -1.0, "bytes": list(text.encode()), "top_logprobs": []}


def test_logprobs_have_both_keys_and_stay_with_their_text() -> None:
    document = chunk({"role": "assistant", "content": "a"}, "stop", choice={"logprobs": {"content": [token("a")]}})
    role, text, finish = run([document])
    assert role["choices"][0]["logprobs"] is None
    assert text["choices"][0]["logprobs"] == {"content": [token("a")], "refusal": None}
    assert finish["choices"][0]["logprobs"] is None
    refused = chunk({"refusal": "n"}, choice={"logprobs": {"refusal": [token("n")]}})
    assert hold().feed(refused)[0]["choices"][0]["logprobs"] == {"content": None, "refusal": [token("n")]}


def test_tokens_without_text_are_not_lost() -> None:
    stream = hold()
    [half] = stream.feed(chunk({"content": ""}, choice={"logprobs": {"content": [token("x")]}}))
    assert half["choices"][0]["delta"] == {}
    piece, finish = stream.feed(chunk({}, "stop", choice={"logprobs": {"content": [token("y")]}}))
    assert piece["choices"][0]["logprobs"]["content"] == [token("y")]
    assert finish["choices"][0]["logprobs"] is None


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


def call(name: str = "f", arguments: Any = "{}", **more: Any) -> Document:
    return {
        "tool_calls": [
            {"index": 0, "id": "x", "type": "function", "function": {"name": name, "arguments": arguments}, **more}
        ]
    }


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


# Choices


def test_choices_are_introduced_in_order() -> None:
    out = run(
        [
            chunk({"content": "b"}, index=1),
            chunk({"content": "a"}, index=0),
            chunk({}, "stop", 0),
            chunk({}, "length", 1),
        ],
        n=2,
    )
    assert [piece["choices"][0]["index"] for piece in out] == [0, 1, 1, 0, 0, 1]
    assert check(out) == [Answer("a", finish="stop"), Answer("b", finish="length")]


def test_several_choices_in_one_chunk_leave_one_by_one() -> None:
    both = chunk({"content": "a"}, "stop")
    both["choices"].append({"delta": {"content": "b"}, "finish_reason": "stop"})  # its place tells its index
    assert check(run([both], n=2)) == [Answer("a", finish="stop"), Answer("b", finish="stop")]
    both["choices"][1]["index"] = 0  # an upstream that numbers them all alike
    assert check(run([both], n=2)) == [Answer("a", finish="stop"), Answer("b", finish="stop")]


def test_a_choice_that_never_ends_is_an_error() -> None:
    error = fails([chunk({"content": "a"}, "stop"), chunk({"content": "b"}, index=1)], n=2)
    assert (error.status, error.code) == (502, "upstream_truncated")


@pytest.mark.parametrize("index", [-1, 128, 1 << 70, 0.5, "x", [], {}, True])
def test_an_index_that_is_none(index: Any) -> None:
    assert fails([chunk({"content": "a"}, index=index)]).code == "upstream_malformed"


def test_an_index_spelled_otherwise() -> None:
    parts = [
        chunk({"content": "a"}, index=None),
        chunk({"content": "b"}, index="0"),
        chunk({"content": "c"}, "stop", 0.0),
    ]
    assert check(run(parts)) == [Answer("abc", finish="stop")]


def test_fan_out() -> None:
    stream = machine(sources=2, n=2)
    out = stream.feed(chunk({"content": "b"}), 1)
    out += stream.feed({**chunk({"content": "a"}), "id": "chatcmpl-2"}, 0)
    out += stream.feed(chunk({}, "stop", usage={**USAGE, "completion_tokens_details": {"reasoning_tokens": 1}}), 1)
    out += stream.done(1)
    assert stream.feed(chunk({"content": "late"}), 1) == []
    assert not stream.finished
    assert stream.usage is None
    out += stream.feed(chunk({"content": "c"}, index=3), 0)  # not asked for
    out += stream.feed(chunk({}, "length", usage={**USAGE, "completion_tokens_details": {"reasoning_tokens": 2}}), 0)
    out += stream.end(0)
    assert stream.finished
    assert check(out) == [Answer("a", finish="length"), Answer("b", finish="stop")]
    assert stream.usage is not None
    assert stream.usage["prompt_tokens"] == 3
    assert stream.usage["completion_tokens"] == 8
    assert stream.usage["completion_tokens_details"]["reasoning_tokens"] == 3


def test_fan_out_with_a_source_that_said_nothing() -> None:
    stream = machine(sources=2, n=2)
    stream.feed(chunk({"content": "a"}, "stop"), 0)
    stream.done(0)
    with pytest.raises(UpstreamError) as caught:
        stream.end(1)
    assert caught.value.code == "upstream_truncated"


# Usage


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk({"content": "a"}), chunk({}, "stop"), bare(usage=USAGE)],
        [chunk({"content": "a"}), chunk({}, "stop", usage=USAGE)],
        [chunk({"content": "a"}, usage={**USAGE, "completion_tokens": 1}), chunk({"content": "b"}, usage={**USAGE, "completion_tokens": 2}), chunk({}, "stop", usage=USAGE)],
        [chunk({"content": "a"}), bare(usage=USAGE), chunk({}, "stop", usage=None)],
        [chunk({"content": "a"}), chunk({}, "stop"), {**bare(usage=USAGE), "choices": None}],
        [chunk({"content": "a"}), chunk({}, "stop"), {"usage": USAGE}],
        [chunk({"content": "a"}), chunk({}, "stop"), chunk({"role": "assistant", "content": ""}, usage=USAGE)],
        [chunk({"content": "a"}), chunk({}, "stop", choice={"usage": USAGE})],
        [chunk({"content": "a"}), chunk({}, "stop", x_groq={"usage": USAGE})],
    ],
)  # fmt: skip
def test_usage_is_noted_wherever_it_comes_and_never_sent(chunks: list[Document]) -> None:
    stream = machine()
    out = run(chunks, stream)
    [answer] = check(out)
    assert answer.finish == "stop"
    assert stream.usage is not None
    assert {key: stream.usage[key] for key in USAGE} == USAGE
    assert len(out) == 2 + len(answer.content)


def test_usage_on_every_chunk_of_the_fast_path() -> None:
    stream = hold()
    for count in range(1, 6):
        [piece] = stream.feed(chunk({"content": "b"}, usage={**USAGE, "completion_tokens": count}))
        assert "usage" not in piece
    assert stream.usage is not None
    assert stream.usage["completion_tokens"] == 5


@pytest.mark.parametrize("usage", [None, {}, "x", 5, [], {"prompt_tokens": "x"}])
def test_usage_that_is_none(usage: Any) -> None:
    stream = machine()
    run([chunk({"content": "a"}, usage=usage), chunk({}, "stop"), bare(usage=usage)], stream)
    assert stream.usage is None


def test_texts_are_kept_for_counting() -> None:
    stream = machine()
    parts = [{"reasoning": "r"}, {"content": "a"}, {"content": "b"}, {"refusal": "c"}, call("f", "{}")]
    run([*(chunk(part) for part in parts), chunk({}, "stop")], stream)
    assert stream.texts == ["r", "a", "b", "c", "f", "{}"]


# Extras


def test_unknown_fields_travel_at_every_depth() -> None:
    """A10, on the role chunk, on text (twice: the whole way and the fast one), on the finish."""
    stream = machine()
    kinds: list[tuple[Document, str | None]] = [({"role": "assistant", "content": ""}, None), ({"content": "a"}, None), ({"content": "b"}, None), ({"content": "c"}, None)]  # fmt: skip
    for delta, finish in kinds:
        [piece] = stream.feed(chunk({**delta, "foo": 1}, finish, choice={"foo": {"x": 2}}, foo=[3]))
        choice = piece["choices"][0]
        assert (piece["foo"], choice["foo"], choice["delta"]["foo"]) == ([3], {"x": 2}, 1)
    [piece] = stream.feed(chunk({}, "stop", choice={"foo": {"x": 2}, "text": ""}, foo=[3]))
    assert (piece["foo"], piece["choices"][0]["foo"], piece["choices"][0]["text"]) == ([3], {"x": 2}, "")


def test_a_delta_extra_beside_a_finish_goes_before_it() -> None:
    before, finish = hold().feed(chunk({"foo": 1}, "stop"))
    assert before["choices"][0]["delta"] == {"foo": 1}
    assert finish["choices"][0]["delta"] == {}


def test_an_extra_waits_for_the_next_chunk() -> None:
    stream = machine()
    assert (
        stream.feed({"id": "", "model": "", "object": "", "created": 0, "choices": [], "prompt_filter_results": [1]})
        == []
    )
    role, text = stream.feed(chunk({"content": "a"}))
    assert role["prompt_filter_results"] == [1]
    assert "prompt_filter_results" not in text
    assert stream.feed(bare(late=1)) == []
    [text] = stream.feed(chunk({"content": "b"}))
    assert text["late"] == 1
    [text] = stream.feed(chunk({"content": "b"}))
    assert "late" not in text


def test_an_extra_after_the_end_gets_a_chunk() -> None:
    stream = hold()
    stream.feed(chunk({}, "stop"))
    [note] = stream.feed(bare(late={"x": 1}))
    assert note["late"] == {"x": 1}
    assert note["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": None}]
    assert stream.feed(bare(late={"x": 1})) == []  # known
    assert stream.feed(bare(late=None)) == []


def test_waiting_extras_do_not_overwrite_each_other() -> None:
    stream = machine()
    assert stream.feed(bare(step=1)) == []
    [role] = stream.feed(bare(step=2))
    assert role["step"] == 1
    [text] = stream.feed(chunk({"content": "a"}))
    assert text["step"] == 2
    assert stream.feed(bare(step=3)) == []
    [lone] = stream.feed(bare(step=4))
    assert (lone["step"], lone["choices"][0]["delta"]) == (3, {})
    out = stream.feed(chunk({}, "stop"))
    assert out[0]["step"] == 4


def test_an_extra_that_waits_at_the_end_is_sent() -> None:
    stream = machine(n=2)  # a second choice that never comes
    stream.feed(chunk({"content": "a"}, "stop"))
    assert stream.feed(bare(late=1)) == []
    [note] = stream.done()
    assert note["late"] == 1


def test_a_constant_extra_forces_no_chunk() -> None:
    """OpenRouter repeats `provider` on empty deltas and on its usage chunk."""
    stream = machine()
    stream.feed(chunk({"content": "a"}, provider="P", choice={"native_finish_reason": None, "tag": "t"}))
    assert stream.feed(chunk({"content": ""}, provider="P", choice={"native_finish_reason": None, "tag": "t"})) == []
    stream.feed(chunk({}, "stop", provider="P", choice={"native_finish_reason": "STOP", "tag": "t"}))
    assert (
        stream.feed(
            chunk({"content": ""}, usage=USAGE, provider="P", choice={"native_finish_reason": "STOP", "tag": "t"})
        )
        == []
    )
    assert stream.done() == []


def test_annotations_without_a_delta_are_relayed() -> None:
    stream = hold()
    note = {"index": 0, "finish_reason": None, "content_filter_results": {"hate": {"filtered": False}}}
    document = {"id": "", "object": "", "created": 0, "model": "", "choices": [note]}
    for _ in range(2):
        [piece] = stream.feed({**document, "choices": [dict(note)]})
        assert piece["choices"][0]["delta"] == {}
        assert piece["choices"][0]["content_filter_results"] == {"hate": {"filtered": False}}
        assert piece["id"] == "chatcmpl-1"


# Ends and errors


@pytest.mark.parametrize("chunks", [[], [bare(usage=USAGE)], [bare()], [{}], [chunk({"content": "a"})], [chunk({})]])
def test_an_end_without_a_finish_is_an_error(chunks: list[Document]) -> None:
    for close in ("done", "end"):
        stream = machine()
        for document in chunks:
            stream.feed(dict(document))
        with pytest.raises(UpstreamError) as caught:
            getattr(stream, close)()
        assert (caught.value.status, caught.value.code) == (502, "upstream_truncated")
        assert not stream.finished


def test_ends_that_are_well() -> None:
    stream = hold()
    stream.feed(chunk({}, "stop"))
    assert not stream.finished
    assert stream.end() == []
    assert stream.finished
    assert stream.done() == []
    assert stream.feed(chunk({"content": "late"})) == []
    assert stream.feed({"error": {"message": "late"}}) == []


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"error": {"message": "m", "code": 400}}, 400),
        ({"object": "error", "message": "m", "code": 404}, 404),
        ({**chunk({"content": ""}, "error"), "error": {"message": "m", "code": 429}}, 429),
        (chunk({}, "error"), 502),
        (chunk({}, "error", choice={"error": {"message": "m", "code": 503}}), 503),
        ({"detail": "m"}, 502),
        ({"error": "m"}, 502),
    ],
)
def test_an_error_inside_the_stream(document: Document, status: int) -> None:
    for stream in (machine(), hold()):
        with pytest.raises(UpstreamError) as caught:
            stream.feed(copy.deepcopy(document))
        assert caught.value.status == status


@pytest.mark.parametrize(
    "document",
    [
        {"choices": "x"},
        {"choices": 5},
        {"choices": ["x"]},
        {"choices": [[]]},
        {"choices": [{"delta": [1]}]},
        {"choices": [{"delta": 5}]},
        {"choices": [{"delta": {"tool_calls": ["x"]}}]},
        {"choices": [{"delta": {"tool_calls": "x"}}]},
        {"choices": [{"delta": {"function_call": "x"}}]},
        {"choices": [{"index": 0}] * 129},
    ],
)
def test_what_cannot_be_read(document: Document) -> None:
    assert fails([document]).code == "upstream_malformed"


def test_what_can_be_read_though_it_is_odd() -> None:
    assert check(run([{"choices": {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}}])) == [
        Answer("a", finish="stop")
    ]
    assert check(run([{"choices": [None, {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}])) == [
        Answer("a", finish="stop")
    ]


def test_nesting_without_bottom() -> None:
    deep: Any = "x"
    for _ in range(2_000):
        deep = [deep]
    with pytest.raises(UpstreamError) as caught:
        machine().feed(chunk({"content": {"type": "thinking", "thinking": deep}}))
    assert caught.value.code == "upstream_malformed"


# Decoding


def test_decode() -> None:
    assert decode(b'{"a":[1,"\xc3\xa9",123456789012345678901234567890]}') == {
        "a": [1, "é", 123456789012345678901234567890]
    }
    assert decode(b'[{"error":{"message":"m"}}]') == {"error": {"message": "m"}}
    assert decode(b'{"a":' * 100 + b"1" + b"}" * 100)
    assert decode(b'{"a":[' + b"[],{}," * 500 + b"1]}")
    assert decode(Named(b'{"type":"ping"}', b"ping")) == {}
    assert decode(Named(b'{"a":1}', b"chunk")) == {"a": 1}
    with pytest.raises(UpstreamError) as caught:
        decode(Named(b'{"message":"m","code":429}', b"error"))
    assert caught.value.status == 429


@pytest.mark.parametrize("payload", [b"{", b"", b"null", b"5", b'"x"', b"[]", b"[1]", b"[{},{}]", b'{"a":NaN}', b"hello", b'{"a":1}}', b"[" * 100_000, b'{"a":' * 50_000, b'{"a":' * 300 + b"1" + b"}" * 300])  # fmt: skip
def test_decode_refuses(payload: bytes) -> None:
    with pytest.raises(UpstreamError) as caught:
        decode(payload)
    assert (caught.value.code, caught.value.message) == ("upstream_malformed", "The upstream sent a malformed event.")


def test_an_event_cut_by_the_end_is_truncated() -> None:
    with pytest.raises(UpstreamError) as caught:
        decode(b'{"choices":[{"del', last=True)
    assert caught.value.code == "upstream_truncated"


def test_is_done() -> None:
    assert is_done(b"[DONE]")
    assert is_done(b"[DONE] ")
    assert not is_done(b'{"a":"[DONE]"}')


def feed_payloads(stream: ChatStream, *payloads: bytes) -> list[Document]:
    return [piece for payload in payloads for piece in stream.feed(decode(payload))]


def payload(content: bytes, key: bytes = b"content", finish: bytes = b"null") -> bytes:
    return b'{"choices":[{"index":0,"delta":{"%b":"%b"},"finish_reason":%b}]}' % (key, content, finish)


@pytest.mark.parametrize("key", [b"content", b"refusal", b"reasoning_content"])
@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"a\\ud83d", b"\\ude00b"], "a😀b"),
        ([b"\\ud83d", b"\\udc80"], "💀"),
        ([b"a\\ud83d", b"", b"\\ude00b"], "a😀b"),
        ([b"a\\ud83d", b"b"], "a\ufffdb"),
        ([b"a\\ude00", b"b"], "a\ufffdb"),
        ([b"\\ud83d\\ud83d", b"\\ude00"], "\ufffd😀"),
        ([b"a\\ud83d"], "a\ufffd"),
        ([b"\xc3", b"\xa9"], "é"),
        ([b"x\xf0\x9f", b"\x98", b"\x80y"], "x😀y"),
        ([b"x\xf0\x9f", b"y"], "x\ufffdy"),
        ([b"\xff\xfe", b"y"], "\ufffd\ufffdy"),
        ([b"plain \xe4\xbd\xa0", b"\xe5\xa5\xbd"], "plain 你好"),
    ],
)
def test_characters_cut_in_two(pieces: list[bytes], text: str, key: bytes) -> None:
    stream = machine()
    out = feed_payloads(stream, *(payload(piece, key) for piece in pieces), payload(b"", finish=b'"stop"'))
    [answer] = check(out + stream.done())
    told = {b"content": answer.content, b"refusal": answer.refusal, b"reasoning_content": answer.reasoning}[key]
    assert told == text


def test_lone_surrogates_elsewhere_become_replacement_characters() -> None:
    stream = machine()
    body = rb'{"x\ud800":"\ud800","choices":[{"index":0,"delta":{"content":"a","foo":{"content":"\ud800"}},"finish_reason":"\udfff"}]}'
    out = feed_payloads(stream, rb'{"choices":[],"waits":"\ud800"}', body)
    assert out[0]["waits"] == "\ufffd"
    assert out[0]["x\ufffd"] == "\ufffd"
    assert out[1]["choices"][0]["delta"]["foo"] == {"content": "\ufffd"}
    assert out[2]["choices"][0]["native_finish_reason"] == "\ufffd"
    check(out + stream.done())


# The fast path gives what the whole way gives


def test_both_ways_agree() -> None:
    """The same chunks, once with the keys turned round each time so that no two look alike."""
    parts = [{"content": t} for t in "abcdefgh"]
    parts[5] = {"role": "assistant", "content": "f", "refusal": None}
    documents = [chunk(part, foo=1, usage=None, service_tier="x", choice={"bar": n}) for n, part in enumerate(parts)]
    turned = [dict(reversed(document.items())) if n % 2 else document for n, document in enumerate(documents)]
    end = chunk({}, "stop")
    assert run([*documents, end]) == run([*turned, end])


@pytest.mark.parametrize(
    "edit",
    [
        {"index": True},
        {"index": 0.0},
        {"index": [0]},
        {"index": 5},
        {"delta": None},
        {"delta": []},
        {"delta": "text"},
        {"delta": {"content": ["x"]}},
        {"delta": {"content": 5}},
        {"delta": {"content": ""}},
        {"delta": {"content": "x", "tool_calls": [{"function": {"name": "f"}}]}},
        {"finish_reason": "stop"},
        {"logprobs": {"content": [token("x")]}},
        {"logprobs": {}},
        {"logprobs": 0},
    ],
)
def test_what_only_looks_like_the_last_chunk_takes_the_whole_way(edit: Document) -> None:
    def outcome(stream: ChatStream) -> Any:
        try:
            return stream.feed(chunk({"content": "x"}, choice=copy.deepcopy(edit)))
        except UpstreamError as error:
            return error.code

    warm, cold = hold(), hold()
    warm.feed(chunk({"content": "b"}))
    cold.feed(dict(reversed(chunk({"content": "b"}).items())))
    assert outcome(warm) == outcome(cold)


@pytest.mark.parametrize(
    "choices", [None, [], {}, "x", ["x"], [None], [["index", "delta", "logprobs", "finish_reason"]], 5]
)
def test_choices_that_only_look_like_the_last(choices: Any) -> None:
    stream = hold()
    stream.feed(chunk({"content": "b"}))
    try:
        assert stream.feed({**chunk(), "choices": choices}) == []
    except UpstreamError as error:
        assert error.code == "upstream_malformed"
