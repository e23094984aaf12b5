"""A ChatCompletion as a Message."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import msgspec

from antiphon.apis.messages.ending import message_id, write_end, write_usage
from antiphon.document import Document, objects_in

_PLACE: Final = ("index", "text_offset")  # where a block that was kept belongs
_SIGNED: Final = frozenset({"thinking", "redacted_thinking"})
_OURS: Final = frozenset({"thought_signature", "gemini_part"})  # Gemini's, for which the Messages API has no place
_TOP: Final = ("container", "diagnostics", "context_management", "content_filter_results", "prompt_filter_results")


def write_message(completion: Document, stops: object) -> Document:
    """`stops`: the request's stop sequences."""
    choice = completion["choices"][0]
    message = choice["message"]
    refusal = message.get("refusal")
    refused = refusal if isinstance(refusal, str) else ""
    content = write_blocks(message)
    if refused and not content and choice.get("finish_reason") != "content_filter":
        content = [{"type": "text", "text": refused}]
    out: Document = {
        "id": message_id(completion["id"]),
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": content,
        **write_end(choice, called=bool(message.get("tool_calls")), refusal=refused, stops=stops),
        "usage": write_usage(completion["usage"], completion.get("service_tier")),
    }
    for key in _TOP:
        value = completion.get(key, choice.get(key))
        if value is not None:
            out[key] = value
    for key in ("antiphon", "moderation"):
        if key in completion:
            out[key] = completion[key]
    return out


def write_blocks(message: Document) -> list[Document]:
    """In the order in which the upstream has said them: blocks that were kept know how much text stands before them."""
    text = message.get("content")
    words = text if isinstance(text, str) else ""
    kept = _kept(message)
    cited = _cited(message.get("annotations"))
    blocks: list[Document] = []
    if not any(block.get("type") in _SIGNED for _, block in kept):
        thought = message.get("reasoning_content") or message.get("reasoning")
        if isinstance(thought, str) and thought:
            blocks.append({"type": "thinking", "thinking": thought, "signature": ""})
    start = 0
    for offset, block in kept:
        if offset > start:
            blocks += _texts(words, start, offset, cited)
            start = offset
        blocks.append(block)
    blocks += _texts(words, start, len(words), cited)
    return blocks + [write_call(call) for call in message.get("tool_calls") or () if isinstance(call, dict)]


def _kept(message: Document) -> list[tuple[int, Document]]:
    entries = [
        entry
        for key in ("thinking_blocks", "content_parts")
        for entry in objects_in(message.get(key))
        if isinstance(entry.get("type"), str) and entry["type"] not in _OURS
    ]
    entries.sort(key=lambda entry: _number(entry.get("index")))
    return [(_number(entry.get("text_offset")), bare(entry)) for entry in entries]


def bare(entry: Document) -> Document:
    """A block that was kept, as the vendor has said it."""
    return {key: value for key, value in entry.items() if key not in _PLACE}


def _number(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _cited(annotations: object) -> list[tuple[int, int, Document]]:
    """Citations with the characters that they support."""
    found = []
    for note in annotations if isinstance(annotations, list) else ():
        citation = write_citation(note)
        if citation is not None:
            inner = note[note["type"]]
            found.append((_number(inner.get("start_index")), _number(inner.get("end_index")), citation))
    return found


def write_citation(note: object) -> Document | None:
    kind = note.get("type") if isinstance(note, dict) else None
    inner = note.get(kind) if isinstance(note, dict) and isinstance(kind, str) else None
    if not isinstance(inner, dict):
        return None
    if kind != "url_citation":  # Anthropic's own
        return {"type": kind, **{key: inner[key] for key in inner if key not in ("start_index", "end_index")}}
    return {
        "type": "web_search_result_location",
        "url": inner.get("url"),
        "title": inner.get("title"),
        "cited_text": inner.get("cited_text") or "",
        "encrypted_index": inner.get("encrypted_index") or "",
    }


def _texts(words: str, start: int, end: int, cited: list[tuple[int, int, Document]]) -> list[Document]:
    """A text as blocks: what a citation supports is a block of its own."""
    edges = {start, end}
    for first, last, _ in cited:
        edges.update(edge for edge in (first, last) if start < edge < end)
    places = sorted(edges)
    blocks: list[Document] = []
    for first, last in pairwise(places):
        block: Document = {"type": "text", "text": words[first:last]}
        supported = [citation for begin, close, citation in cited if begin <= first and last <= close]
        if supported:
            block["citations"] = supported
        if words[first:last]:
            blocks.append(block)
    return blocks


def write_call(call: Document) -> Document:
    kind = str(call.get("type"))
    body = call.get(kind)
    if kind == "custom" and isinstance(body, dict):
        given: object = {"input": body.get("input")}
    elif isinstance(body, dict):
        given = _read_input(body.get("arguments"))
    else:
        return dict(call)  # a vendor's own kind
    return {"type": "tool_use", "id": call.get("id"), "name": body.get("name"), "input": given, **call_extras(call)}


def call_extras(call: Document) -> Document:
    """What must come back with a call beside its name and input."""
    extra = call.get("extra_content")
    if not isinstance(extra, dict):
        return {}
    own = extra.get("anthropic")
    rest = {key: value for key, value in extra.items() if key != "anthropic"}
    out = dict(own) if isinstance(own, dict) else {}
    return {**out, "extra_content": rest} if rest else out


def _read_input(arguments: object) -> Document:
    """Arguments that are no JSON object, because the answer was cut or the model erred, travel as a text."""
    try:
        found = msgspec.json.decode(str(arguments or "{}"))
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"arguments": arguments}
