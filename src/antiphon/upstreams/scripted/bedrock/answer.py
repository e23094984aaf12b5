"""Replies as Converse answers: whole, or as the events of a ConverseStream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.bedrock.frames import event_frame
from antiphon.upstreams.scripted.language import EventPart, ScriptedAnswer, ScriptedEvent, Shape
from antiphon.upstreams.scripted.reply import Reply, pieces
from antiphon.upstreams.scripted.signatures import seal, sign

BLOCKED = "Sorry, the model cannot answer this question."
LATENCY = 7  # milliseconds; the same answer every time
STOPS = {"length": "max_tokens", "content_filter": "content_filtered"}


def spell_answer(answer: ScriptedAnswer) -> Document:
    content: Any = None if answer.shape is Shape.EMPTY else [whole_block(block) for block in blocks_of(answer)]
    told: Document = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop_of(answer)}
    return {**told, **metadata(answer)}


def spell_events(answer: ScriptedAnswer) -> list[ScriptedEvent]:
    """Only calls have a start of their own. Usage comes after the stop."""
    events = [ScriptedEvent(event_frame("messageStart", {"role": "assistant"}))]
    for index, block in enumerate(blocks_of(answer)):
        events += (
            ScriptedEvent(event_frame(name, {"contentBlockIndex": index, **told})) for name, told in block_events(block)
        )
    events.append(ScriptedEvent(event_frame("messageStop", {"stopReason": stop_of(answer)}), EventPart.FINISH))
    events.append(ScriptedEvent(event_frame("metadata", metadata(answer)), EventPart.CLOSE))
    return events


def stop_of(answer: ScriptedAnswer) -> str:
    reply = answer.reply
    if answer.shape is Shape.BLOCKED:
        return "guardrail_intervened"
    if reply.refusal:
        return "content_filtered"
    if reply.calls and reply.finish != "length":
        return "tool_use"
    return "stop_sequence" if reply.stopped_by else STOPS.get(reply.finish, "end_turn")


def metadata(answer: ScriptedAnswer) -> Document:
    told: Document = {"metrics": {"latencyMs": LATENCY}}
    if answer.tells_usage:
        told["usage"] = usage(answer)
    if answer.shape is Shape.BLOCKED and answer.request.get("traces"):
        told["trace"] = {"guardrail": {"inputAssessment": {"scripted": assessment()}}}
    return told


def usage(answer: ScriptedAnswer) -> Document:
    """What was read from the cache or written to it is not among `inputTokens`."""
    counts = answer.usage
    told = {
        "inputTokens": counts.prompt - counts.cached - counts.written,
        "outputTokens": counts.completion,
        "totalTokens": counts.prompt + counts.completion,
    }
    if counts.cached:
        told |= {"cacheReadInputTokens": counts.cached, "cacheWriteInputTokens": counts.written}
    return told


def assessment() -> Document:
    found = {"type": "VIOLENCE", "confidence": "HIGH", "action": "BLOCKED"}
    return {"contentPolicy": {"filters": [found]}}


def blocks_of(answer: ScriptedAnswer) -> list[Document]:
    """The `input` of calls is text yet."""
    if answer.shape is Shape.BLOCKED:
        return [{"text": BLOCKED}]
    if answer.shape is Shape.EMPTY:
        return []
    reply = answer.reply
    blocks = reasoning_of(reply)
    if reply.text and reply.citation:
        blocks.append({"citationsContent": {"content": [{"text": reply.text}], "citations": [citation(reply)]}})
    elif reply.text:
        blocks.append({"text": reply.text})
    for call in reply.calls:
        identity = "tooluse_" + call.id.removeprefix("call_")
        blocks.append({"toolUse": {"toolUseId": identity, "name": call.name, "input": call.input}})
    return blocks


def reasoning_of(reply: Reply) -> list[Document]:
    if not reply.reasoning:
        return []
    if reply.redacted:
        return [{"reasoningContent": {"redactedContent": seal(reply.reasoning)}}]
    signed = {"text": reply.reasoning, "signature": sign("thinking", reply.reasoning)}
    return [{"reasoningContent": {"reasoningText": signed}}]


def citation(reply: Reply) -> Document:
    place = {"web": {"url": reply.citation, "domain": "example.org"}}
    return {"title": reply.cited_title, "sourceContent": [{"text": reply.text}], "location": place}


def whole_block(block: Document) -> Document:
    use = block.get("toolUse")
    return {"toolUse": {**use, "input": read_input(use["input"])}} if use else block


def read_input(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}


def block_events(block: Document) -> Iterator[tuple[str, Document]]:
    if "toolUse" in block:
        use = block["toolUse"]
        started = {"toolUseId": use["toolUseId"], "name": use["name"]}
        yield "contentBlockStart", {"start": {"toolUse": started}}
    for delta in deltas_of(block):
        yield "contentBlockDelta", {"delta": delta}
    yield "contentBlockStop", {}


def deltas_of(block: Document) -> Iterator[Document]:
    if "text" in block:
        yield from ({"text": piece} for piece in pieces(block["text"]))
    elif "toolUse" in block:
        yield from ({"toolUse": {"input": piece}} for piece in pieces(block["toolUse"]["input"]))
    elif "citationsContent" in block:
        cited = block["citationsContent"]
        yield from ({"text": piece} for piece in pieces(cited["content"][0]["text"]))
        yield from ({"citation": one} for one in cited["citations"])
    elif "reasoningText" in block["reasoningContent"]:
        thought = block["reasoningContent"]["reasoningText"]
        yield from ({"reasoningContent": {"text": piece}} for piece in pieces(thought["text"]))
        yield {"reasoningContent": {"signature": thought["signature"]}}
    else:
        yield {"reasoningContent": block["reasoningContent"]}
