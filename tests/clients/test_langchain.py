"""langchain-openai in all four dialects, and langchain-maritaca in the dialect it was written for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts, plain

SAID = {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "calls": [], "invalid calls": 0}
CALLED = {**SAID, "text": "", "finish": "tool_calls", "calls": [["get_weather", {"city": "Paris"}, "call_1"]]}
PERSON = {"name": "Ada", "age": 36}

SAW: dict[str, Any] = {
    "text": SAID,
    "stream": SAID,
    "stream_crooked": {"text": TEXT, "finish": "stop", "calls": [], "invalid calls": 0, "counted": True},
    "later": SAID,
    "later_stream": TEXT,
    "tools": CALLED,
    "stream_tools": CALLED,
    "stream_crooked_tools": CALLED,
    "tool_loop": ["sunny in Paris", TEXT],
    "structured": PERSON,
    "structured_by_tool": PERSON,
    "two": ["no. 0", "no. 1"],
    "length": {**SAID, "finish": "length"},
}
ERRORS: dict[str, dict[str, Any]] = {
    "wrong": {
        "raised": "OpenAIInvalidRequestError",
        "message": "Error code: 400 - no such thing",
        "status_code": 400,
        "code": "bad_tool",
        "param": "tools",
    },
    "late_error": {"raised": "APIError", "message": "overloaded, try later", "code": "upstream_error"},
    "truncated": {
        "raised": "APIError",
        "code": "upstream_truncated",
    },
}
MARITACA: dict[str, Any] = {
    "text": {"text": TEXT, "usage": [9, 5, 14], "calls": []},
    "crooked_text": TEXT,
    "stream": TEXT,
    "later_stream": TEXT,
    "tools": {"text": "", "usage": [9, 5, 14], "calls": [["get_weather", {"city": "Paris"}, "call_1"]]},
    "retry": TEXT,
}


@pytest.fixture(scope="module")
def verdicts(run_python: Run) -> Verdicts:
    return run_python("langchain_client.py")


@pytest.fixture(scope="module")
def maritaca(run_python: Run) -> Verdicts:
    return run_python("maritaca_client.py")


def test_every_case_is_judged(verdicts: Verdicts, maritaca: Verdicts) -> None:
    assert verdicts.keys() == {(case, dialect) for case in SAW | ERRORS for dialect in DIALECTS}
    assert maritaca.keys() == {(case, "maritaca") for case in [*MARITACA, "wrong"]}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", SAW)
def test_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == SAW[case]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", ERRORS)
def test_errors(verdicts: Verdicts, case: str, dialect: str) -> None:
    expected = {key: value for key, value in ERRORS[case].items() if key != "param" or dialect != "crazyrouter"}
    assert expected.items() <= plain(verdicts[case, dialect], dialect).items()  # our own words are free


@pytest.mark.parametrize("case", MARITACA)
def test_answers_to_maritacas_own_client(maritaca: Verdicts, case: str) -> None:
    assert maritaca[case, "maritaca"] == MARITACA[case]


def test_an_error_for_maritacas_own_client(maritaca: Verdicts) -> None:
    saw = maritaca["wrong", "maritaca"]
    assert saw["raised"] == "HTTPStatusError"
    assert "400 Bad Request" in saw["message"]
