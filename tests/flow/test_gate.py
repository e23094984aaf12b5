"""The gate as a pure machine: time is an argument, verdicts come when the test says so, nothing sleeps."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.flow.gate import AHEAD, MOST_UNJUDGED, OPEN_LOOK, GateMode
from antiphon.flow.gate_choice import MOST_TEXTS, MOVES, GateEvent, GateState
from antiphon.safety.policy import Annotations, HoldPolicy
from antiphon.safety.verdict import FAILURE, SAFE, Severity, Verdict
from tests.chat.machine import chunk
from tests.flow.gates import ANNOTATE, FILTER, PROMPT_SIZE, Driver
from tests.support.judge import WordJudge

SAFE_RESULT = {"filtered": False, "severity": "safe"}
VIOLENT = Verdict(severities=(*SAFE[:3], Severity.LOW))
PHRASE = "Kill Them"
WORDS = st.text(alphabet="abc kilthemn.\n", max_size=400)
PLACES = st.lists(st.integers(0, 2000), max_size=60)
PACES = st.lists(st.sampled_from([0.0, 0.0, 0.01, 0.05, 0.3, 2.0]), min_size=1, max_size=60)
HOLDS = st.sampled_from(
    [HoldPolicy(1, 500), HoldPolicy(8, 500), HoldPolicy(16, 100), HoldPolicy(64, 500), HoldPolicy(64, 50)]
)


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges) if a < b]


def play(driver: Driver, pieces: list[str], paces: list[float], *, lazy: bool = False, written: bool = False) -> None:
    """`lazy`: the judge answers every third time only, so that the upstream outruns it."""
    driver.take({"role": "assistant", "content": ""})
    for number, piece in enumerate(pieces):
        driver.say_written(piece) if written else driver.say(piece)
        driver.pass_time(paces[number % len(paces)])
        if not lazy or number % 3 == 2:
            driver.answer()
    driver.finish()
    driver.end()
    driver.answer_all()


# The table of states


def test_every_state_is_reached_and_blocked_is_left_by_nothing() -> None:
    assert {state for state in GateState if state is not GateState.OPEN} == set(MOVES.values())
    assert not [move for move in MOVES if move[0] is GateState.BLOCKED]
    assert all((state, GateEvent.BLOCK) in MOVES for state in GateState if state is not GateState.BLOCKED)


def test_the_policy_decides_on_the_mode() -> None:
    assert Driver(side=ANNOTATE).gate.mode is GateMode.OPEN
    assert Driver(side=FILTER).gate.mode is GateMode.HOLD
    assert Driver(side=FILTER, asynchronous=True).gate.mode is GateMode.ASYNC
    assert Driver(side=ANNOTATE, asynchronous=True).gate.mode is GateMode.ASYNC


# Hold


@given(WORDS, WORDS, PLACES, PACES, HOLDS, st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_character_of_what_is_blocked_leaves_for_any_chunking_and_pace(
    before: str, after: str, places: list[int], paces: list[float], hold: HoldPolicy, lazy: bool, written: bool
) -> None:
    text = f"{before} {PHRASE} {after}"
    start = text.lower().index(PHRASE.lower())
    driver = Driver(hold=hold, reach=len(PHRASE))
    play(driver, cut(text, places), paces, lazy=lazy, written=written)
    said = driver.text()
    assert text.startswith(said)
    assert len(said) <= start
    assert driver.finishes() == ["content_filter"]
    assert driver.choices()[-1]["delta"] == {}
    assert driver.told()[-1]["violence"] == {"filtered": True, "severity": "high"}  # type: ignore[index]


@given(WORDS, WORDS, PLACES, PACES, st.sampled_from([HoldPolicy(16, 500), HoldPolicy(64, 500)]), st.booleans())
@settings(max_examples=120, deadline=None)
def test_a_block_takes_back_its_own_window_only(
    before: str, after: str, places: list[int], paces: list[float], hold: HoldPolicy, lazy: bool
) -> None:
    text = f"{before} {PHRASE} {after}"
    start = text.lower().index(PHRASE.lower())
    driver = Driver(hold=hold)
    play(driver, cut(text, places), paces, lazy=lazy)
    assert len(driver.text()) >= start - hold.tokens * 4


@given(WORDS.filter(lambda text: bool(text) and "kill them" not in text), PLACES, PACES, HOLDS, st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_not_blocked_leaves_whole_and_in_order(
    text: str, places: list[int], paces: list[float], hold: HoldPolicy, written: bool
) -> None:
    driver = Driver(hold=hold)
    play(driver, cut(text, places), paces, written=written)
    assert driver.text() == text
    assert driver.finishes() == ["stop"]
    assert [told is not None for told in driver.told()] == [True, *[False] * (len(driver.sent) - 2), True]


@pytest.mark.parametrize("size", [1, 5, 40, 300, 5000])
def test_no_window_is_larger_than_it_may_be_however_far_the_upstream_is_ahead(size: int) -> None:
    driver = Driver(hold=HoldPolicy(64, 500))
    text = "Quite peaceful words. " * 300
    driver.take({"role": "assistant", "content": ""})
    for at in range(0, len(text), size):
        driver.say(text[at : at + size])
    driver.answer_all()
    assert all(look.end - look.start <= 256 for look in driver.looks)
    assert len(text) - len(driver.text()) <= 256


@pytest.mark.parametrize("size", [3, 100, 2000])
def test_harmless_text_far_before_a_block_arrives(size: int) -> None:
    driver = Driver(hold=HoldPolicy(64, 500))
    text = "peace " * 111 + "kill them"
    driver.take({"role": "assistant", "content": ""})
    for at in range(0, len(text), size):
        driver.say(text[at : at + size])
    driver.answer_all()
    driver.finish()
    driver.answer_all()
    assert 666 - 256 <= len(driver.text()) <= 666
    assert driver.finishes() == ["content_filter"]


def test_a_sentence_that_ends_in_harm_does_not_begin_to_leave() -> None:
    """Though each beginning of it was found harmless, and time went by."""
    driver = Driver(hold=HoldPolicy(64, 500))
    driver.take({"role": "assistant", "content": ""})
    harmless = "A fine day. " * 10
    sentence = "Tomorrow at noon I will go over to the house of my neighbours and then I will kill them"
    for word in (harmless + sentence).split(" "):
        driver.say(word + " ")
        driver.pass_time(0.05)
        driver.answer_all()
    driver.finish()
    driver.answer_all()
    assert harmless.startswith(driver.text())
    assert len(driver.text()) >= len(harmless) - 64
    assert driver.finishes() == ["content_filter"]


@pytest.mark.parametrize("every", [0.02, 0.03, 0.05, 0.1])
def test_time_asks_for_a_look_every_half_of_hold_ms(every: float) -> None:
    driver = Driver(hold=HoldPolicy(64, 500))
    driver.take({"role": "assistant", "content": ""})
    for _ in range(round(3 / every)):
        driver.say("some words. ")
        driver.pass_time(every)
        driver.answer_all()
    assert 8 <= len(driver.looks) <= 12


def test_looks_are_due_by_size_where_text_comes_fast() -> None:
    driver = Driver(hold=HoldPolicy(64, 500))
    driver.take({"role": "assistant", "content": ""})
    for _ in range(1000):
        driver.say("peaceful. ")
        driver.answer_all()
    assert 10_000 / 256 <= len(driver.looks) <= 10_000 / 128


def test_the_end_of_the_upstream_lets_judged_text_go_without_a_finish() -> None:
    driver = Driver()
    driver.take({"role": "assistant", "content": ""})
    driver.say("Hello")
    driver.end()
    assert driver.text() == ""
    driver.answer_all()
    assert driver.text() == "Hello"
    assert driver.gate.is_idle
    assert driver.finishes() == []


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_look_that_fails(at: int, closed: bool) -> None:
    driver = Driver(side=FILTER if not closed else type(FILTER)(FILTER.stage, closed=True), hold=HoldPolicy(8, 60_000))
    driver.take({"role": "assistant", "content": ""})
    for _ in range(12):
        driver.say("quite peaceful words. ")
        while driver.pending:
            driver.answer(FAILURE if len(driver.looks) - len(driver.pending) == at else None)
    driver.finish()
    driver.answer_all()
    last = driver.told()[-1]
    assert last is not None
    assert last["error"]["code"] == "content_filter_error"
    assert driver.finishes() == (["content_filter"] if closed else ["stop"])
    if not closed:
        assert driver.text() == "quite peaceful words. " * 12
        told = [each for each in driver.told() if each is not None]
        assert ["error" in each for each in told[1:3]] == [True, False]  # the window that failed, then the next one


def test_a_hung_judge_fills_the_gate_and_no_more() -> None:
    driver = Driver(hold=HoldPolicy(8, 60_000))
    driver.take({"role": "assistant", "content": ""})
    for _ in range(MOST_UNJUDGED // 1000 + 1):
        driver.say("peaceful. " * 100)
    assert driver.gate.is_full
    driver.answer_all()
    assert not driver.gate.is_full
    driver.finish()
    driver.answer_all()
    assert driver.text() == "peaceful. " * 100 * (MOST_UNJUDGED // 1000 + 1)


# Texts of one choice


FIELDS = st.sampled_from(
    [
        {"reasoning": "*", "reasoning_details": [{"type": "reasoning.text", "text": "*", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "*", "format": "unknown"}]},
        {"reasoning_content": "*"},
        {"refusal": "*"},
        {"thinking": {"blocks": ["*"]}},
        {"tool_calls": [{"index": 1, "function": {"arguments": "*"}}]},
        {"audio": {"transcript": "*"}},
    ]
)


def fill(shape: Any, words: str) -> Any:
    if isinstance(shape, dict):
        return {key: fill(value, words) for key, value in shape.items()}
    if isinstance(shape, list):
        return [fill(value, words) for value in shape]
    return words if shape == "*" else shape


@given(FIELDS, st.lists(st.sampled_from(["content", "call", "both"]), min_size=1, max_size=8), PLACES, PACES)
@settings(max_examples=120, deadline=None)
def test_a_text_that_alternates_with_others_is_judged_as_one(
    shape: Any, between: list[str], places: list[int], paces: list[float]
) -> None:
    driver = Driver(hold=HoldPolicy(64, 500))
    driver.take({"role": "assistant", "content": ""})
    for number, piece in enumerate(cut("I will kill them", places)):
        driver.take(fill(shape, piece))
        other = between[number % len(between)]
        if other != "call":
            driver.say("nice ")
        if other != "content":
            driver.take({"tool_calls": [{"index": 0, "function": {"arguments": " 1,"}}]})
        driver.pass_time(paces[number % len(paces)])
        driver.answer_all()
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]
    sent = str(driver.sent)
    assert not any(key in sent for key in ("I wil", "kill", "them"))


@pytest.mark.parametrize("annotations", list(Annotations))
def test_labels_are_no_text(annotations: Annotations) -> None:
    driver = Driver(judge=WordJudge(words={"reasoning.text": "violence"}), annotations=annotations)
    driver.take({"role": "assistant", "content": ""})
    driver.take({"reasoning_details": [{"type": "reasoning.text", "text": "so", "signature": "kill them"}]})
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["stop"]
    assert [look.texts for look in driver.looks] == [["so"]]


def test_a_text_is_over_when_another_has_gone_on_for_a_window() -> None:
    """Until then its end holds the other one up; after that it does not."""
    driver = Driver(hold=HoldPolicy(64, 500))
    driver.take({"role": "assistant", "content": ""})
    driver.say("I think so.\n", "reasoning_content")
    for number in range(80):
        driver.say("word. ")
        driver.pass_time(0.05)
        driver.answer_all()
        if number < 35:
            assert driver.text() == ""
    assert driver.text("reasoning_content") == "I think so.\n"
    assert len(driver.text()) >= 480 - 64 - 5 * 6


@given(st.integers(0, 250), st.sampled_from(["kill. them", "kill them"]), PACES)
@settings(max_examples=100, deadline=None)
def test_a_text_that_pauses_is_not_over(between: int, phrase: str, paces: list[float]) -> None:
    driver = Driver(hold=HoldPolicy(64, 500), judge=WordJudge(words={phrase: "violence"}))
    driver.take({"role": "assistant", "content": ""})
    driver.say("I will " + phrase[:5], "reasoning_content")
    for number in range(between // 5):
        driver.say("nice ")
        driver.pass_time(paces[number % len(paces)])
        driver.answer_all()
    driver.say(phrase[5:], "reasoning_content")
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]
    assert driver.text("reasoning_content") == ""


def test_half_a_call_does_not_leave_though_other_text_goes_on() -> None:
    driver = Driver()
    driver.take({"role": "assistant", "content": ""})
    driver.say("Quite peaceful. " * 30)
    driver.answer_all()
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "say", "arguments": ""}}
    driver.take({"tool_calls": [call]})
    driver.say("Peace. " * 10)
    driver.pass_time(1)
    driver.answer_all()
    driver.take({"tool_calls": [{"index": 0, "function": {"arguments": "kill them"}}]})
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]
    assert not any("tool_calls" in choice["delta"] for choice in driver.choices())


def test_chunks_without_text_do_not_pile_up_behind_a_tail() -> None:
    driver = Driver()
    driver.take({"role": "assistant", "content": ""})
    driver.say("Here are pictures")
    picture = chunk({"images": ["x" * 100_000]})
    for _ in range(40):
        driver.take_chunk(picture, 100_000)
        driver.answer_all()
    assert len(driver.sent) >= 30


def test_a_choice_that_says_nothing_is_clean() -> None:
    driver = Driver()
    driver.take({"role": "assistant", "content": ""})
    driver.finish()
    driver.answer_all()
    assert all(told is not None and "error" not in told for told in driver.told())
    assert "error" not in driver.gate.results[0]


def test_a_call_does_not_begin_before_its_arguments_may_leave() -> None:
    driver = Driver()
    driver.take({"role": "assistant", "content": None})
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "say", "arguments": ""}}
    driver.take({"tool_calls": [call]})
    driver.take({"tool_calls": [{"index": 0, "function": {"arguments": '{"t":"kill'}}]})
    driver.pass_time(1)
    driver.answer_all()
    driver.take({"tool_calls": [{"index": 0, "function": {"arguments": ' them"}'}}]})
    driver.finish("tool_calls")
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]
    assert not any("tool_calls" in choice["delta"] for choice in driver.choices())


def test_what_blocks_one_choice_leaves_the_others_alone() -> None:
    driver = Driver()
    for index in (0, 1):
        driver.take({"role": "assistant", "content": ""}, index=index)
    for piece in ("I will ", "kill them", " all", " now. " * 60):
        driver.say(piece)
        driver.say("Peace " + piece.replace("kill", "greet"), index=1)
        driver.answer_all()
    assert not driver.gate.is_silenced(2)
    driver.finish(index=1)
    driver.answer_all()
    assert (driver.finishes(0), driver.text(index=0)) == (["content_filter"], "")
    assert driver.finishes(1) == ["stop"]
    assert driver.text(index=1).startswith("Peace I will Peace greet them")
    assert driver.gate.is_silenced(2)


# Open


@given(WORDS, PLACES, PACES, st.booleans())
@settings(max_examples=100, deadline=None)
def test_where_nothing_can_be_blocked_nothing_is_held(
    text: str, places: list[int], paces: list[float], written: bool
) -> None:
    driver = Driver(side=ANNOTATE)
    driver.take({"role": "assistant", "content": ""})
    said = ""
    for number, piece in enumerate(cut(text, places)):
        driver.say_written(piece) if written else driver.say(piece)
        said += piece
        assert driver.text() == said
        driver.pass_time(paces[number % len(paces)])
    assert len(driver.looks) <= len(text) / OPEN_LOOK + 1


def test_the_finish_waits_for_the_last_verdict() -> None:
    driver = Driver(side=ANNOTATE)
    driver.take({"role": "assistant", "content": ""})
    driver.say("I will kill them")
    driver.finish()
    assert driver.finishes() == []
    driver.answer_all()
    assert driver.finishes() == ["stop"]
    assert driver.told()[-1]["violence"] == {"filtered": False, "severity": "high"}  # type: ignore[index]


def test_a_finding_rides_on_the_next_delta_and_is_told_once() -> None:
    driver = Driver(side=ANNOTATE)
    driver.take({"role": "assistant", "content": ""})
    driver.say("kill them " + "x" * OPEN_LOOK)
    driver.answer_all()
    for word in ("a", "b"):
        driver.say_written(word)
    driver.say("y" * OPEN_LOOK * 2)
    driver.answer_all()
    driver.say("z" * OPEN_LOOK)
    driver.answer_all()
    for word in ("c", "d"):
        driver.say_written(word)
    driver.finish()
    driver.answer_all()
    severities = [told and told["violence"]["severity"] for told in driver.told()]
    assert severities == ["safe", None, "high", None, None, "safe", None, None, "high"]


# Async


@given(WORDS, PLACES, PACES, st.booleans())
@settings(max_examples=100, deadline=None)
def test_text_is_never_far_ahead_of_its_verdict(text: str, places: list[int], paces: list[float], lazy: bool) -> None:
    text = text.replace("kill them", "") * 4
    driver = Driver(asynchronous=True)
    play(driver, cut(text, places), paces, lazy=lazy)
    assert driver.text() == text
    assert driver.finishes() == ["stop"]
    sent = judged = 0
    for choice in driver.choices():
        sent += len(choice["delta"].get("content") or "")
        if "content_filter_offsets" in choice:
            offsets = {key: value - PROMPT_SIZE for key, value in choice["content_filter_offsets"].items()}
            assert offsets["start_offset"] == judged
            assert judged < offsets["end_offset"] == offsets["check_offset"] <= judged + 1000
            judged = offsets["end_offset"]
            assert choice["delta"] == {}
            assert choice["finish_reason"] is None
        assert sent - judged <= AHEAD
    assert judged == len(text)


def test_spans_are_bounded_where_the_upstream_outruns_the_judge() -> None:
    driver = Driver(asynchronous=True)
    driver.take({"role": "assistant", "content": ""})
    for _ in range(300):
        driver.say("peaceful ")
    driver.finish()
    driver.answer_all()
    assert max(look.end - look.start for look in driver.looks) <= 1000
    assert driver.text() == "peaceful " * 300


def test_a_late_block_ends_the_choice() -> None:
    driver = Driver(asynchronous=True)
    driver.take({"role": "assistant", "content": ""})
    for _ in range(200):
        driver.say("I will kill them all. ")
    driver.answer_all()
    assert len(driver.text()) <= AHEAD
    assert driver.finishes() == ["content_filter"]
    assert driver.choices()[-1]["content_filter_offsets"]["start_offset"] == PROMPT_SIZE


def test_a_block_after_the_models_finish_is_told_without_a_second_one() -> None:
    driver = Driver(asynchronous=True)
    driver.take({"role": "assistant", "content": ""})
    driver.say("I will kill them")
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["stop"]
    last = driver.choices()[-1]
    assert last["finish_reason"] is None
    assert last["content_filter_results"]["violence"]["filtered"] is True


# What is told


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_nobody_has_judged_is_not_called_safe(asynchronous: bool) -> None:
    driver = Driver(side=ANNOTATE, asynchronous=asynchronous, annotations=Annotations.EVERY)
    driver.take({"role": "assistant", "content": ""})
    driver.say("Hello ")
    driver.say_written("there")
    for told in driver.told()[1:]:
        assert told is not None
        assert told["error"]["code"] == "content_filter_error"
    driver.answer_all()
    driver.finish()
    driver.answer_all()
    if not asynchronous:
        assert "error" not in (driver.told()[-1] or {})


def test_every_delta_has_its_own_where_that_is_asked_for() -> None:
    driver = Driver(annotations=Annotations.EVERY, hold=HoldPolicy(8, 500))
    driver.take({"role": "assistant", "content": ""})
    for number in range(40):
        driver.say("a word. ") if number % 2 else driver.say_written("a word. ")
        driver.answer(VIOLENT if len(driver.looks) == 5 else None)
    driver.finish()
    driver.answer_all()
    severities = [told["violence"]["severity"] for told in driver.told() if told is not None]
    assert len(severities) == len(driver.sent)
    assert {"safe", "low"} == set(severities)
    assert severities[-1] == "low"  # the worst


def test_by_the_hot_way_a_failed_look_is_told_as_by_the_whole_way() -> None:
    told = []
    for written in (False, True):
        driver = Driver(annotations=Annotations.EVERY, hold=HoldPolicy(8, 500))
        driver.take({"role": "assistant", "content": ""})
        driver.say("Hello ")
        driver.say_written("there. ") if written else driver.say("there. ")
        driver.finish()
        driver.answer(FAILURE)
        driver.answer_all()
        told.append(driver.told())
    assert told[0] == told[1]
    assert "violence" not in (told[0][-1] or {}), "nobody has judged it"


@pytest.mark.parametrize("ended", [False, True])
def test_a_late_block_without_annotations_says_no_more_than_that(ended: bool) -> None:
    driver = Driver(asynchronous=True, annotations=Annotations.NONE)
    driver.take({"role": "assistant", "content": ""})
    driver.say("I will kill them" + " " * 200)
    if ended:
        driver.finish()
    driver.answer_all()
    assert driver.finishes() == (["stop"] if ended else ["content_filter"])
    assert not any("content_filter" in key for choice in driver.choices() for key in choice)


def test_one_choice_that_is_full_fills_the_gate() -> None:
    driver = Driver(hold=HoldPolicy(8, 60_000))
    for index in (0, 1):
        driver.take({"role": "assistant", "content": ""}, index=index)
    driver.say("peaceful. " * (MOST_UNJUDGED // 10 + 1))
    driver.say("Hello. ", index=1)
    driver.say("peaceful. ")
    assert driver.gate.is_full
    driver.say("Hello. " * 20, index=1)
    driver.pending.reverse()
    driver.answer()
    assert driver.gate.is_full


def test_the_windows_of_a_choice_are_bounded() -> None:
    driver = Driver()
    driver.take({"role": "assistant", "content": ""})
    for number in range(3 * MOST_TEXTS):
        driver.take({"reasoning_details": [{"text": "so ", "index": number}]})
    driver.take({"reasoning_details": [{"text": "kill them", "index": 9999}]})
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]
    assert max(len(look.texts) for look in driver.looks) <= MOST_TEXTS + 1


def test_a_large_piece_of_arguments_is_cut_where_its_window_begins() -> None:
    driver = Driver(hold=HoldPolicy(16, 500))
    driver.take({"role": "assistant", "content": None})
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "say", "arguments": ""}}
    driver.take({"tool_calls": [call]})
    driver.take({"tool_calls": [{"index": 0, "function": {"arguments": "peace. " * 100 + "kill them"}}]})
    driver.finish("tool_calls")
    driver.answer_all()
    fragments = [choice["delta"]["tool_calls"][0] for choice in driver.choices() if "tool_calls" in choice["delta"]]
    said = "".join(fragment["function"]["arguments"] for fragment in fragments)
    assert 700 - 64 <= len(said) <= 700
    assert driver.finishes() == ["content_filter"]


def test_without_annotations_nothing_is_told() -> None:
    driver = Driver(annotations=Annotations.NONE)
    driver.take({"role": "assistant", "content": ""})
    driver.say("kill them")
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]
    assert driver.told() == [None, None]


# Adaptive


def test_text_leaves_with_the_first_early_look_that_sees_no_risk() -> None:
    driver = Driver(hold=HoldPolicy(64, 500, adaptive=True))
    driver.take({"role": "assistant", "content": ""})
    for word in ("We ", "went ", "home"):
        driver.say(word)
        driver.answer_all()
    assert driver.text() == "We went home"


def test_a_risky_tail_is_held_until_a_whole_look_has_read_it() -> None:
    driver = Driver(hold=HoldPolicy(64, 500, adaptive=True))
    driver.take({"role": "assistant", "content": ""})
    for word in ("I ", "will ki", "ll the"):
        driver.say(word)
        driver.answer_all()
    assert driver.text() == "I "
    driver.say(" process.")
    driver.answer_all()
    assert driver.text() == "I will kill the process."
    assert len(driver.looks) == 2, "each risk asked for a whole look at once"


@given(WORDS, WORDS, PLACES, PACES, st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_the_first_stage_sees_coming_does_not_leave(
    before: str, after: str, places: list[int], paces: list[float], late: bool
) -> None:
    """Whatever follows it, however large the pieces are, and though a whole look takes its time."""
    text = f"{before} {PHRASE} {after}"
    driver = Driver(hold=HoldPolicy(64, 500, adaptive=True))
    driver.take({"role": "assistant", "content": ""})
    for number, piece in enumerate(cut(text, places)):
        driver.say(piece)
        driver.pass_time(paces[number % len(paces)])
        driver.answer_early() if late and number % 3 else driver.answer_all()
    driver.finish()
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]
    assert PHRASE.lower() not in driver.text().lower()


@pytest.mark.parametrize("size", [50, 300, 2000])
def test_a_large_piece_waits_for_the_whole_look(size: int) -> None:
    """An early look reads its end only."""
    driver = Driver(hold=HoldPolicy(64, 500, adaptive=True))
    driver.take({"role": "assistant", "content": ""})
    driver.say("I will kill them. " + "x " * (size // 2))
    driver.answer_early()
    assert driver.text() == ""
    driver.pass_time(1)
    driver.answer_all()
    assert driver.finishes() == ["content_filter"]


def test_whole_looks_go_on_beside_the_early_ones() -> None:
    driver = Driver(hold=HoldPolicy(64, 500, adaptive=True))
    driver.take({"role": "assistant", "content": ""})
    for _ in range(150):
        driver.say("a word ")
        driver.pass_time(0.02)
        driver.answer_all()
    assert 8 <= len(driver.looks) <= 12
    assert len(driver.text()) >= 149 * 7


def test_where_there_is_no_early_look_the_hold_is_full() -> None:
    driver = Driver(hold=HoldPolicy(64, 500, adaptive=True))
    driver.gate.adaptive = False
    driver.take({"role": "assistant", "content": ""})
    driver.say("We went home")
    driver.answer_all()
    assert driver.text() == ""
