"""Frames between workers and the evaluator process."""

from __future__ import annotations

import pytest

from antiphon.evaluators.wire import (
    LARGEST,
    LENGTH,
    Ask,
    EarlyAsk,
    EarlyTold,
    Frames,
    Hello,
    Told,
    WireError,
    ask_decoder,
    pack,
    told_decoder,
)
from antiphon.safety.verdict import FAILED, SAFE, Citation, Severity, Stage, Verdict

VERDICT = Verdict(
    severities=(Severity.LOW, *SAFE[1:]),
    scores=(0.25, 0.0, 0.0, 0.0),
    jailbreak=True,
    protected_code=True,
    citation=Citation("https://example.test/x", "GPL-3.0"),
    lists=("words",),
    error=FAILED,
)


@pytest.mark.parametrize(
    "ask",
    [Ask(7, Stage.ANSWER, ["one", "zwei 二"], ["embedded"], 0.8), EarlyAsk(8, "and so it b", ["embedded", "words"])],
)
def test_a_question_arrives_as_it_was_asked(ask: Ask | EarlyAsk) -> None:
    (frame,) = Frames().feed(pack(ask))
    assert ask_decoder.decode(frame) == ask


@pytest.mark.parametrize(
    "message",
    [
        Hello(),
        Hello("x is missing.", ["embedded"]),
        Told(3, VERDICT),
        Told(4, Verdict(), True),
        Told(5, VERDICT, each=[VERDICT, Verdict()]),
        EarlyTold(6, True),
    ],
)
def test_an_answer_arrives_as_it_was_given(message: Hello | Told | EarlyTold) -> None:
    (frame,) = Frames().feed(pack(message))
    assert told_decoder.decode(frame) == message


def test_frames_are_found_wherever_the_bytes_are_split() -> None:
    data = pack(Told(1, VERDICT)) + pack(Told(2, Verdict()))
    for cut in range(len(data) + 1):
        frames = Frames()
        found = frames.feed(data[:cut]) + frames.feed(data[cut:])
        assert [told_decoder.decode(frame) for frame in found] == [Told(1, VERDICT), Told(2, Verdict())]


def test_a_frame_that_is_too_long_is_refused_before_it_is_held() -> None:
    with pytest.raises(WireError):
        Frames().feed(LENGTH.pack(LARGEST + 1))
