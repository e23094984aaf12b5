"""A `GenerateContentResponse`: what an answer and each event of a stream is."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from antiphon.chat.event import truncated
from antiphon.chat.failure import malformed
from antiphon.chat.redact import redact
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.protocols.gemini.annotations import filter_results
from antiphon.protocols.gemini.candidate import Candidate, read_logprobs
from antiphon.protocols.gemini.failure import read_error

# Keys that are read, and keys that are ours: all others travel.
_KNOWN: Final = frozenset(
    {
        *("candidates", "usageMetadata", "modelVersion", "responseId", "createTime"),
        *("id", "object", "created", "model", "choices", "usage"),
    }
)
_KNOWN_OF_CANDIDATE: Final = frozenset(
    {"content", "index", "finishReason", "logprobsResult", "delta", "message", "finish_reason", "logprobs"}
)
_UNFINISHED: Final = (None, "", "FINISH_REASON_UNSPECIFIED")
_FILTERED: Final = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED", "SPII", "LANGUAGE", "ARMOR", "JAILBREAK")
_FAILED: Final = ("MALFORMED", "UNEXPECTED", "TOO_MANY", "NO_IMAGE", "OTHER", "MISSING")
_MOST_CANDIDATES: Final = 128


def envelope(answer: Document, model: str, kind: str) -> Document:
    head: Document = {}
    if isinstance(answer_id := answer.get("responseId"), str) and answer_id:
        head["id"] = answer_id
    head["object"] = kind
    if (created := _created(answer.get("createTime"))) is not None:
        head["created"] = created
    version = answer.get("modelVersion")
    head["model"] = version if isinstance(version, str) and version else model
    return head


def extras(answer: Document) -> Document:
    """What else the answer says, and what was found in the prompt."""
    more = {key: value for key, value in answer.items() if key not in _KNOWN}
    feedback = answer.get("promptFeedback")
    if isinstance(feedback, dict):
        results = filter_results(feedback.get("safetyRatings"), feedback.get("blockReason"))
        if results:
            more["prompt_filter_results"] = [{"prompt_index": 0, "content_filter_results": results}]
    return more


def is_blocked(answer: Document) -> bool:
    feedback = answer.get("promptFeedback")
    return isinstance(feedback, dict) and bool(feedback.get("blockReason"))


def candidates_of(answer: Document) -> list[tuple[int, Document]]:
    candidates = answer.get("candidates") or []
    if not isinstance(candidates, list) or len(candidates) > _MOST_CANDIDATES:
        raise malformed()
    found = []
    for candidate in candidates:
        index = candidate.get("index", 0) if isinstance(candidate, dict) else None
        if type(index) is not int or not 0 <= index < _MOST_CANDIDATES:
            raise malformed()
        found.append((index, candidate))
    return found


def read_candidate(candidate: Document, state: Candidate) -> tuple[Document, Document]:
    """-> (the delta, the rest of the choice: finish reason, findings, unknown keys)."""
    delta: Document = {}
    content = candidate.get("content")
    if isinstance(content, dict):
        state.read(content.get("parts"), delta)
    elif content is not None:
        raise malformed()
    rest: Document = {}
    if (logprobs := read_logprobs(candidate.get("logprobsResult"))) is not None:
        rest["logprobs"] = logprobs
    word = candidate.get("finishReason")
    rest["finish_reason"] = None
    if word not in _UNFINISHED:
        state.close(delta)
        rest["finish_reason"] = _finish(str(word), candidate, state, rest)
        state.finished = True
    if annotations := state.citations.read(candidate, state.texts):
        delta["annotations"] = annotations
    if results := filter_results(candidate.get("safetyRatings"), word):
        rest["content_filter_results"] = results
    rest.update({key: value for key, value in candidate.items() if key not in _KNOWN_OF_CANDIDATE})
    return delta, rest


def _finish(word: str, candidate: Document, state: Candidate, rest: Document) -> str:
    if word == "STOP":
        return "tool_calls" if state.called else "stop"
    if word == "MAX_TOKENS":
        return "length"
    rest["native_finish_reason"] = word
    if word == "CONTINUATION":  # the token to go on with stands beside it, as `continuationToken`
        return "length"
    if any(part in word for part in _FILTERED):
        return "content_filter"
    if any(part in word for part in _FAILED):
        raise _failed(word, candidate.get("finishMessage"))
    return "tool_calls" if state.called else "stop"


def _failed(word: str, message: object) -> UpstreamError:
    said = f"The upstream ended its answer with {word[:64]}."
    if isinstance(message, str) and message:
        said += " " + redact(message[:1000])
    return UpstreamError(said, code="upstream_malformed")


def blocked_choice() -> Document:
    """A prompt that was blocked has no candidates."""
    return {"index": 0, "finish_reason": "content_filter"}


def read_usage(metadata: object) -> Document | None:
    """None: it counts nothing (Vertex, before the end)."""
    if not isinstance(metadata, dict) or not ("promptTokenCount" in metadata or "totalTokenCount" in metadata):
        return None
    thoughts, tool_use = _count(metadata, "thoughtsTokenCount"), _count(metadata, "toolUsePromptTokenCount")
    usage: Document = {
        "prompt_tokens": _count(metadata, "promptTokenCount") + tool_use,
        "completion_tokens": _count(metadata, "candidatesTokenCount") + thoughts,
    }
    usage["total_tokens"] = _count(metadata, "totalTokenCount") or usage["prompt_tokens"] + usage["completion_tokens"]
    usage["prompt_tokens_details"] = {
        "cached_tokens": _count(metadata, "cachedContentTokenCount"),
        **_by_modality(metadata, "promptTokensDetails"),
    }
    if tool_use:
        usage["prompt_tokens_details"]["tool_use_tokens"] = tool_use
    usage["completion_tokens_details"] = {
        "reasoning_tokens": thoughts,
        **_by_modality(metadata, "candidatesTokensDetails"),
    }
    for key in ("trafficType", "serviceTier"):
        if key in metadata:
            usage[key] = metadata[key]
    return usage


def _by_modality(metadata: Document, key: str) -> Document:
    """`{"modality": "AUDIO", "tokenCount": 7}` -> `{"audio_tokens": 7}`."""
    counts: Document = {}
    details = metadata.get(key)
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(name := detail.get("modality"), str):
            counts[name.lower() + "_tokens"] = _count(detail, "tokenCount")
    return counts


def _count(holder: Document, key: str) -> int:
    value = holder.get(key)
    return value if type(value) is int and value > 0 else 0


def _created(value: object) -> int | None:
    try:
        return int(datetime.fromisoformat(value).timestamp()) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def decode(answer: Document, model: str) -> Document:
    """A whole answer as a ChatCompletion."""
    if not isinstance(answer, dict) or answer.get("error"):
        raise read_error(answer)
    completion = envelope(answer, model, "chat.completion")
    choices = []
    for index, candidate in candidates_of(answer):
        state = Candidate()
        delta, rest = read_candidate(candidate, state)
        if not state.finished:
            raise truncated()
        message = {"role": "assistant", "content": delta.pop("content", None), **_without_indices(delta)}
        choices.append({"index": index, "message": message, **rest})
    if not choices:
        if not is_blocked(answer):
            raise malformed()
        choices = [{**blocked_choice(), "message": {"role": "assistant", "content": None, "refusal": None}}]
    completion["choices"] = choices
    if (usage := read_usage(answer.get("usageMetadata"))) is not None:
        completion["usage"] = usage
    completion.update(extras(answer))
    return completion


def _without_indices(delta: Document) -> Document:
    for value in delta.values():
        for item in value if isinstance(value, list) else ():
            item.pop("index", None)
    return delta
