"""Clients that speak the Responses API: the openai packages for Python and Node, and the AI SDK's default."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import PIECES, TEXT
from tests.clients.environments import NODE, PYTHON, node_client, python_client
from tests.clients.harness import Seen, collect_plain

USAGE = [9, 5, 14]
SAID = {"text": TEXT, "status": "completed", "why": None, "usage": USAGE, "items": ["message"], "model": "up-1"}
PERSON = {"name": "Ada", "age": 36}
CALL = ["call_1", "get_weather", {"city": "Paris"}]

SAW_PYTHON: dict[str, Any] = {
    "text": SAID,
    "strictly": ["function_call", "response.completed"],
    "stream": [TEXT, SAID, True],
    "helper_text": [TEXT, SAID],
    "helper_tools": [CALL],
    "helper_parse": PERSON,
    "parse": PERSON,
    "tools": [[CALL], TEXT],
    "reasoning": ["Greet back.", TEXT, TEXT],
    "refusal": "I cannot.",
    "logprobs": list(PIECES),
    "length": {**SAID, "status": "incomplete", "why": "max_output_tokens"},
    "filtered": {**SAID, "status": "incomplete", "why": "content_filter"},
    "blocked": "response.incomplete",
    "later": TEXT,
}
INVALID = {"raised": "BadRequestError", "code": "decimal_above_max_value", "param": "temperature"}
LATE = {"raised": "APIError", "code": "upstream_error"}
ERRORS_PYTHON: dict[str, dict[str, Any]] = {
    "invalid": INVALID,
    "built_in": {"raised": "BadRequestError", "code": "unsupported_value", "param": "tools[0].type"},
    "wrong": {"raised": "BadRequestError", "code": "bad_tool", "param": "tools"},
    "late_error": LATE,
    "truncated": {"raised": "APIError", "code": "upstream_truncated"},
}
SAW_NODE: dict[str, Any] = {
    "text": {"text": TEXT, "status": "completed", "usage": USAGE},
    "stream": [TEXT, "response.completed"],
    "helper": TEXT,
    "parse": PERSON,
    "tools": ['{"city":"Paris"}', TEXT],
    "ai_text": [TEXT, 9, 5],
    "ai_stream": TEXT,
    "ai_object": PERSON,
    "ai_tools": [["Paris"], TEXT],
}
ERRORS_NODE: dict[str, dict[str, Any]] = {"invalid": INVALID, "late_error": LATE}


@pytest.fixture(scope="module")
def python(gateway: str) -> Seen:
    return collect_plain([str(python_client()), str(PYTHON / "responses_openai.py")], gateway)


@pytest.fixture(scope="module")
def node(gateway: str) -> Seen:
    return collect_plain([str(node_client()), str(NODE / "responses_openai.mjs")], gateway)


@pytest.mark.parametrize("case", SAW_PYTHON)
def test_answers_in_python(python: Seen, case: str) -> None:
    assert python[case] == SAW_PYTHON[case]


@pytest.mark.parametrize("case", ERRORS_PYTHON)
def test_errors_in_python(python: Seen, case: str) -> None:
    assert ERRORS_PYTHON[case].items() <= python[case].items()


@pytest.mark.parametrize("case", SAW_NODE)
def test_answers_in_node(node: Seen, case: str) -> None:
    assert node[case] == SAW_NODE[case]


@pytest.mark.parametrize("case", ERRORS_NODE)
def test_errors_in_node(node: Seen, case: str) -> None:
    assert ERRORS_NODE[case].items() <= node[case].items()
