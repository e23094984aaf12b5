"""The Vercel AI SDK with both of its OpenAI providers on what is blocked and annotated, in all four dialects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts, plain
from tests.clients.safety import expect_counted

PROVIDERS = ("openai", "compatible")
REFUSED: dict[str, Any] = {"raised": "AI_APICallError", "statusCode": 400}
BLOCKED = ("blocked", "blocked_tools", "blocked_stream", "blocked_tools_stream")
OBJECTS = ("object_blocked", "object_stream_blocked")
ANNOTATED = ("annotated", "annotated_stream", "async_stream")

pytestmark = [pytest.mark.parametrize("dialect", DIALECTS), pytest.mark.parametrize("provider", PROVIDERS)]


@pytest.fixture(scope="module")
def verdicts(run_node: Run) -> Verdicts:
    return run_node("safety_ai_sdk.mjs")


def test_every_case_is_judged(verdicts: Verdicts, provider: str, dialect: str) -> None:
    cases = {"prompt", "prompt_stream", *BLOCKED, *OBJECTS, *ANNOTATED}
    judged = {case for case, where in verdicts if case.startswith(f"{provider} ") and where == dialect}
    assert judged == {f"{provider} {case}" for case in cases}


def test_a_blocked_prompt_is_an_error_of_the_call(verdicts: Verdicts, provider: str, dialect: str) -> None:
    assert REFUSED.items() <= plain(verdicts[f"{provider} prompt", dialect], dialect).items()


def test_a_blocked_prompt_is_the_only_part_of_a_stream(verdicts: Verdicts, provider: str, dialect: str) -> None:
    saw = verdicts[f"{provider} prompt_stream", dialect]
    (error,) = (plain(error, dialect) for error in saw["errors"])
    assert REFUSED.items() <= error.items()
    assert saw["text"] == ""


@pytest.mark.parametrize("case", BLOCKED)
def test_blocked_answers(verdicts: Verdicts, case: str, provider: str, dialect: str) -> None:
    saw = dict(verdicts[f"{provider} {case}", dialect])
    expect_counted(saw.pop("usage"))
    assert saw == {"text": "", "finish": "content-filter", "calls": 0, "errors": []}


@pytest.mark.parametrize("case", OBJECTS)
def test_there_is_no_object_in_a_blocked_answer(verdicts: Verdicts, case: str, provider: str, dialect: str) -> None:
    assert verdicts[f"{provider} {case}", dialect]["raised"] == "AI_NoObjectGeneratedError"


@pytest.mark.parametrize("case", ANNOTATED)
def test_annotations_are_no_hindrance(verdicts: Verdicts, case: str, provider: str, dialect: str) -> None:
    expected = {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "calls": 0, "errors": []}
    assert verdicts[f"{provider} {case}", dialect] == expected
