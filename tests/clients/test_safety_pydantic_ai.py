"""pydantic-ai on what is blocked and annotated, in every dialect that it can read."""

from __future__ import annotations

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts

PROMPTS = ("prompt", "prompt_stream")
WHOLE = ("blocked", "blocked_tools", "typed_blocked", "typed_by_tool_blocked")
STREAMED = ("blocked_stream", "blocked_tools_stream")
ANNOTATED = ("annotated", "annotated_stream", "async_stream")


def readable(*cases: str) -> list[tuple[str, str]]:
    """It refuses the `object` of Maritaca's whole answers (test_pydantic_ai)."""
    whole = {*WHOLE, "annotated"}
    return [(case, dialect) for case in cases for dialect in DIALECTS if dialect != "maritaca" or case not in whole]


@pytest.fixture(scope="module")
def verdicts(run_python: Run) -> Verdicts:
    return run_python("safety_pydantic_ai.py")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    cases = {*PROMPTS, *WHOLE, *STREAMED, *ANNOTATED}
    assert verdicts.keys() == {(case, dialect) for case in cases for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", PROMPTS)
def test_a_blocked_prompt_is_rejected(verdicts: Verdicts, case: str, dialect: str) -> None:
    saw = verdicts[case, dialect]
    assert (saw["raised"], saw["status_code"]) == ("ModelRequestRejectedError", 400)
    assert "'code': 'content_filter'" in saw["message"]


@pytest.mark.parametrize(("case", "dialect"), readable(*WHOLE, *STREAMED))
def test_a_blocked_answer_raises_an_error_of_its_own(verdicts: Verdicts, case: str, dialect: str) -> None:
    """Of an answer without anything in it; the agent's tool is not called."""
    saw = verdicts[case, dialect]
    assert saw["raised"] == "ContentFilterError"
    assert '"parts": []' in saw["message"]


@pytest.mark.parametrize(("case", "dialect"), readable(*ANNOTATED))
def test_annotations_are_no_hindrance(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == [TEXT, "stop"]
