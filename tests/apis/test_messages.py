"""The Messages API on the wire: what a client of Anthropic's sees, and what the upstream is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.apis.conftest import KEY, Api
from tests.support.apis import events
from tests.support.raw import Answer
from tests.support.responses_api import CLIENTS

Document = dict[str, Any]

pytestmark = pytest.mark.asyncio(loop_scope="module")
MARK = {"type": "ephemeral"}
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
RECEIPT = {"x-antiphon-receipt": "1"}
PIXEL = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def error_of(answer: Answer, status: int) -> Document:
    """The error, in Anthropic's shape."""
    body = answer.json
    assert answer.status == status, body
    assert body["type"] == "error"
    assert answer.headers["request-id"] == body["request_id"] == answer.headers["x-request-id"]
    return dict(body["error"])


async def test_a_message(api: Api) -> None:
    answer = await api.message(system="Be kind.", stop_sequences=["said"], metadata={"user_id": "u-1"})
    message = answer.json
    assert message["id"].startswith("msg_")
    assert (message["type"], message["role"], message["model"]) == ("message", "assistant", "scripted")
    assert message["content"] == [{"type": "text", "text": "This is the scripted upstream. You "}]
    assert message["usage"]["output_tokens"] > 0
    sent = api.sent[-1].document
    assert sent["messages"][0] == {"role": "system", "content": "Be kind."}
    assert (sent["max_completion_tokens"], sent["stop"], sent["user"]) == (100, ["said"], "u-1")


@pytest.mark.parametrize("model", ["scripted-cached", "claude/scripted-cached"])
@pytest.mark.parametrize("stream", [False, True])
async def test_input_tokens_have_no_cached_ones(api: Api, model: str, stream: bool) -> None:
    """[messages-usage]"""
    answer = await api.message(model=model, stream=stream)
    usage = events(answer)[-2]["usage"] if stream else answer.json["usage"]
    assert usage["cache_read_input_tokens"] > 0
    cached = usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    assert usage["input_tokens"] == 7 - cached


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "bot", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content.0.text"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages.0.content.0.source"),
        ({"system": [{"type": "text", "text": 1}]}, "system.0.text"),
        ({"tools": [{"name": "x"}]}, "tools.0.input_schema"),
        ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
        ({"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens"),
        ({"stop_sequences": [1]}, "stop_sequences.0"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": 9}, "temperature"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
    ],
)
async def test_a_fault_names_the_field(api: Api, change: Document, param: str) -> None:
    error = error_of(await api.message(**change), 400)
    assert error["type"] == "invalid_request_error"
    assert error["details"]["param"] == param
    assert param in error["message"]


async def test_calls_and_results_belong_together(api: Api) -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]}
    user = {"role": "user", "content": "Hello"}
    error = error_of(await api.message(messages=[user, call, user]), 400)
    assert "without `tool_result` blocks immediately after: t1" in error["message"]
    stray = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "x"}]}
    error = error_of(await api.message(messages=[user, stray]), 400)
    assert error["details"]["param"] == "messages.1.content.0"


async def test_statuses_have_anthropics_types(api: Api) -> None:
    assert error_of(await api.message({"x-api-key": "sk-wrong"}), 401)["type"] == "authentication_error"
    assert error_of(await api.message(model="nobody"), 404)["type"] == "not_found_error"
    assert error_of(await api.message(model="scripted-error-429"), 429)["type"] == "rate_limit_error"
    assert error_of(await api.message(model="scripted-error-500"), 502)["type"] == "api_error"
    assert error_of(await api.message(model="scripted-error-503"), 503)["type"] == "overloaded_error"
    version = {"anthropic-version": "2023-06-01", "x-api-key": KEY}
    assert error_of(await api.get("/v1/messages", version), 405)["type"] == "invalid_request_error"
    broken = await api.post("/v1/messages", headers=version, body=b"{")
    assert error_of(broken, 400)["type"] == "invalid_request_error"


async def test_x_api_key_wins(api: Api) -> None:
    """[keys-by-header]"""
    assert (await api.message({"authorization": "Bearer sk-other"})).status == 200
    assert (await api.message({"x-api-key": "", "authorization": f"Bearer {KEY}"})).status == 200


async def test_an_upstream_of_anthropics_gets_what_is_its_own(api: Api) -> None:
    system = [{"type": "text", "text": "Be kind.", "cache_control": MARK}]
    asked: Document = {
        "system": system,
        "tools": [{**TOOL, "cache_control": MARK}, SEARCH],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": MARK}, PIXEL]}],
    }
    answer = await api.message({"anthropic-beta": "one-2026,two-2026"}, model="claude/scripted", **asked)
    assert answer.status == 200, answer.body
    sent = api.sent[-1]
    assert {key: sent.document[key] for key in asked} == asked
    assert sent.headers["anthropic-beta"] == "one-2026,two-2026"


async def test_others_get_what_they_know_and_the_receipt_names_the_rest(api: Api) -> None:
    """[api-fits-upstream]"""
    content = [{"type": "text", "text": "Hello", "cache_control": MARK}]
    answer = await api.message(
        RECEIPT,
        messages=[{"role": "user", "content": content}],
        tools=[{**TOOL, "cache_control": MARK}],
        thinking={"type": "enabled", "budget_tokens": 2000},
        context_management={"edits": []},
        max_tokens=3000,
    )
    sent = api.sent[-1].document
    assert sent["messages"] == [{"role": "user", "content": "Hello"}]
    assert sent["reasoning_effort"] == "low"
    assert {"thinking", "context_management", "cache_control"}.isdisjoint(sent)
    assert sent["tools"][0].keys() == {"type", "function"}
    receipt = answer.json["antiphon"]
    assert {change["param"] for change in receipt["dropped"]} == {"cache_control", "context_management"}
    assert {change["param"] for change in receipt["rewritten"]} == {"thinking"}


