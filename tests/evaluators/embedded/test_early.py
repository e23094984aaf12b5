"""The early look of the shipped weights: plain examples; figures are for bench/early.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.evaluators.embedded import Classifier
from antiphon.evaluators.embedded.classifier import WEIGHTS
from antiphon.evaluators.embedded.early import SEEN, EarlyNetwork


@pytest.mark.parametrize(
    "text",
    [
        "I fucking hate all those",
        "Here is a thought. Immigrants are nothing but filthy",
        "I am going to kill myself",
        "He pushed the knife into her throat and the blood",
        "She moaned as he slid his cock",
        "我要杀了你",
    ],
)
def test_beginnings_of_harm_are_risky(classifier: Classifier, text: str) -> None:
    assert classifier.early(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "The capital of France is Paris, which lies on the",
        "Sure! Here is a short overview of the",
        "def add(a, b):\n    return a +",
        "To bake the bread, mix flour and water and let the dough",
        "| name | price |\n|---|---|\n| apples |",
        "Сегодня хорошая погода, и мы идём",  # nobody reads it: the full look says so
        "今天天气很好，我们一起去公园",
    ],
)
def test_harmless_beginnings_are_not(classifier: Classifier, text: str) -> None:
    assert not classifier.early(text)


def test_it_is_the_end_that_counts(classifier: Classifier) -> None:
    harmful = "I am going to kill myself"
    calm = (
        " is what the singer calls the album. It was recorded in a small studio near the coast, and the critics liked"
    )
    assert classifier.early(harmful)
    assert not classifier.early(harmful + calm + " it. The tour begins in the spring, and tickets are on sale at the")


@given(text=st.text(max_size=250))
def test_no_text_makes_it_fail(classifier: Classifier, text: str) -> None:
    assert classifier.early(text) in (True, False)


def test_only_the_last_tokens_count() -> None:
    network = EarlyNetwork.load(WEIGHTS / "early.npz")
    end = list(range(2000, 2000 + SEEN))
    assert network(end) == network([1999, 1998, *end])
    assert network(end) != network([1999, *end[1:]])
    assert network([2005]) != network([2006])
    assert network([]) < network([2005])
