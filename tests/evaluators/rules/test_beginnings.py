"""Beginnings of listed words at the end of a text."""

from __future__ import annotations

import threading

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from antiphon.evaluators.backends import load_rules
from antiphon.evaluators.config import RuleConfig
from antiphon.evaluators.rules.beginnings import LONGEST
from antiphon.evaluators.rules.folding import normal
from antiphon.evaluators.rules.rule_list import RuleFault, RuleList
from antiphon.evaluators.rules.rules import Rules
from antiphon.safety.verdict import Stage


def early(text: str, *words: str) -> bool:
    return Rules([RuleList.of("list", list(words))]).early(text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("badword", "what a b"),
        ("badword", "what a badwor"),
        ("badword", "what a badword"),
        ("badword", "a badword, and then more"),  # there as a whole: it may have come in one piece
        ("badword", "B"),
        ("badword", "(BaD"),
        ("bad words", "such bad"),
        ("bad words", "such bad "),
        ("bad words", "such bad\n  wor"),
        ("Straße", "in der STRAS"),
        ("Straße", "in der straß"),
        ("hack", "ｈａ"),
        ("attack", "at\u200bta"),
        ("坏话", "他说坏"),
        ("c++", "in c+"),
        ("x-ray", "an X-"),
        ("-x", "a-"),
    ],
)
def test_a_beginning_at_the_end_is_risky(word: str, text: str) -> None:
    assert early(text, word)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("badword", "what a bid"),
        ("badword", "what a bad "),
        ("badword", "badwords"),
        ("badword", "a b c"),
        ("ass", "class"),
        ("assault", "a grass"),
        ("bad words", "badwo"),
        ("坏话", "他说好"),
        ("badword", ""),
        ("badword", " "),
    ],
)
def test_what_begins_no_listed_word_is_not(word: str, text: str) -> None:
    assert not early(text, word)


def test_the_longest_of_many_words_is_looked_for() -> None:
    words = ["alpha", "alphabet soup", "beta"]
    assert early("some alphabet so", *words)
    assert early("some alphab", *words)
    assert not early("some alphabets", *words)


@given(word=st.text(min_size=1, max_size=12), before=st.text(max_size=20), data=st.data())
def test_a_word_that_will_be_found_is_risky_at_each_of_its_letters(word: str, before: str, data: st.DataObject) -> None:
    assume(normal(word).strip())
    try:
        rules = Rules([RuleList.of("list", [word])])
    except RuleFault:
        assume(False)
    plain = normal(word).strip()
    assume(normal(plain) == plain and rules.judge([f"{before} {plain}"], Stage.ANSWER)[0].lists)
    cut = data.draw(st.integers(1, len(plain)))
    assume(normal(plain[:cut]) == plain[:cut])  # else the next letter makes another one of the last
    assert rules.early(f"{before} {plain[:cut]}")


def test_patterns_and_very_long_words_have_no_beginnings() -> None:
    assert load_rules(RuleConfig("words", words=("a", "b c"))).early is not None
    assert load_rules(RuleConfig("patterns", words=("a",), patterns=("x+y",))).early is None
    assert load_rules(RuleConfig("built in", lists=("secrets",))).early is None
    assert load_rules(RuleConfig("long", words=("x" * (LONGEST + 1),))).early is None
    assert load_rules(RuleConfig("long enough", words=("x" * LONGEST,))).early is not None


def test_two_threads_may_look_at_once() -> None:
    rules = Rules([RuleList.of("list", [f"word{number}" for number in range(200)])])
    text = "some word7 here " * 2000
    faults: list[BaseException] = []

    def judge() -> None:
        try:
            for _ in range(20):
                assert rules.judge([text], Stage.ANSWER)[0].lists == ("list",)
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=judge)
    thread.start()
    while thread.is_alive():
        assert rules.early("a word1 here")
    thread.join()
    assert not faults
