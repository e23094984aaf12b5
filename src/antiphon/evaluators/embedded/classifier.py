"""Classifier: texts in, verdicts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from antiphon.evaluators.embedded.calibration import Calibration
from antiphon.evaluators.embedded.cascade import Cascade
from antiphon.evaluators.embedded.disguises import Disguises
from antiphon.evaluators.embedded.early import EarlyClassifier, EarlyNetwork, read_risky
from antiphon.evaluators.embedded.language import HEADS, LanguageGate
from antiphon.evaluators.embedded.latin import ENGLISH
from antiphon.evaluators.embedded.legible import Legible
from antiphon.evaluators.embedded.network import LABELS, Network
from antiphon.evaluators.embedded.ngrams import Head, windows
from antiphon.evaluators.embedded.normalise import Normaliser
from antiphon.evaluators.embedded.phrases import said
from antiphon.evaluators.embedded.wordpiece import WordPiece
from antiphon.safety.verdict import CATEGORIES, SAFE, UNSUPPORTED_LANGUAGE, Severity, Stage, Verdict

WEIGHTS: Final = Path(__file__).parent.parent / "weights"
_JAILBREAK: Final = LABELS.index("jailbreak")
_ALL: Final = len(LABELS)  # the first so many labels are sought
_HARM: Final = len(CATEGORIES)
_HATE: Final = CATEGORIES.index("hate")
_SELF_HARM: Final = CATEGORIES.index("self_harm")
_OUTRIGHT: Final = 0.6  # the score of what a phrase says
_NO_SCORES: Final = (0.0,) * len(CATEGORIES)


class Classifier:
    """One text's verdict does not depend on the texts judged beside it. Not for use from two threads at once; `early`
    may be asked beside it."""

    def __init__(
        self,
        normaliser: Normaliser,
        disguises: Disguises,
        gate: LanguageGate,
        cascade: Cascade,
        heads: dict[str, Head],
        self_harm: dict[str, Head],
        calibration: Calibration,
        early: EarlyClassifier,
        is_legible: Legible,
    ) -> None:
        self._normalise = normaliser
        self._disguises = disguises
        self._gate = gate
        self._cascade = cascade
        self._heads = heads
        self._self_harm = self_harm
        self._calibration = calibration
        self._is_legible = is_legible
        self.early = early  # whether the end of a text may begin something harmful

    @classmethod
    def load(cls, folder: Path = WEIGHTS) -> Classifier:
        calibration = Calibration.load(folder / "calibration.json")
        tokens = WordPiece.load(folder / "vocabulary.txt")
        cascade = Cascade(tokens, Network(folder / "cnn.onnx"), Network(folder / "encoder.onnx"), calibration)
        heads = {name: _head(folder / f"hate-{name}.npy", calibration.heads[name]) for name in HEADS}
        stored = calibration.self_harm
        self_harm = {name: _head(folder / f"self-harm-{name}.npy", stored[name]) for name in stored}
        normaliser, gate = Normaliser(tokens.ids), LanguageGate.load(folder / "languages.npz")
        network = EarlyNetwork.load(folder / "early.npz")
        early = EarlyClassifier(normaliser, gate, tokens, network, heads, read_risky(folder / "early.json"))
        is_legible = Legible(tokens.ids)
        return cls(normaliser, Disguises(tokens.ids), gate, cascade, heads, self_harm, calibration, early, is_legible)

    def judge(self, texts: Sequence[str], stage: Stage, *, jailbreaks: bool = True) -> list[Verdict]:
        sought = _ALL if jailbreaks and stage is Stage.PROMPT else _HARM
        return [self._judge(text, stage, sought) for text in texts]

    def _judge(self, text: str, stage: Stage, sought: int) -> Verdict:
        """The text as it stands, and as it is meant where it looks disguised."""
        verdict = self._read(text, stage, sought)
        for reading in self._disguises.readings(text):
            verdict |= replace(
                self._read(reading, stage, sought), error=None
            )  # a guess: what language it is says nothing
        return verdict

    def _read(self, text: str, stage: Stage, sought: int) -> Verdict:
        parts = self._gate.split(self._normalise(text))
        found = [self._part(name, part, stage, sought) for name, part in parts.texts.items()]
        if not found:
            return _unjudged(stage, UNSUPPORTED_LANGUAGE if parts.unread else None)
        return Verdict(
            severities=tuple(max(column) for column in zip(*(v.severities or SAFE for v in found), strict=True)),
            scores=tuple(max(column) for column in zip(*(v.scores or _NO_SCORES for v in found), strict=True)),
            jailbreak=any(v.jailbreak for v in found) if stage is Stage.PROMPT else None,
            jailbreak_score=max(v.jailbreak_score or 0.0 for v in found) if stage is Stage.PROMPT else None,
            error=UNSUPPORTED_LANGUAGE if parts.unread or any(v.error for v in found) else None,
        )

    def _part(self, language: str, text: str, stage: Stage, sought: int) -> Verdict:
        return self._english(text, stage, sought) if language == ENGLISH else self._other(language, text, stage)

    def _english(self, text: str, stage: Stage, sought: int) -> Verdict:
        if not self._is_legible(text):
            return _unjudged(stage, UNSUPPORTED_LANGUAGE)
        logits, tokens = self._cascade(text, sought)
        pairs = list(zip(self._calibration.at(stage, tokens), logits, strict=True))
        jailbreak_cuts, jailbreak_logit = pairs[_JAILBREAK]
        prompt = stage is Stage.PROMPT
        return Verdict(
            severities=tuple(cut.severity(logit) for cut, logit in pairs[: len(CATEGORIES)]),
            scores=tuple(cut.score(logit) for cut, logit in pairs[: len(CATEGORIES)]),
            jailbreak=jailbreak_logit >= jailbreak_cuts.medium if prompt else None,
            jailbreak_score=jailbreak_cuts.score(jailbreak_logit) if prompt else None,
        )

    def _other(self, language: str, text: str, stage: Stage) -> Verdict:
        """Hate, and where there is such a head self-harm, by n-grams; the rest by what is said outright."""
        pieces = windows(text)
        outright = said(language, text)
        severities = [Severity.MEDIUM if label in outright else Severity.SAFE for label in range(len(CATEGORIES))]
        scores = [_OUTRIGHT if label in outright else 0.0 for label in range(len(CATEGORIES))]
        found = [(_HATE, self._heads[language], self._calibration.hate_cuts(language))]
        if language in self._self_harm:
            found.append((_SELF_HARM, self._self_harm[language], self._calibration.self_harm_cuts(language)))
        for label, head, cuts in found:
            logit = max(map(head.logit, pieces)) - self._calibration.bar(len(pieces))[label]
            severities[label] = max(severities[label], cuts.severity(logit))
            scores[label] = max(scores[label], cuts.score(logit))
        prompt, jailbreak = stage is Stage.PROMPT, _JAILBREAK in outright
        return Verdict(
            severities=tuple(severities),
            scores=tuple(scores),
            jailbreak=jailbreak if prompt else None,
            jailbreak_score=_OUTRIGHT * jailbreak if prompt else None,
        )


def _head(path: Path, stored: Mapping[str, Any]) -> Head:
    return Head.load(path, stored["bias"], stored["shortest"], stored["longest"])


def _unjudged(stage: Stage, error: str | None) -> Verdict:
    prompt = stage is Stage.PROMPT
    return Verdict(
        severities=SAFE,
        scores=_NO_SCORES,
        jailbreak=False if prompt else None,
        jailbreak_score=0.0 if prompt else None,
        error=error,
    )
