"""An answer's text: lists of parts made one string, `<think>` told apart from the answer.

Clients expect `content` to be a string (a list breaks half of them [text-is-string]). What is no text is handed
back, never lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

_TEXT_KINDS: Final = frozenset({"text", "output_text", "input_text", "text_delta"})
_REASONING_KINDS: Final = frozenset(
    {"thinking", "reasoning", "thought", "reasoning_text", "reasoning_content", "thinking_delta"}
)
# Where the words of a part stand, most telling first.
_TEXT_KEYS: Final = ("text", "content", "value")
_REASONING_KEYS: Final = ("thinking", "reasoning", "reasoning_content", "text", "content", "value")

OPEN: Final = "<think>"
CLOSE: Final = "</think>"


@dataclass(frozen=True, slots=True)
class Flat:
    text: str | None
    reasoning: str | None
    rest: list[Any]  # parts that are no text: the caller keeps them as `content_parts`
    refusal: str | None = None


@dataclass(slots=True)
class _Heap:
    """Parts sorted by what they are, before they are joined."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    rest: list[Any] = field(default_factory=list)


def flatten(content: object) -> Flat:
    """A string stays; parts are joined by kind; a bare number or boolean becomes its JSON text."""
    if content is None or isinstance(content, str):
        return Flat(content, None, [])
    if not isinstance(content, list | dict):
        return Flat(msgspec.json.encode(content).decode(), None, [])
    heap = _Heap()
    for part in content if isinstance(content, list) else [content]:
        _sort(part, heap)
    return Flat(_join(heap.text), _join(heap.reasoning), heap.rest, _join(heap.refusal))


def _join(pieces: list[str]) -> str | None:
    return "".join(pieces) if pieces else None


def _sort(part: object, heap: _Heap) -> None:
    if isinstance(part, str):
        heap.text.append(part)
        return
    if part is None:
        return
    if isinstance(part, list):
        for inner in part:
            _sort(inner, heap)
        return
    if not isinstance(part, dict):
        heap.text.append(msgspec.json.encode(part).decode())  # as a bare one would
        return
    kind = part.get("type")
    if isinstance(kind, str) and kind in _REASONING_KINDS:
        _take(part, _REASONING_KEYS, heap.reasoning, heap)
    elif kind == "refusal":
        _take(part, ("refusal", "text"), heap.refusal, heap)
    elif kind is None or (isinstance(kind, str) and kind in _TEXT_KINDS):
        _take(part, _TEXT_KEYS, heap.text, heap)
    else:
        heap.rest.append(part)


def _take(part: dict[str, Any], keys: tuple[str, ...], into: list[str], heap: _Heap) -> None:
    """The words of a part; what else it carries (a signature, annotations) stays a part without them."""
    for key in keys:
        words = _words(part.get(key))
        if words is not None:
            into.append(words)
            left = {name: value for name, value in part.items() if name not in (key, "type") and _says(value)}
            if left:
                heap.rest.append({"type": part["type"], **left} if "type" in part else left)
            return
    heap.rest.append(part)


def _says(value: object) -> bool:
    return value is not None and value != [] and value != {} and value != ""


def _words(value: object) -> str | None:
    """Text as a string, as {"value": …} (Assistants) or as a nested list of text parts (Mistral's thinking)."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        inner = value.get("value", value.get("text"))
        return inner if isinstance(inner, str) else None
    if isinstance(value, list):
        pieces = [_words(item) for item in value]
        return "".join(piece for piece in pieces if piece is not None) if None not in pieces else None
    return None


def split_think(text: str) -> tuple[str, str]:
    """(the text without its <think>…</think>, what stood inside)."""
    splitter = ThinkSplitter()
    answer, reasoning = splitter.feed(text)
    last_answer, last_reasoning = splitter.close()
    return answer + last_answer, reasoning + last_reasoning


class ThinkSplitter:
    """The same, piece by piece: a marker may be cut anywhere, so a possible beginning of one is held back."""

    __slots__ = ("_held", "_inside")

    def __init__(self) -> None:
        self._inside = False
        self._held = ""

    def feed(self, text: str) -> tuple[str, str]:
        rest = self._held + text
        out: tuple[list[str], list[str]] = ([], [])
        while True:
            marker = CLOSE if self._inside else OPEN
            before, found, after = rest.partition(marker)
            if not found:
                break
            out[self._inside].append(before)
            self._inside = not self._inside
            rest = after
        keep = _overlap(rest, marker)
        self._held = rest[len(rest) - keep :]
        out[self._inside].append(rest[: len(rest) - keep])
        return "".join(out[False]), "".join(out[True])

    def close(self) -> tuple[str, str]:
        held, self._held = self._held, ""
        return ("", held) if self._inside else (held, "")


def _overlap(text: str, marker: str) -> int:
    """How many characters at the end of `text` could begin `marker`."""
    for size in range(min(len(text), len(marker) - 1), 0, -1):
        if text.endswith(marker[:size]):
            return size
    return 0
