"""A Chat Completions request as Converse takes it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from antiphon.errors import RequestError, RouteError
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import Encoded

Document = dict[str, Any]
CLAUDE = "us.anthropic.claude-sonnet-4-5-v1:0"
NOVA = "amazon.nova-2-lite-v1:0"
USER: Document = {"role": "user", "content": "Hi"}
WEATHER: Document = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells it.", "parameters": {"type": "object", "properties": {}}},
}
CALL: Document = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"b": 1, "a": 2}'}}
ASKED: list[Document] = [
    USER,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "t1", "content": "rain"},
]
BUDGET = ModelFacts(thinking=Thinking.BUDGET, max_output=32_000)


class Remembered:
    def __init__(self, **blocks: list[Document]) -> None:
        self._blocks = blocks

    def find(self, call_id: str) -> list[Document] | None:
        return self._blocks.get(call_id)


def encode(
    *messages: Document,
    model: str = NOVA,
    facts: ModelFacts | None = None,
    strict: bool = False,
    memory: Any = None,
    **fields: Any,
) -> Encoded:
    document = {"model": "asked", "messages": list(messages) or [USER], **fields}
    before = copy.deepcopy(document)
    encoded = Bedrock().encode(document, model, facts or ModelFacts(), memory, strict=strict)
    assert document == before
    return encoded


def changed(encoded: Encoded) -> dict[str, str]:
    return {change.param: change.action for change in encoded.changes}


def refused(*messages: Document, **fields: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        encode(*messages, **fields)
    assert caught.value.status == 400
    assert caught.value.code == "unsupported_parameter"
    return caught.value


# Paths


def test_a_model_is_one_segment_of_the_path() -> None:
    assert encode().path == "/model/amazon.nova-2-lite-v1%3A0/converse"
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x"
    path = encode(model=arn, stream=True).path
    assert path == "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.x/converse-stream"
    assert encode(model="../../x").path == "/model/..%2F..%2Fx/converse"


@pytest.mark.parametrize("model", [".", ".."])
def test_a_model_that_would_climb_the_path_is_none(model: str) -> None:
    with pytest.raises(RouteError):
        encode(model=model)


# Messages


def test_a_plain_request() -> None:
    encoded = encode({"role": "system", "content": "Be kind."}, USER, temperature=0.5, max_tokens=9, stop="END")
    assert encoded.body == {
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
        "system": [{"text": "Be kind."}],
        "inferenceConfig": {"maxTokens": 9, "temperature": 0.5, "stopSequences": ["END"]},
    }
    assert encoded.changes == ()


def test_neighbours_of_one_role_become_one_and_empty_texts_go() -> None:
    body = encode(
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "a"}]},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "c"},
    ).body
    assert body["messages"] == [{"role": "user", "content": [{"text": "a"}, {"text": "b"}, {"text": "c"}]}]


def test_system_and_developer_messages_in_mid_conversation() -> None:
    talk = [USER, {"role": "developer", "content": "Shorter."}, {"role": "assistant", "content": "Ok"}, USER]
    folded = encode(*talk)
    assert folded.body["system"] == [{"text": "Shorter."}]
    assert changed(folded) == {"messages[1]": "rewritten"}
    kept = encode(*talk, facts=ModelFacts(takes_mid_system=True))
    assert [message["role"] for message in kept.body["messages"]] == ["user", "system", "assistant", "user"]
    assert kept.changes == ()
    assert refused(*talk, strict=True).param == "messages[1]"


def test_a_conversation_without_a_user() -> None:
    alone = encode({"role": "system", "content": "Greet."})
    assert alone.body["messages"] == [{"role": "user", "content": [{"text": "."}]}]
    talk = [{"role": "assistant", "content": "Hello!"}, USER]
    assert encode(*talk).body["messages"][0]["role"] == "user"
    assert encode(*talk, model=CLAUDE).body["messages"][0]["role"] == "assistant"


def test_the_beginning_of_the_answer() -> None:
    talk = [USER, {"role": "assistant", "content": "Sure: \n"}]
    assert encode(*talk).body["messages"][-1] == {"role": "assistant", "content": [{"text": "Sure:"}]}
    facts = ModelFacts(takes_prefill=False)
    adapted = encode(*talk, facts=facts)
    assert adapted.body["messages"][-1] == {"role": "user", "content": [{"text": "Continue."}]}
    assert changed(adapted) == {"messages": "rewritten"}
    assert refused(*talk, facts=facts, strict=True).param == "messages"


def test_calls_and_results_stand_in_order_and_keys_stay() -> None:
    second = {"id": "t2", "type": "function", "function": {"name": "clock", "arguments": ""}}
    body = encode(
        USER,
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL, second]},
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "rain"}]},
        {"role": "tool", "tool_call_id": "t2", "content": "broken", "is_error": True},
        {"role": "user", "content": "Well?"},
        tools=[WEATHER],
    ).body
    assert body["messages"][1]["content"] == [
        {"text": "I look."},
        {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"b": 1, "a": 2}}},
        {"toolUse": {"toolUseId": "t2", "name": "clock", "input": {}}},
    ]
    assert list(body["messages"][1]["content"][1]["toolUse"]["input"]) == ["b", "a"]
    assert body["messages"][2]["content"] == [
        {"toolResult": {"toolUseId": "t1", "content": [{"text": "rain"}]}},
        {"toolResult": {"toolUseId": "t2", "content": [{"text": "broken"}], "status": "error"}},
        {"text": "Well?"},
    ]


def test_ids_that_bedrock_refuses_are_mapped_alike() -> None:
    strange = "call_x__thought__" + "A+/=" * 40
    body = encode(
        USER,
        {"role": "assistant", "tool_calls": [{**CALL, "id": strange}]},
        {"role": "tool", "tool_call_id": strange, "content": "rain"},
        tools=[WEATHER],
    ).body
    used = body["messages"][1]["content"][0]["toolUse"]["toolUseId"]
    assert used == body["messages"][2]["content"][0]["toolResult"]["toolUseId"]
    assert len(used) <= 64
    assert used.replace("_", "").isalnum()


def test_ids_that_come_twice_are_told_apart() -> None:
    talk = [{"role": "assistant", "tool_calls": [CALL]}, ASKED[2]]
    messages = encode(USER, *talk, *talk, tools=[WEATHER]).body["messages"]
    used = [message["content"][0]["toolUse"]["toolUseId"] for message in messages[1::2]]
    answered = [message["content"][0]["toolResult"]["toolUseId"] for message in messages[2::2]]
    assert used == answered
    assert used[0] == "t1"
    assert len(set(used)) == 2


def test_legacy_functions() -> None:
    body = encode(
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        functions=[{"name": "f"}],
        function_call={"name": "f"},
    ).body
    used = body["messages"][1]["content"][0]["toolUse"]
    assert body["messages"][2]["content"][0]["toolResult"]["toolUseId"] == used["toolUseId"]
    assert body["toolConfig"] == {
        "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}}],
        "toolChoice": {"tool": {"name": "f"}},
    }


@pytest.mark.parametrize("arguments", ["[1]", "{", "7"])
def test_arguments_that_are_no_object_are_refused(arguments: str) -> None:
    call = {**CALL, "function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "tool_calls": [call]}
    assert refused(USER, message).param == "messages[1].tool_calls[0].function.arguments"


# Thinking that comes back


def test_thinking_blocks_come_back_unchanged_in_order_and_before_the_calls() -> None:
    blocks = [
        {"index": 0, "type": "thinking", "thinking": "Hm.", "signature": "c2ln+/=="},
        {"type": "redacted_thinking", "data": "aGlk"},
        {"type": "thinking", "thinking": "", "signature": "cw=="},
    ]
    message = {
        "role": "assistant",
        "content": "a",
        "reasoning_content": "Hm.",
        "thinking_blocks": blocks,
        "tool_calls": [CALL],
    }
    encoded = encode(USER, message, ASKED[2], tools=[WEATHER])
    assert encoded.body["messages"][1]["content"][:4] == [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln+/=="}}},
        {"reasoningContent": {"redactedContent": "aGlk"}},
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "cw=="}}},
        {"text": "a"},
    ]
    assert encoded.changes == ()


def test_thinking_that_the_client_dropped_is_found_by_its_call() -> None:
    memory = Remembered(t1=[{"type": "thinking", "thinking": "Hm.", "signature": "cw=="}])
    body = encode(*ASKED, tools=[WEATHER], memory=memory).body
    assert body["messages"][1]["content"][0] == {
        "reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "cw=="}}
    }


def test_thinking_without_a_signature_is_named_and_left_out() -> None:
    message = {"role": "assistant", "content": "a", "reasoning_content": "Hm."}
    encoded = encode(USER, message, USER, strict=True)
    assert encoded.body["messages"][1]["content"] == [{"text": "a"}]
    assert changed(encoded) == {"messages[1].reasoning_content": "dropped"}
    blocks = {"role": "assistant", "content": "a", "thinking_blocks": [{"type": "thinking", "thinking": "x"}]}
    assert changed(encode(USER, blocks, USER)) == {"messages[1].thinking_blocks": "dropped"}


def test_bedrocks_own_blocks_come_back() -> None:
    use = {"toolUse": {"toolUseId": "s1", "name": "x", "type": "server_tool_use", "input": {}}}
    result = {"toolResult": {"toolUseId": "s1", "content": [], "type": "r"}}
    parts = [{"index": 1, "text_offset": 1, **use}, {"index": 2, "text_offset": 1, **result}, {"type": "odd", "odd": 1}]
    message = {"role": "assistant", "content": "ab", "content_parts": parts}
    assert encode(USER, message, USER).body["messages"][1]["content"] == [{"text": "a"}, use, result, {"text": "b"}]


# Parts


def part(body: Document, place: int = 0) -> Document:
    found: Document = body["messages"][0]["content"][place]
    return found


@pytest.mark.parametrize(
    ("given", "block"),
    [
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"image": {"format": "png", "source": {"bytes": "aGk="}}},
        ),
        (
            {"type": "image_url", "image_url": "data:image/jpg;base64,aGk="},
            {"image": {"format": "jpeg", "source": {"bytes": "aGk="}}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "data:application/octet-stream;base64,R0lGODlh"}},
            {"image": {"format": "gif", "source": {"bytes": "R0lGODlh"}}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "s3://bucket/a.WEBP"}},
            {"image": {"format": "webp", "source": {"s3Location": {"uri": "s3://bucket/a.WEBP"}}}},
        ),
        (
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "Q3_report (v2).pdf"},
            },
            {"document": {"format": "pdf", "name": "Q3-report (v2)", "source": {"bytes": "aGk="}}},
        ),
        (
            {"type": "file", "file": {"file_data": "aGk=", "filename": "notes.md"}},
            {"document": {"format": "md", "name": "notes", "source": {"bytes": "aGk="}}},
        ),
        (
            {"type": "file", "file": {"file_id": "s3://bucket/x.csv"}},
            {"document": {"format": "csv", "name": "document", "source": {"s3Location": {"uri": "s3://bucket/x.csv"}}}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            {"audio": {"format": "wav", "source": {"bytes": "aGk="}}},
        ),
        (
            {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,aGk="}},
            {"video": {"format": "mp4", "source": {"bytes": "aGk="}}},
        ),
        (
            {"type": "guardContent", "guardContent": {"text": {"text": "x"}}},
            {"guardContent": {"text": {"text": "x"}}},
        ),
    ],
)
def test_parts(given: Document, block: Document) -> None:
    assert part(encode({"role": "user", "content": [given]}).body) == block


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}, ".image_url.url"),
        ({"type": "image_url", "image_url": {"url": "data:image/tiff;base64,aGk="}}, ".image_url.url"),
        ({"type": "file", "file": {"file_id": "file-1"}}, ".file.file_id"),
        ({"type": "file", "file": {"file_data": "aGk=", "filename": "a.zip"}}, ".file"),
        ({"type": "hologram", "hologram": {}}, ".type"),
    ],
)
def test_parts_that_cannot_be_said_are_refused(given: Document, param: str) -> None:
    assert refused({"role": "user", "content": [given]}).param == f"messages[0].content[0]{param}"


def test_a_model_without_eyes() -> None:
    content = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]
    fault = refused({"role": "user", "content": content}, facts=ModelFacts(takes_images=False))
    assert "no images" in fault.message


def test_documents_have_names_of_their_own() -> None:
    file = {"type": "file", "file": {"file_data": "aGk=", "filename": "a.txt"}}
    body = encode({"role": "user", "content": [file, file, file]}).body
    names = [block["document"]["name"] for block in body["messages"][0]["content"]]
    assert names == ["a", "a 2", "a 3"]


def test_cache_controls_become_cache_points() -> None:
    control = {"type": "ephemeral", "ttl": "1h"}
    point = {"cachePoint": {"type": "default", "ttl": "1h"}}
    plain = {"cachePoint": {"type": "default"}}
    body = encode(
        {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": control}]},
        {"role": "user", "content": [{"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "x"}}]},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "t1", "content": "rain", "cache_control": {"type": "ephemeral"}},
        tools=[{**WEATHER, "cache_control": control}],
        cache_control={"type": "ephemeral"},
    ).body
    assert body["system"] == [{"text": "s"}, point]
    assert body["messages"][0]["content"] == [{"text": "a"}, plain]
    assert body["messages"][2]["content"][1:] == [plain, plain]
    assert body["toolConfig"]["tools"][1] == point


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
