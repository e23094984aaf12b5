"""Which tool is a request meant for, if any? Asked of the model as: how likely is this request, given that tool?

A small model cannot tell whether it needs a tool: asked so, it answers by chance. But it knows what people say to a
weather service. So each tool is put before the request, and small talk too, and the model is made to write the request
itself (a grammar holds it to the words); the logarithms of its probabilities are compared. The tool whose request it
most likely is wins, and must beat small talk by THRESHOLD. Words that request and tool share count in favour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from antiphon.engine.grammar import HEAD
from antiphon.engine.shortlist import words
from antiphon.engine.telling import CHAT, before_request

THRESHOLD: Final = 1.8  # nats
SHARED: Final = 1.5  # nats, for a shared word
MOST_SHARED: Final = 2
MOST_TOKENS: Final = 16  # of the request: more of it changed nothing
MOST_SAID: Final = 160  # characters


@dataclass(frozen=True, slots=True)
class Trial:
    """One generation, greedy and with n_probs 1; `prompt` is plain text, under no template."""

    prompt: str
    grammar: str
    n_predict: int = MOST_TOKENS


Heard = Sequence[tuple[bytes, float]]  # a trial's tokens: their bytes and the logarithm of their probability


class Probe:
    def __init__(self, request: str, tools: Sequence[tuple[str, str]], *, may_chat: bool) -> None:
        """`tools`: (name, line) each. `may_chat`: it may be meant for none of them."""
        said = " " + request[:MOST_SAID].rstrip()
        grammar = HEAD + "start: " + msgspec.json.encode(said).decode()
        self._names = [name for name, _ in tools]
        wanted = words(request)
        self._shared = [min(MOST_SHARED, len(wanted & words(line))) for _, line in tools]
        self._is_word = len(request.split()) == 1
        self._length = len(said.encode())
        lines = [line for _, line in tools] + ([CHAT] if may_chat else [])
        self.trials = tuple(Trial(before_request(line), grammar) for line in lines)

    def judge(self, heard: Sequence[Heard]) -> str | None:
        """The name of the tool; None: none of them. `heard` has one entry for each trial, in order."""
        common = min(self._length, *(sum(len(token) for token, _ in one) for one in heard))
        likelihoods = [likelihood(one, common) for one in heard]
        scores = [score + SHARED * shared for score, shared in zip(likelihoods, self._shared, strict=False)]
        best = max(range(len(scores)), key=scores.__getitem__)
        may_chat = len(likelihoods) > len(scores)
        if may_chat and (scores[best] < likelihoods[-1] + THRESHOLD or (self._is_word and not self._shared[best])):
            return None
        return self._names[best]


def likelihood(heard: Heard, length: int) -> float:
    """Of the first `length` bytes. The end of the text, and what the others did not reach, does not count."""
    total = 0.0
    for token, logarithm in heard:
        if length <= 0:
            break
        total += logarithm
        length -= len(token)
    return total


def heard_of(events: Sequence[dict[str, Any]]) -> list[tuple[bytes, float]]:
    """From llama.cpp's `completion_probabilities`."""
    return [(bytes(entry.get("bytes") or ()), float(entry.get("logprob") or 0.0)) for entry in events]
