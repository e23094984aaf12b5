"""The Vercel AI SDK with both of its OpenAI providers, in all four dialects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.cases import TEXT
from tests.clients.harness import DIALECTS, Run, Verdicts, plain

PROVIDERS = ("openai", "compatible")
PERSON = {"name": "Ada", "age": 36}
SAID = {"text": TEXT, "finish": "stop", "usage": [9, 5, 14], "reasoning": None}
STREAMED = {"text": TEXT, "reasoning": "", "finish": "stop", "errors": [], "usage": [9, 5, 14]}

SAW: dict[str, Any] = {
    "text": SAID,
    "crooked_text": TEXT,
    "stream": STREAMED,
    "stream_crooked": TEXT,
    "calls": [[["call_1", "get_weather", {"city": "Paris"}]], "tool-calls"],
    "tool_loop": [TEXT, ["Paris"]],
    "crooked_tool_loop": [TEXT, ["Paris"]],
    "stream_tool_loop": [TEXT, ["Paris"], []],
    "stream_crooked_tool_loop": [TEXT, ["Paris"], []],
    "stream_only_calls": [0, [{"city": "Paris"}]],  # no part of text, not even an empty one
    "object": PERSON,
    "object_stream": [PERSON, True],
    "reasoning": SAID,
    "stream_reasoning": STREAMED,
    "length": {**STREAMED, "finish": "length"},
    "filtered": {**STREAMED, "finish": "content-filter"},
}
READS_REASONING = {  # the OpenAI provider knows no `reasoning_content`
    "reasoning": {**SAID, "reasoning": "Greet back."},
    "stream_reasoning": {**STREAMED, "reasoning": "Greet back."},
}
WRONG = {"raised": "AI_APICallError", "message": "no such thing", "statusCode": 400}
LATE = {"late_error": "upstream_error", "truncated": "upstream_truncated"}


@pytest.fixture(scope="module")
def verdicts(run_node: Run) -> Verdicts:
    return run_node("ai_sdk.mjs")


def test_every_case_is_judged(verdicts: Verdicts) -> None:
    cases = {f"{provider} {case}" for provider in PROVIDERS for case in [*SAW, *LATE, "wrong"]}
    assert verdicts.keys() == {(case, dialect) for case in cases for dialect in DIALECTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("case", SAW)
def test_answers(verdicts: Verdicts, case: str, provider: str, dialect: str) -> None:
    expected = READS_REASONING.get(case, SAW[case]) if provider == "compatible" else SAW[case]
    assert verdicts[f"{provider} {case}", dialect] == expected


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_before_the_answer(verdicts: Verdicts, provider: str, dialect: str) -> None:
    assert plain(verdicts[f"{provider} wrong", dialect], dialect) == WRONG


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("case", LATE)
def test_an_error_in_mid_stream(verdicts: Verdicts, case: str, provider: str, dialect: str) -> None:
    saw = verdicts[f"{provider} {case}", dialect]
    (error,) = (plain(error, dialect) for error in saw["errors"])
    assert error["code"] == LATE[case]
    assert (saw["text"], saw["finish"]) == ("Hel", "error")  # the text that had left stays
