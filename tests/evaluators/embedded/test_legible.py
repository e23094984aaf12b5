"""What the networks cannot read is not judged, and that is said: it is no harm."""

from __future__ import annotations

import pytest

from antiphon.evaluators.embedded.classifier import Classifier
from antiphon.safety.verdict import SAFE, UNSUPPORTED_LANGUAGE, Severity, Stage

UNREADABLE = {
    "pairs of emoji": "\U0001f600\U0001f389" * 60,
    "emoji apart": "\U0001f600 \U0001f389 " * 30,
    "keys": "asdf qwer zxcv " * 10,
    "other keys": "wqre tzui plkj mnbv cxyl hgfd dsaq rewt " * 3,
    "boxes": "\u2588\u2591" * 100,
}
HARMFUL = "I will kill you tonight and burn your house down"


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("stage", Stage)
def test_what_nobody_can_read_is_no_harm(classifier: Classifier, kind: str, stage: Stage) -> None:
    [verdict] = classifier.judge([UNREADABLE[kind]], stage)
    assert verdict.severities == SAFE
    assert not verdict.jailbreak
    assert verdict.error == UNSUPPORTED_LANGUAGE


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_threat_among_it_is_found(classifier: Classifier, kind: str) -> None:
    noise = UNREADABLE[kind]
    for text in (f"{noise} {HARMFUL}", f"{HARMFUL} {noise}", f"{noise}\n{HARMFUL}\n{noise}"):
        [verdict] = classifier.judge([text], Stage.PROMPT)
        assert verdict.severities is not None
        assert verdict.severities[3] >= Severity.MEDIUM


@pytest.mark.parametrize(
    "text", ["\U0001f44d", "\U0001f600\U0001f389", "asdf", "ok", "1 2 3 4 5 6 7 8 9", "???!!!", ""]
)
def test_little_is_judged_whatever_it_is(classifier: Classifier, text: str) -> None:
    [verdict] = classifier.judge([text], Stage.PROMPT)
    assert verdict.severities == SAFE
    assert verdict.error is None
