"""What stands around the choices of every chunk: id, object, created, model, and the extras that ride beside them.

The first chunk that leaves fixes id, created and model [same-envelope]; `system_fingerprint` and `service_tier`
stay once they were seen. Extras without a chunk of their own (Azure's first, empty one) wait for the next chunk.
"""

from __future__ import annotations

from typing import Final

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import read_created
from antiphon.chat.delta import says
from antiphon.document import Document

OBJECT: Final = "chat.completion.chunk"
STICKY: Final = ("system_fingerprint", "service_tier")
# Top-level keys that are the machine's own; all others travel. `obfuscation` belongs to one hop [obfuscation-asked].
OWN: Final = frozenset({"id", "object", "created", "model", "choices", "usage", "obfuscation", "error", *STICKY})


class Envelope:
    __slots__ = ("_facts", "_sent", "_stamp", "fixed", "pending", "upstream_id")

    def __init__(self, stamp: AnswerDefaults) -> None:
        self.upstream_id: str | None = None  # where it was not kept [answer-id]
        self.fixed: Document = {}  # empty until the first chunk leaves
        self.pending: Document = {}  # extras that no chunk has carried yet
        self._sent: Document = {}  # extras that the client has seen
        self._stamp = stamp
        self._facts: Document = {}

    @property
    def named(self) -> bool:
        """Has the upstream given an id? One that we make up could not be taken back."""
        return "id" in self._facts

    def note(self, chunk: Document) -> None:
        """Takes in what a chunk tells. Empty values (Azure's first chunk) tell nothing."""
        facts = self._facts
        for key in ("id", "model", *STICKY):
            value = chunk.get(key)
            if isinstance(value, str) and value and key not in facts:
                facts[key] = value
                self._learn(key, value)
        if "created" not in facts and (created := read_created(chunk.get("created"), 0)):
            facts["created"] = created

    def _learn(self, key: str, value: str) -> None:
        if key == "id" and (self.fixed or not self._stamp.keeps_id(value)):
            self.upstream_id = value
        if key in STICKY and self.fixed:
            self.fixed[key] = value

    def seal(self) -> Document:
        """The fixed part. Not a copy."""
        if not self.fixed:
            facts, stamp = self._facts, self._stamp
            kept = "id" in facts and self.upstream_id is None
            self.fixed = {
                "id": facts["id"] if kept else stamp.new_id(),
                "object": OBJECT,
                "created": facts.get("created", stamp.now),
                "model": facts.get("model", stamp.model),
            }
            self.fixed.update({key: facts[key] for key in STICKY if key in facts})
        return self.fixed

    def around(self, choice: Document) -> Document:
        return {**self.seal(), "choices": [choice]}

    def news(self, extras: Document) -> Document:
        """Those of the extras that would tell the client something new."""
        sent = self._sent
        return {
            key: value
            for key, value in extras.items()
            if says({key: value}, {}) and not (key in sent and sent[key] == value)
        }

    def clashes(self, extras: Document) -> bool:
        return any(self.pending.get(key, value) != value for key, value in extras.items())

    def remember(self, extras: Document) -> None:
        """The client has seen these."""
        self._sent.update(extras)

    def ride(self, extras: Document, chunk: Document) -> None:
        """Puts what waits, and these extras, on a chunk that leaves."""
        if self.pending or extras:
            choices = chunk.pop("choices")
            for riders in (self.pending, extras):
                chunk.update(riders)
                self.remember(riders)
            self.pending = {}
            chunk["choices"] = choices
