"""Parameters, tools and schemas of Chat Completions requests as Gemini takes them."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.gemini import GEMINI, VERTEX_GEMINI
from tests.protocols.test_gemini_encode import changed, config, encode, refused

Document = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["b"]}


def tool(name: str = "f", **more: Any) -> Document:
    return {"type": "function", "function": {"name": name, **more}}


def schema(given: Document) -> Any:
    encoded = encode(tools=[tool(parameters=given)])
    return encoded.body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]


def choice(value: Any, **more: Any) -> Any:
    encoded = encode(tools=[tool("f"), tool("g")], tool_choice=value, **more)
    return encoded.body.get("toolConfig", {}).get("functionCallingConfig")


def test_parameters() -> None:
    encoded = encode(
        temperature=0,
        top_p=0.5,
        presence_penalty=0.1,
        frequency_penalty=-0.2,
        max_completion_tokens=99,
        max_tokens=1,
        stop="END",
        seed=7,
        logprobs=True,
        top_logprobs=3,
        n=1,
    )
    assert encoded.changes == ()
    assert encoded.body["generationConfig"] == {
        "temperature": 0,
        "topP": 0.5,
        "presencePenalty": 0.1,
        "frequencyPenalty": -0.2,
        "maxOutputTokens": 99,
        "stopSequences": ["END"],
        "seed": 7,
        "responseLogprobs": True,
        "logprobs": 3,
    }


def test_nulls_say_nothing() -> None:
    encoded = encode(temperature=None, stop=None, tools=None, response_format=None, seed=None, user=None, metadata=None)
    assert encoded.changes == ()
    assert list(encoded.body) == ["contents"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logit_bias", {"5": 1}),
        ("verbosity", "low"),
        ("user", "u1"),
        ("safety_identifier", "u1"),
        ("metadata", {"a": "b"}),
        ("prediction", {"type": "content", "content": "x"}),
        ("prompt_cache_key", "k"),
        ("service_tier", "scale"),
        ("brand_new_field", {"x": 1}),
    ],
)
def test_what_has_no_place_is_named_or_refused(name: str, value: Any) -> None:
    encoded = encode(**{name: value})
    assert changed(encoded) == [(name, "dropped")]
    assert list(encoded.body) == ["contents"]
    error = refused(strict=True, **{name: value})
    assert (error.param, error.code) == (name, "unsupported_parameter")


def test_caches_of_others_are_named() -> None:
    part = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    assert changed(encode({"role": "user", "content": [part]})) == [("messages[0].content[0].cache_control", "dropped")]
    message = {"role": "user", "content": "x", "cache_control": {"type": "ephemeral"}}
    assert changed(encode(message)) == [("messages[0].cache_control", "dropped")]
    assert changed(encode(tools=[tool() | {"cache_control": {}}])) == [("tools[0].cache_control", "dropped")]


def test_parallel_calls_cannot_be_forbidden() -> None:
    assert changed(encode(tools=[tool()], parallel_tool_calls=False)) == [("parallel_tool_calls", "dropped")]
    assert changed(encode(parallel_tool_calls=False)) == []


def test_a_model_without_sampling() -> None:
    encoded = encode(temperature=1, top_p=1, facts=ModelFacts(takes_sampling=False))
    assert changed(encoded) == [("temperature", "dropped"), ("top_p", "dropped")]
    assert "generationConfig" not in encoded.body


@pytest.mark.parametrize("seed", [2**31, -(2**31) - 1, 2**63 - 1, -(2**63)])
def test_seeds_of_more_than_32_bits(seed: int) -> None:
    encoded = encode(seed=seed)
    assert -(2**31) <= encoded.body["generationConfig"]["seed"] < 2**31
    assert changed(encoded) == [("seed", "rewritten")]


@pytest.mark.parametrize(
    ("tier", "said"), [("flex", "flex"), ("priority", "priority"), ("default", "standard"), ("auto", None)]
)
def test_tiers(tier: str, said: str | None) -> None:
    assert encode(service_tier=tier).body.get("serviceTier") == said


def test_vertex_has_labels_and_no_store() -> None:
    assert encode(metadata={"team": "red-1"}, protocol=VERTEX_GEMINI).body["labels"] == {"team": "red-1"}
    assert changed(encode(metadata={"Team": "Red"}, protocol=VERTEX_GEMINI)) == [("metadata", "dropped")]
    assert encode(labels={"a_b": "c"}, metadata={"d": "e"}, protocol=VERTEX_GEMINI).body["labels"] == {
        "a_b": "c",
        "d": "e",
    }
    assert encode(store=True).body["store"] is True
    assert changed(encode(store=True, protocol=VERTEX_GEMINI)) == [("store", "dropped")]


def test_audio() -> None:
    encoded = encode(modalities=["text", "audio"], audio={"voice": "Kore", "format": "wav"})
    assert encoded.body["generationConfig"] == {
        "responseModalities": ["TEXT", "AUDIO"],
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
    }
    assert changed(encoded) == [("audio.format", "dropped")]


# Gemini's own fields.


@pytest.mark.parametrize(
    "fields",
    [
        {"safetySettings": [1], "cachedContent": "c/1", "generationConfig": {"topK": 3, "thinkingConfig": {"x": 1}}},
        {"safety_settings": [1], "cached_content": "c/1", "top_k": 3, "thinking_config": {"x": 1}},
        {"google": {"safety_settings": [1], "cached_content": "c/1", "topK": 3, "thinking_config": {"x": 1}}},
        {
            "extra_body": {
                "google": {"safetySettings": [1], "cachedContent": "c/1", "top_k": 3, "thinkingConfig": {"x": 1}}
            }
        },
    ],
)
def test_own_fields_in_every_spelling(fields: Document) -> None:
    encoded = encode(**fields)
    assert encoded.changes == ()
    assert encoded.body["safetySettings"] == [1]
    assert encoded.body["cachedContent"] == "c/1"
    assert encoded.body["generationConfig"] == {"topK": 3, "thinkingConfig": {"x": 1}}


def test_own_fields_count_before_what_was_translated() -> None:
    said = config(reasoning_effort="low", temperature=1, generationConfig={"temperature": 0.5, "newKey": 1})
    assert said["temperature"] == 0.5
    assert said["newKey"] == 1
    said = config(reasoning_effort="low", google={"thinking_config": {"thinking_budget": 5}})
    assert said["thinkingConfig"] == {"includeThoughts": True, "thinkingBudget": 5}


def test_own_fields_say_nothing_that_stands_in_the_request() -> None:
    """It would be said without having been judged."""
    encoded = encode(google={"contents": [], "system_instruction": {"parts": []}, "tools": [], "model": "x"})
    assert list(encoded.body) == ["contents"]
    assert encoded.body["contents"] != []
    assert len(encoded.changes) == 4


# Tools.


def test_tools_keep_their_order() -> None:
    tools = [
        tool("b", description="B", parameters=SCHEMA),
        tool("a"),
        {"type": "google_search"},
        {"type": "url_context", "url_context": {"x": 1}},
        tool("c", parameters={}),
    ]
    encoded = encode(tools=tools)
    assert encoded.changes == ()
    assert encoded.body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "b", "description": "B", "parametersJsonSchema": SCHEMA},
                {"name": "a"},
            ]
        },
        {"googleSearch": {}},
        {"urlContext": {"x": 1}},
        {"functionDeclarations": [{"name": "c"}]},
    ]
    assert list(encoded.body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]["properties"]) == ["b", "a"]


def test_tools_of_others() -> None:
    encoded = encode(tools=[{"type": "web_search"}, {"type": "code_interpreter", "container": {}}, {"type": "custom"}])
    assert encoded.body["tools"] == [{"googleSearch": {}}, {"codeExecution": {}}]
    assert changed(encoded) == [("tools[1]", "rewritten"), ("tools[2]", "dropped")]


def test_web_search_options() -> None:
    encoded = encode(web_search_options={"search_context_size": "low"})
    assert encoded.body["tools"] == [{"googleSearch": {}}]
    assert changed(encoded) == [("web_search_options", "dropped")]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, None),
        ("auto", None),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ({"type": "function", "function": {"name": "g"}}, {"mode": "ANY", "allowedFunctionNames": ["g"]}),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [tool("g"), tool("f")]}},
            {"mode": "ANY", "allowedFunctionNames": ["g", "f"]},
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "name": "f"}]},
            },
            {"mode": "VALIDATED", "allowedFunctionNames": ["f"]},
        ),
    ],
)
def test_tool_choice(given: Any, said: Document | None) -> None:
    assert choice(given) == said


def test_strict_tools_are_validated() -> None:
    assert encode(tools=[tool(strict=True)]).body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_a_choice_of_no_tool_is_refused() -> None:
    named = {"type": "function", "function": {"name": "h"}}
    assert refused(tools=[tool("f")], tool_choice=named).param == "tool_choice"


def test_a_model_that_cannot_be_forced() -> None:
    encoded = encode(tools=[tool()], tool_choice="required", facts=ModelFacts(takes_forced_tools=False))
    assert "toolConfig" not in encoded.body
    assert changed(encoded) == [("tool_choice", "rewritten")]


# Structured output.


def test_formats() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}
    assert config(response_format=wanted) == {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    assert config(response_format={"type": "json_object"}) == {"responseMimeType": "application/json"}
    assert config(response_format={"type": "text"}) is None


def test_a_model_without_schemas_gives_json() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    encoded = encode(response_format=wanted, facts=ModelFacts(takes_schema=False))
    assert encoded.body["generationConfig"] == {"responseMimeType": "application/json"}
    assert changed(encoded) == [("response_format.json_schema", "dropped")]


def test_earlier_models_take_no_format_beside_tools() -> None:
    wanted = {"type": "json_object"}
    encoded = encode(response_format=wanted, tools=[tool()], model="gemini-2.5-pro")
    assert "generationConfig" not in encoded.body
    assert changed(encoded) == [("response_format", "dropped")]
    assert encode(response_format=wanted, tools=[tool()], model="gemini-3-pro").changes == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"const": "x"}, {"enum": ["x"]}),
        ({"$schema": "s", "type": "object", "$comment": "c"}, {"type": "object"}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"nullable": True, "type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMaximum": 9}, {"type": "integer", "maximum": 8}),
        ({"allOf": [{"$ref": "#/$defs/a"}]}, {"$ref": "#/$defs/a"}),
        ({"$ref": "#/$defs/a", "title": "A"}, {"$ref": "#/$defs/a", "title": "A"}),
        (
            {"$ref": "#/$defs/a", "description": "d"},
            {"anyOf": [{"$ref": "#/$defs/a"}], "description": "d"},
        ),
        (
            {"description": "d", "allOf": [{"$ref": "#/definitions/a"}]},
            {"anyOf": [{"$ref": "#/$defs/a"}], "description": "d"},
        ),
        (
            {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]},
            {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        ),
        (
            {"properties": {"const": {"type": "string"}, "not": {"const": 1}}},
            {"properties": {"const": {"type": "string"}, "not": {"enum": [1]}}},
        ),
        (
            {"items": {"const": 1}, "prefixItems": [{"const": 2}]},
            {"items": {"enum": [1]}, "prefixItems": [{"enum": [2]}]},
        ),
        ({"anyOf": [{"const": 1}, True]}, {"anyOf": [{"enum": [1]}, True]}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"type": "string", "pattern": "^a", "minLength": 1}, {"type": "string", "pattern": "^a", "minLength": 1}),
    ],
)
def test_schemas_in_gemini_words(given: Document, said: Document) -> None:
    inner = schema({"type": "object", "properties": {"x": given}})
    assert inner == {"type": "object", "properties": {"x": said}}
    assert encode(tools=[tool(parameters={"type": "object", "properties": {"x": given}})]).changes == ()


def test_definitions() -> None:
    given = {"type": "object", "properties": {"x": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"const": 1}}}
    assert schema(given) == {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"enum": [1]}},
    }


@pytest.mark.parametrize(
    "given",
    [
        {"not": {"type": "string"}},
        {"if": {}, "then": {}, "else": {}},
        {"patternProperties": {"^a": {}}},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "allOf": [{"type": "integer"}]},
    ],
)
def test_schemas_without_words_are_named_or_refused(given: Document) -> None:
    parameters = {"type": "object", "properties": {"x": given}}
    encoded = encode(tools=[tool(parameters=parameters)])
    assert changed(encoded) == [("tools[0].function.parameters", "dropped")]
    assert refused(tools=[tool(parameters=parameters)], strict=True).param == "tools[0].function.parameters"
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": parameters}}
    assert changed(encode(response_format=wanted)) == [("response_format.json_schema.schema", "dropped")]


def test_a_schema_nested_without_end_is_no_crash() -> None:
    deep: Document = {}
    for _ in range(500):
        deep = {"type": "object", "properties": {"x": deep}}
    assert GEMINI.encode(
        {"messages": [{"role": "user", "content": "x"}], "tools": [tool(parameters=deep)]},
        "gemini-3-flash",
        ModelFacts(),
        None,
        strict=False,
    )
