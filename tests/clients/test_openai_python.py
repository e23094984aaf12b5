"""The openai package for Python, in all four dialects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import PIECES, TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts, plain

CALL = ["call_1", "function", "get_weather", {"city": "Paris"}]
SAID = {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "calls": [], "role": "assistant", "model": "up-1"}
COUNTED = {**SAID, "usage": [8, 6, 14]}  # by the rule of thumb
CALLED = {**SAID, "text": None, "finish": "tool_calls", "calls": [CALL]}
JOINED = {"text": TEXT, "roles": ["assistant"], "finish": ["stop"], "ids": 1, "models": ["up-1"]}
PERSON = {"name": "Ada", "age": 36}

SAW: dict[str, Any] = {
    "text": SAID,
    "crooked_text": {**COUNTED, "model": "crooked-text"},
    "strictly": {"text": TEXT, "chunks": 1},
    "stream": {**JOINED, "usage": [[9, 5, 14]]},
    "stream_crooked": {**JOINED, "usage": []},
    "counted": [[8, 8, 16], [[8, 8, 16]]],  # 3 + 3 + "user" + "Hi"; the text is eight tokens of o200k
    "helper_text": SAID,
    "helper_crooked_text": COUNTED,
    "helper_tools": {**CALLED, "text": "", "usage": None},
    "helper_crooked_tools": {**CALLED, "text": "", "usage": None},
    "helper_only_calls": {**CALLED, "usage": None, "texts": []},
    "only_calls": CALLED,
    "helper_pictures": [TEXT, [[0, "a"], [1, "b"], [2, "c"]]],
    "pictures": [TEXT, ["a", "b", "c"]],
    "helper_two": ["no. 0", "no. 1"],
    "helper_parse": PERSON,
    "helper_refusal": ["", "I cannot."],
    "helper_logprobs": list(PIECES),
    "parse": PERSON,
    "tools": CALLED,
    "crooked_tools": CALLED,
    "two": ["no. 0", "no. 1"],
    "refusal": [None, "I cannot."],
    "reasoning": ["Greet back.", TEXT],
    "logprobs": [[piece, 1] for piece in PIECES],
    "later": SAID,
    "later_stream": TEXT,
    "later_helper": SAID,
    "headers": {
        "id": "req_",
        "type": "application/json",
        "stream id": "req_",
        "stream type": "text/event-stream",
        "text": TEXT,
        "same as": True,
    },
    "models": [["text", "model"], ["text-async", "model"]],
    "model": "text",
    "retry": {"text": TEXT, "waited": True},
}

MARITACA: dict[
    str, Any
] = {  # its `content` is always a string [object-fields], its `object` is its own [maritaca-object]
    "strictly": None,
    "tools": {**CALLED, "text": ""},
    "crooked_tools": {**CALLED, "text": ""},
    "only_calls": {**CALLED, "text": ""},
    "refusal": ["", "I cannot."],
}

LATE = {"raised": "APIError", "message": "overloaded, try later", "code": "upstream_error"}
CUT = {
    "raised": "APIError",
    "code": "upstream_truncated",
}
BAD_GATEWAY = {"raised": "InternalServerError", "status_code": 502, "code": "upstream_error"}
ERRORS: dict[str, dict[str, Any]] = {
    "invalid": {
        "raised": "BadRequestError",
        "message": "Error code: 400 - Invalid 'temperature': decimal above maximum value. "
        "Expected a value <= 2, but got 3 instead.",
        "status_code": 400,
        "code": "decimal_above_max_value",
        "param": "temperature",
    },
    "wrong": {
        "raised": "BadRequestError",
        "message": "Error code: 400 - no such thing",
        "status_code": 400,
        "code": "bad_tool",
        "param": "tools",
    },
    "locked": BAD_GATEWAY,
    "down": {**BAD_GATEWAY, "message": "Error code: 502 - The scripted upstream answers 500, as asked."},
    "early_error": {**BAD_GATEWAY, "message": "Error code: 502 - overloaded, try later"},
    "late_error": LATE,
    "truncated": CUT,
    "helper_truncated": CUT,
    "later_truncated": CUT,
    "broken_off": CUT,
}

OWN_ERRORS = {  # the package's own, on a well-formed answer
    "helper_length": "LengthFinishReasonError",
    "helper_filtered": "ContentFilterFinishReasonError",
}


@pytest.fixture(scope="module")
def verdicts(run_python: Run) -> Verdicts:
    return run_python("openai_sdk.py")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    assert verdicts.keys() == {(case, dialect) for case in SAW | ERRORS | OWN_ERRORS for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", SAW)
def test_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    expected = MARITACA.get(case, SAW[case]) if dialect == "maritaca" else SAW[case]
    if expected is None:
        assert verdicts[case, dialect]["raised"] == "APIResponseValidationError"
    else:
        assert verdicts[case, dialect] == expected


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", ERRORS)
def test_errors(verdicts: Verdicts, case: str, dialect: str) -> None:
    expected = {key: value for key, value in ERRORS[case].items() if key != "param" or dialect != "crazyrouter"}
    assert expected.items() <= plain(verdicts[case, dialect], dialect).items()  # our own words are free


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", OWN_ERRORS)
def test_errors_of_the_package(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect]["raised"] == OWN_ERRORS[case]
