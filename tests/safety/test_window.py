"""One text under judgement: what a look reads, and what stays back after it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from antiphon.safety.window import CONTEXT, TextWindow


def looked(text: str, *, released: int = 0) -> TextWindow:
    window = TextWindow()
    window.size = len(text)
    window.look(text, 192)
    window.released = released
    return window


def test_a_look_reads_what_stood_before() -> None:
    window = TextWindow()
    assert window.look("a" * 600, 192) == "a" * 600
    assert window.look("b", 192) == "a" * CONTEXT + "b"
    assert window.seen == 601


def test_the_tail_stays_back_though_a_sentence_ends_in_it() -> None:
    window = looked("One. Two. Three.")
    window.hold_back(8, 192)
    assert window.released == len("One. ")


def test_an_unfinished_sentence_stays_back() -> None:
    window = looked("One. Two and so on and so on")
    window.hold_back(4, 192)
    assert window.released == len("One. ")


def test_a_sentence_without_an_end_is_released_in_part() -> None:
    window = looked("x" * 300)
    window.hold_back(64, 192)
    assert window.released == 300 - 192


def test_what_is_settled_leaves_whole_until_it_grows() -> None:
    window = looked("One")
    window.settle()
    assert (window.released, window.settled, window.held_back) == (3, True, 0)


@given(st.text(alphabet="ab. \n", max_size=400), st.integers(0, 400), st.integers(1, 100), st.integers(100, 300))
def test_nothing_comes_back_and_nothing_of_the_tail_leaves(text: str, released: int, tail: int, most: int) -> None:
    window = looked(text, released=min(released, len(text)))
    before = window.released
    window.hold_back(tail, most)
    assert window.released >= before
    assert window.released <= max(before, len(text) - tail)
    assert len(text) - window.released <= max(most, tail) or window.released >= len(text) - tail
