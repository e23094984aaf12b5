"""Cohere's requests, whole answers, failures, and conversations over several turns."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.completion import conform
from antiphon.errors import RequestError, UpstreamError
from antiphon.protocols.cohere import Cohere
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import Encoded
from tests.chat.machine import request, stamp

Document = dict[str, Any]
USER: Document = {"role": "user", "content": "Hi"}
WEATHER: Document = {"type": "function", "function": {"name": "weather", "description": "Tells it."}}
CALL: Document = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"b":1,"a":2}'}}
THINKS = ModelFacts(thinking=Thinking.BUDGET)


def encode(*messages: Document, facts: ModelFacts | None = None, strict: bool = False, **fields: Any) -> Encoded:
    document = {"model": "asked", "messages": list(messages) or [USER], **fields}
    before = copy.deepcopy(document)
    encoded = Cohere().encode(document, "command-a-03-2025", facts or ModelFacts(), None, strict=strict)
    assert document == before
    return encoded


def changed(encoded: Encoded) -> dict[str, str]:
    return {change.param: change.action for change in encoded.changes}


def refused(*messages: Document, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        encode(*messages, **fields)
    assert caught.value.status == 400
    assert str(caught.value.code) == "unsupported_parameter"
    return caught.value


# Requests


def test_a_plain_request() -> None:
    encoded = encode(
        {"role": "developer", "content": "Be kind."},
        USER,
        stream=True,
        temperature=1.5,
        top_p=0.5,
        top_k=9,
        max_tokens=7,
        stop="X",
        seed=3,
    )
    assert encoded.path == "/v2/chat"
    assert encoded.body == {
        "model": "command-a-03-2025",
        "stream": True,
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 7,
        "temperature": 1.5,
        "p": 0.5,
        "k": 9,
        "seed": 3,
        "stop_sequences": ["X"],
    }
    assert encoded.changes == ()


def test_calls_and_results() -> None:
    messages = encode(
        USER,
        {"role": "assistant", "content": None, "reasoning_content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "rain"}], "is_error": True},
        tools=[WEATHER],
    ).body["messages"]
    assert messages[1:] == [
        {"role": "assistant", "tool_plan": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "rain"}]},
    ]


def test_reasoning_goes_back_as_thinking_to_models_that_think() -> None:
    said = {"role": "assistant", "content": "4", "reasoning_content": "2+2"}
    assert encode(USER, said, USER, facts=THINKS).body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "2+2"},
        {"type": "text", "text": "4"},
    ]
    assert changed(encode(USER, said, USER, strict=True)) == {"messages[1].reasoning_content": "dropped"}


def test_parts() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}}
    content = [
        {"type": "text", "text": "See", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": ""},
        image,
    ]
    assert encode({"role": "user", "content": content}).body["messages"][0]["content"] == [
        {"type": "text", "text": "See"},
        image,
    ]
    eyeless = ModelFacts(takes_images=False)
    assert refused({"role": "user", "content": content}, facts=eyeless).param == "messages[0].content[2].image_url"
    audio = {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}
    assert refused({"role": "user", "content": [audio]}).param == "messages[0].content[0].type"


def test_legacy_functions() -> None:
    body = encode(
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        {"role": "function", "name": "f", "content": "1"},
        functions=[{"name": "f"}],
        function_call={"name": "f"},
    ).body
    [called] = body["messages"][1]["tool_calls"]
    assert called["function"]["arguments"] == "{}"
    assert body["messages"][2]["tool_call_id"] == called["id"]
    assert body["tool_choice"] == "REQUIRED"


def test_tools_and_choices() -> None:
    other = {"type": "function", "function": {"name": "clock", "strict": True, "parameters": {"type": "object"}}}
    body = encode(tools=[other, WEATHER]).body
    assert [tool["function"]["name"] for tool in body["tools"]] == ["clock", "weather"]
    assert body["tools"][1]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert "tool_choice" not in encode(tools=[other], tool_choice="auto").body
    assert encode(tools=[other], tool_choice="required").body["tool_choice"] == "REQUIRED"
    assert encode(tools=[other], tool_choice="none").body["tool_choice"] == "NONE"
    assert encode(tools=[other]).body["strict_tools"] is True
    named = encode(tools=[other, WEATHER], tool_choice={"type": "function", "function": {"name": "weather"}})
    assert [tool["function"]["name"] for tool in named.body["tools"]] == ["weather"]
    assert named.body["tool_choice"] == "REQUIRED"
    unforced = encode(tools=[other], tool_choice="required", facts=ModelFacts(takes_forced_tools=False))
    assert changed(unforced) == {"tool_choice": "rewritten"}
    assert changed(encode(tools=[{"type": "web_search"}])) == {"tools[0]": "dropped"}


def test_structured_output() -> None:
    schema = {"type": "object", "required": ["a"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert encode(response_format=form).body["response_format"] == {"type": "json_object", "json_schema": schema}
    assert encode(response_format={"type": "json_object"}).body["response_format"] == {"type": "json_object"}
    worded = encode(response_format=form, facts=ModelFacts(takes_schema=False))
    assert json.dumps(schema, separators=(",", ":")) in worded.body["messages"][0]["content"]
    assert changed(worded) == {"response_format": "rewritten"}


def test_numbers_within_bounds() -> None:
    encoded = encode(top_p=1, frequency_penalty=1.5, presence_penalty=-1, stop=["a", "", "b"])
    assert (encoded.body["p"], encoded.body["frequency_penalty"], encoded.body["presence_penalty"]) == (0.99, 1, 0)
    assert encoded.body["stop_sequences"] == ["a", "b"]
    assert changed(encoded) == {
        "top_p": "rewritten",
        "frequency_penalty": "rewritten",
        "presence_penalty": "rewritten",
    }
    assert encode(top_p=1, strict=True).body["p"] == 0.99
    assert refused(presence_penalty=-1, strict=True).param == "presence_penalty"


def test_thinking() -> None:
    assert encode(reasoning_effort="low", facts=THINKS).body["thinking"] == {"type": "enabled", "token_budget": 2048}
    assert encode(reasoning_effort="none", facts=THINKS).body["thinking"] == {"type": "disabled"}
    assert changed(encode(reasoning_effort="low")) == {"reasoning_effort": "dropped"}
    own = {"type": "enabled", "token_budget": 5}
    both = encode(reasoning_effort="low", thinking=own, facts=THINKS)
    assert both.body["thinking"] == own
    assert changed(both) == {"reasoning_effort": "dropped"}


def test_coheres_own_fields_travel() -> None:
    body = encode(documents=["a"], safety_mode="STRICT", extra_body={"priority": 3}).body
    assert (body["documents"], body["safety_mode"], body["priority"]) == (["a"], "STRICT", 3)
    assert "extra_body" not in body


@pytest.mark.parametrize(
    ("param", "value", "silent"),
    [
        ("logit_bias", {"1": 5}, {}),
        ("metadata", {"a": "b"}, {}),
        ("parallel_tool_calls", False, True),
        ("top_logprobs", 2, 0),
        ("user", "u", None),
        ("store", True, False),
        ("service_tier", "flex", "auto"),
    ],
)
def test_what_cohere_cannot_say_is_named(param: str, value: Any, silent: Any) -> None:
    assert changed(encode(**{param: value})) == {param: "dropped"}
    assert refused(strict=True, **{param: value}).param == param
    assert encode(strict=True, **{param: silent}).changes == ()


# Answers


def decode(message: Document, reason: str = "COMPLETE", **more: Any) -> Document:
    answer = {"id": "0f-1", "message": {"role": "assistant", **message}, "finish_reason": reason, **more}
    return conform(Cohere().decode(answer, "command-a"), request(), stamp()).document


def test_whole_answers() -> None:
    content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Paris."}]
    cited = {"start": 0, "end": 5, "text": "Paris", "content_index": 1, "type": "TEXT_CONTENT", "sources": []}
    document = decode(
        {"content": content, "citations": [cited]},
        usage={"tokens": {"input_tokens": 30.0, "output_tokens": 5.0}, "cached_tokens": 16.0},
        logprobs=[{"text": "Paris.", "token_ids": [1], "logprobs": [-0.5]}],
    )
    choice = document["choices"][0]
    assert choice["message"]["content"] == "Paris."
    assert choice["message"]["reasoning_content"] == "Hm."
    assert choice["message"]["annotations"][0]["citation"]["start_index"] == 0
    assert choice["logprobs"]["content"][0]["logprob"] == -0.5
    assert document["usage"] == {
        "prompt_tokens": 30,
        "completion_tokens": 5,
        "total_tokens": 35,
        "prompt_tokens_details": {"cached_tokens": 16},
    }


def test_whole_calls() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "null"}}
    choice = decode({"tool_plan": "I look.", "tool_calls": [call, {**CALL}]}, "TOOL_CALL")["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["reasoning_content"] == "I look."
    assert [called["function"]["arguments"] for called in choice["message"]["tool_calls"]] == ["{}", '{"b":1,"a":2}']


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ({"message": "too many tokens"}, 400, "context_length_exceeded"),
        ({"message": {"content": 7}, "finish_reason": "COMPLETE"}, 502, "upstream_malformed"),
        ({"message": {"content": []}, "finish_reason": "ERROR"}, 502, "upstream_error"),
        ({"message": {"content": []}, "finish_reason": "TIMEOUT"}, 504, "timeout"),
        ({"message": {"content": []}}, 502, "upstream_malformed"),
        ({"message": {"tool_calls": [7]}, "finish_reason": "TOOL_CALL"}, 502, "upstream_malformed"),
        ({}, 502, "upstream_malformed"),
    ],
)
def test_what_is_no_answer(answer: Document, status: int, code: str) -> None:
    with pytest.raises(UpstreamError) as caught:
        Cohere().decode(answer, "m")
    assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize(
    ("status", "message", "outward", "code"),
    [
        (400, "invalid request: bad", 400, None),
        (
            400,
            "too many tokens: total number of tokens in the request cannot exceed 128000",
            400,
            "context_length_exceeded",
        ),
        (401, "invalid api token abc", 502, "upstream_error"),
        (404, "model 'x' not found", 404, None),
        (422, "no", 422, None),
        (429, "trial key: 10 calls a minute", 429, "rate_limit_exceeded"),
        (498, "invalid token abc", 502, "upstream_error"),
        (499, "request cancelled", 502, "upstream_error"),
        (503, "busy", 503, "upstream_error"),
    ],
)
def test_failures(status: int, message: str, outward: int, code: str | None) -> None:
    failure = Cohere().read_failure(status, json.dumps({"id": "1", "message": message}).encode())
    assert (failure.status, failure.code) == (outward, code)
    assert "abc" not in failure.message


# Turns

IDS = st.text(min_size=1, max_size=12)
CALLS = st.builds(
    lambda identity, name, said: {
        "id": identity,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(said)},
    },
    IDS,
    st.from_regex(r"[a-zA-Z0-9_-]{1,12}", fullmatch=True),
    st.dictionaries(st.text(max_size=4), st.integers(-9, 9), max_size=2),
)
ANSWERS = st.tuples(st.text(max_size=9), st.lists(CALLS, min_size=1, max_size=3, unique_by=lambda call: call["id"]))


@given(st.lists(ANSWERS, min_size=3, max_size=3))
def test_three_turns_come_back_as_they_were_said(answers: list[tuple[str, list[Document]]]) -> None:
    messages: list[Document] = [USER]
    for plan, calls in answers:
        said = decode({"tool_plan": plan, "tool_calls": copy.deepcopy(calls)}, "TOOL_CALL")["choices"][0]["message"]
        messages.append(json.loads(json.dumps(said)))
        messages += ({"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in said["tool_calls"])
    body = encode(*messages, strict=True).body
    said_again = [message for message in body["messages"] if message["role"] == "assistant"]
    assert [(message.get("tool_plan", ""), message["tool_calls"]) for message in said_again] == answers
    results = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    assert results == [call["id"] for _, calls in answers for call in calls]
