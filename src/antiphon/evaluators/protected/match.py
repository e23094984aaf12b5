"""Answers compared with indexes: a copy is two different fingerprints of an index close together.

One shared gram is chance or custom (an idiom, a common signature). Two as close as they are in every copied run of
`Sieve.surely_found` lexemes are not; the second need not belong to the same document, since what several documents
share is kept in the index once, under the first of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from antiphon.evaluators.protected.index import IndexedDocument, ProtectedIndex
from antiphon.evaluators.protected.lexemes import IndexKind, Lexer
from antiphon.evaluators.protected.winnow import Fingerprint, Sieve, Winnower
from antiphon.safety.verdict import NOTHING, Citation, Stage, Verdict


class ProtectedMaterial:
    """The evaluator: judges answers only, since what a user pastes is the user's business."""

    def __init__(self, indexes: Sequence[ProtectedIndex]) -> None:
        self._indexes = tuple(indexes)

    def judge(self, texts: Sequence[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
        if stage is not Stage.ANSWER:
            return [NOTHING] * len(texts)
        return [self._judge(text) for text in texts]

    def stream(self) -> MatchStream:
        return MatchStream(self._indexes)

    def _judge(self, text: str) -> Verdict:
        stream = self.stream()
        stream.feed(text)
        return stream.finish()


class MatchStream:
    """An answer that comes in pieces; each verdict is about all that has come. Once True, it stays True."""

    def __init__(self, indexes: Sequence[ProtectedIndex]) -> None:
        sieves = dict.fromkeys(index.sieve for index in indexes)
        self._sifters = [_Sifter(sieve, [one for one in indexes if one.sieve == sieve]) for sieve in sieves]

    def feed(self, piece: str) -> Verdict:
        for sifter in self._sifters:
            sifter.take(sifter.lexer.feed(piece))
        return self._verdict()

    def finish(self) -> Verdict:
        """The verdict when no more comes: a word at the very end counts now."""
        for sifter in self._sifters:
            sifter.take(sifter.lexer.finish())
        return self._verdict()

    def _verdict(self) -> Verdict:
        return Verdict(
            protected_text=self._found(IndexKind.TEXT),
            protected_code=self._found(IndexKind.CODE),
            citation=next((trail.citation for trail in self._trails() if trail.copied), None),
        )

    def _found(self, kind: IndexKind) -> bool | None:
        copied = [trail.copied for trail in self._trails() if trail.index.sieve.kind is kind]
        return any(copied) if copied else None

    def _trails(self) -> list[_Trail]:
        """Code first: a citation is what clients expect of code."""
        trails = [trail for sifter in self._sifters for trail in sifter.trails]
        return sorted(trails, key=lambda trail: trail.index.sieve.kind.value)


class _Sifter:
    """The lexemes and fingerprints that all indexes of one sieve share."""

    def __init__(self, sieve: Sieve, indexes: Sequence[ProtectedIndex]) -> None:
        self.lexer = Lexer(sieve.kind)
        self.trails = [_Trail(index) for index in indexes]
        self._winnower = Winnower(sieve)

    def take(self, lexemes: list[str]) -> None:
        kept = self._winnower.feed(lexemes)
        for trail in self.trails:
            trail.follow(kept)


class _Trail:
    """What of one index has been met so far."""

    def __init__(self, index: ProtectedIndex) -> None:
        self.index = index
        self.copied = False
        self._reach = 2 * index.sieve.window
        self._last: tuple[Fingerprint, IndexedDocument] | None = None
        self._hits: Counter[IndexedDocument] = Counter()

    def follow(self, fingerprints: list[Fingerprint]) -> None:
        for fingerprint in fingerprints:
            document = self.index.find(fingerprint.key)
            if document is not None:
                self._meet(fingerprint, document)

    def _meet(self, fingerprint: Fingerprint, document: IndexedDocument) -> None:
        before = self._last
        if before is not None and fingerprint.position - before[0].position < self.index.sieve.apart:
            return
        self._last = (fingerprint, document)
        if before is None or before[0].key == fingerprint.key:
            return
        if fingerprint.position - before[0].position <= self._reach:
            self.copied = True
            self._hits.update((before[1], document))

    @property
    def citation(self) -> Citation | None:
        """Of the document with most fingerprints in copied runs; of equals the one met first."""
        return self._hits.most_common(1)[0][0].citation if self._hits else None
