"""A whole answer made canonical; fan-out; replay as chunks."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import Conformed, chunks, conform, merge
from antiphon.chat.event import decode
from antiphon.chat.request import ChatRequest
from antiphon.chat.stream import ChatStream
from antiphon.errors import UpstreamError
from tests.chat.machine import request

Document = dict[str, Any]


def ask(**changes: Any) -> ChatRequest:
    return request(**{"stream": False, **changes})


def stamp() -> AnswerDefaults:
    ids = count(1)
    return AnswerDefaults(
        model="target-model",
        now=1_700_000_000,
        keeps_id=lambda id: id.startswith("chatcmpl-"),
        new_id=lambda: "chatcmpl-new",
        new_call_id=lambda: f"call_{next(ids)}",
    )


def answer(message: Document | None = None, finish: Any = "stop", **top: Any) -> Document:
    return {
        "id": "chatcmpl-up",
        "object": "chat.completion",
        "created": 1_600_000_000,
        "model": "up-model",
        "choices": [
            {"index": 0, "message": message or {"role": "assistant", "content": "Hi"}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        **top,
    }


def conformed(document: Document, request: ChatRequest | None = None, *, think: bool = False) -> Conformed:
    return conform(document, request or ask(), stamp(), think=think)


def message_of(document: Document, request: ChatRequest | None = None, *, think: bool = False) -> Document:
    message: Document = conformed(document, request, think=think).document["choices"][0]["message"]
    return message


def call(arguments: Any = "{}", **changes: Any) -> Document:
    return {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": arguments}, **changes}


def test_a_canonical_answer_is_left_as_it_is() -> None:
    document = answer()
    result = conformed(json.loads(json.dumps(document)))
    assert result.document == document
    assert result.usage == document["usage"]
    assert result.texts == ["Hi"]
    assert result.upstream_id is None


@pytest.mark.parametrize(
    ("id", "kept", "upstream_id"),
    [
        ("chatcmpl-x", "chatcmpl-x", None),
        ("gen-1", "chatcmpl-new", "gen-1"),
        ("", "chatcmpl-new", None),
        (7, "chatcmpl-new", None),
    ],
)
def test_the_id_is_kept_if_it_has_the_form(id: object, kept: str, upstream_id: str | None) -> None:
    result = conformed(answer(id=id))
    assert result.document["id"] == kept
    assert result.upstream_id == upstream_id


@pytest.mark.parametrize(
    ("created", "seconds"),
    [
        (1_600_000_000, 1_600_000_000),
        (1_600_000_000.75, 1_600_000_000),
        (1_600_000_000_123, 1_600_000_000),
        (1_600_000_000_123_456, 1_600_000_000),
        ("1600000000", 1_600_000_000),
        (0, 1_700_000_000),
        (-5, 1_700_000_000),
        (None, 1_700_000_000),
        (True, 1_700_000_000),
        ("2020-09-13", 1_700_000_000),
        (1e300, 1_700_000_000),
    ],
)
def test_created_is_integer_seconds(created: object, seconds: int) -> None:
    value = conformed(answer(created=created)).document["created"]
    assert value == seconds
    assert type(value) is int


@pytest.mark.parametrize("model", ["", None, 3])
def test_the_model_is_the_target_where_the_upstream_names_none(model: object) -> None:
    assert conformed(answer(model=model)).document["model"] == "target-model"


def test_missing_envelope_is_filled() -> None:
    document = answer()
    for key in ("id", "object", "created", "model", "usage"):
        del document[key]
    result = conformed(document)
    assert {key: result.document[key] for key in ("id", "object", "created", "model")} == {
        "id": "chatcmpl-new",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "target-model",
    }
    assert result.usage is None


@pytest.mark.parametrize("object_", ["chat_completion", "chat.completion", "", None, "text"])
def test_any_object_word_is_read(object_: object) -> None:
    assert conformed(answer(object=object_)).document["object"] == "chat.completion"


# -- text, reasoning, refusal


def test_parts_become_one_string_and_the_rest_is_kept() -> None:
    image = {"type": "image_url", "image_url": {"url": "x"}}
    parts = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        image,
        {"type": "text", "text": "b"},
    ]
    message = message_of(answer({"role": "assistant", "content": parts}))
    assert message["content"] == "ab"
    assert message["reasoning_content"] == "hm"
    assert message["content_parts"] == [image]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"reasoning": "r"}, {"reasoning_content": "r"}),
        ({"reasoning": "r", "reasoning_content": "r"}, {"reasoning_content": "r"}),
        ({"reasoning": "r", "reasoning_content": None}, {"reasoning_content": "r"}),
        ({"reasoning": None, "reasoning_content": "r"}, {"reasoning_content": "r"}),
        ({"reasoning": "a", "reasoning_content": "b"}, {"reasoning": "a", "reasoning_content": "b"}),
        ({"reasoning_content": "r"}, {"reasoning_content": "r"}),
        ({"reasoning": {"effort": 1}}, {"reasoning": {"effort": 1}}),
        ({"reasoning_details": [1]}, {"reasoning_details": [1]}),
    ],
)
def test_reasoning_has_one_name(sent: Document, expected: Document) -> None:
    message = message_of(answer({"role": "assistant", "content": "x", **sent}))
    assert message == {"role": "assistant", "content": "x", **expected}


def test_think_is_split_only_when_the_upstream_says_so() -> None:
    text = "<think>b</think>ac"
    assert message_of(answer({"content": text}))["content"] == text
    message = message_of(answer({"content": text}), think=True)
    assert (message["content"], message["reasoning_content"]) == ("ac", "b")


def test_role_is_always_assistant_and_content_always_there() -> None:
    assert message_of(answer({"role": "model", "refusal": None})) == {
        "role": "assistant",
        "refusal": None,
        "content": None,
    }


def test_refusal_leaves_content_null() -> None:
    message = message_of(answer({"role": "assistant", "content": "", "refusal": "No."}))
    assert (message["content"], message["refusal"]) == (None, "No.")
    assert message_of(answer({"content": "Hi", "refusal": ""}))["refusal"] is None
    assert message_of(answer({"content": ""}))["content"] == ""


def test_refusal_and_reasoning_are_strings_too() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    message = message_of(answer({"content": "x", "refusal": parts, "reasoning_content": parts}))
    assert (message["refusal"], message["reasoning_content"]) == ("ab", "ab")


def test_a_choice_without_a_message_is_an_empty_one() -> None:
    document = answer(finish="content_filter")
    del document["choices"][0]["message"]
    assert message_of(document) == {"role": "assistant", "content": None}


def test_texts_hold_everything_that_was_generated() -> None:
    message = {"content": "text", "reasoning": "why", "refusal": "no", "tool_calls": [call('{"a":1}')]}
    assert sorted(conformed(answer(message)).texts) == sorted(["text", "why", "no", "f", '{"a":1}'])


# -- calls


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ({"a": 1}, '{"a":1}'),
        ("", "{}"),
        (None, "{}"),
        ({}, "{}"),
        ([], "[]"),
        ("{broken", "{broken"),
    ],
)
def test_arguments_are_a_json_string(arguments: object, expected: str) -> None:
    message = message_of(answer({"content": "", "tool_calls": [call(arguments)]}, "tool_calls"))
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": expected}
    assert message["content"] is None


def test_arguments_cut_by_length_are_left() -> None:
    for cut in ("length", "content_filter"):
        result = conformed(answer({"content": None, "tool_calls": [call("")]}, cut)).document["choices"][0]
        assert result["message"]["tool_calls"][0]["function"]["arguments"] == ""
        assert result["finish_reason"] == cut


def test_calls_get_id_and_type() -> None:
    calls = [call(id=""), {"function": {"name": "g"}}, {"custom": {"name": "h", "input": None}, "extra_content": 1}]
    message = message_of(answer({"content": None, "tool_calls": calls}))
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "call_2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        {"id": "call_3", "type": "custom", "custom": {"name": "h", "input": ""}, "extra_content": 1},
    ]


def test_calls_are_mended_as_streamed_ones_are() -> None:
    calls = [
        {"id": "x", "name": "flat", "arguments": {"a": 1}, "extra_content": {"sig": 1}},
        call(id="x", index=1),  # the id of another
        {"id": 7, "function": {"arguments": "{}", "strict": True}},
        {"id": "y", "type": "odd", "function": {"name": None, "arguments": None}},
        {"type": "custom", "name": "h", "input": "hm"},
        None,
    ]
    result = conformed(answer({"content": "", "tool_calls": calls})).document["choices"][0]
    assert result["message"]["tool_calls"] == [
        {
            "id": "x",
            "type": "function",
            "function": {"name": "flat", "arguments": '{"a":1}'},
            "extra_content": {"sig": 1},
        },
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "index": 1},
        {"id": "7", "type": "function", "function": {"name": "", "arguments": "{}", "strict": True}},
        {"id": "y", "type": "function", "function": {"name": "", "arguments": "{}"}},
        {"id": "call_2", "type": "custom", "custom": {"name": "h", "input": "hm"}},
    ]
    assert result["finish_reason"] == "tool_calls"


def test_a_call_of_a_kind_we_do_not_know_stays_as_it_is() -> None:
    entry = {"id": "x", "type": "web_search", "web_search": {"query": "q"}}
    choice = conformed(answer({"content": "a", "tool_calls": [dict(entry)]})).document["choices"][0]
    assert choice["message"]["tool_calls"] == [entry]
    assert choice["finish_reason"] == "stop"  # the vendor made it; the client is not asked to


@pytest.mark.parametrize("calls", ["x", 5, ["x"], [{"function": "f"}]])
def test_calls_that_cannot_be_read(calls: object) -> None:
    for read in (conformed, lambda document: list(ends(document))):
        with pytest.raises(UpstreamError) as caught:
            read(answer({"content": "a", "tool_calls": calls}))
        assert caught.value.code == "upstream_malformed"


def ends(document: Document) -> list[Document]:
    """A whole answer through the stream machine."""
    machine = ChatStream(ask(stream=True), stamp())
    out = [piece for chunk in chunks(document) for piece in machine.feed(chunk)]
    return out + machine.done()


def folded(document: Document) -> list[Document]:
    """The calls of a whole answer as a client of the stream puts them together."""
    calls: list[Document] = []
    for piece in ends(document):
        for choice in piece["choices"]:
            for fragment in choice["delta"].get("tool_calls", ()):
                if "id" in fragment:
                    calls.append({key: value for key, value in fragment.items() if key != "index"})
                else:
                    calls[fragment["index"]]["function"]["arguments"] += fragment["function"]["arguments"]
    return calls


@pytest.mark.parametrize(
    "calls",
    [
        [call()],
        [call('{"a":1}', id=""), call('{"a":1}', id="")],
        [call("", id="x"), call("", id="x")],
        [call(), call()],
        [{"id": "x", "name": "f", "arguments": "{}"}],
        {"function": {"name": "f"}},
        [{"id": 3, "function": {"arguments": "{}"}}],
        [{"id": "x", "type": "odd", "function": {"name": "f", "foo": 1}, "bar": 2}],
    ],
)
def test_both_ways_make_the_same_calls(calls: Any) -> None:
    document = answer({"content": None, "tool_calls": calls})
    whole = message_of(json.loads(json.dumps(document)))["tool_calls"]
    assert folded(document) == whole


@pytest.mark.parametrize("nothing", [{}, {"name": None, "arguments": None}, {"name": "", "arguments": ""}])
def test_a_function_call_that_says_nothing_is_none(nothing: Document) -> None:
    choice = conformed(answer({"content": "x", "function_call": nothing})).document["choices"][0]
    assert "function_call" not in choice["message"]
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("none", [None, [], {}, "", [{}], [{"function": {}}]])
def test_no_calls_no_key(none: object) -> None:
    message = message_of(answer({"role": "assistant", "content": "x", "tool_calls": none, "function_call": None}))
    assert message == {"role": "assistant", "content": "x"}


def test_one_call_as_an_object_is_a_list_of_one() -> None:
    assert message_of(answer({"content": None, "tool_calls": call()}))["tool_calls"] == [call()]


@pytest.mark.parametrize(
    ("message", "finish", "request_", "expected"),
    [
        ({"tool_calls": [call()]}, "stop", {}, "tool_calls"),
        ({"tool_calls": [call()]}, "stop", {"named_tool": True}, "stop"),
        ({"tool_calls": [call()]}, "length", {}, "length"),
        ({"function_call": {"name": "f", "arguments": ""}}, "stop", {"legacy_functions": True}, "function_call"),
        ({"content": "x"}, "end_turn", {}, "stop"),
        ({"content": "x"}, "max_tokens", {}, "length"),
        ({"content": "x"}, "", {}, "stop"),
        ({"content": "x"}, "SAFETY", {}, "content_filter"),
    ],
)
def test_finish_reason_is_in_the_enum(message: Document, finish: str, request_: Document, expected: str) -> None:
    choice = conformed(answer(json.loads(json.dumps(message)), finish), ask(**request_)).document["choices"][0]
    assert choice["finish_reason"] == expected
    assert "native_finish_reason" not in choice


def test_an_unknown_finish_word_stands_beside_stop() -> None:
    choice = conformed(answer(finish="wibble")).document["choices"][0]
    assert (choice["finish_reason"], choice["native_finish_reason"]) == ("stop", "wibble")


def test_a_finish_reason_inside_the_message_is_read() -> None:
    document = answer({"role": "assistant", "content": "x", "finish_reason": "length"})
    del document["choices"][0]["finish_reason"]
    choice = conformed(document).document["choices"][0]
    assert choice["finish_reason"] == "length"
    assert "finish_reason" not in choice["message"]


# -- choices


def test_choices_are_ordered_by_index() -> None:
    document = answer()
    first = document["choices"][0]
    document["choices"] = [{**first, "index": 2}, {**first, "index": 0}, {**first, "index": 1}]
    assert [choice["index"] for choice in conformed(document).document["choices"]] == [0, 1, 2]


@pytest.mark.parametrize("index", [None, 0, "absent"])
def test_missing_or_repeated_indices_are_positions(index: object) -> None:
    document = answer()
    entry = {key: value for key, value in document["choices"][0].items() if key != "index"}
    if index != "absent":
        entry["index"] = index
    texts = ["a", "b"]
    document["choices"] = [{**entry, "message": {"content": text}} for text in texts]
    choices = conformed(document).document["choices"]
    assert [(choice["index"], choice["message"]["content"]) for choice in choices] == [(0, "a"), (1, "b")]


def test_logprobs_have_both_keys_and_whole_tokens() -> None:
    document = answer()
    document["choices"][0]["logprobs"] = {"content": [{"token": "Hi", "logprob": -0.1, "foo": 1}], "bar": 2}
    assert conformed(document).document["choices"][0]["logprobs"] == {
        "content": [{"token": "Hi", "logprob": -0.1, "bytes": None, "top_logprobs": [], "foo": 1}],
        "refusal": None,
        "bar": 2,
    }


def test_every_alternative_of_a_token_has_bytes() -> None:
    document = answer()
    best = [{"token": "Hi", "logprob": -0.1}, {"token": "Ho", "logprob": -9.0, "bytes": [72, 111]}, "odd"]
    document["choices"][0]["logprobs"] = {"refusal": [{"token": "Hi", "top_logprobs": best}]}
    [token] = conformed(document).document["choices"][0]["logprobs"]["refusal"]
    assert token["top_logprobs"] == [
        {"token": "Hi", "logprob": -0.1, "bytes": None},
        {"token": "Ho", "logprob": -9.0, "bytes": [72, 111]},
        "odd",
    ]


# -- what is no answer


@pytest.mark.parametrize(
    "choices", [None, [], {}, "x", [None], ["x"], [{"index": -1}], [{"index": 128}], [{"index": "0"}]]
)
def test_without_choices_it_is_malformed(choices: object) -> None:
    for read in (conformed, chunks, lambda document: merge([document])):
        with pytest.raises(UpstreamError) as caught:
            read(answer(choices=choices))
        assert (caught.value.code, caught.value.status) == ("upstream_malformed", 502)


@pytest.mark.parametrize("message", ["text", ["x"], 3])
def test_a_message_that_is_no_object_is_malformed(message: object) -> None:
    document = answer()
    document["choices"][0]["message"] = message
    with pytest.raises(UpstreamError) as caught:
        conformed(document)
    assert caught.value.code == "upstream_malformed"


@pytest.mark.parametrize("finish", [None, "absent"])
def test_without_a_finish_reason_it_is_truncated(finish: object) -> None:
    document = answer(finish=None)
    if finish == "absent":
        del document["choices"][0]["finish_reason"]
    with pytest.raises(UpstreamError) as caught:
        conformed(document)
    assert (caught.value.code, caught.value.status) == ("upstream_truncated", 502)


def test_errors_in_a_200_are_errors() -> None:
    failures: list[Document] = [
        {"error": {"message": "too long", "type": "invalid_request_error", "code": 400}},
        {"object": "error", "message": "boom", "code": 500},
        answer(finish="error"),
        answer(error={"message": "half way", "code": 503}),
    ]
    failed_choice = answer(finish="error")
    failed_choice["choices"][0]["error"] = {"message": "provider down", "code": 429}
    statuses = []
    for document in [*failures, failed_choice]:
        with pytest.raises(UpstreamError) as caught:
            conformed(document)
        statuses.append(caught.value.status)
    assert statuses == [400, 502, 502, 503, 429]


def test_unknown_fields_survive_at_every_depth() -> None:
    document = answer({"content": "x", "foo": 1, "tool_calls": [call(foo=1)]}, foo=1)
    document["choices"][0]["foo"] = 1
    document["choices"][0]["message"]["tool_calls"][0]["function"]["foo"] = 1
    document["usage"]["foo"] = 1
    result = conformed(document).document
    choice = result["choices"][0]
    entry = choice["message"]["tool_calls"][0]
    holders = (result, choice, choice["message"], entry, entry["function"], result["usage"])
    assert [holder["foo"] for holder in holders] == [1] * 6


def test_text_cut_inside_a_character_is_made_whole() -> None:
    """A body that only the lenient decoder reads: half an emoji, and bytes that are not UTF-8."""
    body = json.dumps(answer({"content": "CUT", "refusal": None}, foo="CUT")).encode()
    cut = body.replace(b"CUT", b"a\\ud83d\xff")
    for document in (conformed(decode(cut)).document, merge([decode(cut)])):
        assert document["choices"][0]["message"]["content"] == "a\ufffd\ufffd"
        assert document["foo"] == "a\ufffd\ufffd"
    assert chunks(decode(cut))[0]["choices"][0]["delta"]["content"] == "a\ufffd\ufffd"


# -- fan-out


def test_merge_counts_the_prompt_once_and_numbers_the_choices() -> None:
    documents = [answer({"content": text}, id=f"chatcmpl-{text}") for text in "abc"]
    documents[1]["only_second"] = 1
    merged = merge(documents)
    assert [(c["index"], c["message"]["content"]) for c in merged["choices"]] == [(0, "a"), (1, "b"), (2, "c")]
    assert merged["id"] == "chatcmpl-a"
    assert merged["only_second"] == 1
    assert merged["usage"] == {"prompt_tokens": 1, "completion_tokens": 6, "total_tokens": 7}


def test_merge_leaves_usage_to_be_counted_unless_all_reported_it() -> None:
    for silent in (0, 1):
        documents = [answer(), answer()]
        del documents[silent]["usage"]
        assert "usage" not in merge(documents)


def test_merge_works_on_conformed_answers_too() -> None:
    documents = [conformed(answer({"content": text})).document for text in "ab"]
    assert conformed(merge(documents), ask(n=2)).document["usage"]["completion_tokens"] == 4


# -- replay


def test_replay_is_one_chunk_per_choice_and_one_for_usage() -> None:
    document = answer({"role": "assistant", "content": "Hi", "tool_calls": [call(), call(id="call_b")]}, foo=1)
    document["choices"].append({"index": 1, "message": {"content": "Ho"}, "finish_reason": "", "bar": 2})
    replayed = chunks(document)
    envelope = {
        "id": "chatcmpl-up",
        "object": "chat.completion.chunk",
        "created": 1_600_000_000,
        "model": "up-model",
    }
    calls = [{**call(), "index": 0}, {**call(id="call_b"), "index": 1}]
    assert replayed == [
        {
            **envelope,
            "foo": 1,
            "choices": [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "content": "Hi", "tool_calls": calls},
                    "finish_reason": "stop",
                }
            ],
        },
        {**envelope, "choices": [{"index": 1, "delta": {"content": "Ho"}, "finish_reason": "stop", "bar": 2}]},
        {**envelope, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    ]


@pytest.mark.parametrize("finish", [None, "absent", "null"])
def test_a_cut_answer_is_not_replayed(finish: str | None) -> None:
    """Not even its whole choices: before anything has left, another target can answer."""
    document = answer(finish=finish)
    if finish == "absent":
        del document["choices"][0]["finish_reason"]
    document["choices"].insert(0, {"index": 0, "message": {"content": "Ho"}, "finish_reason": "stop"})
    with pytest.raises(UpstreamError) as caught:
        chunks(document)
    assert (caught.value.code, caught.value.status) == ("upstream_truncated", 502)


def test_a_failed_answer_is_not_replayed() -> None:
    failed_choice = answer(finish="error")
    failed_choice["choices"][0]["error"] = {"message": "provider down", "code": 429}
    for document, status in ((answer(finish="error"), 502), (answer(finish="abort"), 502), (failed_choice, 429)):
        with pytest.raises(UpstreamError) as caught:
            chunks(document)
        assert caught.value.status == status


def test_replay_keeps_the_vendors_word_for_the_finish() -> None:
    [*_, finish] = ends(answer(finish="wibble"))
    assert finish["choices"][0]["native_finish_reason"] == "wibble"
    inside = answer({"content": "x", "finish_reason": "length"}, None)
    assert ends(inside)[-1]["choices"][0]["finish_reason"] == "length"


# -- what the stream machine repairs is repaired in whole answers too


@pytest.mark.parametrize("word", ["tool_calls", "function_call", "tool_use"])
@pytest.mark.parametrize("calls", [{}, {"tool_calls": []}, {"tool_calls": None}, {"function_call": {}}])
def test_no_call_no_tool_calls(word: str, calls: Document) -> None:
    for asked in ({}, {"legacy_functions": True}, {"named_tool": True}):
        choice = conformed(answer({"content": "x", **calls}, word), ask(**asked)).document["choices"][0]
        assert choice["finish_reason"] == "stop"
        assert choice["message"] == {"role": "assistant", "content": "x"}


def test_a_vendors_own_call_keeps_the_upstreams_word() -> None:
    entry = {"id": "x", "type": "web_search", "web_search": {"query": "q"}, "index": 3}
    choice = conformed(answer({"content": None, "tool_calls": [dict(entry)]}, "tool_calls")).document["choices"][0]
    assert (choice["message"]["tool_calls"], choice["finish_reason"]) == ([entry], "tool_calls")


@pytest.mark.parametrize("arguments", ['{}{"city": "Paris"}', '{} {"city": "Paris"}', '{}\n{}{"city": "Paris"}'])
def test_an_empty_object_before_the_arguments_is_removed(arguments: str) -> None:
    result = conformed(answer({"content": None, "tool_calls": [call(arguments)]}, "tool_calls"))
    [made] = result.document["choices"][0]["message"]["tool_calls"]
    assert made["function"]["arguments"] == '{"city": "Paris"}'
    assert result.unparsed == []
    legacy = conformed(answer({"function_call": {"name": "f", "arguments": arguments}}), ask(legacy_functions=True))
    assert legacy.document["choices"][0]["message"]["function_call"]["arguments"] == '{"city": "Paris"}'


def test_arguments_that_are_no_json_are_named() -> None:
    calls = [call("{"), call("{}", id="b"), call("", id="c"), {"id": "d", "custom": {"name": "sql", "input": "{"}}]
    message = {"content": None, "tool_calls": calls}
    assert conformed(answer(json.loads(json.dumps(message)), "tool_calls")).unparsed == ["f"]
    assert conformed(answer(message, "length")).unparsed == []
    legacy = conformed(answer({"function_call": {"name": "g", "arguments": "x"}}), ask(legacy_functions=True))
    assert legacy.unparsed == ["g"]


def test_content_parts_of_a_whole_answer_need_no_index() -> None:
    parts = [{"type": "image", "index": 5}, {"type": "text", "text": "a"}, {"type": "image"}]
    assert message_of(answer({"content": parts}))["content_parts"] == [parts[0], parts[2]]


def test_keys_stay_in_their_order_and_so_do_those_that_say_nothing() -> None:
    message = {"x": 1, "content": "Hi", "role": "assistant", "refusal": None, "audio": None, "reasoning_content": ""}
    document = answer(dict(message), system_fingerprint=None, service_tier=None)
    choice = document["choices"][0] = {
        "finish_reason": "stop",
        "y": None,
        "message": message,
        "error": None,
        "index": 0,
    }
    before = json.loads(json.dumps(document))
    result = conformed(document).document
    assert result == before
    assert list(result["choices"][0]) == list(choice)
    assert list(result["choices"][0]["message"])[1:] == ["x", "content", "refusal", "audio", "reasoning_content"]


@pytest.mark.parametrize("place", [{"delta": {"role": "assistant", "content": "Hello"}}, {"text": "Hello"}])
def test_what_is_said_in_another_place_than_the_message_is_not_lost(place: Document) -> None:
    document = answer()
    choice = document["choices"][0]
    del choice["message"]
    choice.update(place)
    read = conformed(document)
    [whole] = read.document["choices"]
    assert whole["message"]["content"] == "Hello"
    assert not {"delta", "text"} & whole.keys()
    assert read.texts == ["Hello"]
