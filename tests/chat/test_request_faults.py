"""Every row of the request table: what is changed in a good document, and the words OpenAI has for it."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.chat.request import parse
from antiphon.errors import RequestError

Case = tuple[dict[str, Any], str, str | None, str | None]

MISSING = "missing_required_parameter"
TYPE = "invalid_type"
VALUE = "invalid_value"
ROLES = "'system', 'assistant', 'user', 'function', 'tool', and 'developer'"
PATTERN = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."


def good(**changes: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], **changes}


def lacks(path: str) -> tuple[str, str, str]:
    return f"Missing required parameter: '{path}'.", path, MISSING


def typed(path: str, expected: str, got: str) -> tuple[str, str, str]:
    return f"Invalid type for '{path}': expected {expected}, but got {got} instead.", path, TYPE


def ranged(path: str, kind: str, side: str, limit: int, got: str) -> tuple[str, str, str]:
    sign, edge = (">=", "minimum") if side == "below" else ("<=", "maximum")
    words = f"Invalid '{path}': {kind} {side} {edge} value. Expected a value {sign} {limit}, but got {got} instead."
    return words, path, f"{kind}_{side}_{edge[:3]}_value"


def supported(path: str, value: str, words: str) -> tuple[str, str, str]:
    return f"Invalid value: '{value}'. Supported values are: {words}.", path, VALUE


def lengthy(path: str, kind: str, limit: int, length: int) -> tuple[str, str, str]:
    noun = kind.split()[-1]
    words = f"Invalid '{path}': {noun} too long. Expected {kind} with maximum length {limit}, "
    return words + f"but got {kind} with length {length} instead.", path, f"{noun}_above_max_length"


def hollow(path: str, kind: str = "an array") -> tuple[str, str, str]:
    noun = kind.split()[-1]
    words = f"Invalid '{path}': empty {noun}. Expected {kind} with minimum length 1, but got an empty {noun} instead."
    return words, path, f"empty_{noun}"


def said(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


def part(item: Any, role: str = "user") -> dict[str, Any]:
    return said({"role": role, "content": [item]})


def call(**changes: Any) -> dict[str, Any]:
    entry = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, **changes}
    entry = {key: value for key, value in entry.items() if value is not ...}
    return said({"role": "assistant", "tool_calls": [entry]}, {"role": "tool", "tool_call_id": "c1", "content": "r"})


def tool(function: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": function}]}


def schema(**changes: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": changes}}


USER = {"role": "user", "content": "hi"}
CALLS = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}],
}
CONTENT = "one of a string or array of objects"
CHOICE = "one of a string or object"
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
)
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
NEEDS_JSON = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
BODY = "messages[0].content"
FIRST = "messages[0].tool_calls[0]"
SHAPE = "response_format.json_schema"

NUMBERS: list[Case] = [
    ({"temperature": 2.1}, *ranged("temperature", "decimal", "above", 2, "2.1")),
    ({"temperature": 3}, *ranged("temperature", "decimal", "above", 2, "3")),
    ({"temperature": -0.5}, *ranged("temperature", "decimal", "below", 0, "-0.5")),
    ({"temperature": "0.5"}, *typed("temperature", "a decimal", "a string")),
    ({"temperature": True}, *typed("temperature", "a decimal", "a boolean")),
    ({"top_p": 1.5}, *ranged("top_p", "decimal", "above", 1, "1.5")),
    ({"top_p": -1}, *ranged("top_p", "decimal", "below", 0, "-1")),
    ({"frequency_penalty": 2.5}, *ranged("frequency_penalty", "decimal", "above", 2, "2.5")),
    ({"presence_penalty": -3}, *ranged("presence_penalty", "decimal", "below", -2, "-3")),
    ({"presence_penalty": []}, *typed("presence_penalty", "a decimal", "an array")),
    ({"n": 129}, *ranged("n", "integer", "above", 128, "129")),
    ({"n": 0}, *ranged("n", "integer", "below", 1, "0")),
    ({"n": True}, *typed("n", "an integer", "a boolean")),
    ({"n": 1.0}, *typed("n", "an integer", "a decimal number")),
    ({"max_completion_tokens": 0}, *ranged("max_completion_tokens", "integer", "below", 1, "0")),
    ({"max_tokens": -1}, *ranged("max_tokens", "integer", "below", 0, "-1")),
    ({"max_tokens": 0.0}, *typed("max_tokens", "an integer", "a decimal number")),
    ({"max_tokens": "5"}, *typed("max_tokens", "an integer", "a string")),
    ({"seed": 2**63}, *ranged("seed", "integer", "above", 2**63 - 1, str(2**63))),
    ({"seed": -(2**63) - 1}, *ranged("seed", "integer", "below", -(2**63), str(-(2**63) - 1))),
    ({"seed": 1.5}, *typed("seed", "an integer", "a decimal number")),
    ({"logit_bias": []}, *typed("logit_bias", "an object", "an array")),
    ({"logit_bias": {"50256": 101}}, *ranged("logit_bias.50256", "integer", "above", 100, "101")),
    ({"logit_bias": {"50256": -101}}, *ranged("logit_bias.50256", "integer", "below", -100, "-101")),
    ({"logit_bias": {"50256": 1.5}}, *typed("logit_bias.50256", "an integer", "a decimal number")),
    ({"logit_bias": {"1": 5, "50256": 1.0}}, *typed("logit_bias.50256", "an integer", "a decimal number")),
    ({"logit_bias": {"5": "1"}}, *typed("logit_bias.5", "an integer", "a string")),
    ({"logit_bias": {"5": None}}, *typed("logit_bias.5", "an integer", "null")),
    ({"logit_bias": {"5": True}}, *typed("logit_bias.5", "an integer", "a boolean")),
    ({"logprobs": 5}, *typed("logprobs", "a boolean", "an integer")),
    ({"logprobs": True, "top_logprobs": "2"}, *typed("top_logprobs", "an integer", "a string")),
    ({"logprobs": True, "top_logprobs": -1}, *ranged("top_logprobs", "integer", "below", 0, "-1")),
    (
        {"logprobs": True, "top_logprobs": 21},
        "Invalid value for 'top_logprobs': must be less than or equal to 20.",
        "top_logprobs",
        None,
    ),
    *(
        (
            {"top_logprobs": 5, **logprobs},
            "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
            "top_logprobs",
            None,
        )
        for logprobs in ({}, {"logprobs": False}, {"logprobs": None})
    ),
]

SIMPLE: list[Case] = [
    ({"stream": "true"}, *typed("stream", "a boolean", "a string")),
    ({"stream": 1}, *typed("stream", "a boolean", "an integer")),
    *(
        (
            {"stream_options": options, **stream},
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
            None,
        )
        for options in ({}, {"include_usage": True})
        for stream in ({}, {"stream": False}, {"stream": None})
    ),
    ({"stream": True, "stream_options": "yes"}, *typed("stream_options", "an object", "a string")),
    (
        {"stream": True, "stream_options": {"include_usage": 1}},
        *typed("stream_options.include_usage", "a boolean", "an integer"),
    ),
    (
        {"stream": True, "stream_options": {"include_obfuscation": "no"}},
        *typed("stream_options.include_obfuscation", "a boolean", "a string"),
    ),
    ({"stop": list("abcde")}, *lengthy("stop", "an array", 4, 5)),
    ({"stop": 5}, *typed("stop", "one of a string or array of strings", "an integer")),
    ({"stop": {}}, *typed("stop", "one of a string or array of strings", "an object")),
    ({"stop": ["a", None]}, *typed("stop[1]", "a string", "null")),
    ({"store": "yes"}, *typed("store", "a boolean", "a string")),
    ({"parallel_tool_calls": 1}, *typed("parallel_tool_calls", "a boolean", "an integer")),
    ({"user": 7}, *typed("user", "a string", "an integer")),
    ({"prompt_cache_key": {}}, *typed("prompt_cache_key", "a string", "an object")),
    ({"prompt_cache_retention": 24}, *typed("prompt_cache_retention", "a string", "an integer")),
    ({"prompt_cache_options": {"ttl": 30}}, *typed("prompt_cache_options.ttl", "a string", "an integer")),
    ({"reasoning_effort": 3}, *typed("reasoning_effort", "a string", "an integer")),
    ({"verbosity": False}, *typed("verbosity", "a string", "a boolean")),
    ({"service_tier": []}, *typed("service_tier", "a string", "an array")),
    ({"metadata": "x"}, *typed("metadata", "an object", "a string")),
    ({"metadata": {"k": 1}}, *typed("metadata.k", "a string", "an integer")),
    ({"metadata": {"k": None}}, *typed("metadata.k", "a string", "null")),
    ({"metadata": {"k": "v" * 513}}, *lengthy("metadata.k", "a string", 512, 513)),
    (
        {"metadata": {str(i): "v" for i in range(17)}},
        "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, "
        "but got an object with 17 properties instead.",
        "metadata",
        "object_above_max_properties",
    ),
    (
        {"metadata": {"k" * 65: "v"}},
        "Invalid 'metadata': property name too long. Expected a property name with maximum length 64, "
        "but got a property name with length 65 instead.",
        "metadata",
        "property_name_above_max_length",
    ),
    ({"modalities": "text"}, *typed("modalities", "an array of strings", "a string")),
    ({"modalities": [1]}, *typed("modalities[0]", "a string", "an integer")),
    ({"audio": {"voice": "alloy"}}, *lacks("audio.format")),
    ({"audio": {"format": "wav"}}, *lacks("audio.voice")),
    ({"audio": {"format": "wav", "voice": 1}}, *typed("audio.voice", CHOICE, "an integer")),
    ({"prediction": {"content": "x"}}, *lacks("prediction.type")),
    ({"prediction": {"type": "content"}}, *lacks("prediction.content")),
    ({"prediction": {"type": "content", "content": 5}}, *typed("prediction.content", CONTENT, "an integer")),
    ({"moderation": "on"}, *typed("moderation", "an object", "a string")),
    (
        {"moderation": {"model": "m", "policy": {"input": {"mode": "stop"}}}},
        *supported("moderation.policy.input.mode", "stop", "'score' and 'block'"),
    ),
    ({"web_search_options": []}, *typed("web_search_options", "an object", "an array")),
    (
        {"web_search_options": {"user_location": {"type": "approximate", "approximate": {"city": 1}}}},
        *typed("web_search_options.user_location.approximate.city", "a string", "an integer"),
    ),
]

FORMATS: list[Case] = [
    ({"response_format": "json"}, *typed("response_format", "an object", "a string")),
    ({"response_format": {}}, *lacks("response_format.type")),
    ({"response_format": {"type": None}}, *typed("response_format.type", "a string", "null")),
    ({"response_format": {"type": "json_schema"}}, *lacks(SHAPE)),
    (schema(schema={}), *lacks(f"{SHAPE}.name")),
    (schema(name=None), *typed(f"{SHAPE}.name", "a string", "null")),
    (schema(name=""), *hollow(f"{SHAPE}.name", "a string")),
    (schema(name="n" * 65), *lengthy(f"{SHAPE}.name", "a string", 64, 65)),
    (schema(name="a b"), f"Invalid '{SHAPE}.name': {PATTERN}", f"{SHAPE}.name", VALUE),
    (schema(name="a\n"), f"Invalid '{SHAPE}.name': {PATTERN}", f"{SHAPE}.name", VALUE),
    (schema(name="a", schema="{}"), *typed(f"{SHAPE}.schema", "an object", "a string")),
    (schema(name="a", strict="yes"), *typed(f"{SHAPE}.strict", "a boolean", "a string")),
]

TOOLS: list[Case] = [
    ({"tools": {}}, *typed("tools", "an array of objects", "an object")),
    ({"tools": ["f"]}, *typed("tools[0]", "an object", "a string")),
    ({"tools": [{"name": "f", "parameters": {}}]}, *lacks("tools[0].function")),
    ({"tools": [{"type": "function", "name": "f"}]}, *lacks("tools[0].function")),
    ({"tools": [{"function": {"name": "f"}}]}, *lacks("tools[0].type")),
    ({"tools": [{"type": 1}]}, *typed("tools[0].type", "a string", "an integer")),
    (tool("f"), *typed("tools[0].function", "an object", "a string")),
    (tool({}), *lacks("tools[0].function.name")),
    (tool({"name": ""}), *hollow("tools[0].function.name", "a string")),
    (tool({"name": "a.b"}), f"Invalid 'tools[0].function.name': {PATTERN}", "tools[0].function.name", VALUE),
    (tool({"name": "f" * 65}), *lengthy("tools[0].function.name", "a string", 64, 65)),
    (tool({"name": "f", "description": 1}), *typed("tools[0].function.description", "a string", "an integer")),
    (tool({"name": "f", "parameters": "{}"}), *typed("tools[0].function.parameters", "an object", "a string")),
    (tool({"name": "f", "strict": "yes"}), *typed("tools[0].function.strict", "a boolean", "a string")),
    (
        tool({"name": "f", "parameters": {"type": "string"}}),
        "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'.",
        "tools[0].function.parameters",
        "invalid_function_parameters",
    ),
    ({"tools": [{"type": "custom"}]}, *lacks("tools[0].custom")),
    ({"tools": [{"type": "custom", "custom": {}}]}, *lacks("tools[0].custom.name")),
    (
        {"tools": [{"type": "custom", "custom": {"name": "c", "format": {"type": "grammar"}}}]},
        *lacks("tools[0].custom.format.grammar"),
    ),
    ({"tool_choice": 1}, *typed("tool_choice", CHOICE, "an integer")),
    ({"tool_choice": []}, *typed("tool_choice", CHOICE, "an array")),
    ({"tool_choice": {}}, *lacks("tool_choice.type")),
    ({"tool_choice": {"type": "function"}}, *lacks("tool_choice.function")),
    ({"tool_choice": {"type": "function", "function": {}}}, *lacks("tool_choice.function.name")),
    ({"tool_choice": {"type": "custom"}}, *lacks("tool_choice.custom")),
    ({"functions": []}, *hollow("functions")),
    ({"functions": [{}]}, *lacks("functions[0].name")),
    ({"function_call": {}}, *lacks("function_call.name")),
]

MESSAGES: list[Case] = [
    ({"messages": "hi"}, *typed("messages", "an array of objects", "a string")),
    ({"messages": None}, *typed("messages", "an array of objects", "null")),
    ({"messages": {}}, *typed("messages", "an array of objects", "an object")),
    ({"messages": []}, *hollow("messages")),
    (said("hi"), *typed("messages[0]", "an object", "a string")),
    (said(USER, None), *typed("messages[1]", "an object", "null")),
    (said({"content": "hi"}), *lacks("messages[0].role")),
    (said({"role": None, "content": "hi"}), *typed("messages[0].role", "a string", "null")),
    (said({"role": ["user"], "content": "hi"}), *typed("messages[0].role", "a string", "an array")),
    (said({"role": "assistantt", "content": "hi"}), *supported("messages[0].role", "assistantt", ROLES)),
    (said(USER, {"role": "user", "content": 5}), *typed("messages[1].content", CONTENT, "an integer")),
    (said({"role": "user", "content": {}}), *typed(BODY, CONTENT, "an object")),
    (said({"role": "user", "content": []}), *hollow(BODY)),
    (said({"role": "user", "content": "x", "name": 1}), *typed("messages[0].name", "a string", "an integer")),
    (part("hi"), *typed(f"{BODY}[0]", "an object", "a string")),
    (part({"text": "hi"}), *lacks(f"{BODY}[0].type")),
    (part({"type": 5}), *typed(f"{BODY}[0].type", "a string", "an integer")),
    (part({"type": "text"}), *lacks(f"{BODY}[0].text")),
    (part({"type": "text", "text": None}), *typed(f"{BODY}[0].text", "a string", "null")),
    (part({"type": "text", "text": 5}), *typed(f"{BODY}[0].text", "a string", "an integer")),
    (part({"type": "image_url"}), *lacks(f"{BODY}[0].image_url")),
    (part({"type": "image_url", "image_url": "u"}), *typed(f"{BODY}[0].image_url", "an object", "a string")),
    (part({"type": "image_url", "image_url": {}}), *lacks(f"{BODY}[0].image_url.url")),
    (part({"type": "input_audio", "input_audio": {"format": "wav"}}), *lacks(f"{BODY}[0].input_audio.data")),
    (part({"type": "input_audio", "input_audio": {"data": "x"}}), *lacks(f"{BODY}[0].input_audio.format")),
    (part({"type": "file"}), *lacks(f"{BODY}[0].file")),
    (part({"type": "file", "file": {"file_id": 1}}), *typed(f"{BODY}[0].file.file_id", "a string", "an integer")),
    (part({"type": "refusal"}, "assistant"), *lacks(f"{BODY}[0].refusal")),
    (said({"role": "tool", "content": "r"}), *lacks("messages[0].tool_call_id")),
    (said({"role": "tool", "tool_call_id": None}), *typed("messages[0].tool_call_id", "a string", "null")),
    (said({"role": "function", "content": "r"}), *lacks("messages[0].name")),
    (said({"role": "assistant", "refusal": 1}), *typed("messages[0].refusal", "a string", "an integer")),
    (
        said({"role": "assistant", "function_call": {"name": "f"}}),
        *lacks("messages[0].function_call.arguments"),
    ),
    (
        said({"role": "assistant", "tool_calls": {}}),
        *typed("messages[0].tool_calls", "an array of objects", "an object"),
    ),
    (said({"role": "assistant", "tool_calls": [1]}), *typed(FIRST, "an object", "an integer")),
    (call(id=...), *lacks(f"{FIRST}.id")),
    (call(id=None), *typed(f"{FIRST}.id", "a string", "null")),
    (call(type=...), *lacks(f"{FIRST}.type")),
    (call(function=...), *lacks(f"{FIRST}.function")),
    (call(function={"name": "f"}), *lacks(f"{FIRST}.function.arguments")),
    (call(function={"arguments": ""}), *lacks(f"{FIRST}.function.name")),
    (call(function={"name": "", "arguments": ""}), *hollow(f"{FIRST}.function.name", "a string")),
    (call(function={"name": "f", "arguments": {}}), *typed(f"{FIRST}.function.arguments", "a string", "an object")),
    (call(type="custom"), *lacks(f"{FIRST}.custom")),
    # Which answer belongs to which call
    (said(USER, {"role": "tool", "tool_call_id": "c1", "content": "r"}), ORPHAN, "messages[1].role", None),
    (said(CALLS), UNANSWERED, "messages", None),
    (said(CALLS, USER), UNANSWERED, "messages", None),
    (said(CALLS, CALLS), UNANSWERED, "messages", None),
    (
        said(CALLS, {"role": "tool", "tool_call_id": "c2", "content": "r"}),
        "Invalid parameter: 'tool_call_id' of 'c2' not found in 'tool_calls' of previous message.",
        "messages[1].tool_call_id",
        None,
    ),
    (
        said(
            CALLS,
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
            USER,
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
        ),
        ORPHAN,
        "messages[3].role",
        None,
    ),
]

MODEL: list[Case] = [
    ({"model": None}, "you must provide a model parameter", None, None),
    ({"model": ""}, "you must provide a model parameter", None, None),
    ({"model": 4}, *typed("model", "a string", "an integer")),
    ({"model": ["m"]}, *typed("model", "a string", "an array")),
    ({"model": False}, *typed("model", "a string", "a boolean")),
]

# Words, limits and rules that differ between vendors: the upstream judges them [upstream-knows].
STRICT: list[Case] = [
    ({"safety_identifier": "x" * 70}, *lengthy("safety_identifier", "a string", 64, 70)),
    ({"modalities": ["text", "audio"]}, *lacks("audio")),
    ({"prediction": {"type": "text", "content": "x"}}, *supported("prediction.type", "text", "'content'")),
    (
        {"response_format": {"type": "xml"}},
        *supported("response_format.type", "xml", "'text', 'json_object', and 'json_schema'"),
    ),
    ({"response_format": {"type": "json_object"}}, NEEDS_JSON, "messages", None),
    ({"tools": [{"type": "function", "function": {"name": "f"}}] * 129}, *lengthy("tools", "an array", 128, 129)),
    ({"tool_choice": "sometimes"}, *supported("tool_choice", "sometimes", "'none', 'auto', and 'required'")),
    (
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "any", "tools": []}}},
        *supported("tool_choice.allowed_tools.mode", "any", "'auto' and 'required'"),
    ),
    ({"functions": [{"name": "f"}] * 129}, *lengthy("functions", "an array", 128, 129)),
    (
        part({"type": "refusal", "refusal": "no"}),
        *supported(f"{BODY}[0].type", "refusal", "'text', 'image_url', 'input_audio', and 'file'"),
    ),
    *(
        (
            part({"type": "image_url", "image_url": {"url": "u"}}, role),
            *supported(f"{BODY}[0].type", "image_url", "'text'"),
        )
        for role in ("system", "developer")
    ),
    ({"top_k": 5}, "Unknown parameter: 'top_k'.", "top_k", "unknown_parameter"),
    ({"thinking": None}, "Unknown parameter: 'thinking'.", "thinking", "unknown_parameter"),
    (
        said({"role": "assistant", "content": "x", "reasoning_content": "y"}),
        "Unknown parameter: 'messages[0].reasoning_content'.",
        "messages[0].reasoning_content",
        "unknown_parameter",
    ),
    (
        tool({"name": "f", "cache": True}),
        "Unknown parameter: 'tools[0].function.cache'.",
        "tools[0].function.cache",
        "unknown_parameter",
    ),
    (
        part({"type": "video_url"}),
        *supported(f"{BODY}[0].type", "video_url", "'text', 'image_url', 'input_audio', and 'file'"),
    ),
    ({"tools": [{"type": "web_search"}]}, *supported("tools[0].type", "web_search", "'function' and 'custom'")),
    ({"tool_choice": "any"}, *supported("tool_choice", "any", "'none', 'auto', and 'required'")),
    ({"modalities": ["image"]}, *supported("modalities[0]", "image", "'text' and 'audio'")),
    ({"web_search_options": {"user_location": {}}}, *lacks("web_search_options.user_location.type")),
    (
        {"logit_bias": {"word": 1}},
        "Invalid key in 'logit_bias': word. You should only be submitting non-negative integers.",
        "logit_bias",
        None,
    ),
]


def refuse(document: dict[str, Any], strict: bool) -> tuple[str, str | None, str | None]:
    with pytest.raises(RequestError) as caught:
        parse(document, strict=strict)
    error = caught.value
    assert (error.status, error.type) == (400, "invalid_request_error")
    return error.message, error.param, error.code


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("case", [*MODEL, *MESSAGES, *NUMBERS, *SIMPLE, *FORMATS, *TOOLS])
def test_a_fault_is_named_in_openais_words(case: Case, strict: bool) -> None:
    changes, message, param, code = case
    assert refuse(good(**changes), strict) == (message, param, code)


@pytest.mark.parametrize("case", STRICT)
def test_strict_refuses_what_otherwise_travels(case: Case) -> None:
    changes, message, param, code = case
    parse(good(**changes), strict=False)
    assert refuse(good(**changes), strict=True) == (message, param, code)


def test_required_fields_may_be_missing_altogether() -> None:
    assert refuse({"messages": []}, False) == ("you must provide a model parameter", None, None)
    assert refuse({"model": "m"}, False) == lacks("messages")


def test_an_echoed_value_is_bounded() -> None:
    message, _, _ = refuse(good(tool_choice="x" * 100_000), True)
    assert len(message) < 1000
    message, _, code = refuse(good(seed=10**5000), False)
    assert (len(message) < 1000, code) == (True, "integer_above_max_value")
    message, param, _ = refuse(good(**{"k" * 100_000: 1}), True)
    assert len(message) < 1000
    assert param is not None
    assert len(param) < 1000
