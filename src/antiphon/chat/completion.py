"""A whole answer: an upstream's JSON document made canonical in place [object-fields], fan-out, and replay.

Canonical is OpenAI's shape: what every dialect's writer starts from. Each choice is read by the stream machine's own
reader, as a stream of one delta: text in one string, reasoning in `reasoning_content`, calls whole, a finish reason of
the enum. Three rules are this module's: no text beside calls or a refusal is null, a key that says nothing stays, and
so does usage that is only half reported. Unknown keys stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.calls import Calls, LegacyCall
from antiphon.chat.delta import MAX_CHOICES, ChoiceState, read_choice
from antiphon.chat.event import Lenient, scrub, too_deep, truncated
from antiphon.chat.failure import is_error, is_failure, malformed, read_failure
from antiphon.chat.finish import CUT, STOP, read_finish
from antiphon.chat.fragment import read_entries
from antiphon.chat.request import ChatRequest
from antiphon.chat.text import ThinkSplitter
from antiphon.chat.usage import add_usage, read_usage
from antiphon.document import Document

_LATEST: Final = 100_000_000_000  # year 5138: a `created` above this is in milliseconds or finer
# Keys of a message that go where they say nothing; `reasoning` is told as `reasoning_content`.
_GO: Final = frozenset({"tool_calls", "function_call", "finish_reason", "reasoning"})


@dataclass(frozen=True, slots=True)
class Conformed:
    document: Document
    usage: Document | None  # as reported; None: count it
    texts: list[str]  # the answer's own text, for counting
    upstream_id: str | None  # the upstream's id where it was not kept
    unparsed: list[str] = field(default_factory=list)  # names of finished calls whose arguments are not JSON


def conform(document: Document, request: ChatRequest, stamp: AnswerDefaults, *, think: bool = False) -> Conformed:
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
    usage = read_usage(document.get("usage"))
    conformed = Conformed(document, usage, [], None if kept else upstream_id)
    try:
        for choice in choices:
            calls = Calls(
                frozenset(), stamp.new_call_id, conformed.texts
            )  # names are whole: no need to know the tools'
            _conform_choice(choice, request, calls, conformed, think)
    except RecursionError:  # arguments nested just below what the decoder takes
        raise too_deep() from None
    return conformed


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
        raise malformed()
    seen = set()
    for position, choice in enumerate(choices):
        if not isinstance(choice, dict):
            raise malformed()
        if choice.get("index") is None:
            choice["index"] = position
        index = choice["index"]
        if type(index) is not int or not 0 <= index < MAX_CHOICES:
            raise malformed()
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


def _whole(document: Document) -> Document:
    """A document read by the lenient fallback has text that cannot be encoded; nothing more will complete it."""
    return dict(scrub(document)) if isinstance(document, Lenient) else document


def _conform_choice(choice: Document, request: ChatRequest, calls: Calls, conformed: Conformed, think: bool) -> None:
    message = _message(choice)
    reason = _finish(choice, message)
    sent = dict(message)
    texts = conformed.texts
    state = ChoiceState(choice["index"], calls, LegacyCall(texts), ThinkSplitter() if think else None, whole=True)
    entry = {"delta": message, "finish_reason": reason, "logprobs": choice.get("logprobs")}
    read = read_choice(entry, state, lenient=False)
    if think:
        for key, words in state.flush().items():
            read.text[key] = read.text.get(key, "") + words
    texts += (words for key, words in read.text.items() if key != "audio")
    said = {**read.text, **read.aside}
    if read.tool_calls or read.function_call:
        _conform_calls(said, read.tool_calls, read.function_call, state, whole=reason not in CUT)
        conformed.unparsed.extend((*calls.unparsed, *state.legacy.unparsed))
    if "content" not in said:  # beside calls or a refusal no text is null
        alone = not (calls.called or state.legacy.called or "refusal" in said)
        said["content"] = read.blank if alone and "content" in sent else None
    choice["message"] = _with_silent(sent, said)
    choice["finish_reason"] = state.settle(reason, request)
    if read.logprobs is not None or "logprobs" in choice:
        choice["logprobs"] = read.logprobs


def _conform_calls(said: Document, called: object, legacy_called: object, state: ChoiceState, *, whole: bool) -> None:
    state.calls.take_whole(called)
    state.legacy.take(legacy_called)
    state.calls.close(whole=whole)
    state.legacy.close(whole=whole)
    if calls := state.calls.folded():
        said["tool_calls"] = calls
    if (call := state.legacy.folded()) is not None:
        said["function_call"] = call


def _with_silent(sent: Document, said: Document) -> Document:
    """The message, in the order in which it came. Keys that say nothing (null, "", []) stay."""
    message: Document = {"role": "assistant"}
    for key, value in sent.items():
        if key in said:
            message[key] = said[key]
        elif not value and key not in _GO:
            message[key] = value if key != "refusal" else None
        elif key == "reasoning" and not value and "reasoning_content" not in sent:
            message["reasoning_content"] = value
    message.update(said)
    message["role"] = "assistant"
    return message


def _message(choice: Document) -> Document:
    if is_error(choice.get("error")):  # OpenRouter: a choice that failed
        raise read_failure(choice)
    message = choice.get("message")
    if message is None:
        message = choice["message"] = _message_elsewhere(choice)
    if not isinstance(message, dict):
        raise malformed()
    return message


def _message_elsewhere(choice: Document) -> Document:
    """What stands in the place of a message: a delta as in streams, or a text as in completions."""
    if isinstance(choice.get("delta"), dict):
        return dict(choice.pop("delta"))
    if isinstance(choice.get("text"), str):
        return {"content": choice.pop("text")}
    return {}


def _finish(choice: Document, message: Document) -> str:
    word = choice.get("finish_reason")
    if word is None:
        word = message.pop("finish_reason", None)  # Maritaca's prose nests it there [finish-place]
    reason, native = read_finish(STOP if word == "" else word)  # "" is null before the end; here is the end
    if reason is None:
        raise truncated()
    if native is not None and choice.get("native_finish_reason") is None:
        choice["native_finish_reason"] = native
    return reason
