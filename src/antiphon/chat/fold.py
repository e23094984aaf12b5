"""A whole answer from a stream's canonical chunks: for an upstream that streams though it was asked for a whole one.

What `stream` has made regular is put together: text and arguments are joined, of any other key the last value counts,
but no null takes anything away. Vendors' own keys may hold anything.
The result is a document like an upstream's own; `completion.conform` does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from antiphon.document import Document

_JOINED: Final = frozenset({"content", "refusal", "reasoning_content", "reasoning"})
_BESIDE: Final = "message beside"  # a key that no chunk has
_IN_PIECES: Final = frozenset({"audio", "content_parts"})
_GATHERED: Final = frozenset({"thinking_blocks", "annotations", "images"})  # lists of which each delta has new entries
_CALLED: Final = {"function": "arguments", "custom": "input"}


T = TypeVar("T")


def fold(chunks: Iterable[Document], usage: Document | None) -> Document:
    """`usage`: as the stream reported it."""
    answer: Document = {}
    choices: dict[int, Document] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            _fold_choice(choices.setdefault(choice["index"], _empty(choice["index"])), choice)
        answer.update((key, value) for key, value in chunk.items() if key != "choices")
    answer["object"] = "chat.completion"
    answer["choices"] = [choices[index] for index in sorted(choices)]
    for choice in answer["choices"]:
        _settle(choice["message"], choice.pop(_BESIDE, None))
    if usage is not None:
        answer["usage"] = usage
    return answer


def _settle(message: Document, beside: object) -> None:
    """`beside`: a whole message that the upstream sent beside its deltas. It fills in what they did not say."""
    for key, value in beside.items() if isinstance(beside, dict) else ():
        if value is not None and not message.get(key):
            message[key] = value
    if not message["content"] and "audio" in message:
        message["content"] = None  # it spoke, it did not write
    parts = message.get("content_parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            part.pop("index", None)  # only lists that come in pieces need it


def _empty(index: int) -> Document:
    return {"index": index, "message": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}


def _fold_choice(whole: Document, choice: Document) -> None:
    for key, value in choice.items():
        if key == "delta":
            _fold_delta(whole["message"], value)
        elif key == "logprobs":
            whole["logprobs"] = _more_tokens(whole["logprobs"], value)
        elif key == "message":
            whole[_BESIDE] = value
        elif key != "finish_reason" or value is not None:
            whole[key] = value


def _fold_delta(message: Document, delta: Document) -> None:
    for key, value in delta.items():
        if key in _JOINED:
            message[key] = _joined(message.get(key), value)
        elif key == "tool_calls":
            for fragment in value:
                _fold_call(message.setdefault("tool_calls", []), fragment)
        elif key == "function_call":
            _fold_called(message.setdefault("function_call", {}), value, "arguments")
        elif key == "content_parts" and isinstance(value, list):
            _fold_parts(_kept(message, key, []), value)
        elif key in _GATHERED and isinstance(value, list):
            message[key] = [*_kept(message, key, []), *value]
        elif key == "audio" and isinstance(value, dict):
            _fold_audio(_kept(message, key, {}), value)
        elif key not in message or (value is not None and key not in _IN_PIECES):
            message[key] = value


def _kept(message: Document, key: str, empty: T) -> T:
    """What was put together so far. Anything of another type gives way."""
    if not isinstance(message.get(key), type(empty)):
        message[key] = empty
    kept: T = message[key]
    return kept


def _joined(before: Any, more: Any) -> Any:
    if isinstance(before, str) and isinstance(more, str):
        return before + more
    return before if more is None else more


def _fold_call(calls: list[Any], fragment: Document) -> None:
    """Indices are contiguous and come in order: the machine has seen to that."""
    index = fragment["index"]
    if index == len(calls):
        calls.append({})
    call = calls[index]
    for key, value in fragment.items():
        if key in _CALLED:
            _fold_called(call.setdefault(key, {}), value, _CALLED[key])
        elif key != "index":
            call[key] = value


def _fold_called(called: Document, fragment: Document, said: str) -> None:
    for key, value in fragment.items():
        called[key] = _joined(called.get(key), value) if key in ("name", said) else value


def _fold_parts(parts: list[Any], more: list[Any]) -> None:
    """A part whose index is known goes on: its text is joined, of any other key the last value counts."""
    known = {part["index"]: part for part in parts if _is_numbered(part)}
    for part in more:
        before = known.get(part["index"]) if _is_numbered(part) else None
        if before is None:
            parts.append(part)
            continue
        for key, value in part.items():
            joined = key != "type" and isinstance(value, str) and isinstance(before.get(key), str)
            before[key] = before[key] + value if joined else value


def _is_numbered(part: Any) -> bool:
    return isinstance(part, dict) and type(part.get("index")) is int


def _fold_audio(audio: Document, fragment: Document) -> None:
    for key, value in fragment.items():
        if key in ("transcript", "data"):
            audio[key] = _joined(audio.get(key), value)
        elif value is not None or key not in audio:
            audio[key] = value


def _more_tokens(before: Document | None, more: Document | None) -> Document | None:
    if before is None or more is None:
        return before if more is None else more
    return {key: [*_tokens(before, key), *_tokens(more, key)] or None for key in {**before, **more}}


def _tokens(logprobs: Document, key: str) -> list[Any]:
    tokens = logprobs.get(key)
    return tokens if isinstance(tokens, list) else []
