"""litellm's SDK on a blocked prompt: its own error for that, in every dialect."""

from __future__ import annotations

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts

CASES = ("prompt", "prompt_stream", "fallback", "allowed")
VIOLATION = {
    "raised": "ContentPolicyViolationError",
    "status_code": 400,
    "is_bad_request": True,
    "code": "content_filter",
    "inner": "ResponsibleAIPolicyViolation",
}


@pytest.fixture(scope="module")
def verdicts(run_python_openai_2: Run) -> Verdicts:
    return run_python_openai_2("safety_litellm.py")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    assert verdicts.keys() == {(case, dialect) for case in CASES for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", ["prompt", "prompt_stream"])
def test_a_blocked_prompt_violates_the_content_policy(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == VIOLATION


@pytest.mark.parametrize("dialect", DIALECTS)
def test_its_router_falls_back(verdicts: Verdicts, dialect: str) -> None:
    assert verdicts["fallback", dialect] == "from the other"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_other_prompts_are_answered(verdicts: Verdicts, dialect: str) -> None:
    assert verdicts["allowed", dialect] == TEXT
