"""A conversation as Converse takes it: paths, messages, thinking that comes back, parts."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.errors import RouteError
from antiphon.protocols.facts import ModelFacts
from tests.protocols.bedrock_encoding import ASKED, CALL, CLAUDE, USER, WEATHER, Remembered, changed, encode, refused

Document = dict[str, Any]


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
    assert encode(*talk, model=CLAUDE).body["messages"][0]["role"] == "user"


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


def test_calls_of_one_turn_that_share_an_id_keep_their_results() -> None:
    talk = [{"role": "assistant", "tool_calls": [CALL, CALL]}, ASKED[2], {**ASKED[2], "content": "sun"}]
    _, called, results = encode(USER, *talk, tools=[WEATHER]).body["messages"]
    used = [block["toolUse"]["toolUseId"] for block in called["content"]]
    assert len(set(used)) == 2
    answered = {block["toolResult"]["toolUseId"]: block["toolResult"]["content"] for block in results["content"]}
    assert [answered[each] for each in used] == [[{"text": "rain"}], [{"text": "sun"}]]


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
