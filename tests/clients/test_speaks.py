"""Client libraries through the gateway to scripted upstreams that speak other vendors' protocols: text, streams, tools
and structured output read as if OpenAI had answered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from tests.clients.environments import NODE, PYTHON, node_client, python_client
from tests.clients.harness import VENDOR_NAMES, Run, Verdicts, collect, serving

SERVER = """
[server]
listen = "127.0.0.1:0"

[safety]
enabled = false
"""
UPSTREAM = """
[[upstream]]
name = "{vendor}"
protocol = "scripted"
speaks = "{vendor}"

[[route]]
model = "{vendor}/*"
targets = [{{ upstream = "{vendor}" }}]
"""
LIBRARIES = (
    "speaks_openai.py",
    "speaks_langchain.py",
    "speaks_pydantic_ai.py",
    "speaks_openai.mjs",
    "speaks_ai_sdk.mjs",
)
ECHO = "This is the scripted upstream. You said: Hi"
TOLD = "This is the scripted upstream. The tool said: sunny"
SAW = {
    "text": ECHO,
    "stream": ECHO,
    "tools": [TOLD, ["city"]],
    "stream_tools": [TOLD, ["city"]],
    "structured": {"name": "name", "age": 1},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    text = SERVER + "".join(UPSTREAM.format(vendor=vendor) for vendor in VENDOR_NAMES)

    @cache
    def run(script: str) -> Verdicts:
        command = [node_client(), NODE / script] if script.endswith(".mjs") else [python_client(), PYTHON / script]
        return collect([str(part) for part in command], dict.fromkeys(VENDOR_NAMES, f"{address}/v1"))

    with serving(text, tmp_path_factory.mktemp("speaks")) as address:
        yield run


@pytest.fixture(scope="module", params=LIBRARIES)
def verdicts(request: pytest.FixtureRequest, run: Run) -> Verdicts:
    return run(request.param)


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
@pytest.mark.parametrize("case", SAW)
def test_answers(verdicts: Verdicts, case: str, vendor: str) -> None:
    assert verdicts[case, vendor] == SAW[case]


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_thinking_comes_back_and_errors_are_errors(run: Run, vendor: str) -> None:
    verdicts = run("speaks_openai.py")
    assert verdicts["thinking_tools", vendor] == SAW["tools"]
    assert verdicts["truncated", vendor]["code"] == "upstream_truncated"
    assert verdicts["limited", vendor]["raised"] == "RateLimitError"
