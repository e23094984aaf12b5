"""Whatever a client sends: a chat request or a RequestError with a name, never anything else."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.apis.api import ApiCall
from antiphon.apis.responses import RESPONSES
from antiphon.chat.request import parse
from antiphon.errors import RequestError
from tests.support.responses import check_response

WORDS = (
    *("input", "type", "role", "content", "message", "function_call", "function_call_output", "call_id", "name"),
    *("arguments", "output", "reasoning", "summary", "encrypted_content", "input_text", "text", "input_image", "user"),
    *("image_url", "input_file", "file_data", "function", "custom", "namespace", "tools", "parameters", "format"),
    *("json_schema", "schema", "allowed_tools", "mode", "auto", "id", "item_reference", "antiphon.1.e30=", "assistant"),
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
ANY = st.recursive(
    LEAVES | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=2), inner, max_size=4)
    ),
    max_leaves=12,
)
ITEM = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "x"]
        )
    },
    optional={
        "role": st.sampled_from(["user", "assistant", "system", "x"]) | ANY,
        "content": st.text(max_size=2) | ANY,
        "call_id": st.sampled_from(["a", "b"]) | ANY,
        "name": st.sampled_from(["f", "g"]) | ANY,
        "arguments": st.sampled_from(["{}", "x"]) | ANY,
        "input": ANY,
        "output": st.text(max_size=2) | ANY,
        "summary": ANY,
        "encrypted_content": ANY,
        "namespace": ANY,
    },
)
FIELDS = (
    *("instructions", "tools", "tool_choice", "text", "reasoning", "include", "stream", "stream_options", "metadata"),
    *("max_output_tokens", "top_logprobs", "truncation", "store", "parallel_tool_calls", "temperature", "user", "n"),
    *("previous_response_id", "background", "prompt", "service_tier", "messages", "x"),
)
REQUEST = st.fixed_dictionaries(
    {"model": st.just("m") | ANY, "input": st.text(max_size=2) | st.lists(ITEM, max_size=4) | ANY},
    optional=dict.fromkeys(FIELDS, ANY),
)


@settings(max_examples=300, deadline=None)
@given(REQUEST, st.booleans(), st.booleans())
def test_any_request_is_read_or_refused(document: Any, strict: bool, stores: bool) -> None:
    call = ApiCall(RESPONSES, {}, strict, lambda prefix: prefix + "0" * 48, lambda: 1.0, stored={} if stores else None)
    RESPONSES.refers_to(document)
    try:
        asked = RESPONSES.read(document, call)
        parse(asked.document, strict=strict)
        asked.fit(asked.document, "openai")
    except RequestError:
        return
    json.dumps(asked.document)
    message = {"role": "assistant", "content": "Hi"}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    response = asked.whole({"id": "x", "created": 1, "model": "m", "choices": [choice], "usage": usage})
    assert (response["object"], response["status"]) == ("response", "completed")
    if strict:
        check_response(response)
    assert (asked.to_store() is not None) is response["store"]  # type: ignore[attr-defined]
