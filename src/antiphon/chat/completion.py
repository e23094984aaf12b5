"""A whole answer: an upstream's JSON document made canonical in place (spec §1.1, §6 A and D), fan-out, and replay.

Canonical is OpenAI's shape: what every dialect's writer starts from. The same normalisation as the stream's: text in
one string, reasoning in `reasoning_content`, calls whole, a finish reason of the enum. Unknown keys stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from antiphon.chat.calls import KINDS, mend_calls, mend_function_call, read_entries
from antiphon.chat.event import Lenient, scrub
from antiphon.chat.failure import is_error, is_failure, read_failure
from antiphon.chat.finish import read_finish, settle_finish
from antiphon.chat.request import ChatRequest
from antiphon.chat.stamp import Document, Stamp
from antiphon.chat.text import flatten, split_think
from antiphon.chat.usage import add_usage, read_usage
from antiphon.errors import UpstreamError

MAX_CHOICES: Final = 128
_LATEST: Final = 100_000_000_000  # year 5138: a `created` above this is in milliseconds or finer
_CUT: Final = ("length", "content_filter")  # finish reasons that leave arguments as they are (D10)


@dataclass(frozen=True, slots=True)
class Conformed:
    document: Document
    usage: Document | None  # as reported; None: count it
    texts: list[str]  # the answer's own text, for counting
    upstream_id: str | None  # the upstream's id where it was not kept


def conform(document: Document, request: ChatRequest, stamp: Stamp, *, think: bool = False) -> Conformed:
    document = _whole(document)
    choices = read_choices(document)
    upstream_id = document.get("id")
    upstream_id = upstream_id if isinstance(upstream_id, str) and upstream_id else None
    kept = upstream_id is not None and stamp.keeps_id(upstream_id)
    model = document.get("model")
    document["id"] = upstream_id if kept else stamp.new_id()
    document["object"] = "chat.completion"
    document["created"] = read_created(document.get("created"), stamp.now)
    document["model"] = model if isinstance(model, str) and model else stamp.model
    document["choices"] = choices
    texts: list[str] = []
    for choice in choices:
        _conform_choice(choice, request, stamp, texts, think)
    return Conformed(document, read_usage(document.get("usage")), texts, None if kept else upstream_id)


def merge(documents: list[Document]) -> Document:
    """Fan-out: n answers of one choice each -> one answer of n. Usage only where every answer reported it."""
    merged: Document = {}
    choices: list[Document] = []
    usage: Document | None = None
    for index, document in enumerate(map(_whole, documents)):
        choice = read_choices(document)[0]
        choice["index"] = index
        choices.append(choice)
        reported = read_usage(document.pop("usage", None))
        usage = reported if index == 0 else usage and reported and add_usage(usage, reported)
        for key, value in document.items():
            merged.setdefault(key, value)
    merged["choices"] = choices
    if usage is not None:
        merged["usage"] = usage
    return merged


def chunks(document: Document) -> list[Document]:
    """A whole answer as an upstream would have streamed it, for one that answers JSON though asked to stream.

    Not yet canonical: the stream machine reads these as it reads any upstream's. But what is cut or failed is refused
    here, all of it: nothing has left yet, so that another target can still answer.
    """
    document = _whole(document)
    choices = read_choices(document)
    usage = document.pop("usage", None)
    envelope = {**document, "object": "chat.completion.chunk"}
    replayed = []
    for choice in choices:
        message = _message(choice)
        choice["finish_reason"] = _finish(choice, message)
        del choice["message"]
        choice["delta"] = message
        calls = read_entries(message.pop("tool_calls", None))
        for index, call in enumerate(calls):
            call["index"] = index
        if calls:
            message["tool_calls"] = calls
        replayed.append({**envelope, "choices": [choice]})
        envelope = {key: envelope[key] for key in ("id", "object", "created", "model") if key in envelope}
    if usage is not None:
        replayed.append({**envelope, "choices": [], "usage": usage})
    return replayed


def read_choices(document: Document) -> list[Document]:
    """The choices in the order of their indices, each with one; an error where there are none to read."""
    if is_failure(document):
        raise read_failure(document)
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or len(choices) > MAX_CHOICES:
        raise _malformed()
    seen = set()
    for position, choice in enumerate(choices):
        if not isinstance(choice, dict):
            raise _malformed()
        if choice.get("index") is None:
            choice["index"] = position
        index = choice["index"]
        if type(index) is not int or not 0 <= index < MAX_CHOICES:
            raise _malformed()
        seen.add(index)
    if len(seen) < len(choices):  # every one says 0: their places tell them apart
        for position, choice in enumerate(choices):
            choice["index"] = position
    return sorted(choices, key=lambda choice: choice["index"])


def read_created(value: object, now: int) -> int:
    """Unix seconds; upstreams also send floats and milliseconds (A6)."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < 1e20:
        return now
    seconds = int(value)
    while seconds > _LATEST:
        seconds //= 1000
    return seconds


