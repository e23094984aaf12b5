"""What stands beside a conversation: tools, structured output, sampling, thinking, everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.protocols.facts import ModelFacts, Thinking
from tests.protocols.bedrock_encoding import (
    ASKED,
    BUDGET,
    CLAUDE,
    USER,
    WEATHER,
    Remembered,
    changed,
    encode,
    refused,
)

Document = dict[str, Any]


# Tools


def spec(name: str) -> Document:
    return {**WEATHER, "function": {**WEATHER["function"], "name": name}}


def test_tools_keep_their_order_and_an_empty_description_goes() -> None:
    bare = {"type": "function", "function": {"name": "bare", "description": "", "strict": True}}
    tools = encode(tools=[spec("z"), bare, spec("a")]).body["toolConfig"]["tools"]
    assert [tool["toolSpec"]["name"] for tool in tools] == ["z", "bare", "a"]
    assert tools[1]["toolSpec"] == {
        "name": "bare",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
        "strict": True,
    }


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("auto", {"auto": {}}),
        ("required", {"any": {}}),
        ({"type": "function", "function": {"name": "weather"}}, {"tool": {"name": "weather"}}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]},
            },
            {"any": {}},
        ),
    ],
)
def test_tool_choice(choice: Any, said: Document) -> None:
    config = encode(tools=[WEATHER], tool_choice=choice).body["toolConfig"]
    assert config["toolChoice"] == said
    assert len(config["tools"]) == 1


def test_allowed_tools_are_the_only_ones() -> None:
    choice = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "b"}}]},
    }
    config = encode(tools=[spec("a"), spec("b")], tool_choice=choice).body["toolConfig"]
    assert [tool["toolSpec"]["name"] for tool in config["tools"]] == ["b"]


def test_no_tools_are_sent_where_none_may_be_called() -> None:
    assert "toolConfig" not in encode(tools=[WEATHER], tool_choice="none").body
    kept = encode(*ASKED, tools=[WEATHER], tool_choice="none")
    assert "toolChoice" not in kept.body["toolConfig"]
    assert changed(kept) == {"tool_choice": "rewritten"}


def test_a_history_with_calls_needs_definitions() -> None:
    encoded = encode(*ASKED)
    assert encoded.body["toolConfig"]["tools"][0]["toolSpec"]["name"] == "weather"
    assert changed(encoded) == {"tools": "rewritten"}


def test_a_model_that_cannot_be_forced_chooses_itself() -> None:
    facts = ModelFacts(takes_forced_tools=False)
    encoded = encode(tools=[WEATHER], tool_choice="required", facts=facts)
    assert encoded.body["toolConfig"]["toolChoice"] == {"auto": {}}
    assert changed(encoded) == {"tool_choice": "rewritten"}
    assert refused(tools=[WEATHER], tool_choice="required", facts=facts, strict=True).param == "tool_choice"


def test_one_call_at_a_time() -> None:
    body = encode(tools=[WEATHER], parallel_tool_calls=False, tool_choice="required", model=CLAUDE).body
    choice = {"type": "any", "disable_parallel_tool_use": True}
    assert body["additionalModelRequestFields"] == {"tool_choice": choice}
    assert changed(encode(tools=[WEATHER], parallel_tool_calls=False)) == {"parallel_tool_calls": "dropped"}
    assert encode(tools=[WEATHER], parallel_tool_calls=True).changes == ()


def test_tools_of_other_kinds() -> None:
    system = {"type": "systemTool", "systemTool": {"name": "nova_grounding"}}
    assert encode(tools=[system]).body["toolConfig"]["tools"] == [{"systemTool": {"name": "nova_grounding"}}]
    computer = {"type": "computer_20250124", "name": "computer", "display_width_px": 9}
    assert encode(tools=[computer], model=CLAUDE).body["additionalModelRequestFields"] == {"tools": [computer]}
    assert changed(encode(tools=[computer, WEATHER])) == {"tools[0]": "dropped"}
    custom = {"type": "custom", "custom": {"name": "c"}}
    assert refused(tools=[custom], strict=True).param == "tools[0]"


# Structured output


def test_a_schema_is_sent_as_text() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}
    form = {
        "type": "json_schema",
        "json_schema": {"name": "City", "description": "A city.", "schema": schema, "strict": True},
    }
    told = encode(response_format=form).body["outputConfig"]["textFormat"]
    assert told["type"] == "json_schema"
    inside = told["structure"]["jsonSchema"]
    assert (inside["name"], inside["description"]) == ("City", "A city.")
    assert json.loads(inside["schema"]) == schema
    assert inside["schema"].index('"b"') < inside["schema"].index('"a"')


def test_models_without_schemas_are_told_in_words() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    encoded = encode(response_format=form, facts=ModelFacts(takes_schema=False))
    assert '{"type":"object"}' in encoded.body["system"][0]["text"]
    assert changed(encoded) == {"response_format": "rewritten"}
    assert changed(encode(response_format={"type": "json_object"})) == {"response_format": "rewritten"}
    assert refused(response_format={"type": "json_object"}, strict=True).param == "response_format"
    assert encode(response_format={"type": "text"}).changes == ()


# Limits and sampling


def test_limits() -> None:
    facts = ModelFacts(max_output=100)
    assert encode(max_tokens=5, max_completion_tokens=7).body["inferenceConfig"] == {"maxTokens": 7}
    assert encode(max_tokens=100, facts=facts).changes == ()
    capped = encode(max_tokens=101, facts=facts)
    assert capped.body["inferenceConfig"] == {"maxTokens": 100}
    assert changed(capped) == {"max_tokens": "rewritten"}
    assert "inferenceConfig" not in encode(facts=facts).body
    assert encode(max_tokens=0).body["inferenceConfig"] == {"maxTokens": 1}


def test_sampling() -> None:
    hot = encode(temperature=1.5, top_p=0.9)
    assert hot.body["inferenceConfig"] == {"temperature": 1, "topP": 0.9}
    assert changed(hot) == {"temperature": "rewritten"}
    assert refused(temperature=1.5, strict=True).param == "temperature"
    none = encode(temperature=1, top_p=0.9, top_k=5, facts=ModelFacts(takes_sampling=False))
    assert "inferenceConfig" not in none.body
    assert changed(none) == {"temperature": "dropped", "top_p": "dropped", "top_k": "dropped"}


def test_top_k_goes_where_the_maker_wants_it() -> None:
    assert encode(top_k=20, model=CLAUDE).body["additionalModelRequestFields"] == {"top_k": 20}
    assert encode(top_k=20).body["additionalModelRequestFields"] == {"inferenceConfig": {"topK": 20}}


# Thinking


@pytest.mark.parametrize(
    ("effort", "limit", "tokens"),
    [("low", None, 2048), ("high", None, 16_384), ("max", None, 25_600), ("high", 5000, 4000), ("minimal", 2000, 1024)],
)
def test_efforts_as_budgets(effort: str, limit: int | None, tokens: int) -> None:
    fields: Document = {} if limit is None else {"max_tokens": limit}
    body = encode(model=CLAUDE, facts=BUDGET, reasoning_effort=effort, **fields).body
    assert body["additionalModelRequestFields"] == {"thinking": {"type": "enabled", "budget_tokens": tokens}}
    assert body["inferenceConfig"]["maxTokens"] == (limit or 32_000)


def test_a_budget_needs_room_and_signed_thinking() -> None:
    small = encode(model=CLAUDE, facts=BUDGET, reasoning_effort="low", max_tokens=1000)
    assert changed(small) == {"reasoning_effort": "dropped"}
    assert "additionalModelRequestFields" not in small.body
    unsigned = encode(*ASKED, model=CLAUDE, facts=BUDGET, reasoning_effort="low", tools=[WEATHER])
    assert changed(unsigned) == {"reasoning_effort": "dropped"}
    memory = Remembered(t1=[{"type": "redacted_thinking", "data": "aGlk"}])
    signed = encode(*ASKED, model=CLAUDE, facts=BUDGET, reasoning_effort="low", tools=[WEATHER], memory=memory)
    assert "thinking" in signed.body["additionalModelRequestFields"]


def test_what_does_not_go_with_thinking() -> None:
    encoded = encode(
        model=CLAUDE,
        facts=BUDGET,
        reasoning_effort="low",
        temperature=0.3,
        top_p=0.5,
        tools=[WEATHER],
        tool_choice="required",
    )
    assert changed(encoded) == {"temperature": "dropped", "top_p": "dropped", "tool_choice": "rewritten"}
    fine = encode(model=CLAUDE, facts=BUDGET, reasoning_effort="low", temperature=1, top_p=0.95)
    assert fine.changes == ()


@pytest.mark.parametrize("thinking", [Thinking.ADAPTIVE, Thinking.ALWAYS])
def test_efforts_as_words(thinking: Thinking) -> None:
    facts = ModelFacts(thinking=thinking, efforts=("low", "medium", "high"))
    encoded = encode(model=CLAUDE, facts=facts, reasoning_effort="max")
    assert encoded.body["additionalModelRequestFields"] == {
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
    }
    assert changed(encoded) == {"reasoning_effort": "rewritten"}
    never = encode(model=CLAUDE, facts=facts, reasoning_effort="none")
    assert changed(never) == ({"reasoning_effort": "dropped"} if thinking is Thinking.ALWAYS else {})


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("openai.gpt-oss-120b-1:0", {"reasoning_effort": "high"}),
        ("qwen.qwen3-32b-v1:0", {"reasoning_config": "high"}),
        ("deepseek.v3-v1:0", {"reasoning_config": "high"}),
    ],
)
def test_efforts_of_other_makers(model: str, fields: Document) -> None:
    assert encode(model=model, reasoning_effort="high").body["additionalModelRequestFields"] == fields


def test_efforts_of_nova() -> None:
    facts = ModelFacts(thinking=Thinking.ADAPTIVE)
    encoded = encode(reasoning_effort="high", facts=facts, temperature=0.1)
    config = {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "high"}}
    assert encoded.body["additionalModelRequestFields"] == config
    assert changed(encoded) == {"temperature": "dropped"}


def test_efforts_of_models_that_do_not_think() -> None:
    assert changed(encode(reasoning_effort="low", model="meta.llama4-x")) == {"reasoning_effort": "dropped"}
    assert encode(reasoning_effort="none", model="meta.llama4-x").changes == ()
    known = encode(reasoning_effort="low", model="new.maker-1", facts=ModelFacts(efforts=("low", "high")))
    assert known.body["outputConfig"] == {"effort": "low"}


def test_thinking_in_claudes_own_words() -> None:
    own = {"type": "enabled", "budget_tokens": 3000}
    encoded = encode(model=CLAUDE, thinking=own, reasoning_effort="low", temperature=0.1)
    assert encoded.body["additionalModelRequestFields"] == {"thinking": own}
    assert changed(encoded) == {"reasoning_effort": "dropped", "temperature": "dropped"}


# Everything else


def test_fields_in_bedrocks_own_words() -> None:
    guardrail = {"guardrailIdentifier": "gr1", "guardrailVersion": "1", "trace": "enabled"}
    body = encode(
        max_tokens=5,
        guardrailConfig=guardrail,
        performanceConfig={"latency": "optimized"},
        inferenceConfig={"maxTokens": 6},
        additionalModelRequestFields={"a": 1},
        additionalModelResponseFieldPaths=["/x"],
        serviceTier={"type": "reserved"},
        requestMetadata={"team": "x"},
        anthropic_beta=["b-1"],
        extra_body={"min_p": 0.1},
    ).body
    assert body["guardrailConfig"] == guardrail
    assert body["performanceConfig"] == {"latency": "optimized"}
    assert body["inferenceConfig"] == {"maxTokens": 6}
    assert body["additionalModelRequestFields"] == {"anthropic_beta": ["b-1"], "min_p": 0.1, "a": 1}
    assert body["additionalModelResponseFieldPaths"] == ["/x"]
    assert body["serviceTier"] == {"type": "reserved"}
    assert body["requestMetadata"] == {"team": "x"}


def test_metadata_and_tiers() -> None:
    encoded = encode(metadata={"team": "a b", "bad": "é"}, user="u-1", service_tier="flex")
    assert encoded.body["requestMetadata"] == {"team": "a b", "user": "u-1"}
    assert encoded.body["serviceTier"] == {"type": "flex"}
    assert changed(encoded) == {"metadata.bad": "dropped"}
    assert "serviceTier" not in encode(service_tier="auto").body
    assert changed(encode(service_tier="scale")) == {"service_tier": "dropped"}


@pytest.mark.parametrize(
    ("param", "value", "silent"),
    [
        ("seed", 7, None),
        ("logprobs", True, False),
        ("top_logprobs", 3, 0),
        ("logit_bias", {"1": 5}, {}),
        ("presence_penalty", 0.5, 0),
        ("frequency_penalty", 0.5, 0),
        ("prediction", {"type": "content", "content": "x"}, None),
        ("modalities", ["text", "audio"], ["text"]),
        ("store", True, False),
        ("verbosity", "low", "medium"),
        ("web_search_options", {}, None),
        ("prompt_cache_key", "k", None),
    ],
)
def test_what_converse_cannot_say_is_named(param: str, value: Any, silent: Any) -> None:
    assert changed(encode(**{param: value})) == {param: "dropped"}
    assert refused(strict=True, **{param: value}).param == param
    assert encode(strict=True, **{param: silent}).changes == ()


def test_names_of_speakers_are_named() -> None:
    assert changed(encode({**USER, "name": "ann"})) == {"messages[0].name": "dropped"}
