"""pydantic-ai in every dialect that it can read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts

PERSON = {"name": "Ada", "age": 36}
LOOP = [TEXT, ["Paris"]]

WHOLE: dict[str, Any] = {
    "text": {"text": TEXT, "usage": [9, 5]},
    "crooked_text": TEXT,
    "tool_loop": LOOP,
    "crooked_tool_loop": LOOP,
    "typed": PERSON,
    "typed_by_tool": PERSON,
}
STREAMED: dict[str, Any] = {
    "stream": TEXT,
    "stream_crooked": TEXT,
    "stream_crooked_tool_loop": LOOP,
    "stream_typed": PERSON,
}
ERRORS = {"wrong": "no such thing", "late_error": "overloaded, try later", "truncated": "The upstream"}


@pytest.fixture(scope="module")
def verdicts(run_python: Run) -> Verdicts:
    return run_python("pydantic_ai_client.py")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    cases = WHOLE | STREAMED | ERRORS
    assert verdicts.keys() == {(case, dialect) for case in cases for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "maritaca"])
@pytest.mark.parametrize("case", WHOLE)
def test_whole_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == WHOLE[case]


@pytest.mark.parametrize("case", WHOLE)
def test_maritacas_object_is_what_it_refuses(verdicts: Verdicts, case: str) -> None:
    """It insists on `chat.completion`; Maritaca's whole answers say `chat_completion` [maritaca-object]."""
    saw = verdicts[case, "maritaca"]
    assert saw["raised"] == "UnexpectedModelBehavior"
    assert "1 validation error" in saw["message"]
    assert "input_value='chat_completion'" in saw["message"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", STREAMED)
def test_streams(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == STREAMED[case]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", ERRORS)
def test_errors(verdicts: Verdicts, case: str, dialect: str) -> None:
    saw = verdicts[case, dialect]
    assert saw["raised"] in ("ModelRequestRejectedError", "ModelServerError", "ModelAPIError")
    assert ERRORS[case] in saw["message"]
