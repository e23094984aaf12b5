"""Calls are read from pieces cut anywhere; what is told joins to what was written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.tools.calls import CallBegins, CallEnds, CallFragment, CallReader
from antiphon.errors import AntiphonError


def told(pieces: list[str], *, custom: bool = False, most: int = 8) -> tuple[list[str], CallReader]:
    """The calls' texts. Events must come in order: begins, its fragments, ends; then the next."""
    reader = CallReader("f", custom=custom, most=most)
    texts: list[str] = []
    is_open = False
    for piece in pieces:
        for event in reader.feed(piece):
            if isinstance(event, CallBegins):
                assert not is_open
                assert event == CallBegins(len(texts), "f", custom)
                texts.append("")
                is_open = True
                continue
            assert is_open
            assert event.index == len(texts) - 1
            if isinstance(event, CallFragment):
                assert event.text
                texts[-1] += event.text
            else:
                assert isinstance(event, CallEnds)
                is_open = False
    return texts, reader


def cuts(text: str) -> list[list[str]]:
    """Whole, in single characters, and in two at every place."""
    return [[text], list(text), *([text[:at], text[at:]] for at in range(1, len(text)))]


NESTED = r'{"a": {"b": [1, {"c": "} ] \" \\ {"}]}, "d": "é😀\n\u00e9"}'


@pytest.mark.parametrize("pieces", cuts(" " + NESTED + "\n"))
def test_one_call(pieces: list[str]) -> None:
    texts, reader = told(pieces)
    assert texts == [NESTED]
    assert reader.complete


@pytest.mark.parametrize("pieces", cuts(' {"a": 1}, {"a": 12}, {}\n'))
def test_calls_one_after_another(pieces: list[str]) -> None:
    texts, reader = told(pieces)
    assert texts == ['{"a": 1}', '{"a": 12}', "{}"]
    assert reader.complete
    assert not reader.over


@pytest.mark.parametrize("pieces", cuts(' {"a": 1}, {"a": 2}, {"a": 1}, {"a": 3}\n'))
def test_a_repeated_call_ends_it(pieces: list[str]) -> None:
    texts, reader = told(pieces)
    assert texts == ['{"a": 1}', '{"a": 2}']
    assert reader.complete
    assert reader.over


def test_the_last_call_that_may_be_made_ends_it() -> None:
    texts, reader = told([' {"a": 1}, {"a": 2}'], most=1)
    assert texts == ['{"a": 1}']
    assert reader.complete
    assert reader.over


def test_an_unlikely_further_call_ends_it() -> None:
    reader = CallReader("f", is_likely=lambda call: "2" in call)
    events = reader.feed(' {"a": 1}, {"a": 2}, {"a": 3}, {"a": 22}')
    assert [event.text for event in events if isinstance(event, CallFragment)] == ['{"a": 1}', '{"a": 2}']
    assert reader.complete
    assert reader.over


@pytest.mark.parametrize("at", range(len(NESTED)))
def test_a_cut_is_seen(at: int) -> None:
    """What was told is what was written so far."""
    texts, reader = told([" ", NESTED[:at]])
    assert not reader.complete
    assert "".join(texts) == NESTED[:at]


def test_a_cut_in_a_further_call_leaves_what_was_complete() -> None:
    texts, reader = told([' {"a": 1}, {"b": '])
    assert texts == ['{"a": 1}']
    assert reader.complete


def test_nothing_is_no_call() -> None:
    assert not CallReader("f").complete
    assert told(["Hello"])[0] == []


def test_what_is_no_json_is_told_as_a_fault() -> None:
    """llama.cpp without its grammar: free text."""
    with pytest.raises(AntiphonError, match="did not keep to the format"):
        CallReader("f").feed("Use {braces} like this")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
arguments = st.dictionaries(st.text(), json_values, max_size=3)


@given(st.lists(arguments, min_size=1, max_size=4, unique_by=json.dumps), st.booleans(), st.data())
def test_any_arguments_cut_anywhere(calls: list[Any], is_ascii: bool, data: st.DataObject) -> None:
    written = [json.dumps(call, ensure_ascii=is_ascii) for call in calls]
    text = " " + ", ".join(written) + "\n"
    marks = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:stop] for start, stop in zip([0, *marks], [*marks, len(text)], strict=True)]
    texts, reader = told(pieces)
    assert texts == written
    assert reader.complete


# Custom tools: the fragments join to the text that the string spells


@pytest.mark.parametrize("is_ascii", [True, False])
@given(said=st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from('"\\/\n\t\x00😀é'), max_size=12))
def test_a_custom_input_is_spelled_out(is_ascii: bool, said: str) -> None:
    text = " " + json.dumps({"input": said}, ensure_ascii=is_ascii) + "\n"
    for pieces in cuts(text):
        texts, reader = told(pieces, custom=True)
        assert texts == [said]
        assert reader.complete


def test_half_a_character_does_not_break_the_wire() -> None:
    texts, reader = told(list(r' {"input": "a\ud83dx\ude00'), custom=True)
    assert texts == ["a\ufffdx\ufffd"]
    with pytest.raises(AntiphonError):  # it is no JSON
        reader.feed('"}')


def test_a_cut_custom_input() -> None:
    texts, reader = told([r' {"input": "line\nmore\u00'], custom=True)
    assert texts == ["line\nmore"]
    assert not reader.complete
