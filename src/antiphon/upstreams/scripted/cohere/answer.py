"""Replies as Cohere's chat answers: whole, or as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.language import EventPart, ScriptedAnswer, ScriptedEvent, Shape
from antiphon.upstreams.scripted.reply import Reply, ScriptedCall, pieces

FINISHES = {"length": "MAX_TOKENS", "content_filter": "ERROR"}


def spell_answer(answer: ScriptedAnswer) -> Document:
    reply = answer.reply
    message: Document = {"role": "assistant"}
    if answer.shape is Shape.EMPTY:
        message["content"] = None
    elif reply.calls:
        message |= {"tool_plan": plan_of(reply), "tool_calls": [call_of(call) for call in reply.calls]}
    else:
        message["content"] = content_of(reply)
        if reply.citation:
            message["citations"] = [citation(reply)]
    told: Document = {"id": answer.id, "message": message, "finish_reason": finish_of(reply)}
    return {**told, "usage": usage(answer)} if answer.tells_usage else told


def spell_events(answer: ScriptedAnswer) -> list[ScriptedEvent]:
    start = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    first = {"id": answer.id, "type": "message-start", "delta": {"message": start}}
    events = [ScriptedEvent(sse_event(first))]
    if answer.shape is not Shape.EMPTY:
        spoken = call_events(answer.reply) if answer.reply.calls else content_events(answer.reply)
        events += (ScriptedEvent(sse_event(document)) for document in spoken)
    delta: Document = {"finish_reason": finish_of(answer.reply)}
    if answer.tells_usage:
        delta["usage"] = usage(answer)
    return [*events, ScriptedEvent(sse_event({"type": "message-end", "delta": delta}), EventPart.FINISH)]


def sse_event(document: Document) -> bytes:
    return f"event: {document['type']}\ndata: ".encode() + msgspec.json.encode(document) + b"\n\n"


def finish_of(reply: Reply) -> str:
    if reply.calls and reply.finish != "length":
        return "TOOL_CALL"
    return "STOP_SEQUENCE" if reply.stopped_by else FINISHES.get(reply.finish, "COMPLETE")


def usage(answer: ScriptedAnswer) -> Document:
    counts = answer.usage
    tokens = {"input_tokens": counts.prompt, "output_tokens": counts.completion}
    return {"billed_units": tokens, "tokens": tokens, "cached_tokens": counts.cached}


def plan_of(reply: Reply) -> str:
    return reply.reasoning or f"I will use the tools: {', '.join(call.name for call in reply.calls)}."


def content_of(reply: Reply) -> list[Document]:
    thoughts = [{"type": "thinking", "thinking": reply.reasoning}] if reply.reasoning and not reply.redacted else []
    text = reply.text or reply.refusal
    return [*thoughts, {"type": "text", "text": text}] if text else thoughts


def citation(reply: Reply) -> Document:
    document = {"id": "doc:0", "title": reply.cited_title, "url": reply.citation}
    source = {"type": "document", "id": "doc:0", "document": document}
    place = {"start": 0, "end": len(reply.text), "text": reply.text}
    return {**place, "sources": [source], "type": "TEXT_CONTENT"}


def call_of(call: ScriptedCall) -> Document:
    return {"id": call_id(call), "type": "function", "function": {"name": call.name, "arguments": call.input}}


def call_id(call: ScriptedCall) -> str:
    return f"{call.name}_{call.id.removeprefix('call_')[:12]}"


def content_events(reply: Reply) -> Iterator[Document]:
    for index, content in enumerate(content_of(reply)):
        kind = content["type"]
        yield {"type": "content-start", "index": index, "delta": {"message": {"content": {"type": kind, kind: ""}}}}
        for piece in pieces(content[kind]):
            yield {"type": "content-delta", "index": index, "delta": {"message": {"content": {kind: piece}}}}
        if kind == "text" and reply.citation:
            yield {"type": "citation-start", "index": 0, "delta": {"message": {"citations": citation(reply)}}}
            yield {"type": "citation-end", "index": 0}
        yield {"type": "content-end", "index": index}


def call_events(reply: Reply) -> Iterator[Document]:
    """A call without arguments gets no delta."""
    for piece in pieces(plan_of(reply)):
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
    for index, call in enumerate(reply.calls):
        begun = {"id": call_id(call), "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": begun}}}
        for piece in pieces(call.input) if call.input != "{}" else ():
            more = {"function": {"arguments": piece}}
            yield {"type": "tool-call-delta", "index": index, "delta": {"message": {"tool_calls": more}}}
        yield {"type": "tool-call-end", "index": index}
