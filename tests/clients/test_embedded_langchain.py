"""langchain-openai on the embedded model."""

from __future__ import annotations

import pytest

from tests.clients.embedded import (
    CALL,
    WIDTH,
    expect_multiplication,
    expect_order,
    expect_person,
    expect_text,
    expect_usage,
    of,
)
from tests.clients.harness import Ask, Seen

TEXTS = ("text", "stream", "no_tool_needed")
PERSONS = ("structured_by_tool", "structured")
CALLS = ("tools", "stream_tools")
REST = {"nested_by_tool", "required_tools", "tool_loop", "embeddings"}


@pytest.fixture(scope="module")
def seen(ask_embedded: Ask) -> Seen:
    return ask_embedded("embedded_langchain.py")


def test_every_case_is_judged(seen: Seen) -> None:
    assert seen.keys() == {*TEXTS, *PERSONS, *CALLS} | REST


@pytest.mark.parametrize("case", TEXTS)
def test_texts(seen: Seen, case: str) -> None:
    expect_text(of(seen, case))
    assert of(seen, case)["calls"] == []


@pytest.mark.parametrize("case", PERSONS)
def test_objects(seen: Seen, case: str) -> None:
    expect_person(of(seen, case))


def test_an_object_with_objects_inside(seen: Seen) -> None:
    expect_order(of(seen, "nested_by_tool"))


@pytest.mark.parametrize("case", CALLS)
def test_the_right_tool_is_called_by_itself(seen: Seen, case: str) -> None:
    saw = of(seen, case)
    expect_usage(saw.pop("usage"))
    assert saw == {"text": "", "finish": "tool_calls", "calls": [CALL], "invalid calls": 0}


def test_a_call_is_made_where_one_is_demanded(seen: Seen) -> None:
    expect_multiplication(of(seen, "required_tools"))
    assert of(seen, "required_tools")["finish"] == "tool_calls"


def test_the_loop_ends_with_a_text(seen: Seen) -> None:
    saw = of(seen, "tool_loop")
    expect_text(saw)
    assert saw["calls"] == []
    assert saw["heard"] == ["22 °C in Paris"]


def test_embeddings(seen: Seen) -> None:
    assert of(seen, "embeddings") == [WIDTH] * 3
