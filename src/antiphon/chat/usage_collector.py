"""The usage an upstream reported while it streamed, wherever it put it.

The last report of a source counts: some report on every chunk (C6), some on the finish chunk (Mistral), some in a chunk
of its own (OpenAI), some inside the choice (Moonshot) or a private object (Groq). A fan-out's sources add up.
"""

from __future__ import annotations

from functools import reduce

from antiphon.chat.usage import add_usage, read_usage
from antiphon.document import Document


class UsageCollector:
    __slots__ = ("_last", "_per_choice", "_sources", "_steps")

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._last: dict[int, Document] = {}
        # Reports in chunks without choices, and how many choices had finished at each.
        self._per_choice: list[Document] = []
        self._steps: list[int] = []

    def note(self, holder: Document, source: int, *, bare: bool, finished: int) -> bool:
        """Reads the usage in a chunk (or a choice); says whether there was any. `bare`: the chunk has no choices."""
        usage = read_usage(holder.get("usage"))
        if usage is None:
            private = holder.get("x_groq")
            usage = read_usage(private.get("usage")) if isinstance(private, dict) else None
        if usage is None:
            return False
        self._last[source] = usage
        if bare:
            self._per_choice.append(usage)
            self._steps.append(finished)
        return True

    def total(self, choices: int) -> Document | None:
        """What was reported in all; None when a source reported nothing."""
        if len(self._last) < self._sources:
            return None
        if self._sources == 1 and choices > 1 and self._steps == list(range(1, choices + 1)):
            # llama.cpp with n > 1: one usage chunk after each choice's finish, each for that choice alone.
            return reduce(add_usage, self._per_choice)
        return reduce(add_usage, (self._last[source] for source in sorted(self._last)))
