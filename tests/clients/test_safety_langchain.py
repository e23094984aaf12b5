"""langchain-openai on what is blocked and annotated, in all four dialects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts, plain
from tests.clients.safety import expect_counted

PROMPTS = ("prompt", "prompt_stream", "prompt_later")
REFUSED: dict[str, Any] = {
    "raised": "OpenAIInvalidRequestError",
    "status_code": 400,
    "code": "content_filter",
    "param": "prompt",
}
BLOCKED = ("blocked", "blocked_later", "blocked_tools", "blocked_stream", "blocked_tools_stream")
SAW: dict[str, Any] = {
    "blocked_stream_later": "",
    "blocked_of_two": [["", "content_filter"], [TEXT, "stop"]],
    "structured_by_tool_blocked": None,  # as after any answer without a call
    "annotated": {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "calls": 0},
    "annotated_stream": {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "calls": 0},
    "async_stream": {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "calls": 0},
}


@pytest.fixture(scope="module")
def verdicts(run_python: Run) -> Verdicts:
    return run_python("safety_langchain.py")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    cases = {*PROMPTS, *BLOCKED, *SAW, "structured_blocked"}
    assert verdicts.keys() == {(case, dialect) for case in cases for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", PROMPTS)
def test_a_blocked_prompt_is_an_invalid_request(verdicts: Verdicts, case: str, dialect: str) -> None:
    expected = {key: value for key, value in REFUSED.items() if key != "param" or dialect != "crazyrouter"}
    assert expected.items() <= plain(verdicts[case, dialect], dialect).items()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", BLOCKED)
def test_blocked_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    saw = dict(verdicts[case, dialect])
    expect_counted(saw.pop("usage"))
    assert saw == {"text": "", "finish": "content_filter", "calls": 0}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", SAW)
def test_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == SAW[case]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_structured_output_raises_the_error_of_the_openai_package(verdicts: Verdicts, dialect: str) -> None:
    assert verdicts["structured_blocked", dialect]["raised"] == "ContentFilterFinishReasonError"
