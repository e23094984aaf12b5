"""Replies as Messages: whole, or as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.language import EventPart, ScriptedAnswer, ScriptedEvent, Shape
from antiphon.upstreams.scripted.reply import Reply, pieces
from antiphon.upstreams.scripted.signatures import seal, sign

REFUSED = "This request was declined."
OF_START = frozenset({"cache_creation", "service_tier"})  # counts that are told once
STOPS = {"length": "max_tokens"}


def spell_message(answer: ScriptedAnswer) -> Document:
    message = envelope(answer)
    blocks = [whole_block(block) for block in blocks_of(answer)]
    message["content"] = None if answer.shape is Shape.EMPTY else blocks
    message |= ending(answer)
    if answer.tells_usage:
        message["usage"] = usage(answer)
    return message


def spell_events(answer: ScriptedAnswer) -> list[ScriptedEvent]:
    """A ping comes after the first event, as the vendor sends it. The last usage is the one that counts."""
    start = {**envelope(answer), "content": [], "stop_reason": None, "stop_sequence": None}
    if answer.tells_usage:
        start["usage"] = {**usage(answer), "output_tokens": 1}
    events = [
        ScriptedEvent(sse_event({"type": "message_start", "message": start})),
        ScriptedEvent(sse_event({"type": "ping"})),
    ]
    for index, block in enumerate(blocks_of(answer)):
        events += (ScriptedEvent(sse_event(document)) for document in block_events(index, block))
    last: Document = {"type": "message_delta", "delta": ending(answer)}
    if answer.tells_usage:
        last["usage"] = {key: count for key, count in usage(answer).items() if key not in OF_START}
    events.append(ScriptedEvent(sse_event(last), EventPart.FINISH))
    events.append(ScriptedEvent(sse_event({"type": "message_stop"}), EventPart.CLOSE))
    return events


def sse_event(document: Document) -> bytes:
    return f"event: {document['type']}\ndata: ".encode() + msgspec.json.encode(document) + b"\n\n"


def envelope(answer: ScriptedAnswer) -> Document:
    return {"id": f"msg_{answer.id}", "type": "message", "role": "assistant", "model": answer.model}


def ending(answer: ScriptedAnswer) -> Document:
    reply = answer.reply
    refuses = bool(reply.refusal) or answer.shape is Shape.BLOCKED or reply.finish == "content_filter"
    details = {"type": "refusal", "category": "general_harms", "explanation": reply.refusal or REFUSED}
    if refuses:
        reason = "refusal"
    elif reply.calls and reply.finish != "length":
        reason = "tool_use"
    else:
        reason = "stop_sequence" if reply.stopped_by else STOPS.get(reply.finish, "end_turn")
    told: Document = {"stop_reason": reason, "stop_sequence": reply.stopped_by or None}
    return {**told, "stop_details": details} if refuses else told


def usage(answer: ScriptedAnswer) -> Document:
    """What was read from the cache or written to it is not among `input_tokens`."""
    counts = answer.usage
    thought = {"output_tokens_details": {"thinking_tokens": counts.reasoning}} if counts.reasoning else {}
    return {
        "input_tokens": counts.prompt - counts.cached - counts.written,
        "cache_creation_input_tokens": counts.written,
        "cache_read_input_tokens": counts.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": counts.written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": counts.completion,
        **thought,
        "service_tier": "standard",
    }


def blocks_of(answer: ScriptedAnswer) -> list[Document]:
    """The `input` of calls is text yet."""
    if answer.shape is not Shape.PLAIN and answer.shape is not Shape.AZURE:
        return []
    reply = answer.reply
    blocks = thinking_of(answer, reply)
    if reply.text:
        cited = {"citations": citations(reply)} if reply.citation else {}
        blocks.append({"type": "text", "text": reply.text, **cited})
    for call in reply.calls:
        blocks.append({"type": "tool_use", "id": call_id(call.id), "name": call.name, "input": call.input})
    return blocks


def whole_block(block: Document) -> Document:
    return {**block, "input": read_input(block["input"])} if block["type"] == "tool_use" else block


def thinking_of(answer: ScriptedAnswer, reply: Reply) -> list[Document]:
    if not reply.reasoning:
        return []
    if reply.redacted:
        return [{"type": "redacted_thinking", "data": seal(reply.reasoning)}]
    thinking = answer.request.get("thinking")
    shown = "" if isinstance(thinking, dict) and thinking.get("display") == "omitted" else reply.reasoning
    return [{"type": "thinking", "thinking": shown, "signature": sign("thinking", shown)}]


def citations(reply: Reply) -> list[Document]:
    source = {"url": reply.citation, "title": reply.cited_title, "encrypted_index": seal(reply.citation)}
    return [{"type": "web_search_result_location", "cited_text": reply.text, **source}]


def call_id(identity: str) -> str:
    return "toolu_" + identity.removeprefix("call_")


def read_input(text: str) -> Any:
    """Arguments that a limit cut short are no JSON: the API then gives what it has."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}


def block_events(index: int, block: Document) -> Iterator[Document]:
    start, deltas = OPEN[block["type"]](block)
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def open_text(block: Document) -> tuple[Document, list[Document]]:
    deltas: list[Document] = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    deltas += ({"type": "citations_delta", "citation": citation} for citation in block.get("citations", ()))
    start: Document = {"type": "text", "text": ""}
    return {**start, "citations": []} if "citations" in block else start, deltas


def open_thinking(block: Document) -> tuple[Document, list[Document]]:
    deltas: list[Document] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
    return {"type": "thinking", "thinking": "", "signature": ""}, [
        *deltas,
        {"type": "signature_delta", "signature": block["signature"]},
    ]


def open_redacted(block: Document) -> tuple[Document, list[Document]]:
    return block, []


def open_call(block: Document) -> tuple[Document, list[Document]]:
    """The first piece is empty; a call without arguments gets no other."""
    said = ["", *(pieces(block["input"]) if block["input"] != "{}" else ())]
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in said]


OPEN = {"text": open_text, "thinking": open_thinking, "redacted_thinking": open_redacted, "tool_use": open_call}
