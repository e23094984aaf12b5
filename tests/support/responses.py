"""Streams and objects of the Responses API, read as OpenAI's own library reads them."""

from __future__ import annotations

import json
from typing import Any

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
REQUIRED = (
    *("id", "object", "created_at", "completed_at", "status", "error", "incomplete_details", "instructions"),
    *("max_output_tokens", "model", "output", "parallel_tool_calls", "previous_response_id", "reasoning", "store"),
    *("temperature", "text", "tool_choice", "tools", "top_p", "truncation", "usage", "metadata", "background"),
    *("service_tier", "top_logprobs", "max_tool_calls", "safety_identifier", "prompt_cache_key", "user"),
)


def check_response(document: Any) -> Any:
    Response.model_validate(document)
    assert set(REQUIRED) <= document.keys(), set(REQUIRED) - document.keys()
    return document


def read_events(body: bytes) -> list[Any]:
    """Every event of a stream; each is named, numbered and valid."""
    text = body.decode()
    assert text.endswith("\n\n"), text[-200:]
    events = []
    for block in text[:-2].split("\n\n"):
        if block.startswith(":"):
            continue
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        EVENT.validate_python(event)
        if "response" in event:
            check_response(event["response"])
        events.append(event)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def fold_events(events: list[Any]) -> list[Any]:
    """The output as a client puts it together from the events alone, each of which has to fit what came before."""
    output: list[Any] = []
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert event["output_index"] == len(output)
            output.append(event["item"])
        elif "output_index" in event:
            item = output[event["output_index"]]
            assert event.get("item_id", item["id"]) == item["id"]
            _fold_item(item, kind, event)
            if kind == "output_item.done":
                assert {**item, "status": 0} | _late(event["item"]) == {**event["item"], "status": 0}
                output[event["output_index"]] = event["item"]
    return output


def _late(item: Any) -> Any:
    """What only the whole item says."""
    known = {"id", "type", "role", "content", "summary", "call_id", "name", "arguments", "input"}
    return {key: value for key, value in item.items() if key not in known | {"status"}}


def _fold_item(item: Any, kind: str, event: Any) -> None:
    words = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text", "reasoning_summary_text": "text"}
    name, _, step = kind.rpartition(".")
    if name in ("content_part", "reasoning_summary_part"):
        parts = item.setdefault("summary" if "summary" in name else "content", [])
        place = event["summary_index" if "summary" in name else "content_index"]
        if step == "added":
            assert place == len(parts)
            parts.append(event["part"])
        else:
            assert parts[place] == event["part"]
    elif name in words:
        place = event["summary_index"] if "summary" in name else event["content_index"]
        part = item["summary" if "summary" in name else "content"][place]
        if step == "delta":
            part[words[name]] += event["delta"]
            if event.get("logprobs"):
                part["logprobs"] = [*part["logprobs"], *event["logprobs"]]
        else:
            assert part[words[name]] == event[words[name]]
    elif name in ("function_call_arguments", "custom_tool_call_input"):
        key = "arguments" if "arguments" in name else "input"
        if step == "delta":
            item[key] += event["delta"]
        else:
            assert item[key] == event[key]
    elif kind == "output_text.annotation.added":
        item["content"][event["content_index"]]["annotations"].append(event["annotation"])
