"""Chat Completions requests as Gemini takes them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from antiphon.errors import AntiphonError, RequestError
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.gemini import GEMINI, VERTEX_GEMINI, Gemini, default_facts
from antiphon.protocols.protocol import Encoded, ForeignProtocol, StreamDecoder

Document = dict[str, Any]
MODEL = "gemini-3-flash"
PNG = "data:image/png;base64,aW1hZ2U="
USER = {"role": "user", "content": "Hi"}


def encode(
    *messages: Document, model: str = MODEL, protocol: Gemini = GEMINI, facts: ModelFacts | None = None, **more: Any
) -> Encoded:
    strict = more.pop("strict", False)
    document = {"model": "asked", "messages": list(messages or (USER,)), **more}
    before = copy.deepcopy(document)
    encoded = protocol.encode(document, model, facts or default_facts(model), None, strict=strict)
    assert document == before
    return encoded


def changed(encoded: Encoded) -> list[tuple[str, str]]:
    return [(change.param, change.action) for change in encoded.changes]


def config(**fields: Any) -> Any:
    return encode(**fields).body.get("generationConfig")


def contents(*messages: Document, **more: Any) -> list[Any]:
    encoded = encode(*messages, **more)
    found = encoded.body["contents"]
    assert isinstance(found, list)
    return found


def parts(*given: Document, **more: Any) -> Any:
    [content] = contents({"role": "user", "content": list(given)}, **more)
    return content["parts"]


def refused(*messages: Document, **more: Any) -> AntiphonError:
    with pytest.raises(RequestError) as caught:
        encode(*messages, **more)
    assert caught.value.status == 400
    return caught.value


def test_they_are_foreign_protocols() -> None:
    protocols: list[ForeignProtocol] = [GEMINI, VERTEX_GEMINI]
    stream: StreamDecoder = GEMINI.open_stream(MODEL)
    assert [protocol.name for protocol in protocols] == ["gemini", "vertex-gemini"]
    assert stream.feed(b"") == stream.pending == []


# Where it goes.


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-3-flash", "/models/gemini-3-flash:generateContent"),
        ("models/gemini-3-flash", "/models/gemini-3-flash:generateContent"),
        ("tunedModels/mine-1", "/tunedModels/mine-1:generateContent"),
        ("endpoints/123", "/endpoints/123:generateContent"),
        ("a/../b?c#d é", "/models/a%2F..%2Fb%3Fc%23d%20%C3%A9:generateContent"),
    ],
)
def test_the_path(model: str, path: str) -> None:
    assert encode(model=model).path == path


def test_the_path_of_a_stream() -> None:
    encoded = encode(stream=True, stream_options={"include_usage": True})
    assert encoded.path == "/models/gemini-3-flash:streamGenerateContent?alt=sse"
    assert "stream" not in encoded.body
    assert encoded.changes == ()


# Messages.


def test_system_and_developer_are_the_instruction() -> None:
    encoded = encode(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Use SI units."}]},
        USER,
    )
    assert encoded.body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Use SI units."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    }
    assert encoded.changes == ()


def test_a_later_system_message_is_moved_and_named() -> None:
    messages = (USER, {"role": "system", "content": "Now in verse."}, USER)
    encoded = encode(*messages)
    assert encoded.body["systemInstruction"] == {"parts": [{"text": "Now in verse."}]}
    assert changed(encoded) == [("messages[1]", "rewritten")]
    error = refused(*messages, strict=True)
    assert (error.param, error.code) == ("messages[1]", "unsupported_parameter")


def test_instructions_alone_have_an_empty_turn_after_them() -> None:
    assert contents({"role": "system", "content": "Tell a joke."}) == [{"role": "user", "parts": [{"text": ""}]}]


def test_an_empty_answer_in_the_history_keeps_its_place() -> None:
    said = contents(USER, {"role": "assistant", "content": None}, USER)
    assert [content["role"] for content in said] == ["user", "model", "user"]
    assert said[1]["parts"] == [{"text": ""}]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"type": "text", "text": "a"}, {"text": "a"}),
        (
            {"type": "image_url", "image_url": {"url": PNG}},
            {"inlineData": {"mimeType": "image/png", "data": "aW1hZ2U="}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://pics.example/a.webp?x=1"}},
            {"fileData": {"fileUri": "https://pics.example/a.webp?x=1", "mimeType": "image/webp"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "https://pics.example/a", "detail": "low"}},
            {
                "fileData": {"fileUri": "https://pics.example/a", "mimeType": "image/jpeg"},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
            },
        ),
        (
            {"type": "image_url", "image_url": {"url": "gs://bucket/a.png", "detail": "auto"}},
            {"fileData": {"fileUri": "gs://bucket/a.png", "mimeType": "image/png"}},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "d2F2", "format": "mp3"}},
            {"inlineData": {"mimeType": "audio/mp3", "data": "d2F2"}},
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
        ),
        (
            {"type": "file", "file": {"filename": "a.csv", "file_data": "YSxi"}},
            {"inlineData": {"mimeType": "text/csv", "data": "YSxi"}},
        ),
        (
            {"type": "file", "file": {"file_id": "https://generativelanguage.googleapis.com/v1beta/files/x1"}},
            {
                "fileData": {
                    "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/x1",
                    "mimeType": "application/pdf",
                }
            },
        ),
        (
            {"type": "video_url", "video_url": {"url": "https://youtu.be/abc"}},
            {"fileData": {"fileUri": "https://youtu.be/abc", "mimeType": "video/mp4"}},
        ),
        (
            {
                "type": "media",
                "fileData": {"fileUri": "gs://b/v", "mimeType": "video/mp4"},
                "videoMetadata": {"fps": 2},
                "text": "never judged",
            },
            {"fileData": {"fileUri": "gs://b/v", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 2}},
        ),
    ],
)
def test_parts(part: Document, said: Document) -> None:
    assert parts({"type": "text", "text": "Look:"}, part) == [{"text": "Look:"}, said]


@pytest.mark.parametrize(
    ("part", "param"),
    [
        ({"type": "image_url", "image_url": {"url": "not a url"}}, ".image_url.url"),
        ({"type": "image_url", "image_url": {"url": "data:image/png,plain"}}, ".image_url.url"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,***"}}, ".image_url.url"),
        ({"type": "input_audio", "input_audio": {"data": "%%", "format": "wav"}}, ".input_audio.data"),
        ({"type": "file", "file": {"filename": "a.pdf"}}, ".file.file_data"),
        ({"type": "file", "file": {"file_id": "file-abc"}}, ".file.file_id"),
        ({"type": "hologram", "hologram": {}}, ".type"),
    ],
)
def test_parts_that_cannot_be_sent(part: Document, param: str) -> None:
    assert refused({"role": "user", "content": [part]}).param == "messages[0].content[0]" + param


def test_an_image_where_the_model_takes_none() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    error = refused({"role": "user", "content": [image]}, facts=ModelFacts(takes_images=False))
    assert error.param == "messages[0].content[0]"
    assert "takes no images" in error.message


def test_an_earlier_model_takes_no_resolution_of_one_image() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}}
    encoded = encode({"role": "user", "content": [image]}, model="gemini-2.5-flash")
    assert changed(encoded) == [("messages[0].content[0].image_url.detail", "dropped")]


def test_prefill_by_the_models_row() -> None:
    prefill = (USER, {"role": "assistant", "content": "So"})
    assert len(contents(*prefill)) == 2
    assert refused(*prefill, facts=ModelFacts(takes_prefill=False)).param == "messages[1]"


# Calls and their results.


def call(call_id: str, name: str = "f", arguments: str = "{}", **more: Any) -> Document:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def assistant(*calls: Document, **more: Any) -> Document:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(call_id: str, content: Any = "ok", **more: Any) -> Document:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


def test_results_stand_in_one_content_in_the_order_of_the_calls() -> None:
    said = contents(
        USER,
        assistant(call("call_1", "a", '{"x": 1}'), call("own9", "b", ""), content="Let me see."),
        result("own9", "two"),
        result("call_1", [{"type": "text", "text": "one"}]),
        {"role": "user", "content": "And?"},
        model="gemini-2.5-flash",
    )
    assert said[1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"name": "a", "args": {"x": 1}}},
                {"functionCall": {"id": "own9", "name": "b", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "a", "response": {"output": "one"}}},
                {"functionResponse": {"id": "own9", "name": "b", "response": {"output": "two"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And?"}]},
    ]


@pytest.mark.parametrize("mark", [{"is_error": True}, {"status": "error"}])
def test_results_with_errors(mark: Document) -> None:
    said = contents(USER, assistant(call("call_1")), result("call_1", "no such city", **mark))
    assert said[2]["parts"][0]["functionResponse"]["response"] == {"error": "no such city"}


def test_results_with_images() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    said = contents(USER, assistant(call("call_1")), result("call_1", [{"type": "text", "text": "see"}, image]))
    response = said[2]["parts"][0]["functionResponse"]
    assert response["response"] == {"output": "see"}
    assert response["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "aW1hZ2U="}}]


def test_results_with_images_before_gemini_3() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    encoded = encode(
        USER,
        assistant(call("call_1"), call("call_2")),
        result("call_1", [image]),
        result("call_2"),
        model="gemini-2.5-pro",
    )
    said = encoded.body["contents"][2]["parts"]
    assert ["functionResponse" in part for part in said] == [True, True, False]
    assert changed(encoded) == [("messages[2]", "rewritten")]


def test_an_image_in_a_result_has_no_resolution() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}}
    encoded = encode(USER, assistant(call("call_1")), result("call_1", [image]))
    assert "mediaResolution" not in encoded.body["contents"][2]["parts"][0]["functionResponse"]["parts"][0]
    assert changed(encoded) == [("messages[2].content[0].image_url.detail", "dropped")]


def test_legacy_functions() -> None:
    encoded = encode(
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "f", "content": "1"},
        functions=[{"name": "f"}],
        function_call={"name": "f"},
        model="gemini-2.5-flash",
    )
    assert encoded.body["contents"][1:] == [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]},
    ]
    assert encoded.body["tools"] == [{"functionDeclarations": [{"name": "f"}]}]
    assert encoded.body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["f"]


# Thinking.


@pytest.mark.parametrize(
    ("model", "effort", "said", "changes"),
    [
        ("gemini-3-flash", "low", {"includeThoughts": True, "thinkingLevel": "LOW"}, []),
        ("gemini-3-flash", "none", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}, ["reasoning_effort"]),
        ("gemini-3-flash", "xhigh", {"includeThoughts": True, "thinkingLevel": "HIGH"}, ["reasoning_effort"]),
        ("gemini-3-flash", "colossal", {"includeThoughts": True, "thinkingLevel": "COLOSSAL"}, []),
        ("gemini-3-pro", "medium", {"includeThoughts": True, "thinkingLevel": "HIGH"}, ["reasoning_effort"]),
        ("gemini-2.5-flash", "medium", {"includeThoughts": True, "thinkingBudget": 8192}, []),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}, []),
        ("gemini-2.5-pro", "none", {"includeThoughts": True, "thinkingBudget": 128}, ["reasoning_effort"]),
        ("gemini-2.5-pro", "max", {"includeThoughts": True, "thinkingBudget": 32768}, []),
        ("gemini-2.0-flash", "low", None, ["reasoning_effort"]),
        ("gemini-2.0-flash", "none", None, []),
    ],
)
def test_reasoning_effort(model: str, effort: str, said: Document | None, changes: list[str]) -> None:
    encoded = encode(model=model, reasoning_effort=effort)
    assert encoded.body.get("generationConfig", {}).get("thinkingConfig") == said
    assert [change.param for change in encoded.changes] == changes


@pytest.mark.parametrize(
    ("thinking", "said"),
    [
        ({"type": "enabled", "budget_tokens": 2000}, {"includeThoughts": True, "thinkingBudget": 2000}),
        ({"type": "enabled", "budget_tokens": 99_999}, {"includeThoughts": True, "thinkingBudget": 24_576}),
        ({"type": "disabled"}, {"thinkingBudget": 0}),
        ({"type": "adaptive"}, {"includeThoughts": True}),
    ],
)
def test_thinking_in_anthropics_words(thinking: Document, said: Document) -> None:
    assert config(model="gemini-2.5-flash", thinking=thinking)["thinkingConfig"] == said


def test_rows_of_the_catalog_count() -> None:
    facts = ModelFacts(thinking=Thinking.BUDGET, least_budget=600, most_budget=900, max_output=50)
    encoded = encode(reasoning_effort="high", max_tokens=80, facts=facts)
    assert encoded.body["generationConfig"] == {
        "maxOutputTokens": 50,
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 900},
    }
    assert changed(encoded) == [("max_tokens", "rewritten")]
