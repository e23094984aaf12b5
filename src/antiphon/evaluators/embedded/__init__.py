"""The embedded classifier: hate, self-harm, sexual and violent content, and jailbreaks, judged offline on the CPU.

A text is normalised, its languages are told apart, English is read by a small network and, where that is not sure, by
an encoder; Chinese, Portuguese and German by n-gram heads of their own (docs/model-card.md has data and figures). The
weights lie in `evaluators/weights`; nothing is downloaded.
"""

from __future__ import annotations

from antiphon.evaluators.embedded.classifier import Classifier

__all__ = ["Classifier"]