async def test_a_long_name_of_a_user_is_a_digest_elsewhere(api: Api) -> None:
    name = "x" * 150
    assert (await api.message(metadata={"user_id": name})).status == 200
    assert len(api.sent[-1].document["user"]) == 64
    assert (await api.message(model="claude/scripted", metadata={"user_id": name})).status == 200
    assert api.sent[-1].document["metadata"] == {"user_id": name}


async def test_threads_are_refused_in_the_words_that_sdks_know(api: Api) -> None:
    error = error_of(await api.message(thread={"type": "create"}), 400)
    assert error["details"]["error_code"] == "thread_unsupported_request"


async def test_tools_of_anthropics_own_are_refused_elsewhere(api: Api) -> None:
    error = error_of(await api.message(tools=[TOOL, SEARCH]), 400)
    assert error["details"]["param"] == "tools.1"
    assert "web_search_20250305" in error["message"]


async def test_an_image_in_a_result_reaches_an_upstream_that_has_no_place_for_it(api: Api) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "See:"}, PIXEL]}
    said = [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Well?"}]},
    ]
    assert (await api.message(messages=said, tools=[TOOL])).status == 200
    roles = [message["role"] for message in api.sent[-1].document["messages"]]
    assert roles == ["user", "assistant", "tool", "user", "user"]
    assert api.sent[-1].document["messages"][3]["content"][0]["type"] == "image_url"


@pytest.mark.parametrize("model", ["scripted-refusal", "claude/scripted-refusal"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal(api: Api, model: str, stream: bool) -> None:
    answer = await api.message(model=model, stream=stream)
    end = events(answer)[-2]["delta"] if stream else answer.json
    assert end["stop_reason"] == "refusal"
    assert end["stop_details"]["type"] == "refusal"
    assert end["stop_details"]["explanation"] == "I cannot help with that."


async def test_a_long_input_of_a_call_survives(api: Api) -> None:
    """Long texts of a large request stay bytes; those of a call's input are JSON within JSON."""
    text = 'line "one"\n\ttwo \\ \u20ac \U0001f600 ' * 12_000
    call = {"type": "tool_use", "id": "t1", "name": "look", "input": {"text": text, "deep": [{"a": text[:5000]}]}}
    said = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "fine"}]},
    ]
    for model in ("scripted", "claude/scripted"):
        answer = await api.message(model=model, messages=said, tools=[TOOL])
        assert answer.status == 200, answer.body[:500]
        sent = api.sent[-1].document["messages"]
        assert sent[0]["content"] == text
        if model == "scripted":
            assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == call["input"]
        else:
            assert sent[1]["content"][0]["input"] == call["input"]


@pytest.mark.parametrize(("model", "is_exact"), [("gpt-4o", True), ("claude/scripted", False)])
async def test_tokens_are_counted(api: Api, model: str, is_exact: bool) -> None:
    """[api-counts]"""
    asked = {"model": model, "messages": [{"role": "user", "content": "Hello there, how are you?"}]}
    answer = await api.post("/v1/messages/count_tokens", asked, {"x-api-key": KEY})
    assert answer.status == 200, answer.body
    assert 5 < answer.json["input_tokens"] < 20
    assert answer.json["antiphon"]["estimated"] is not is_exact


async def test_the_list_of_models(api: Api) -> None:
    """[models-by-header]"""
    version = {"anthropic-version": "2023-06-01", "x-api-key": KEY}
    listed = (await api.get("/v1/models", version)).json
    assert listed["has_more"] is False
    assert listed["data"][0]["type"] == "model"
    assert "gpt-4o" in [model["id"] for model in listed["data"]]
    one = (await api.get("/v1/models/gpt-4o", version)).json
    assert (one["type"], one["display_name"]) == ("model", "gpt-4o")
    assert (await api.get("/v1/models")).json["object"] == "list"
    assert (await api.get("/v1/models/none", version)).json["error"]["type"] == "not_found_error"


async def test_strict(api: Api) -> None:
    strict = {"x-antiphon-strict": "1"}
    error = error_of(await api.message(strict, nonsense=1), 400)
    assert error["message"] == "nonsense: Extra inputs are not permitted"
    assert (await api.message(strict, model="claude/scripted", thinking={"type": "adaptive"})).status == 200
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert (
        error_of(await api.message(strict, thinking=thinking, max_tokens=2000), 400)["details"]["param"] == "thinking"
    )


async def test_the_order_of_events(api: Api) -> None:
    answer = await api.message(model="claude/scripted-reasoning", stream=True, tools=[TOOL], max_tokens=3000)
    told = events(answer)
    starts = [event["content_block"]["type"] for event in told if event["type"] == "content_block_start"]
    assert starts == ["thinking", "text"]
    signed = [event for event in told if event.get("delta", {}).get("type") == "signature_delta"]
    assert len(signed) == 1
    assert CLIENTS["messages"].fold(answer).text.endswith("You said: Hello")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert b"[DONE]" not in answer.body
