"""The Vercel AI SDK on the embedded model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.embedded import CALL, WIDTH, expect_multiplication, expect_person, expect_text, expect_usage, of
from tests.clients.harness import Ask, Seen

TEXTS = ("text", "stream", "no_tool_needed")
PERSONS = ("object", "output")
LOOPS = ("tool_loop", "stream_tool_loop")
MULTIPLICATIONS = {"required_tools": "tool-calls", "named_tool": "stop"}  # who names the tool is told no news
REST = {"object_stream", "tools", "stream_required_tools", "embeddings"}


@pytest.fixture(scope="module")
def seen(ask_embedded: Ask) -> Seen:
    return ask_embedded("embedded_ai_sdk.mjs")


def test_every_case_is_judged(seen: Seen) -> None:
    assert seen.keys() == {*TEXTS, *PERSONS, *LOOPS, *MULTIPLICATIONS} | REST


@pytest.mark.parametrize("case", TEXTS)
def test_texts(seen: Seen, case: str) -> None:
    expect_text(of(seen, case))
    assert of(seen, case)["calls"] == []


@pytest.mark.parametrize("case", PERSONS)
def test_objects(seen: Seen, case: str) -> None:
    expect_person(["Person", of(seen, case)])


def test_an_object_grows_in_a_stream(seen: Seen) -> None:
    person, grew = of(seen, "object_stream")
    expect_person(["Person", person])
    assert grew


def test_the_right_tool_is_called_by_itself(seen: Seen) -> None:
    expect_call(of(seen, "tools"))


def test_a_demanded_call_in_a_stream(seen: Seen) -> None:
    saw = of(seen, "stream_required_tools")
    expect_call(saw)
    assert saw["errors"] == []


def expect_call(saw: Any) -> None:
    assert saw["text"] == ""
    assert saw["finish"] == "tool-calls"
    assert saw["calls"] == [CALL]
    expect_usage(saw["usage"])


@pytest.mark.parametrize("case", MULTIPLICATIONS)
def test_a_call_is_made_where_one_is_demanded(seen: Seen, case: str) -> None:
    """Also of a tool that does not suit the question, if it is named."""
    expect_multiplication(of(seen, case))
    assert of(seen, case)["finish"] == MULTIPLICATIONS[case]


@pytest.mark.parametrize("case", LOOPS)
def test_the_loop_ends_with_a_text(seen: Seen, case: str) -> None:
    saw = of(seen, case)
    expect_text(saw)
    assert saw["heard"] == ["Paris"]
    assert saw["steps"] == 2


def test_the_loop_is_streamed_without_errors(seen: Seen) -> None:
    assert of(seen, "stream_tool_loop")["errors"] == []


def test_embeddings(seen: Seen) -> None:
    lengths, tokens = of(seen, "embeddings")
    assert lengths == [WIDTH, WIDTH]
    assert tokens > 0
