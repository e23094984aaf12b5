"""Asks the judge about the texts of a large request: a piece at a time, so that other turns go on meanwhile, and few
pieces at once, so that little memory is taken."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Final

from antiphon.chat.moderated_text import readings
from antiphon.chat.outline import Outline
from antiphon.chat.together import Frame, Join
from antiphon.flow.ports import Judge, Scope
from antiphon.safety.verdict import LATE, NOTHING, Stage, Verdict

PIECE: Final = 200_000  # characters of one question
OVERLAP: Final = 20_000  # characters that stand in two pieces, so that nothing is cut in two unseen
MOST_TEXTS: Final = 1000  # of one question
AT_ONCE: Final = 2  # questions
LONGEST: Final = 60.0  # seconds for all of them


async def ask_large(judge: Judge, stage: Stage, texts: list[str], outline: Outline, scope: Scope) -> Verdict:
    """Of light texts. Never fails; what could not be judged in time is LATE."""
    found = NOTHING
    waiting: deque[asyncio.Future[Verdict]] = deque()
    try:
        async with asyncio.timeout(LONGEST):
            for question in _questions(texts, outline):
                if len(waiting) == AT_ONCE:
                    found |= await waiting.popleft()
                waiting.append(judge.ask(stage, question, scope))
                await asyncio.sleep(0)
            while waiting:
                found |= await waiting.popleft()
    except TimeoutError:
        return found | LATE
    finally:
        for asked in waiting:
            asked.cancel()
    return found


def _questions(texts: list[str], outline: Outline) -> Iterator[list[str]]:
    """Each text in pieces, short ones together."""
    question: list[str] = []
    size = 0
    for piece in _pieces(texts, outline):
        if question and type(question[-1]) is Frame and type(piece) is str:
            yield question  # frames stand behind the other texts of a question
            question, size = [], 0
        question += readings(piece)
        size += len(piece)
        if size >= PIECE or len(question) >= MOST_TEXTS:
            yield question
            question, size = [], 0
    if question:
        yield question


def _pieces(texts: list[str], outline: Outline) -> Iterator[str]:
    known: set[int] = set()
    for text in texts:
        if type(text) is Join:  # made of texts as they were sent
            yield text
            continue
        kind = Frame if type(text) is Frame else str
        held = ""
        for part in outline.expand(text, known):
            held += part
            while len(held) > PIECE:
                yield kind(held[:PIECE])
                held = held[PIECE - OVERLAP :]
        if held.strip():
            yield kind(held)
