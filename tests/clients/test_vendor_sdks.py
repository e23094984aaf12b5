"""The vendors' own SDKs against the scripted upstream: what it says in each language is what the vendor's types read,
and what the vendor would refuse it refuses with the error that the SDK knows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.harness import VENDOR_NAMES, Ask, Seen

ECHO = "This is the scripted upstream. You said: Hello there"
THOUGHT = "The user wants an answer. An echo will do."
PLAN = "I will use the tools: get_weather, clock."
SOURCE = "https://example.org/source"
CALLS = [["get_weather", {"city": "city"}], ["clock", {}]]
LATER = "This is the scripted upstream. The tool said: clock: fine"
FINISHED = {"anthropic": "end_turn", "bedrock": "end_turn", "cohere": "COMPLETE", "gemini": "STOP"}
CALLED = {"anthropic": "tool_use", "bedrock": "tool_use", "cohere": "TOOL_CALL", "gemini": "STOP"}
COUNTED = {"plain": [8, 11], "calls": [12, 8], "thinking": [12, 19]}

# What each raises, by the case, and a part of what it says.
RAISED: dict[str, dict[str, tuple[str, str]]] = {
    "limited": {
        "anthropic": ("RateLimitError", "rate_limit_error"),
        "bedrock": ("ThrottlingException", "answers 429, as asked"),
        "cohere": ("TooManyRequestsError", "'retry-after': '9'"),
        "gemini": ("ClientError", "'retryDelay': '9s'"),
    },
    "overloaded": {
        "anthropic": ("OverloadedError", "overloaded_error"),
        "bedrock": ("ServiceUnavailableException", "503"),
        "cohere": ("ServiceUnavailableError", "503"),
        "gemini": ("ServerError", "UNAVAILABLE"),
    },
    "wrong_key": {
        "anthropic": ("AuthenticationError", "invalid x-api-key"),
        "bedrock": ("ClientError", "InvalidSignatureException"),
        "cohere": ("UnauthorizedError", "invalid api token"),
        "gemini": ("ClientError", "API_KEY_INVALID"),
    },
    "empty": {
        "anthropic": ("BadRequestError", "messages: at least one message is required"),
        "bedrock": ("ValidationException", "The content field in the Message object at messages.0 is empty."),
        "cohere": ("BadRequestError", "messages must be at least 1 item long"),
        "gemini": ("ClientError", "contents.parts must not be empty"),
    },
    "changed_thinking": {
        "anthropic": ("BadRequestError", "Invalid `signature` in `thinking` block"),
        "bedrock": ("ValidationException", "Invalid `signature` in `thinking` block"),
        "gemini": ("ClientError", "Corrupted thought signature."),
    },
    "cut": {
        "anthropic": ("RemoteProtocolError", "incomplete chunked read"),
        "bedrock": ("ProtocolError", "prematurely"),
        "cohere": ("RemoteProtocolError", "incomplete chunked read"),
        "gemini": ("RemoteProtocolError", "incomplete chunked read"),
    },
    "late_error": {
        "anthropic": ("APIStatusError", "overloaded_error"),
        "bedrock": ("EventStreamError", "serviceUnavailableException"),
        "gemini": ("ServerError", "The model is overloaded."),
    },
    "malformed": {
        "anthropic": ("JSONDecodeError", ""),
        "bedrock": ("KeyError", ""),  # it reads what is left of the payload
        "gemini": ("UnknownApiResponseError", "Failed to parse response as JSON"),
    },
    "bad_frame": {
        "anthropic": ("RemoteProtocolError", "illegal chunk header"),
        "bedrock": ("ChecksumMismatch", "Checksum mismatch"),
        "cohere": ("RemoteProtocolError", "illegal chunk header"),
        "gemini": ("RemoteProtocolError", "illegal chunk header"),
    },
}
OTHERS: dict[str, dict[str, Any]] = {
    "refusal": {
        "anthropic": ["refusal", "I cannot help with that."],
        "bedrock": "content_filtered",
        "cohere": "I cannot help with that.",
        "gemini": "SAFETY",
    },
    "blocked": {"bedrock": "guardrail_intervened", "gemini": [None, "SAFETY"]},
    "counts": {"anthropic": 8, "gemini": 8},
    "models": {"anthropic": ["scripted", "scripted-cut"], "gemini": ["scripted", "scripted-cut"]},
    "late_error": {"cohere": "ERROR"},  # its finish reason
    "malformed": {"cohere": None},  # its SDK passes over an event that is no JSON
}


@pytest.fixture(scope="module", params=VENDOR_NAMES)
def vendor(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def seen(vendor: str, ask_vendor: Ask) -> Seen:
    return ask_vendor(vendor)


def said(text: str, finish: str, calls: list[Any], thought: str, counted: str) -> dict[str, Any]:
    return {"text": text, "finish": finish, "calls": calls, "thought": thought, "counted": COUNTED[counted]}


@pytest.mark.parametrize("case", ["whole", "streamed", "bytes_alone"])
def test_text(seen: Seen, vendor: str, case: str) -> None:
    assert seen[case] == said(ECHO, FINISHED[vendor], [], "", "plain")


@pytest.mark.parametrize("case", ["tools", "streamed_tools"])
def test_tools(seen: Seen, vendor: str, case: str) -> None:
    plan = PLAN if vendor == "cohere" else ""
    assert seen[case] == [said("", CALLED[vendor], CALLS, plan, "calls"), LATER]


@pytest.mark.parametrize("case", ["thinking", "streamed_thinking"])
def test_thinking_with_tools(seen: Seen, vendor: str, case: str) -> None:
    """Google counts thoughts apart."""
    counted = "calls" if vendor == "gemini" else "thinking"
    assert seen[case] == [said("", CALLED[vendor], CALLS, THOUGHT, counted), LATER]


def test_structured_output(seen: Seen) -> None:
    assert seen["schema"] == '{"name":"name"}'


def test_sources(seen: Seen) -> None:
    assert seen["citations"] == SOURCE


@pytest.mark.parametrize("case", OTHERS)
def test_what_only_some_have(seen: Seen, vendor: str, case: str) -> None:
    if vendor in OTHERS[case]:
        assert seen[case] == OTHERS[case][vendor]


@pytest.mark.parametrize("case", RAISED)
def test_errors(seen: Seen, vendor: str, case: str) -> None:
    if vendor in RAISED[case]:
        name, part = RAISED[case][vendor]
        assert seen[case]["raised"] == name
        assert part in seen[case]["message"]


def test_every_case_is_judged(seen: Seen, vendor: str) -> None:
    some = {case for table in (OTHERS, RAISED) for case, vendors in table.items() if vendor in vendors}
    usual = {"whole", "streamed", "bytes_alone", "tools", "streamed_tools", "thinking", "streamed_thinking"}
    assert seen.keys() == some | usual | {"schema", "citations"}
