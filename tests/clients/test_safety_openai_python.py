"""The openai package for Python on what is blocked and annotated, in all four dialects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts, plain
from tests.clients.safety import (
    MODERATED,
    expect_blocked,
    expect_blocked_late,
    expect_counted,
    expect_findings,
    expect_prompt_refused,
    expect_told_later,
)

PROMPTS = ("prompt", "prompt_stream", "prompt_helper")
REFUSED: dict[str, Any] = {"raised": "BadRequestError", "status_code": 400, "code": "content_filter", "param": "prompt"}
WHOLE = ("blocked", "blocked_later", "blocked_of_two", "blocked_tools")
STREAMED = ("blocked_stream", "blocked_stream_later", "blocked_of_two_stream", "blocked_tools_stream")
OWN_ERRORS = ("helper_blocked", "helper_blocked_tools", "parse_blocked")
ANNOTATED = ("annotated", "annotated_stream", "annotated_helper")
MODERATIONS = ("moderations", "moderations_strictly", "moderations_later")
REST = {"async_stream", "async_helper", "prompt_later", "blocked_strictly", "blocked_late"}


@pytest.fixture(scope="module")
def verdicts(run_python: Run) -> Verdicts:
    return run_python("safety_openai.py")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    cases = REST.union(PROMPTS, WHOLE, STREAMED, OWN_ERRORS, ANNOTATED, MODERATIONS)
    assert verdicts.keys() == {(case, dialect) for case in cases for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", [*PROMPTS, "prompt_later"])
def test_a_blocked_prompt_is_a_bad_request(verdicts: Verdicts, case: str, dialect: str) -> None:
    expected = {key: value for key, value in REFUSED.items() if key != "param" or dialect != "crazyrouter"}
    assert expected.items() <= plain(verdicts[case, dialect], dialect).items()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", PROMPTS)
def test_the_errors_body_says_why(verdicts: Verdicts, case: str, dialect: str) -> None:
    expect_prompt_refused(verdicts[case, dialect])


def choices_of(case: str) -> int:
    return 2 if "two" in case else 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", WHOLE)
def test_blocked_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    saw = verdicts[case, dialect]
    expect_blocked(saw, dialect, choices_of(case))
    assert saw["text"][0] == ("" if dialect == "maritaca" else None)  # its `content` is always a string [object-fields]
    assert saw["usage"] == [9, 5, 14]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", STREAMED)
def test_blocked_streams(verdicts: Verdicts, case: str, dialect: str) -> None:
    expect_blocked(verdicts[case, dialect], dialect, choices_of(case))
    (usage,) = verdicts[case, dialect]["usage"]
    expect_counted(usage)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_is_blocked_late(verdicts: Verdicts, dialect: str) -> None:
    expect_blocked_late(verdicts["blocked_late", dialect], dialect)
    (usage,) = verdicts["blocked_late", dialect]["usage"]
    expect_counted(usage)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_packages_types_have_room_for_it(verdicts: Verdicts, dialect: str) -> None:
    saw = verdicts["blocked_strictly", dialect]
    if dialect == "maritaca":  # its `object` is its own [maritaca-object]
        assert saw["raised"] == "APIResponseValidationError"
    else:
        assert saw == ["content_filter", ["content_filter"]]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", OWN_ERRORS)
def test_the_helpers_raise_an_error_of_their_own(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect]["raised"] == "ContentFilterFinishReasonError"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", ANNOTATED)
def test_annotations_stand_beside_the_text(verdicts: Verdicts, case: str, dialect: str) -> None:
    saw = verdicts[case, dialect]
    assert (saw["text"], saw["finish"], saw["calls"]) == ([TEXT], ["stop"], 0)
    assert saw["usage"] in ([9, 5, 14], [[9, 5, 14]])
    expect_findings(saw, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_verdicts_that_follow_the_text(verdicts: Verdicts, dialect: str) -> None:
    expect_told_later(verdicts["async_stream", dialect])
    assert verdicts["async_helper", dialect] == [TEXT, "stop", [9, 5, 14]]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", MODERATIONS)
def test_moderations(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == MODERATED
