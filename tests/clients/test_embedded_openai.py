"""The openai package on the embedded model."""

from __future__ import annotations

import pytest

from tests.clients.embedded import WIDTH, expect_order, expect_person, expect_text, of
from tests.clients.harness import Ask, Seen

MODEL = "smollm2-135m-instruct"
TEXTS = ("text", "stream", "helper")
PERSONS = ("parse", "helper_parse")
REST = {"parse_nested", "parse_tools", "helper_tools", "tool_loop", "models", "embeddings"}
TYPED_CALLS = [["get_weather", "GetWeather", {"city": "Paris"}]]


@pytest.fixture(scope="module")
def seen(ask_embedded: Ask) -> Seen:
    return ask_embedded("embedded_openai.py")


def test_every_case_is_judged(seen: Seen) -> None:
    assert seen.keys() == {*TEXTS, *PERSONS} | REST


@pytest.mark.parametrize("case", TEXTS)
def test_texts(seen: Seen, case: str) -> None:
    expect_text(of(seen, case))
    assert of(seen, case)["model"] == MODEL


def test_the_helper_tells_of_every_step(seen: Seen) -> None:
    assert of(seen, "helper")["events"] == ["chunk", "content.delta", "content.done"]


@pytest.mark.parametrize("case", PERSONS)
def test_objects(seen: Seen, case: str) -> None:
    expect_person(of(seen, case))


def test_an_object_with_objects_inside(seen: Seen) -> None:
    expect_order(of(seen, "parse_nested"))


def test_calls_have_arguments_of_the_tools_own_type(seen: Seen) -> None:
    assert of(seen, "parse_tools") == [TYPED_CALLS, "tool_calls"]


def test_calls_by_the_helper(seen: Seen) -> None:
    assert of(seen, "helper_tools") == [TYPED_CALLS, "tool_calls", True]


def test_a_tools_result_is_answered_in_text(seen: Seen) -> None:
    expect_text(of(seen, "tool_loop"))
    assert of(seen, "tool_loop")["heard"] == ["22 °C in Paris"]


def test_the_model_is_listed_and_found(seen: Seen) -> None:
    assert of(seen, "models") == [[MODEL], MODEL]


def test_embeddings(seen: Seen) -> None:
    saw = of(seen, "embeddings")
    prompt, total = saw.pop("usage")
    assert prompt == total > 0
    assert saw == {"lengths": [WIDTH, WIDTH], "types": ["float"], "different": True, "either way": True}
