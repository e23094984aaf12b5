"""Which words of a conversation are read together, and what calls spell."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.moderated_text import prompt_texts
from antiphon.chat.spelled import LARGEST, MOST, SHORT, spelled
from antiphon.chat.together import EDGE, NEWEST, RUN, Join, first_words, joins, last_words

FILLER = "The train leaves at nine. Bring a warm coat, because the hall is cold. The journey takes four hours. " * 21
ONE, OTHER = "the first half of it", "and the second half"
BOTH = f"{ONE} {OTHER}"

Said = list[tuple[str, str]]


def joined(*said: tuple[str, str]) -> list[str]:
    run, found = joins([text for _, text in said], [role for role, _ in said])
    return [run, *found] if run else found


@pytest.mark.parametrize(
    "said",
    [
        [("user", ONE), ("user", OTHER)],
        [("user", ONE), ("assistant", "Go on."), ("user", OTHER)],
        [("user", ONE), ("assistant", FILLER), ("user", OTHER)],
        [("user", ONE), ("user", FILLER), ("user", OTHER)],
        [("user", ONE), ("assistant", "Go on."), ("user", FILLER), ("assistant", "Go on."), ("user", OTHER)],
        [("user", ONE), ("user", f"{FILLER}{OTHER}")],
        [("user", f"{ONE}\n{FILLER}"), ("user", OTHER)],
        [("user", f"{ONE}\n{FILLER}\n{OTHER}")],
        [("system", ONE), ("user", OTHER)],
        [("developer", f"{FILLER}{ONE}"), ("user", OTHER)],
        [("system", ONE), ("user", "Hello."), ("assistant", "Hello!"), ("user", "And then?"), ("user", OTHER)],
        [("user", ONE), ("assistant", ""), ("tool", OTHER)],
        [("user", f"{FILLER}{ONE}"), ("assistant", ""), ("tool", f"{OTHER}\n{FILLER}")],
        [("user", ONE), ("assistant", ""), ("tool", FILLER), ("assistant", ""), ("tool", OTHER)],
        [("tool", ONE), ("assistant", "Done."), ("user", OTHER)],
    ],
    ids=lambda said: " ".join(role for role, _ in said),
)
def test_a_sentence_in_two_messages_is_read_as_one(said: Said) -> None:
    assert BOTH in joined(*said)


def test_words_in_messages_of_their_own_are_read_as_one() -> None:
    words = BOTH.split()
    assert BOTH in joined(*(("user", word) for word in words))


def test_what_the_model_said_is_no_part_of_it() -> None:
    assert joined(("user", "a"), ("assistant", "b"), ("user", "c")) == ["a c"]
    assert joined(("user", "a"), ("assistant", "b")) == []


def test_in_a_later_turn_most_joins_are_those_of_the_turn_before() -> None:
    said: Said = [("system", FILLER)]
    for number in range(20):
        said += [("user", f"{number} {FILLER}"), ("assistant", "I see."), ("tool", f"{number} result")]
    before = set(joined(*said))
    after = joined(*said, ("user", "One more question."))
    assert len(set(after) - before) <= 4


@given(
    st.lists(st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=2000)), max_size=12)
)
def test_joins_are_few_and_short(said: Said) -> None:
    found = joined(*said)
    assert len(found) <= 6 * NEWEST
    for join in found:
        assert len(join) <= RUN + len(said)
        assert not isinstance(join, Join) or join == " ".join(join.parts)


@given(st.text())
def test_edges_are_edges(text: str) -> None:
    assert text.startswith(first_words(text))
    assert text.endswith(last_words(text))
    assert len(first_words(text)) <= EDGE >= len(last_words(text))
    assert bool(last_words(text)) == bool(text)


def test_calls_spell_a_sentence() -> None:
    words = BOTH.split()
    assert spelled([json.dumps({"word": word}) for word in words]) == BOTH
    assert spelled([json.dumps({f"w{number}": word for number, word in enumerate(words)})]) == BOTH
    assert spelled([json.dumps({"words": words, "count": 9, "deep": {"more": ["!"]}})]) == f"{BOTH} !"
    assert spelled(words) == BOTH  # custom tools take any text
    assert spelled([json.dumps({"path": "a"})]) == ""  # judged as it stands
    assert spelled([json.dumps({"a": "x" * (SHORT + 1), "b": "y" * (SHORT + 1)})]) == ""


def test_calls_of_an_earlier_answer_are_read_as_what_they_spell() -> None:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": json.dumps({"word": word})}}
        for word in BOTH.split()
    ]
    assert BOTH in prompt_texts({"messages": [{"role": "assistant", "content": None, "tool_calls": calls}]})


@given(st.lists(st.text() | st.recursive(st.text(), lambda inner: st.lists(inner)).map(json.dumps), max_size=50))
def test_whatever_arguments_are_what_they_spell_is_bounded(arguments: list[str]) -> None:
    assert len(spelled(arguments)) <= MOST + SHORT + 1


def test_large_or_deep_arguments_are_left() -> None:
    assert spelled([json.dumps(["a"] * LARGEST)]) == ""
    assert spelled(["[" * 10_000 + "]" * 10_000, "{"]) == ""
