"""Requests of the Responses API, read: the chat request that each becomes, and what is refused."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from antiphon.apis.api import ApiCall, ApiRequest
from antiphon.apis.responses import RESPONSES
from antiphon.apis.responses.reasoning import sealed
from antiphon.chat.request import parse
from antiphon.errors import RequestError

CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "42"}
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CHAT_OUTPUT = {"role": "tool", "tool_call_id": "c1", "content": "42"}
USER = {"role": "user", "content": "Hi"}


def read(strict: bool = False, drops_tools: bool = False, **fields: Any) -> ApiRequest:
    numbers = count()
    call = ApiCall(
        RESPONSES, {}, strict, lambda prefix: f"{prefix}{next(numbers)}", lambda: 1.0, drops_tools=drops_tools
    )
    asked = RESPONSES.read({"model": "m", "input": "Hi", **fields}, call)
    parse(asked.document, strict=strict)  # what is read is a chat request
    asked.fit(asked.document, "openai")  # … unless it says what a chat request cannot
    return asked


def messages(*items: Any) -> list[Any]:
    found: list[Any] = read(input=list(items)).document["messages"]
    return found


def sent(**fields: Any) -> dict[str, Any]:
    document = dict(read(**fields).document)
    del document["model"], document["messages"]
    return document


# Items


@pytest.mark.parametrize(
    ("part", "chat"),
    [
        ({"type": "input_text", "text": "a", "x": 1}, {"type": "text", "text": "a", "x": 1}),
        (
            {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "low"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}},
        ),
        (
            {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
        ),
        ({"type": "input_file", "file_id": "file-1"}, {"type": "file", "file": {"file_id": "file-1"}}),
        (
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
        ),
    ],
)
def test_parts(part: Any, chat: Any) -> None:
    [message] = messages({"role": "user", "content": [part]})
    assert message == {"role": "user", "content": [chat]}


def test_one_text_is_a_string_and_several_are_parts() -> None:
    text = {"type": "input_text", "text": "a"}
    assert messages({"type": "message", "role": "user", "content": [text]}) == [{"role": "user", "content": "a"}]
    assert messages({"role": "system", "content": [text, text]})[0]["content"] == [{"type": "text", "text": "a"}] * 2


def test_what_a_model_said_in_one_go_is_one_message() -> None:
    said = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
    parts = [{"type": "output_text", "text": "Wait.", "annotations": [], "logprobs": []}]
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    assert messages(USER, thought, {**said, "content": parts}, CALL, OUTPUT, USER) == [
        USER,
        {"role": "assistant", "reasoning_content": "Hm.", "content": "Wait.", "tool_calls": [CHAT_CALL]},
        CHAT_OUTPUT,
        USER,
    ]


def test_calls_of_two_turns_are_two_messages() -> None:
    second = {**CALL, "call_id": "c2"}
    assert [message["role"] for message in messages(USER, CALL, OUTPUT, second, {**OUTPUT, "call_id": "c2"})] == [
        *("user", "assistant", "tool", "assistant", "tool"),
    ]
    together = messages(USER, CALL, second, {**OUTPUT, "call_id": "c2"}, OUTPUT)
    assert [message["role"] for message in together] == ["user", "assistant", "tool", "tool"]
    assert [message.get("tool_call_id") for message in together[2:]] == ["c1", "c2"]


def test_an_output_stands_behind_its_call_wherever_it_came() -> None:
    found = messages(USER, CALL, USER, OUTPUT)
    assert found == [USER, {"role": "assistant", "tool_calls": [CHAT_CALL], "content": None}, CHAT_OUTPUT, USER]


def test_custom_calls() -> None:
    call = {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin"}
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "ok"}]}
    assert messages(call, output) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]


def test_signed_reasoning_comes_back_unchanged() -> None:
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "sig"}]
    text = sealed({"reasoning_content": "Hm.", "thinking_blocks": blocks})
    item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": text}
    assert messages(item, CALL, OUTPUT)[0] == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Hm.",
        "thinking_blocks": blocks,
        "tool_calls": [CHAT_CALL],
    }


@pytest.mark.parametrize("text", ["gAAAA", "antiphon.1.", "antiphon.1.!!", "antiphon.1.W10=", "antiphon.1.bnVsbA=="])
def test_what_another_server_has_encrypted_is_named(text: str) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": text}
    asked = read(input=[item, USER])
    assert list(asked.dropped) == ["input[0].encrypted_content"]
    with pytest.raises(RequestError) as caught:
        read(strict=True, input=[item, USER])
    assert caught.value.param == "input[0].encrypted_content"


# Parameters


@pytest.mark.parametrize(
    ("fields", "chat"),
    [
        ({"text": {"format": {"type": "text"}}}, {}),
        ({"text": {"format": {"type": "json_object"}}}, {"response_format": {"type": "json_object"}}),
        (
            {
                "text": {
                    "format": {"type": "json_schema", "name": "x", "schema": {}, "strict": True},
                    "verbosity": "low",
                }
            },
            {
                "verbosity": "low",
                "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}, "strict": True}},
            },
        ),
        ({"top_logprobs": 2}, {"logprobs": True, "top_logprobs": 2}),
        ({"include": ["message.output_text.logprobs"]}, {"logprobs": True}),
        ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}),
        ({"parallel_tool_calls": False, "tool_choice": "auto"}, {}),
        ({"store": False, "background": False, "metadata": {"a": "b"}, "truncation": "disabled"}, {}),
        ({"seed": 5, "top_k": 3, "service_tier": "flex"}, {"seed": 5, "top_k": 3, "service_tier": "flex"}),
        ({"prompt_cache_key": "k", "safety_identifier": "s"}, {"prompt_cache_key": "k", "safety_identifier": "s"}),
    ],
)
def test_parameters(fields: Any, chat: Any) -> None:
    assert sent(**fields) == chat


def test_tools() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /a/"}
    tools = [
        {"type": "function", "name": "a", "parameters": {"type": "object"}, "strict": None, "description": "d"},
        {"type": "custom", "name": "b", "format": grammar},
        {"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "function", "name": "c"}]},
    ]
    document = sent(tools=tools, parallel_tool_calls=False)
    assert document["parallel_tool_calls"] is False
    inner = {"syntax": "lark", "definition": "start: /a/"}
    assert document["tools"] == [
        {"type": "function", "function": {"name": "a", "description": "d", "parameters": {"type": "object"}}},
        {"type": "custom", "custom": {"name": "b", "format": {"type": "grammar", "grammar": inner}}},
        {"type": "function", "function": {"name": "n__c"}},
    ]


@pytest.mark.parametrize(
    ("choice", "chat"),
    [
        ("required", "required"),
        ({"type": "function", "name": "a"}, {"type": "function", "function": {"name": "a"}}),
        ({"type": "custom", "name": "a"}, {"type": "custom", "custom": {"name": "a"}}),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]},
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "a"}}]},
            },
        ),
    ],
)
def test_choices(choice: Any, chat: Any) -> None:
    assert sent(tools=[{"type": "function", "name": "a"}], tool_choice=choice)["tool_choice"] == chat


def test_built_in_tools_may_be_left_out_and_are_named() -> None:
    tools = [{"type": "web_search"}, {"type": "function", "name": "a"}]
    asked = read(drops_tools=True, tools=tools)
    assert [tool["function"]["name"] for tool in asked.document["tools"]] == ["a"]
    assert list(asked.dropped) == ["tools[0]"]
    for refuses in ({"strict": True, "drops_tools": True}, {}):
        with pytest.raises(RequestError) as caught:
            read(tools=tools, **refuses)
        assert caught.value.param == "tools[0].type"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": [CALL]}, "input[0]"),
        ({"input": [OUTPUT]}, "input[0]"),
        ({"input": [CALL, OUTPUT, OUTPUT]}, "input[2].call_id"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
            "input[0].content[0].file_id",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "x"}]}]},
            "input[0].content[0].file_url",
        ),
        ({"input": [{"role": "user", "content": [{"type": "video"}]}]}, "input[0].content[0].type"),
        ({"input": [{"type": "web_search_call", "id": "x"}]}, "input[0].type"),
        ({"input": ["x"]}, "input[0]"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice.type"),
        ({"tool_choice": "any"}, "tool_choice"),
        ({"include": "x"}, "include"),
        ({"reasoning": []}, "reasoning"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"n": 2}, "n"),
        ({"store": True}, "store"),
        ({"truncation": "some"}, "truncation"),
        ({"top_logprobs": 99}, "top_logprobs"),
        ({"instructions": 5}, "instructions"),
    ],
)
def test_what_is_refused(fields: Any, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(**fields)
    assert caught.value.param == param


def test_strict_refuses_what_is_not_of_this_api() -> None:
    for fields, param in (({"top_k": 1}, "top_k"), ({"text": {"x": 1}}, "text.x"), ({"image": {}}, "image")):
        with pytest.raises(RequestError) as caught:
            read(strict=True, **fields)
        assert caught.value.param == param
