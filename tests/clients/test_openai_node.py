"""The openai package for Node, in all four dialects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import PIECES, TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts, plain

CALL = ["call_1", "function", "get_weather", {"city": "Paris"}]
SAID = {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "calls": [], "role": "assistant", "model": "up-1"}
COUNTED = {**SAID, "usage": [8, 6, 14]}
CALLED = {**SAID, "text": "", "finish": "tool_calls", "calls": [CALL], "usage": None}
JOINED = {"text": TEXT, "roles": ["assistant"], "finish": ["stop"], "ids": 1}

SAW: dict[str, Any] = {
    "text": SAID,
    "crooked_text": {**COUNTED, "model": "crooked-text"},
    "stream": {**JOINED, "usage": [[9, 5, 14]]},
    "stream_crooked": {**JOINED, "usage": []},
    "helper_text": SAID,
    "helper_crooked_text": COUNTED,
    "helper_tools": CALLED,
    "helper_crooked_tools": CALLED,
    "helper_two": ["no. 0", "no. 1"],
    "helper_length": {**SAID, "finish": "length", "usage": None},
    "helper_logprobs": list(PIECES),
    "parse": {"name": "Ada", "age": 36},
    "tools": {**CALLED, "text": None, "usage": [9, 5, 14]},
    "run_tools": [TEXT, ["Paris"]],
    "refusal": [None, "I cannot."],
    "headers": ["req_", "application/json", "up-1"],
    "models": [["text", "text-async"], "text"],
    "retry": TEXT,
    "abort": TEXT,
}

MARITACA: dict[str, Any] = {  # its `content` is always a string [object-fields]
    "tools": {**CALLED, "usage": [9, 5, 14]},
    "refusal": ["", "I cannot."],
}

CUT = {
    "raised": "APIError",
    "code": "upstream_truncated",
}
ERRORS: dict[str, dict[str, Any]] = {
    "invalid": {
        "raised": "BadRequestError",
        "message": "400 Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
        "status": 400,
        "code": "decimal_above_max_value",
        "param": "temperature",
    },
    "wrong": {
        "raised": "BadRequestError",
        "message": "400 no such thing",
        "status": 400,
        "code": "bad_tool",
        "param": "tools",
    },
    "locked": {
        "raised": "InternalServerError",
        "status": 502,
        "code": "upstream_error",
    },
    "late_error": {"raised": "APIError", "message": "overloaded, try later", "code": "upstream_error"},
    "truncated": CUT,
    "helper_truncated": CUT,
}


@pytest.fixture(scope="module")
def verdicts(run_node: Run) -> Verdicts:
    return run_node("openai_sdk.mjs")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    assert verdicts.keys() == {(case, dialect) for case in SAW | ERRORS for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", SAW)
def test_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    expected = MARITACA.get(case, SAW[case]) if dialect == "maritaca" else SAW[case]
    assert verdicts[case, dialect] == expected


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", ERRORS)
def test_errors(verdicts: Verdicts, case: str, dialect: str) -> None:
    expected = {key: value for key, value in ERRORS[case].items() if key != "param" or dialect != "crazyrouter"}
    assert expected.items() <= plain(verdicts[case, dialect], dialect).items()  # our own words are free