def conform_logprobs(logprobs: object) -> Document | None:
    """Both keys, and all four of every token, as OpenAI's schema requires (vLLM leaves out `refusal`)."""
    if not isinstance(logprobs, dict):
        return None
    for key in ("content", "refusal"):
        for token in _records(logprobs.setdefault(key, None)):
            token.setdefault("bytes", None)
            rivals = token.get("top_logprobs")
            token["top_logprobs"] = rivals if isinstance(rivals, list) else []
            for rival in _records(token["top_logprobs"]):
                rival.setdefault("bytes", None)
    return logprobs


def _records(value: object) -> list[Document]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(document: Document) -> Document:
    """A document read by the lenient fallback has text that cannot be encoded; nothing more will complete it."""
    return dict(scrub(document)) if isinstance(document, Lenient) else document


def _conform_choice(choice: Document, request: ChatRequest, stamp: Stamp, texts: list[str], think: bool) -> None:
    message = _message(choice)
    message["role"] = "assistant"
    finish = _finish(choice, message)
    _conform_text(message, think)
    called, legacy = _conform_calls(message, stamp, texts, whole=finish not in _CUT)
    if message.get("refusal") == "":
        message["refusal"] = None  # nothing was refused
    if not message["content"] and (called or legacy or message.get("refusal")):
        message["content"] = None  # only calls, or a refusal: no text (S3, E5)
    texts += [text for key in ("content", "refusal", "reasoning_content") if isinstance(text := message.get(key), str)]
    choice["finish_reason"] = settle_finish(finish, request, called=called, legacy_called=legacy)
    if choice.get("logprobs") is not None:
        choice["logprobs"] = conform_logprobs(choice["logprobs"])


def _message(choice: Document) -> Document:
    if is_error(choice.get("error")):  # OpenRouter: a choice that failed
        raise read_failure(choice)
    message = choice.get("message")
    if message is None:
        message = choice["message"] = {}
    if not isinstance(message, dict):
        raise _malformed()
    return message


def _finish(choice: Document, message: Document) -> str:
    word = choice.get("finish_reason")
    if word is None:
        word = message.pop("finish_reason", None)  # S4's prose nests it in the message (D4)
    reason, native = read_finish("stop" if word == "" else word)  # "" is null before the end; here is the end
    if reason is None:
        raise UpstreamError("The upstream ended its answer without a finish reason.", code="upstream_truncated")
    if native is not None and choice.get("native_finish_reason") is None:
        choice["native_finish_reason"] = native
    return reason


def _conform_text(message: Document, think: bool) -> None:
    content = message.setdefault("content", None)
    _conform_reasoning(message)
    for key in ("refusal", "reasoning_content"):
        if not isinstance(message.get(key, ""), str | None):
            message[key] = flatten(message[key]).text
    if content is not None and not isinstance(content, str):
        flat = flatten(content)
        content = message["content"] = flat.text
        _add_reasoning(message, flat.reasoning)
        if flat.refusal and not message.get("refusal"):
            message["refusal"] = flat.refusal
        if flat.rest:
            message.setdefault("content_parts", flat.rest)
    if think and content:
        message["content"], reasoning = split_think(content)
        _add_reasoning(message, reasoning)


def _conform_reasoning(message: Document) -> None:
    if "reasoning" not in message:
        return
    reasoning = message["reasoning"]
    if reasoning is not None and not isinstance(reasoning, str):
        return
    own = message.get("reasoning_content")
    if own is None:
        message["reasoning_content"] = reasoning
    if own is None or own == reasoning or not reasoning:
        del message["reasoning"]


def _add_reasoning(message: Document, reasoning: str | None) -> None:
    own = message.get("reasoning_content")
    if reasoning and own != reasoning:
        message["reasoning_content"] = own + reasoning if isinstance(own, str) else reasoning


def _conform_calls(message: Document, stamp: Stamp, texts: list[str], *, whole: bool) -> tuple[bool, bool]:
    """(whether tools were called, whether a legacy function was). `whole`: the answer was not cut."""
    called, legacy = message.pop("tool_calls", None), message.pop("function_call", None)
    try:
        calls = mend_calls(called, stamp.new_call_id, texts, whole=whole)
        call = mend_function_call(legacy, texts, whole=whole)
    except RecursionError:  # arguments nested just below what the decoder takes
        raise _malformed() from None
    if calls:
        message["tool_calls"] = calls
    if call is not None:
        message["function_call"] = call
    return any(call["type"] in KINDS for call in calls), call is not None


def _malformed() -> UpstreamError:
    return UpstreamError("The upstream sent a malformed answer.", code="upstream_malformed")
