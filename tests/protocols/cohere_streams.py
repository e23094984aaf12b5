"""Our own recordings of Cohere's streams: every documented event, and what peers fell over."""

from __future__ import annotations

import json
from typing import Any

Document = dict[str, Any]


def event(kind: str, **more: Any) -> bytes:
    document = json.dumps({"type": kind, **more}, ensure_ascii=False)
    return f"event: {kind}\ndata: {document}\n\n".encode()


def said(kind: str, message: Document, **more: Any) -> bytes:
    return event(kind, **more, delta={"message": message})


def start() -> bytes:
    empty: Document = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return said("message-start", empty, id="0f-1")


def begin(index: int = 0, kind: str = "text") -> bytes:
    return said("content-start", {"content": {"type": kind, kind: ""}}, index=index)


def text(words: str, index: int = 0, **more: Any) -> bytes:
    return said("content-delta", {"content": {"text": words}}, index=index, **more)


def thought(words: str, index: int = 0) -> bytes:
    return said("content-delta", {"content": {"thinking": words}}, index=index)


def stop(index: int = 0) -> bytes:
    return event("content-end", index=index)


def plan(words: str) -> bytes:
    return said("tool-plan-delta", {"tool_plan": words})


def call(index: int, identity: str, name: str, arguments: str = "") -> bytes:
    function = {"name": name, "arguments": arguments}
    return said(
        "tool-call-start", {"tool_calls": {"id": identity, "type": "function", "function": function}}, index=index
    )


def arguments(index: int, piece: str) -> bytes:
    return said("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index=index)


def called(index: int) -> bytes:
    return event("tool-call-end", index=index)


def cite(index: int, citation: Document) -> bytes:
    return said("citation-start", {"citations": citation}, index=index) + event("citation-end", index=index)


def end(reason: str = "COMPLETE", **more: Any) -> bytes:
    usage = {
        "billed_units": {"input_tokens": 4.0, "output_tokens": 6.0},
        "tokens": {"input_tokens": 300.0, "output_tokens": 8.0},
        "cached_tokens": 256.0,
    }
    return event("message-end", delta={"finish_reason": reason, "usage": usage, **more})


WEB = {"type": "document", "id": "d0", "document": {"id": "d0", "title": "Cities", "url": "https://c.example/p"}}
TOOL = {"type": "tool", "id": "weather:0", "tool_output": {"sky": "grey"}}

PLAIN = start() + begin() + text("The sea ") + text("is 𝄞 wide.") + stop() + end()
TWO_CALLS = (
    start()
    + plan("I look ")
    + plan("twice.")
    + call(0, "weather_x1", "weather")
    + arguments(0, '{"city":')
    + arguments(0, '"Köln"}')
    + called(0)
    + call(1, "clock_x2", "clock")
    + called(1)
    + end("TOOL_CALL")
)
NULL_CALLS = (
    start()
    + call(0, "a", "clock", "null")
    + called(0)
    + call(1, "b", "clock")
    + arguments(1, "nu")
    + arguments(1, "ll")
    + called(1)
    + call(3, "c", "odd", "{}")
    + end("TOOL_CALL")
)
THINKING = (
    start()
    + begin(0, "thinking")
    + thought("Two and two")
    + thought(" is four.")
    + stop(0)
    + begin(1)
    + text("4", 1)
    + stop(1)
    + end()
)
CITED = (
    start()
    + begin(0)
    + text("Before. ", 0)
    + stop(0)
    + begin(1)
    + text("Paris is large.", 1)
    + stop(1)
    + cite(0, {"start": 0, "end": 5, "text": "Paris", "sources": [WEB], "type": "TEXT_CONTENT", "content_index": 1})
    + cite(1, {"start": 9, "end": 14, "text": "large", "sources": [TOOL], "type": "TEXT_CONTENT", "content_index": 1})
    + end()
)
UNKNOWN = (
    event("debug", prompt="x") + start() + event("novelty", x=1) + begin() + text("a") + b": ping\n\n" + stop() + end()
)

RECORDINGS = {
    "plain": PLAIN,
    "two calls": TWO_CALLS,
    "null calls": NULL_CALLS,
    "thinking": THINKING,
    "cited": CITED,
    "unknown": UNKNOWN,
}
