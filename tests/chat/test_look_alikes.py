"""Names that some readers take for known ones are refused; names that look like nothing travel."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.chat.plain_request import read_plain
from antiphon.chat.prompt_request import parse_completion, parse_embedding, parse_moderation
from antiphon.chat.request import parse
from antiphon.errors import AntiphonError, RequestError

USER = {"role": "user", "content": "Hello"}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWERED = {"role": "tool", "tool_call_id": "1", "content": "x"}
TOOL = {"type": "function", "function": {"name": "f"}}


def chat(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [USER], **more}


def said(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return chat(messages=[{"role": "user", "content": list(parts), **more}])


@pytest.mark.parametrize(
    ("document", "param", "meant"),
    [
        (chat(Messages=[USER]), "Messages", "messages"),
        (chat(MODEL="x"), "MODEL", "model"),
        (chat(**{"me\u017fsages": []}), "me\u017fsages", "messages"),  # the long s
        (chat(**{"to\u212aen": 1, "\u212aey": 1, "Stream": True}), "Stream", "stream"),
        (chat(**{"functions\0x": []}), "functions\0x", "functions"),
        (chat(**{" tools": []}), " tools", "tools"),
        (chat(messages=[{**USER, "Content": "x"}]), "messages[0].Content", "content"),
        (chat(messages=[USER, {**USER, "ROLE": "system"}]), "messages[1].ROLE", "role"),
        (chat(messages=[{**USER, "Name": "x"}]), "messages[0].Name", "name"),
        (chat(messages=[{**USER, "Tool_Calls": []}]), "messages[0].Tool_Calls", "tool_calls"),
        (chat(messages=[{**USER, "Reasoning_content": ""}]), "messages[0].Reasoning_content", "reasoning_content"),
        (said({"type": "text", "text": "x", "Text": "y"}), "messages[0].content[0].Text", "text"),
        (said({"type": "text", "text": "x", "Type": "y"}), "messages[0].content[0].Type", "type"),
        (said({"type": "own", "Text": "y"}), "messages[0].content[0].Text", "text"),
        (
            said({"type": "image_url", "image_url": {"url": "u", "Url": "v"}}),
            "messages[0].content[0].image_url.Url",
            "url",
        ),
        (
            chat(messages=[USER, {"role": "assistant", "tool_calls": [{**CALL, "Function": {}}]}, ANSWERED]),
            "messages[1].tool_calls[0].Function",
            "function",
        ),
        (
            chat(tools=[{"type": "function", "function": {"name": "f", "Description": "d"}}]),
            "tools[0].function.Description",
            "description",
        ),
        (chat(tools=[{**TOOL, "FUNCTION": {}}]), "tools[0].FUNCTION", "function"),
        (chat(tools=[{"type": "own", "Function": {}}]), "tools[0].Function", "function"),
        (chat(response_format={"type": "text", "Type": "json_object"}), "response_format.Type", "type"),
        (chat(prediction={"type": "content", "content": "c", "Content": "d"}), "prediction.Content", "content"),
        (chat(stream=True, stream_options={"Include_Usage": True}), "stream_options.Include_Usage", "include_usage"),
    ],
)
def test_a_look_alike_of_a_known_name_is_refused(document: dict[str, Any], param: str, meant: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse(document, strict=False)
    error: AntiphonError = caught.value
    assert (error.status, error.code, error.param) == (400, "unknown_parameter", param)
    assert error.message == f"Unknown parameter: '{param}'. Did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("read", "document", "param"),
    [
        (parse_completion, {"model": "m", "prompt": "x", "Prompt": "y"}, "Prompt"),
        (parse_completion, {"model": "m", "prompt": "x", "SUFFIX": "y"}, "SUFFIX"),
        (parse_embedding, {"model": "m", "input": "x", "Input": "y"}, "Input"),
        (parse_moderation, {"input": "x", "Input": "y"}, "Input"),
    ],
)
def test_so_is_one_of_the_other_endpoints(read: Any, document: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError, match="Did you mean") as caught:
        read(document, strict=False)
    assert caught.value.param == param


def test_free_objects_and_unknown_names_travel() -> None:
    schema = {"type": "object", "properties": {"Content": {"Type": "string"}}, "Messages": [], "TYPE": "x"}
    document = chat(
        tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}],
        response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": schema}},
        metadata={"Model": "x", "User": "y"},
        logit_bias={"Content": 1},
        extra_body={"Messages": []},
        messageses=[],
        X_Vendor={"Content": {"Text": 1}},
        Top_K=4,
    )
    assert parse(document, strict=False).document == document


def test_so_is_one_with_much_behind_it() -> None:
    for name in ("Messages" + " " * 100, "messages\0" + "x" * 100_000):
        with pytest.raises(RequestError, match="Did you mean"):
            parse(chat(**{name: []}), strict=False)


@pytest.mark.parametrize("place", ["top", "message", "completion"])
def test_unknown_names_are_bounded(place: str) -> None:
    """To compare each of 100,000 names takes 100 ms, in which nobody else is served."""
    many = {f"K{number}": 0 for number in range(10_000)}

    def read(names: dict[str, Any]) -> None:
        if place == "completion":
            parse_completion({"model": "m", "prompt": "x", **names}, strict=False)
        else:
            parse(chat(**names) if place == "top" else chat(messages=[{**USER, **names}]), strict=False)

    read(many)
    with pytest.raises(RequestError) as caught:
        read({**many, "more": 0})
    error: AntiphonError = caught.value
    assert (error.status, error.code) == (400, "json_too_many_values")
    assert "10000" in error.message


def test_a_look_alike_leaves_the_fast_path() -> None:
    assert read_plain(b'{"model":"m","messages":[{"role":"user","content":"x"}]}') is not None
    assert read_plain(b'{"model":"m","messages":[{"role":"user","content":"x"}],"Model":"n"}') is None
    assert read_plain(b'{"model":"m","messages":[{"role":"user","content":"x","Content":"y"}]}') is None
