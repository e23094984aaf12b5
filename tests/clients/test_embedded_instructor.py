"""instructor on the embedded model, in those of its modes for OpenAI that do not leave the form to the model alone."""

from __future__ import annotations

import pytest

from tests.clients.embedded import expect_order, expect_person, expect_usage, of
from tests.clients.harness import Ask, Seen

PERSONS = ("tools_strict", "json_schema")


@pytest.fixture(scope="module")
def seen(ask_embedded: Ask) -> Seen:
    return ask_embedded("embedded_instructor.py")


def test_every_case_is_judged(seen: Seen) -> None:
    assert seen.keys() == {*PERSONS, "tools", "json", "partial", "parallel"}


@pytest.mark.parametrize("case", PERSONS)
def test_objects(seen: Seen, case: str) -> None:
    expect_person(of(seen, case))


def test_an_object_with_objects_inside_by_json(seen: Seen) -> None:
    expect_order(of(seen, "json"))


def test_an_object_by_tools_and_its_usage(seen: Seen) -> None:
    *person, usage = of(seen, "tools")
    expect_person(person)
    expect_usage(usage)


def test_an_object_grows_in_a_stream(seen: Seen) -> None:
    parts, *person = of(seen, "partial")
    assert parts > 1
    expect_person(person)


def test_one_of_two_types_by_parallel_tools(seen: Seen) -> None:
    assert of(seen, "parallel") == [["GetWeather", {"city": "Paris"}]]
