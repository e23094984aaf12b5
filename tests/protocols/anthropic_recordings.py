"""Streams of the Messages API: every documented event, and the cases that gateways get wrong. Our own words and ids."""

from __future__ import annotations

import json
from typing import Any

Document = dict[str, Any]
MODEL = "claude-test-5"


def start(**more: Any) -> Document:
    usage = {
        "input_tokens": 12,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1,
        "service_tier": "standard",
    }
    message = {
        "id": "msg_rec1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }
    return {"type": "message_start", "message": message}


def block(index: int, content: Document, *deltas: Document) -> list[Document]:
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, *words: str, **more: Any) -> list[Document]:
    return block(index, {"type": "text", "text": "", **more}, *({"type": "text_delta", "text": word} for word in words))


def thinking(index: int, signature: str, *words: str) -> list[Document]:
    deltas = [{"type": "thinking_delta", "thinking": word} for word in words]
    empty = {"type": "thinking", "thinking": "", "signature": ""}
    return block(index, empty, *deltas, {"type": "signature_delta", "signature": signature})


def call(index: int, call_id: str, name: str, *pieces: str, **more: Any) -> list[Document]:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
    return block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}, **more}, *deltas)


def end(reason: str, usage: Document | None = None, **more: Any) -> list[Document]:
    counts = {"output_tokens": 30} if usage is None else usage
    delta = {"stop_reason": reason, "stop_sequence": None, **more}
    return [{"type": "message_delta", "delta": delta, "usage": counts}, {"type": "message_stop"}]


PING: Document = {"type": "ping"}


def wire(events: list[Document], *, padded: bool = False) -> bytes:
    """As the vendor sends it. `padded`: with spaces after the JSON, as it does at times."""
    tail = "      " if padded else ""
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}{tail}\n\n" for event in events
    ).encode()


SEARCHED = {
    "type": "web_search_result_location",
    "cited_text": "The tower has 324 metres.",
    "url": "https://towers.example/paris",
    "title": "Towers",
    "encrypted_index": "Ejk=",
}
ON_PAGE = {
    "type": "page_location",
    "cited_text": "Rent is due on Monday.",
    "document_index": 0,
    "document_title": "lease.pdf",
    "start_page_number": 2,
    "end_page_number": 3,
}
WEB_RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "title": "Towers", "url": "https://towers.example/paris"}],
}
REFUSAL = {"type": "refusal", "category": "cyber", "explanation": "This is not allowed.", "recommended_model": None}

STREAMS: dict[str, list[Document]] = {
    "text": [start(), *text(0, "Good ", "day", "! 😀 é"), *end("end_turn")],
    "pings everywhere": [
        PING,
        start(),
        PING,
        *[event for one in text(0, "a", "b") for event in (one, PING)],
        *end("end_turn"),
    ],
    "unknown events and deltas": [
        start(),
        {"type": "something_new", "payload": [1]},
        *text(0, "a"),
        {"type": "message_delta", "delta": {"novelty": 1}, "usage": None},
        *end("end_turn"),
        {"type": "after_the_end"},
    ],
    "thinking": [start(), *thinking(0, "c2ln", "Let me ", "see."), *text(1, "42"), *end("end_turn")],
    "thinking without its text": [start(), *thinking(0, "c2ln"), *text(1, "42"), *end("end_turn")],
    "redacted": [
        start(),
        *block(0, {"type": "redacted_thinking", "data": "ZGF0YQ=="}),
        *block(1, {"type": "redacted_thinking", "data": "bW9yZQ=="}),
        *text(2, "42"),
        *end("end_turn"),
    ],
    "calls after text": [
        start(),
        *text(0, "I look it up."),
        *call(1, "toolu_a", "weather", '{"city": "Pa', 'ris"}'),
        *call(2, "toolu_b", "weather", '{"city": "Rom"}'),
        *end("tool_use"),
    ],
    "call without arguments": [start(), *call(0, "toolu_a", "refresh"), *end("tool_use")],
    "call with its input in the start": [
        start(),
        *block(0, {"type": "tool_use", "id": "toolu_a", "name": "weather", "input": {"city": "Oslo"}}),
        *end("tool_use"),
    ],
    "call by a program": [
        start(),
        *call(0, "toolu_a", "roll", "{}", caller={"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}),
        *end("tool_use"),
    ],
    "call cut by the limit": [start(), *call(0, "toolu_a", "weather", '{"city": "Pa'), *end("max_tokens")],
    "web search with citations": [
        start(),
        *text(0, "I search. "),
        *block(
            1,
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"query": "tower'},
            {"type": "input_json_delta", "partial_json": ' height"}'},
        ),
        *block(2, WEB_RESULT),
        *text(3, "It has "),
        *block(
            4,
            {"type": "text", "text": "", "citations": []},
            {"type": "citations_delta", "citation": SEARCHED},
            {"type": "text_delta", "text": "324 m"},
        ),
        *block(
            5,
            {"type": "text", "text": "", "citations": []},
            {"type": "citations_delta", "citation": ON_PAGE},
            {"type": "text_delta", "text": " and rent."},
        ),
        *end("end_turn", {"output_tokens": 9, "server_tool_use": {"web_search_requests": 1}}),
    ],
    "paused": [
        start(),
        *text(0, "One moment."),
        *block(1, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        *end("pause_turn"),
    ],
    "fallback to another model": [
        start(),
        *block(0, {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}),
        *text(1, "Yes."),
        *end(
            "end_turn",
            {
                "input_tokens": 14,
                "output_tokens": 5,
                "iterations": [
                    {"type": "message", "model": "a", "input_tokens": 12, "output_tokens": 0},
                    {"type": "fallback_message", "model": "b", "input_tokens": 14, "output_tokens": 5},
                ],
            },
        ),
    ],
    "compaction": [
        start(),
        *block(
            0,
            {"type": "compaction", "content": None},
            {"type": "compaction_delta", "content": "So far: "},
            {"type": "compaction_delta", "content": "much."},
        ),
        *text(1, "On we go."),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 3},
            "context_management": {"applied_edits": []},
        },
        {"type": "message_stop"},
    ],
    "refusal before any block": [start(), PING, *end("refusal", stop_details=REFUSAL)],
    "refusal after text": [start(), *text(0, "First you "), *end("refusal", stop_details=None)],
    "stop sequence": [start(), *text(0, "1, 2"), *end("stop_sequence", stop_sequence=", 3")],
    "context window": [start(), *text(0, "and so"), *end("model_context_window_exceeded")],
    "the same start twice": [start(), start(), *text(0, "Hello"), *end("end_turn")],
    "several ends": [
        start(),
        *text(0, "x"),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_delta", "delta": {"container": {"id": "box"}}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ],
    "counts corrected at the end": [
        start(usage={"input_tokens": 43, "cache_creation": {"ephemeral_5m_input_tokens": 7}, "output_tokens": 1}),
        *text(0, "pong"),
        *end(
            "end_turn",
            {
                "input_tokens": 61,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20,
                "output_tokens": 50,
                "output_tokens_details": {"thinking_tokens": 40},
            },
        ),
    ],
    "nothing said": [start(), *end("end_turn")],
}
