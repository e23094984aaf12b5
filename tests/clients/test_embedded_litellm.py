"""litellm's SDK on the embedded model."""

from __future__ import annotations

import pytest

from tests.clients.embedded import CALL, WIDTH, expect_person, expect_text, expect_usage, of
from tests.clients.harness import Ask, Seen

TEXTS = ("text", "stream")
CALLS = ("tools", "stream_tools")


@pytest.fixture(scope="module")
def seen(ask_embedded: Ask) -> Seen:
    return ask_embedded("embedded_litellm.py")


def test_every_case_is_judged(seen: Seen) -> None:
    assert seen.keys() == {*TEXTS, *CALLS, "structured", "embeddings"}


@pytest.mark.parametrize("case", TEXTS)
def test_texts(seen: Seen, case: str) -> None:
    expect_text(of(seen, case))


@pytest.mark.parametrize("case", CALLS)
def test_the_right_tool_is_called_by_itself(seen: Seen, case: str) -> None:
    saw = of(seen, case)
    assert not saw["text"]
    assert saw["finish"] == "tool_calls"
    assert saw["calls"] == [CALL]
    expect_usage(saw["usage"])


def test_an_object(seen: Seen) -> None:
    expect_person(of(seen, "structured"))


def test_embeddings(seen: Seen) -> None:
    assert of(seen, "embeddings") == [WIDTH, WIDTH]
