"""A conversation, said as a Messages request."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.errors import AntiphonError, RequestError
from antiphon.protocols.anthropic import Anthropic
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import Encoded

Document = dict[str, Any]
USER: Document = {"role": "user", "content": "Hello"}
MID = ModelFacts(takes_mid_system=True)
THOUGHT: Document = {"type": "thinking", "thinking": "So.", "signature": "c2ln"}
HIDDEN: Document = {"type": "redacted_thinking", "data": "ZGF0YQ=="}


class Remembered:
    def __init__(self, **blocks: list[Document]) -> None:
        self._blocks = blocks

    def find(self, call_id: str) -> list[Document] | None:
        return self._blocks.get(call_id)


def encode(
    *messages: Document, facts: ModelFacts | None = None, memory: Remembered | None = None, **fields: Any
) -> Encoded:
    document = {"model": "asked", "messages": list(messages), **fields}
    return Anthropic().encode(document, "claude-test", facts or ModelFacts(), memory, strict=False)


def sent(*messages: Document, **more: Any) -> list[Document]:
    found: list[Document] = encode(*messages, **more).body["messages"]
    return found


def block(part: Document, role: str = "user", **more: Any) -> Document:
    [message] = sent({"role": role, "content": [part]}, **more)
    [found] = message["content"]
    return dict(found)


def refused(*messages: Document, facts: ModelFacts | None = None) -> AntiphonError:
    with pytest.raises(RequestError) as caught:
        encode(*messages, facts=facts)
    return caught.value


def call(call_id: str, arguments: str = "{}", name: str = "look") -> Document:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*ids: str, **more: Any) -> Document:
    return {"role": "assistant", "content": None, "tool_calls": [call(one) for one in ids], **more}


def result(call_id: str, content: Any = "done", **more: Any) -> Document:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


# System.


def test_one_system_message_is_a_string() -> None:
    body = encode({"role": "system", "content": "Be kind."}, USER).body
    assert (body["system"], body["messages"]) == ("Be kind.", [USER])


def test_several_are_blocks_in_their_order() -> None:
    cached = {"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral"}}
    body = encode({"role": "developer", "content": [cached]}, {"role": "system", "content": "Be kind."}, USER).body
    assert body["system"] == [cached, {"type": "text", "text": "Be kind."}]


def test_in_mid_conversation_they_stand_before_it() -> None:
    encoded = encode(USER, {"role": "assistant", "content": "Hi"}, {"role": "system", "content": "Now French."}, USER)
    assert encoded.body["system"] == "Now French."
    assert [(change.param, change.action) for change in encoded.changes] == [("messages[2]", "rewritten")]


def test_in_mid_conversation_where_the_model_takes_them() -> None:
    french = {"role": "system", "content": "Now French."}
    answer = {"role": "assistant", "content": "Hi"}
    assert sent(USER, french, facts=MID) == [USER, french]
    assert sent(USER, answer, french, USER, answer, USER, facts=MID) == [USER, answer, USER, french, answer, USER]
    assert encode(USER, answer, french, facts=MID).body["system"] == "Now French."


def test_a_system_message_alone_is_the_users() -> None:
    body = encode({"role": "system", "content": "Write a poem."}).body
    assert "system" not in body
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Write a poem."}]}]


# Parts.


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://a.example/x.jpg"}, "cache_control": {"type": "e"}},
            {
                "type": "image",
                "source": {"type": "url", "url": "https://a.example/x.jpg"},
                "cache_control": {"type": "e"},
            },
        ),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"}},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                "title": "a.pdf",
            },
        ),
        (
            {"type": "file", "file": {"file_data": "data:text/markdown;base64,w6k="}, "citations": {"enabled": True}},
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "é"},
                "citations": {"enabled": True},
            },
        ),
        (
            {"type": "file", "file": {"file_data": "data:image/gif;base64,aGk=", "filename": "a.gif"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "aGk="}},
        ),
        (
            {"type": "file", "file": {"file_id": "file_1"}},
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (
            {"type": "text", "text": "a", "prompt_cache_breakpoint": {}},
            {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        ),
        ({"type": "search_result", "source": "s", "title": "t", "content": []}, None),
        ({"type": "document", "source": {"type": "url", "url": "https://a.example/x.pdf"}}, None),
    ],
)
def test_parts(part: Document, expected: Document | None) -> None:
    assert block(part) == (part if expected is None else expected)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "data:text/plain,hi"}},
        {"type": "image_url", "image_url": {"url": 5}},
        {"type": "image_url"},
        {"type": "file", "file": {}},
        {"type": "file"},
        {"type": "file", "file": {"file_data": "data:application/zip;base64,aGk="}},
        {"type": "file", "file": {"file_data": "data:text/plain;base64,/w=="}},
    ],
)
def test_parts_that_cannot_be_said_are_refused(part: Document) -> None:
    for message in ({"role": "user", "content": [part]}, {"role": "assistant", "content": [part]}):
        error = refused(USER, message)
        assert error.status == 400
        assert (error.param or "").startswith("messages[1].content[0]")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://a.example/x.jpg"}},
        {"type": "image", "source": {"type": "url", "url": "https://a.example/x.jpg"}},
        {"type": "file", "file": {"file_data": "data:image/gif;base64,aGk="}},
    ],
)
def test_an_image_where_the_model_takes_none(part: Document) -> None:
    error = refused({"role": "user", "content": [part]}, facts=ModelFacts(takes_images=False))
    assert (error.status, error.code) == (400, "unsupported_parameter")
    assert "images" in error.message


@pytest.mark.parametrize("content", ["", " \n", [{"type": "text", "text": ""}], None])
def test_blank_messages_are_left_out(content: Any) -> None:
    encoded = encode(USER, {"role": "user", "content": content}, {"role": "assistant", "content": content}, USER)
    assert encoded.body["messages"] == [USER, USER]
    assert [change.param for change in encoded.changes] == ["messages[1]", "messages[2]"]


def test_nothing_to_say_is_refused() -> None:
    assert refused({"role": "user", "content": ""}).param == "messages"


def test_names_are_told() -> None:
    encoded = encode({**USER, "name": "Ada"}, {"role": "assistant", "content": "Hi", "audio": {"id": "a"}}, USER)
    assert [change.param for change in encoded.changes] == ["messages[0].name", "messages[1].audio"]


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_a_messages_mark_of_the_cache_stands_on_its_last_block(role: str) -> None:
    mark = {"type": "ephemeral", "ttl": "1h"}
    encoded = encode(USER, {"role": role, "content": "Long.", "cache_control": mark}, USER, facts=MID)
    marked = next(message for message in encoded.body["messages"] if isinstance(message["content"], list))
    assert marked == {"role": role, "content": [{"type": "text", "text": "Long.", "cache_control": mark}]}
    assert encoded.changes == ()


# Calls and results.


def test_results_of_a_turn_stand_together() -> None:
    found = sent(USER, calls("a", "b"), result("a"), result("b", "no", is_error=True), USER)
    assert found[1]["content"] == [
        {"type": "tool_use", "id": "a", "name": "look", "input": {}},
        {"type": "tool_use", "id": "b", "name": "look", "input": {}},
    ]
    assert found[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "done"},
            {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": True},
        ],
    }
    assert found[3] == USER


def test_results_have_parts_and_may_be_empty() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    found = sent(USER, calls("a", "b"), result("a", [image]), result("b", "", cache_control={"type": "ephemeral"}))
    first, second = found[2]["content"]
    assert first["content"][0]["type"] == "image"
    assert second == {"type": "tool_result", "tool_use_id": "b", "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("", {}), (" ", {}), ('{"b": 1, "a": [null]}', {"b": 1, "a": [None]})],
)
def test_arguments_are_an_object(arguments: str, expected: Document) -> None:
    message = {"role": "assistant", "content": "Let me see.", "tool_calls": [call("a", arguments)]}
    text, use = sent(USER, message, result("a"))[1]["content"]
    assert text == {"type": "text", "text": "Let me see."}
    assert use["input"] == expected
    assert list(use["input"]) == list(expected)


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]", "5", "words"])
def test_arguments_that_are_none_are_kept_and_told(arguments: str) -> None:
    encoded = encode(USER, {"role": "assistant", "tool_calls": [call("a", arguments)]}, result("a"))
    assert encoded.body["messages"][1]["content"][0]["input"] == {"arguments": arguments}
    assert [change.param for change in encoded.changes] == ["messages[1].tool_calls[0].function.arguments"]


def test_ids_of_other_vendors_become_words_and_stay_pairs() -> None:
    found = sent(USER, calls("functions.look:0"), result("functions.look:0"))
    own = found[1]["content"][0]["id"]
    assert own.replace("-", "").isalnum()
    assert found[2]["content"][0]["tool_use_id"] == own


def test_ids_that_come_again_are_told_apart() -> None:
    found = sent(USER, calls("call_0"), result("call_0"), calls("call_0"), result("call_0"))
    first, second = found[1]["content"][0]["id"], found[3]["content"][0]["id"]
    assert first != second
    assert [found[2]["content"][0]["tool_use_id"], found[4]["content"][0]["tool_use_id"]] == [first, second]


def test_calls_of_one_turn_that_share_an_id_keep_their_results() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    results = [{"role": "tool", "tool_call_id": "c", "content": said} for said in ("one", "two")]
    _, called, answered = sent(USER, {"role": "assistant", "tool_calls": [call, call]}, *results)
    used = [block["id"] for block in called["content"]]
    assert len(set(used)) == 2
    found = {block["tool_use_id"]: block["content"] for block in answered["content"]}
    assert [found[each] for each in used] == ["one", "two"]


def test_custom_calls_and_functions_in_the_history() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "say", "input": "words"}}
    found = sent(
        USER,
        {"role": "assistant", "tool_calls": [custom]},
        result("c"),
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "seen"},
    )
    assert found[1]["content"][0]["input"] == {"input": "words"}
    assert found[3]["content"][0]["id"] == found[4]["content"][0]["tool_use_id"]


# Thinking.


def test_thinking_goes_back_unchanged_and_first() -> None:
    message = calls("a", thinking_blocks=[THOUGHT, {"index": 1, **HIDDEN}], reasoning_content="So.", content="I look.")
    encoded = encode(USER, message, result("a"))
    assert [dict(block) for block in encoded.body["messages"][1]["content"][:3]] == [
        THOUGHT,
        HIDDEN,
        {"type": "text", "text": "I look."},
    ]
    assert encoded.changes == ()


def test_blocks_go_back_to_the_places_where_they_stood() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    message = {
        "role": "assistant",
        "content": "I search. It is tall.",
        "thinking_blocks": [{"index": 0, **THOUGHT}, {"index": 4, "text_offset": 10, **HIDDEN}],
        "content_parts": [{"index": 2, "text_offset": 10, **use}, {"index": 3, "text_offset": 10, **found}],
    }
    assert sent(USER, message, USER)[1]["content"] == [
        THOUGHT,
        {"type": "text", "text": "I search. "},
        use,
        found,
        HIDDEN,
        {"type": "text", "text": "It is tall."},
    ]


def test_a_paused_answer_goes_on_where_it_was() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    message = {"role": "assistant", "content": "A moment.", "content_parts": [{"index": 1, "text_offset": 9, **use}]}
    found = sent(USER, message, facts=ModelFacts(takes_prefill=False))
    assert found[-1] == {"role": "assistant", "content": [{"type": "text", "text": "A moment."}, use]}


@pytest.mark.parametrize(
    "odd", [{"type": "thinking", "thinking": "x"}, {"type": "thinking", "signature": "s"}, {"type": 5}, "text", None]
)
def test_thinking_that_nobody_signed_is_left_out(odd: Any) -> None:
    message = {"role": "assistant", "content": "Hi", "thinking_blocks": [odd]}
    encoded = encode(USER, message, USER)
    assert encoded.body["messages"][1]["content"] == [{"type": "text", "text": "Hi"}]
    assert [change.param for change in encoded.changes] == ["messages[1].thinking_blocks[0]"]


def test_the_memory_finds_what_a_client_has_dropped() -> None:
    memory = Remembered(a=[THOUGHT], b=[THOUGHT])
    found = sent(USER, calls("a", "b", content="I look."), result("a"), result("b"), memory=memory)[1]["content"]
    assert [block["type"] for block in found] == ["thinking", "text", "tool_use", "tool_use"]
    assert found[0] == THOUGHT


def test_the_memory_is_not_asked_where_the_client_has_kept_it() -> None:
    memory = Remembered(a=[HIDDEN])
    found = sent(USER, calls("a", thinking_blocks=[THOUGHT]), result("a"), memory=memory)[1]["content"]
    assert [block["type"] for block in found] == ["thinking", "tool_use"]


def test_reasoning_that_is_not_signed_is_told() -> None:
    encoded = encode(USER, {"role": "assistant", "content": "Hi", "reasoning_content": "So."}, USER)
    assert [change.param for change in encoded.changes] == ["messages[1].reasoning_content"]


def test_no_budget_where_the_calls_have_lost_their_thinking() -> None:
    facts = ModelFacts(thinking=Thinking.BUDGET, max_output=9000)
    lost = encode(USER, calls("a"), result("a"), facts=facts, reasoning_effort="low")
    assert "thinking" not in lost.body
    kept = encode(USER, calls("a", thinking_blocks=[THOUGHT]), result("a"), facts=facts, reasoning_effort="low")
    assert kept.body["thinking"]["type"] == "enabled"
    over = encode(USER, calls("a"), result("a"), {"role": "assistant", "content": "Hi"}, USER, facts=facts)
    assert over.changes == ()


# The ends.


def test_a_conversation_that_the_assistant_begins() -> None:
    encoded = encode({"role": "assistant", "content": "How can I help?"}, USER)
    assert [message["role"] for message in encoded.body["messages"]] == ["user", "assistant", "user"]
    assert [change.param for change in encoded.changes] == ["messages"]


def test_a_begun_answer() -> None:
    begun = {"role": "assistant", "content": "The answer is  "}
    assert sent(USER, begun)[-1] == {"role": "assistant", "content": "The answer is"}
    encoded = encode(USER, begun, facts=ModelFacts(takes_prefill=False))
    assert [message["role"] for message in encoded.body["messages"]] == ["user", "assistant", "user"]
    assert [change.action for change in encoded.changes] == ["rewritten"]


def test_a_refusal_in_the_history_is_text() -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    assert sent(USER, message, USER)[1]["content"] == [{"type": "text", "text": "I cannot."}]
