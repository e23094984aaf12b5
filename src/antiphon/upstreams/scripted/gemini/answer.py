"""Replies as GenerateContentResponses: one, or a stream of them. Each of a stream has new parts only."""

from __future__ import annotations

from typing import Any

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.language import EventPart, ScriptedAnswer, ScriptedEvent, Shape
from antiphon.upstreams.scripted.reply import Reply, ScriptedCall, pieces
from antiphon.upstreams.scripted.signatures import sign

FINISHES = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
CATEGORIES = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
WORDS_IN_PART = 3  # a part of a stream holds several words


def spell_answer(answer: ScriptedAnswer) -> Document:
    if answer.shape is Shape.BLOCKED:
        return {**blocked(), **envelope(answer)}
    if answer.shape is Shape.EMPTY:
        return {"candidates": None, **envelope(answer)}
    shows = shows_thoughts(answer)
    candidates = []
    for index, reply in enumerate(answer.replies):
        parts = [*thoughts(reply.reasoning if shows else ""), *said(reply.text)]
        candidates.append(candidate(index, [*parts, *ending_parts(reply)], reply))
    return {"candidates": candidates, **envelope(answer)}


def spell_documents(answer: ScriptedAnswer) -> list[ScriptedEvent]:
    if answer.shape is Shape.BLOCKED:
        return frame(answer, [], [{**blocked(), **envelope(answer)}])
    if answer.shape is Shape.EMPTY:
        return frame(answer, [], [{"candidates": None, **envelope(answer)}])
    shows, top = shows_thoughts(answer), envelope(answer)
    spoken: list[Document] = []
    last: list[Document] = []
    for index, reply in enumerate(answer.replies):
        calls = call_parts(reply)
        steps = [thoughts(text) for text in grouped(reply.reasoning if shows else "")]
        steps += (said(text) for text in grouped(reply.text))
        for parts in [*steps, calls] if calls else steps:
            content = {"parts": parts, "role": "model"}
            spoken.append({"candidates": [{"content": content, "index": index}], **top})
        ending = [{"text": ""}] if calls else ending_parts(reply) or [{"text": ""}]
        last.append({"candidates": [candidate(index, ending, reply)], **top})
    return frame(answer, spoken, last)


def frame(answer: ScriptedAnswer, spoken: list[Document], last: list[Document]) -> list[ScriptedEvent]:
    """Server-sent events with `alt=sse`; else the members of one JSON array."""
    parts = [*((document, EventPart.SAID) for document in spoken), *((document, EventPart.FINISH) for document in last)]
    if not answer.request.get("as_array"):
        return [
            ScriptedEvent(b"data: " + msgspec.json.encode(document) + b"\r\n\r\n", part) for document, part in parts
        ]
    events = []
    for place, (document, part) in enumerate(parts):
        events.append(ScriptedEvent(member(msgspec.json.encode(document), is_first=place == 0), part))
    return [*events, ScriptedEvent(b"]", EventPart.CLOSE)]


def member(document: bytes, is_first: bool) -> bytes:
    """Of an array that is streamed."""
    return (b"[" if is_first else b",\r\n") + document


def envelope(answer: ScriptedAnswer) -> Document:
    told = {"usageMetadata": usage(answer)} if answer.tells_usage else {}
    return {**told, "modelVersion": answer.model, "responseId": answer.id}


def usage(answer: ScriptedAnswer) -> Document:
    """Thoughts are not among the candidates' tokens; what was cached is among the prompt's."""
    counts = answer.usage
    told: Document = {
        "promptTokenCount": counts.prompt,
        "candidatesTokenCount": 0 if answer.shape is Shape.BLOCKED else counts.completion - counts.reasoning,
        "totalTokenCount": counts.prompt + (0 if answer.shape is Shape.BLOCKED else counts.completion),
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": counts.prompt}],
    }
    if counts.reasoning:
        told["thoughtsTokenCount"] = counts.reasoning
    if counts.cached:
        told["cachedContentTokenCount"] = counts.cached
    return told


def blocked() -> Document:
    return {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": ratings(blocked=True)}}


def ratings(*, blocked: bool = False) -> list[Document]:
    rows: list[Document] = [{"category": f"HARM_CATEGORY_{name}", "probability": "NEGLIGIBLE"} for name in CATEGORIES]
    if blocked:
        rows[-1] = {**rows[-1], "probability": "HIGH", "blocked": True}
    return rows


def candidate(index: int, parts: list[Document], reply: Reply) -> Document:
    finish = "SAFETY" if reply.refusal else FINISHES.get(reply.finish, "STOP")
    content: Document = {"parts": parts, "role": "model"}
    told: Document = {"content": content, "finishReason": finish, "index": index}
    if reply.citation:
        told["groundingMetadata"] = grounding(reply)
    if reply.refusal:
        told["finishMessage"] = reply.refusal
    return {**told, "safetyRatings": ratings(blocked=finish == "SAFETY")}


def grounding(reply: Reply) -> Document:
    """Places are counted in bytes of UTF-8."""
    segment = {"startIndex": 0, "endIndex": len(reply.text.encode()), "text": reply.text}
    return {
        "groundingChunks": [{"web": {"uri": reply.citation, "title": reply.cited_title}}],
        "groundingSupports": [{"segment": segment, "groundingChunkIndices": [0]}],
    }


def shows_thoughts(answer: ScriptedAnswer) -> bool:
    """They are asked for with `includeThoughts`. A model that reasons by its name shows them without."""
    return answer.request.get("thinks") is True or "scripted-reasoning" in answer.model


def thoughts(text: str) -> list[Document]:
    return [{"text": text, "thought": True}] if text else []


def said(text: str) -> list[Document]:
    return [{"text": text}] if text else []


def ending_parts(reply: Reply) -> list[Document]:
    """The calls, or where there was reasoning an empty text that carries the signature."""
    if reply.calls:
        return call_parts(reply)
    return [{"text": "", "thoughtSignature": sign("text", "")}] if reply.reasoning else []


def call_parts(reply: Reply) -> list[Document]:
    """They have no ids. Of several, only the first is signed."""
    parts = []
    for place, call in enumerate(reply.calls):
        part: Document = {"functionCall": {"name": call.name, "args": arguments(call)}}
        parts.append(part if place else {**part, "thoughtSignature": sign_call(call.name, arguments(call))})
    return parts


def sign_call(name: str, args: object) -> str:
    return sign("call", name + "\0" + msgspec.json.encode(args, order="sorted").decode())


def arguments(call: ScriptedCall) -> Any:
    try:
        return msgspec.json.decode(call.input)
    except msgspec.DecodeError:
        return {}


def grouped(text: str) -> list[str]:
    words = pieces(text)
    return ["".join(words[at : at + WORDS_IN_PART]) for at in range(0, len(words), WORDS_IN_PART)]
