"""A ChatCompletion as a GenerateContentResponse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from antiphon.document import Document, objects_in

_REASONS: Final[Mapping[str, str]] = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "function_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
# Words of Gemini's own, where an upstream has said one of them.
_NATIVE: Final = frozenset(
    {
        *("RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "CONTINUATION"),
        *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
    }
)
_OF_CANDIDATE: Final = (
    *("safetyRatings", "groundingMetadata", "citationMetadata", "urlContextMetadata", "finishMessage"),
    *("avgLogprobs", "continuationToken", "content_filter_results"),
)
_OF_ANSWER: Final = ("promptFeedback", "prompt_filter_results", "moderation")


def write_response(completion: Document) -> Document:
    candidates = []
    for choice in completion["choices"]:
        content = {"role": "model", "parts": write_parts(choice["message"])}
        candidates.append({"content": content, **write_end(choice), "index": choice["index"]})
        if choice.get("logprobs"):
            candidates[-1]["logprobsResult"] = write_logprobs(choice["logprobs"])
    out: Document = {
        "candidates": candidates,
        "usageMetadata": write_usage(completion["usage"]),
        "modelVersion": completion["model"],
        "responseId": completion["id"],
    }
    out.update((key, completion[key]) for key in _OF_ANSWER if completion.get(key) is not None)
    return out


def write_end(choice: Document) -> Document:
    native = choice.get("native_finish_reason")
    word = native if native in _NATIVE else _REASONS.get(str(choice.get("finish_reason")), "STOP")
    out: Document = {"finishReason": word}
    out.update((key, choice[key]) for key in _OF_CANDIDATE if choice.get(key) is not None)
    return out


def write_parts(message: Document) -> list[Document]:
    """Thoughts, text, media and calls, each with its signature where it has one."""
    blocks = objects_in(message.get("thinking_blocks"))
    text = message.get("content") or message.get("refusal")
    words = text if isinstance(text, str) else ""
    parts = _thoughts(message, blocks)
    start = 0
    for block in blocks:
        at = block.get("start", block.get("at"))
        end = block.get("end", at)
        if block.get("of") in ("call", "thought") or type(at) is not int or type(end) is not int:
            continue
        parts += [{"text": words[start:at]}] if at > start else []
        if block.get("of") == "text":
            parts.append({"text": words[at:end], "thoughtSignature": block.get("signature")})
        elif isinstance(block.get("part"), dict):
            parts.append(block["part"])
        start = max(start, at, end)
    parts += [{"text": words[start:]}] if words[start:] else []
    parts += [_image(image) for image in objects_in(message.get("images"))]
    return parts + [write_call(call) for call in message.get("tool_calls") or ()]


def _thoughts(message: Document, blocks: list[Document]) -> list[Document]:
    signed = [
        {"text": block.get("text", ""), "thought": True, "thoughtSignature": block.get("signature")}
        for block in blocks
        if block.get("of") == "thought"
    ]
    thought = message.get("reasoning_content") or message.get("reasoning")
    if signed or not isinstance(thought, str) or not thought:
        return signed
    return [{"text": thought, "thought": True}]


def _image(image: Document) -> Document:
    holder = image.get("image_url")
    url = str(holder.get("url")) if isinstance(holder, dict) else ""
    head, _, data = url.partition(";base64,")
    kind = head.removeprefix("data:")
    if data:
        part: Document = {"inlineData": {"mimeType": kind, "data": data}}
    else:
        part = {"fileData": {"fileUri": url, "mimeType": "image/png"}}
    return {**part, **_signature(image)}


def write_call(call: Document) -> Document:
    body = call.get("function") or call.get("custom") or {}
    said = {"id": call.get("id"), "name": body.get("name"), "args": read_arguments(body)}
    return {"functionCall": said, **_signature(call)}


def read_arguments(body: Document) -> Document:
    """Arguments that are no JSON object, because the answer was cut or the model erred, travel as a text."""
    written = body.get("arguments", body.get("input"))
    try:
        found = msgspec.json.decode(str(written or "{}"))
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"arguments": written}


def _signature(holder: Document) -> Document:
    extra = holder.get("extra_content")
    google = extra.get("google") if isinstance(extra, dict) else None
    found = google.get("thought_signature") if isinstance(google, dict) else None
    return {"thoughtSignature": found} if isinstance(found, str) else {}


def write_usage(usage: Document) -> Document:
    """Thoughts are counted apart from the answer."""
    thoughts = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    out: Document = {"promptTokenCount": prompt, "candidatesTokenCount": max(0, completion - thoughts)}
    if cached:
        out["cachedContentTokenCount"] = cached
    if thoughts:
        out["thoughtsTokenCount"] = thoughts
    return {**out, "totalTokenCount": prompt + completion}


def _count(counts: object, key: str) -> int:
    value = counts.get(key) if isinstance(counts, dict) else None
    return value if type(value) is int and value > 0 else 0


def write_logprobs(logprobs: Document) -> Document:
    tokens = objects_in(logprobs.get("content"))
    return {
        "chosenCandidates": [_token(token) for token in tokens],
        "topCandidates": [
            {"candidates": [_token(other) for other in objects_in(token.get("top_logprobs"))]} for token in tokens
        ],
    }


def _token(token: Document) -> Document:
    return {"token": token.get("token"), "logProbability": token.get("logprob")}
