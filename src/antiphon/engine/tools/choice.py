"""Which tool is a request meant for, if any? Asked of the model as: how likely is this request, given that tool?

A small model cannot tell whether it needs a tool: asked so, it answers by chance. But it knows what people say to a
weather service. So each tool is put before the request, and small talk too, and the model is made to write the request
itself (a grammar holds it to the words); the logarithms of its probabilities are compared. The tool whose request it
most likely is wins, and must beat small talk by THRESHOLD. Words that request and tool share count in its favour.

Of 52 requests that nothing here was tuned on, half of them small talk, 49 were judged rightly, and every tool that was
called was the right one (docs/engine.md has the figures).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any, Final

import msgspec

from antiphon.engine.logprobs import UNTOLD
from antiphon.engine.schema.grammar import HEAD
from antiphon.engine.tools.prompts import CHAT, before_request, leans

THRESHOLD: Final = 1.8  # nats
SHARED: Final = 1.5  # nats, for a shared word
MOST_SHARED: Final = 2
MOST_TOKENS: Final = 16  # of a part of the request: more of it changed nothing
MOST_SAID: Final = 160  # characters
LONG: Final = 100  # characters; beyond, the last sentence is looked at as well
SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Trial:
    """One generation, greedy and with n_probs 1; `prompt` is plain text, under no template."""

    prompt: str
    grammar: str
    n_predict: int = MOST_TOKENS


Heard = Sequence[tuple[bytes, float]]  # a trial's tokens: their bytes and the logarithm of their probability


class Probe:
    def __init__(
        self, request: str, tools: Sequence[tuple[str, str]], *, may_chat: bool, recent: str | None = None
    ) -> None:
        """`tools`: (name, line) each. `may_chat`: it may be meant for none of them. `recent`: the tool that was called
        last; a request that leans on the talk before ("And in Rome?") rather means it than another."""
        self._names = [name for name, _ in tools]
        self._may_chat = may_chat
        self._recent = recent if leans(request) else None
        self._words = [words(line) for _, line in tools]
        self._is_word = len(request.split()) == 1
        self._parts = parts(request)
        lines = [line for _, line in tools] + [CHAT]
        self.trials = tuple(Trial(before_request(line), literal(part)) for line in lines for part in self._parts)

    def judge(self, heard: Sequence[Heard]) -> str | None:
        """The name of the tool; None: none of them. `heard` has one entry for each trial, in order."""
        gains = [self._gains(heard[at :: len(self._parts)], part, at > 0) for at, part in enumerate(self._parts)]
        scores = [max(column) for column in zip(*gains, strict=True)]
        best = scores.index(max(scores))
        is_meant = scores[best] >= THRESHOLD and not (self._is_word and not self._shared(self._parts[0], best))
        return self._names[best] if is_meant or not self._may_chat else None

    def _gains(self, heard: Sequence[Heard], part: str, is_later: bool) -> list[float]:
        """By how much likelier this is said to each tool than in small talk. Alone, a later sentence may sound like
        anything ("It should be four lines long."): it counts for a tool that it names."""
        reached = min(len(part.encode()), *(sum(len(token) for token, _ in one) for one in heard))
        *tools, chat = (likelihood(one, reached) for one in heard)
        shared = [self._shared(part, tool) for tool in range(len(tools))]
        return [
            tool - chat + SHARED * (count + (name == self._recent)) if count or not is_later else -inf
            for name, tool, count in zip(self._names, tools, shared, strict=True)
        ]

    def _shared(self, part: str, tool: int) -> int:
        return min(MOST_SHARED, len(words(part) & self._words[tool]))


def parts(request: str) -> list[str]:
    """The beginning of a request, and of a long one its last sentence too."""
    sentences = SENTENCE.split(request)
    said = [request] if len(request) <= LONG or len(sentences) == 1 else [request, sentences[-1]]
    return [" " + text[:MOST_SAID].rstrip() for text in said]


def literal(text: str) -> str:
    return HEAD + "start: " + msgspec.json.encode(text).decode()


def likelihood(heard: Heard, length: int) -> float:
    """Of the first `length` bytes. The end of the text, and what another trial did not reach, does not count."""
    total = 0.0
    for token, logarithm in heard:
        if length <= 0:
            break
        total += logarithm
        length -= len(token)
    return total


def heard_of(entries: Sequence[dict[str, Any]]) -> list[tuple[bytes, float]]:
    """From the logprobs of a generation. A token of which none is told does not count."""
    return [(bytes(entry["bytes"]), 0.0 if entry["logprob"] == UNTOLD else entry["logprob"]) for entry in entries]


# Shared words: which few of many tools a request may mean, and whether a call comes from it.

WORD: Final = re.compile(r"[^\W\d_]{4,}|\d+")
SPOKEN: Final = re.compile(r"[^\W\d_]{3,}|\d+")
STEM: Final = 5  # letters: search, searching and searches are one word
DIGITS: Final = "0"  # any number
WANTS_NUMBER: Final = frozenset({"numbe", "integ", "amoun", "calcu", "math"})


def shortlist(request: str, texts: Sequence[str], most: int) -> list[int]:
    """The positions of the `most` likeliest texts, in their order. Rare words count for more."""
    if len(texts) <= most:
        return list(range(len(texts)))
    wanted = words(request)
    told = [words(text) for text in texts]
    frequency = Counter(word for each in told for word in each)
    scores = [sum(log(1 + len(texts) / frequency[word]) for word in wanted & each) for each in told]
    best = sorted(range(len(texts)), key=lambda index: -scores[index])[:most]
    return sorted(best)


def words(text: str) -> frozenset[str]:
    stems = {DIGITS if word[0].isdigit() else word[:STEM] for word in WORD.findall(text.lower().replace("_", " "))}
    return frozenset(stems | ({DIGITS} if stems & WANTS_NUMBER else set()))


def spoken(value: Any) -> frozenset[str]:
    """The words and numbers in a JSON value; of an object those of its values."""
    if isinstance(value, dict):
        return frozenset().union(*map(spoken, value.values()))
    if isinstance(value, list):
        return frozenset().union(*map(spoken, value))
    return frozenset(SPOKEN.findall(str(value).lower()))
