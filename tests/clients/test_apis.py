"""The SDKs of Anthropic, Google, Ollama and Maritaca against the gateway: each finds its own API, whatever protocol the
upstream behind it speaks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.clients.environments import PYTHON, VENDORS, python_client
from tests.clients.harness import VENDOR_NAMES, Run, Verdicts, collect, serving
from tests.clients.test_speaks import SERVER, UPSTREAM

UPSTREAMS = ("openai", *VENDOR_NAMES)
ECHO = "This is the scripted upstream. You said: Hello there"
LATER = "This is the scripted upstream. The tool said: clock: fine"
LISTED = '[[route]]\nmodel = "scripted"\ntargets = [{ upstream = "openai" }]\n'
THOUGHT = "The user wants an answer. An echo will do."
CALLS = [["get_weather", {"city": "city"}], ["clock", {}]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    text = SERVER + "".join(UPSTREAM.format(vendor=vendor) for vendor in UPSTREAMS) + LISTED

    @cache
    def run(script: str) -> Verdicts:
        command = [str(python_client(VENDORS)), str(PYTHON / script)]
        return collect(command, dict.fromkeys(UPSTREAMS, address))

    with serving(text, tmp_path_factory.mktemp("apis")) as address:
        yield run


@pytest.fixture(params=UPSTREAMS)
def speaks(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def check_saw(saw: Any, text: str, calls: list[Any], thought: str | None = "") -> None:
    assert (saw["text"], saw["calls"]) == (text, calls)
    if thought is not None:
        assert saw["thought"] == thought


@pytest.mark.parametrize("script", ["api_anthropic.py", "api_gemini.py", "api_ollama.py"])
def test_text_and_tools(run: Run, speaks: str, script: str) -> None:
    seen = run(script)
    for case in ("whole", "streamed"):
        check_saw(seen[case, speaks], ECHO, [])
    for case in ("tools", "streamed_tools"):
        first, later = seen[case, speaks]
        check_saw(first, "", CALLS, None)
        assert later == LATER
    assert seen["schema", speaks] == '{"name":"name"}'


@pytest.mark.parametrize("script", ["api_anthropic.py", "api_gemini.py"])
def test_thinking_with_tools(run: Run, speaks: str, script: str) -> None:
    """What is signed comes back as it came, or the upstream would refuse it."""
    seen = run(script)
    for case in ("thinking", "streamed_thinking"):
        first, later = seen[case, speaks]
        check_saw(first, "", CALLS, None)
        assert first["thought"] or speaks in ("openai", "cohere")
        assert later == LATER


def test_anthropics_own(run: Run, speaks: str) -> None:
    seen = run("api_anthropic.py")
    assert seen["tool_runner", speaks] == "This is the scripted upstream. The tool said: sunny in city"
    assert seen["asynchronous", speaks] == ECHO
    assert seen["request_id", speaks] is True
    assert seen["counts", speaks] > 0
    assert seen["limited", speaks]["raised"] == "RateLimitError"
    assert seen["overloaded", speaks]["raised"] in ("OverloadedError", "ServiceUnavailableError", "InternalServerError")
    assert "at least one message is required" in seen["empty", speaks]["message"]
    assert seen["cut", speaks]["raised"] == "APIStatusError"
    assert seen["late_error", speaks]["raised"] == "APIStatusError"
    if speaks != "cohere":  # it has no such end
        assert seen["refusal", speaks][0] == "refusal"
    events = seen["text_events", speaks]
    assert events[0] == "message_start"
    assert events[-1] == "message_stop"
    assert events.index("thinking") < events.index("text")


def test_googles_own(run: Run, speaks: str) -> None:
    seen = run("api_gemini.py")
    assert seen["automatic_calls", speaks] == "This is the scripted upstream. The tool said: sunny in city"
    assert seen["counts", speaks] > 0
    assert seen["limited", speaks]["raised"] == "ClientError"
    assert seen["overloaded", speaks]["raised"] == "ServerError"
    assert seen["empty", speaks]["raised"] == "ClientError"
    assert seen["cut", speaks]["raised"] == "ServerError"
    assert seen["late_error", speaks]["raised"] == "ServerError"


def test_ollamas_own_and_maritacas(run: Run, speaks: str) -> None:
    seen = run("api_ollama.py")
    assert seen["generated", speaks] == ECHO
    check_saw(seen["thinking", speaks], ECHO, [], THOUGHT)
    assert seen["models", speaks] == [True, ["completion", "tools"]]
    assert seen["limited", speaks]["raised"] == "ResponseError"
    assert seen["cut", speaks]["raised"] == "ResponseError"
    for case in ("maritalk_whole", "maritalk_streamed", "maritalk_asynchronous"):
        assert seen[case, speaks] == ECHO
    assert seen["maritalk_refused", speaks]["raised"] == "MaritalkHTTPError"
    assert "nobody" in seen["maritalk_refused", speaks]["message"]
