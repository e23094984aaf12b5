"""The stream of a text completion: an upstream's chunks in, the same chunks out, and a judgement of their end.

Chunks are passed on as they come, with what `text_answer` mends. Usage is kept back: it was asked for by us, and the
client is told at the end, if it asked. No end is made up: a choice without a finish reason is an error.
"""

from __future__ import annotations

from typing import Final

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.event import truncated
from antiphon.chat.finish import LENGTH
from antiphon.chat.prompt_echo import PromptEcho
from antiphon.chat.prompt_request import PromptRequest
from antiphon.chat.text_answer import empty_choice, name, read_chunk, read_whole
from antiphon.chat.usage_collector import UsageCollector
from antiphon.document import Document

# What a chunk without choices, and a choice that is over, say of themselves. Anything else is news.
_OWN: Final = frozenset({"id", "object", "created", "model", "choices", "system_fingerprint"})
_OWN_IN_CHOICE: Final = frozenset({"index", "text", "logprobs", "finish_reason"})


class TextStream:
    """One answer. Feed it chunks; then `done` or `end`, once. There is one source: nothing is fanned out here."""

    moderated = False
    repeats = False

    def __init__(self, request: PromptRequest, stamp: AnswerDefaults) -> None:
        self.finished = False
        self.texts: list[str] = []
        self.unparsed: list[str] = []  # there are no calls
        self.upstream_id: str | None = None  # every id is kept
        self._request = request
        self._stamp = stamp
        self._named: Document = {}  # as the first chunk was; all others are the same
        self._open: set[int] = set()
        self._over: set[int] = set()
        self.finishes: list[str] = []  # finish reasons
        self._echo = PromptEcho(request)
        self._tally = UsageCollector(1)
        self._waiting: Document = {}  # what came without choices, until a chunk leaves that carries it
        self._closing: Document = {}  # what rode on the upstream's usage chunk, for ours

    def feed(self, chunk: Document, source: int = 0) -> list[Document]:
        """What of it leaves: the chunk, or nothing."""
        if self.finished or not chunk:
            return []
        chunk = read_chunk(chunk, self._request.choices)
        reported = self._tally.note(chunk, 0, bare=not chunk["choices"], finished=len(self._over))
        chunk.pop("usage", None)
        chunk["choices"] = [choice for choice in chunk["choices"] if self._take(choice)]
        if chunk["choices"]:
            return [self._around(chunk)]
        later = self._closing if reported and self._request.include_usage else self._waiting
        later.update({key: value for key, value in chunk.items() if key not in _OWN})
        return []

    def replay(self, document: Document) -> list[Document]:
        """A whole answer as a stream of one chunk."""
        return [read_whole(document, self._request.choices)]

    def done(self, source: int = 0) -> list[Document]:
        """The upstream said [DONE]."""
        if self.finished:
            return []
        if self._open or not self._over:
            raise truncated()
        self.finished = True
        return [self._around({"choices": [empty_choice(0)]})] if self._waiting else []

    def end(self, source: int = 0) -> list[Document]:
        """The upstream's bytes ended. Many send no [DONE]: a finish for every choice asked for is enough."""
        if not self.finished and len(self._over) < self._request.choices:
            raise truncated()
        return self.done()

    def cut_short(self) -> list[Document]:
        """Ends every choice that runs with `length`: nobody hears more of the upstream."""
        choices = [{**empty_choice(index), "finish_reason": LENGTH} for index in sorted(self._open)]
        return [*self.feed({"choices": choices}), *self.done()]

    @property
    def complete(self) -> bool:
        return not self._open and len(self._over) >= self._request.choices

    @property
    def usage(self) -> Document | None:
        return self._tally.total(len(self._over))

    def envelope(self) -> Document:
        return {**(self._named or name({}, self._stamp)), "choices": []}

    def usage_envelope(self) -> Document:
        return {**self.envelope(), **self._closing, "choices": []}

    def _take(self, choice: Document) -> bool:
        """False: it says nothing. A choice that is over may still be annotated (Azure's asynchronous filter)."""
        index = choice["index"]
        if index in self._over:
            choice.update(text="", finish_reason=None)
            return not choice.keys() <= _OWN_IN_CHOICE
        if text := self._echo.strip(choice):
            self.texts.append(text)
        if choice["finish_reason"] is None:
            self._open.add(index)
        else:
            self._open.discard(index)
            self._over.add(index)
            self.finishes.append(choice["finish_reason"])
        return True

    def _around(self, chunk: Document) -> Document:
        if not self._named:
            self._named = name(chunk, self._stamp)
        waiting, self._waiting = self._waiting, {}
        return {**waiting, **chunk, **self._named}
