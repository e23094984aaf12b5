"""Which words of a conversation are judged together: a sentence that goes on in another message is one sentence.

Each message is judged by itself. Besides, the newest messages that went to the model (all but its own) are joined with
what stands before them, by their edges: the first sentence and the last one. What stands between, and what the model
said, is left out, so that filler hides nothing. A join is made of two or a few messages and of nothing else: it is the
same in every later turn, and known by then.
"""

from __future__ import annotations

import re
from typing import Final

EDGE: Final = 160  # characters of the first and of the last sentence at most; a message of so many is short
RUN: Final = 320  # characters of a user's newest messages that are read as one text
NEWEST: Final = 3  # messages that are joined with others; those before them were the newest of earlier turns
OWN: Final = "assistant"
USER: Final = "user"
FRAMES: Final = ("system", "developer")
BREAK: Final = re.compile(r"[.!?。！？]\s+|\n+")


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


def joins(texts: list[str], roles: list[str]) -> list[str]:
    """`texts`: of each message. Joins stand at the end, the newest first."""
    said = [(text.strip(), role) for text, role in zip(texts, roles, strict=True) if role != OWN and text.strip()]
    found: dict[Join, None] = {}
    for newest in range(len(said) - 1, max(-1, len(said) - 1 - NEWEST), -1):
        for join in _joins_of(said, newest):
            found[join] = None
    run = _run([text for text, role in said if role == USER])
    return [*run, *(join for join in found if join not in run)]


def _joins_of(said: list[tuple[str, str]], newest: int) -> list[Join]:
    text, role = said[newest]
    first = first_words(text)
    found = [Join.of(last_words(said[other][0]), first) for other in _before(said, newest, role)]
    return found + _around_filler(said, newest, first) if role == USER else found


def _around_filler(said: list[tuple[str, str]], newest: int, first: str) -> list[Join]:
    """A user's long message may begin or end with filler."""
    text = said[newest][0]
    before, role = said[newest - 1] if newest else ("", USER)
    found: list[Join] = []
    if len(text) > 2 * EDGE:
        last = last_words(text)
        found = [Join.of(first, last), *([Join.of(last_words(before), last)] if before else [])]
    if len(before) > 2 * EDGE and role == USER:
        found.append(Join.of(first_words(before), first))
    return found


def _run(asked: list[str]) -> list[str]:
    """The user's newest messages as one text, as long as they are short: each was judged, so all of it counts."""
    start, characters = len(asked), 0
    while start and (characters := characters + len(asked[start - 1])) <= RUN:
        start -= 1
    return [" ".join(asked[start:])] if start < len(asked) - 1 else []


def _before(said: list[tuple[str, str]], newest: int, role: str) -> list[int]:
    """Those whose last sentence `newest` may go on with: the one before it; the user's last that is farther away; and
    for a user the frame."""
    found = [newest - 1] if newest else []
    found += [place for place in range(newest - 2, -1, -1) if said[place][1] == USER][:1]
    if role == USER:
        found += [place for place in range(newest - 2, -1, -1) if said[place][1] in FRAMES][:1]
    return found


def first_words(text: str) -> str:
    head = text[:EDGE]
    found = BREAK.search(head, 8)
    return head[: found.end()].rstrip() if found else head


def last_words(text: str) -> str:
    tail = text[-EDGE:]
    breaks = [found.end() for found in BREAK.finditer(tail, 0, len(tail) - 8)] if len(tail) > 8 else []
    return tail[breaks[-1] :] if breaks else tail
