"""pydantic-ai on the embedded model."""

from __future__ import annotations

import pytest

from tests.clients.embedded import expect_order, expect_person, expect_usage, of
from tests.clients.harness import Ask, Seen

TEXTS = ("text", "stream")
PERSONS = ("typed_by_tool", "typed_by_schema", "typed_by_prompt", "stream_typed")
LOOPS = ("tool_loop", "stream_tool_loop")


@pytest.fixture(scope="module")
def seen(ask_embedded: Ask) -> Seen:
    return ask_embedded("embedded_pydantic_ai.py")


def test_every_case_is_judged(seen: Seen) -> None:
    assert seen.keys() == {*TEXTS, *PERSONS, *LOOPS, "nested_by_tool", "tool_then_typed"}


@pytest.mark.parametrize("case", [*TEXTS, *LOOPS])
def test_texts(seen: Seen, case: str) -> None:
    assert of(seen, case)["text"].strip()
    expect_usage(of(seen, case)["usage"])


@pytest.mark.parametrize("case", PERSONS)
def test_objects(seen: Seen, case: str) -> None:
    expect_person(of(seen, case))


def test_an_object_with_objects_inside(seen: Seen) -> None:
    expect_order(of(seen, "nested_by_tool"))


@pytest.mark.parametrize("case", LOOPS)
def test_the_tool_is_called_once(seen: Seen, case: str) -> None:
    assert of(seen, case)["heard"] == ["Paris"]


def test_a_typed_answer_is_made_of_what_the_tool_said(seen: Seen) -> None:
    """The tool said 22; to copy it, the model must have been told."""
    assert of(seen, "tool_then_typed") == [["Report", {"city": "Paris", "celsius": 22}], ["Paris"]]
