"""The text of a stream under judgement."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from antiphon.safety.track import CHARACTERS, CONTEXT, TAIL, Track


def test_a_look_is_due_when_as_much_is_held_as_may_be() -> None:
    track = Track(tokens=64)
    track.add("x" * (64 * CHARACTERS - TAIL - 1))
    assert not track.due
    track.add("x")
    assert track.due
    look = track.look()
    assert not track.due
    track.clear(look)
    assert track.cleared == look.end - TAIL


def test_a_look_sees_what_came_before() -> None:
    track = Track(tokens=64)
    track.add("a" * 1000)
    track.look()
    track.add("b" * 10)
    look = track.look(whole=True)
    assert look.text == "a" * CONTEXT + "b" * 10
    assert (look.start, look.end) == (1000, 1010)
    track.clear(look)
    assert track.cleared == track.size == 1010


def test_two_kinds_of_text_are_not_one_word() -> None:
    track = Track(tokens=64)
    track.add("I think: ki", "reasoning_content")
    track.add("ll", "content")
    assert track.look().text == "I think: ki\nll"


def test_the_longest_word_of_a_list_stays_back() -> None:
    track = Track(tokens=4, reach=300)
    track.add("x" * 400)
    look = track.look()
    track.clear(look)
    assert track.cleared == 100


@given(st.lists(st.text(min_size=1, max_size=50), min_size=1, max_size=50), st.integers(1, 64))
def test_every_phrase_up_to_the_tail_is_seen_whole_before_it_may_leave(pieces: list[str], tokens: int) -> None:
    """… as long as no time passes: whatever starts before `cleared` was wholly in some look."""
    track = Track(tokens)
    text, seen = "", []
    for piece in pieces:
        track.add(piece)
        text += piece
        if track.due:
            look = track.look()
            seen.append((look.end - len(look.text), look.end))
            assert text[seen[-1][0] : seen[-1][1]] == look.text
            track.clear(look)
    tail = min(TAIL, tokens * CHARACTERS // 2)
    for start in range(max(0, track.cleared)):
        assert any(low <= start and start + tail <= high for low, high in seen)
