"""Which words of a conversation are judged together: a sentence that goes on in another message is one sentence.

Each message is judged by itself. Besides, the newest messages that went to the model (all but its own) are joined with
what stands before them, by their edges: the first sentence and the last one. What stands between, and what the model
said, is left out, so that filler hides nothing. A join is made of two or a few messages and of nothing else: it is the
same in every later turn, and known by then.
"""

from __future__ import annotations

import re
from typing import Final

from antiphon.chat.outline import Outline

EDGE: Final = 160  # characters of the first and of the last sentence at most; a message of so many is short
RUN: Final = 320  # characters of a user's newest messages that are read as one text
NEWEST: Final = 3  # messages that are joined with others; those before them were the newest of earlier turns
OWN: Final = "assistant"
USER: Final = "user"
FRAMES: Final = ("system", "developer")
BREAK: Final = re.compile(r"[.!?。！？]\s+|\n+")


class Frame(str):
    """The application's own words, of a system or developer message. Harm in them counts, no jailbreak [own-words]."""

    __slots__ = ()


class Join(str):
    """A text made of two, which are no texts of their own: what is found in one of them alone is no finding. They were
    judged with what stands around them."""

    __slots__ = ("parts",)
    parts: tuple[str, str]

    @classmethod
    def of(cls, first: str, second: str) -> Join:
        join = cls(f"{first} {second}")
        join.parts = first, second
        return join


def joins(texts: list[str], roles: list[str], outline: Outline | None = None) -> tuple[str, list[str]]:
    """`texts`: of each message. (The user's newest messages as one text, or ""; the joins, the newest first.) On the
    way of every turn: few frames. `outline`: of light texts."""
    said: list[tuple[str, str]] = []
    asked: list[str] = []
    for text, role in zip(texts, roles, strict=True):
        if role != OWN and (words := text.strip()) and (outline is None or not outline.is_blank(words)):
            said.append((words, role))
            if role == USER:
                asked.append(words)
    if outline is not None:
        said = _edged(said, outline)
    found: dict[str, None] = {}
    for newest in range(len(said) - 1, max(-1, len(said) - 1 - NEWEST), -1):
        if newest or len(said[0][0]) > 2 * EDGE:
            _add_joins(said, newest, found)
    run = _run(asked, outline) if len(asked) > 1 else ""
    found.pop(run, None)
    return run, [*found]


def _add_joins(said: list[tuple[str, str]], newest: int, found: dict[str, None]) -> None:
    text, role = said[newest]
    first = first_words(text)
    for other in _before(said, newest, role):
        found[Join.of(last_words(said[other][0]), first)] = None
    if role != USER:
        return
    # A user's long message may begin or end with filler.
    before, its_role = said[newest - 1] if newest else ("", USER)
    if len(text) > 2 * EDGE:
        last = last_words(text)
        found[Join.of(first, last)] = None
        if before:
            found[Join.of(last_words(before), last)] = None
    if len(before) > 2 * EDGE and its_role == USER:
        found[Join.of(first_words(before), first)] = None


def _edged(said: list[tuple[str, str]], outline: Outline) -> list[tuple[str, str]]:
    """Light texts, with the edges of those that are joined as they were sent."""
    newest = range(max(0, len(said) - NEWEST), len(said))
    joined = {*newest, *(other for place in newest for other in _before(said, place, said[place][1]))}
    return [
        (outline.edges(text, 2 * EDGE) if place in joined else text, role) for place, (text, role) in enumerate(said)
    ]


def _run(asked: list[str], outline: Outline | None) -> str:
    """The user's newest messages as one text, as long as they are short: each was judged, so all of it counts."""
    run: list[str] = []
    characters = 0
    for text in reversed(asked):
        words = text if outline is None else outline.edges(text, RUN)
        characters += len(words)
        if characters > RUN:
            break
        run.append(words)
    return " ".join(reversed(run)) if len(run) > 1 else ""


def _before(said: list[tuple[str, str]], newest: int, role: str) -> list[int]:
    """Those whose last sentence `newest` may go on with: the one before it; the user's last that is farther away; and
    for a user the frame."""
    found = [newest - 1] if newest else []
    wanted = {USER, *FRAMES} if role == USER else {USER}
    for place in range(newest - 2, -1, -1):
        kind = said[place][1]
        if kind in wanted:
            found.append(place)
            wanted -= {USER} if kind == USER else set(FRAMES)
            if not wanted:
                break
    return found


def first_words(text: str) -> str:
    head = text[:EDGE]
    found = BREAK.search(head, 8)
    return head[: found.end()].rstrip() if found else head


def last_words(text: str) -> str:
    tail = text[-EDGE:]
    start = 0
    for found in BREAK.finditer(tail, 0, max(0, len(tail) - 8)):
        start = found.end()
    return tail[start:]
