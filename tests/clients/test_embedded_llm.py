"""Simon Willison's command `llm` on the embedded model, added as its manual adds OpenAI-compatible models."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.environments import python_client
from tests.clients.harness import PATIENCE, without_proxies
from tests.support.engine import Gateway

MODELS = """
- model_id: tiny
  model_name: smollm2-135m-instruct
  api_base: {url}/v1
  supports_schema: true
  supports_tools: true
"""
WEATHER = """
def get_weather(city: str) -> str:
    "The weather in a city."
    return "22 °C in " + city
"""
TOOL = ("--functions", WEATHER, "--tools-debug", "What is the weather in Paris?")
ADA = "Ada is 36 years old. Give her name and age."
Done = subprocess.CompletedProcess[str]
Command = Callable[..., Done]


@pytest.fixture
def llm(embedded: Gateway, tmp_path: Path) -> Command:
    (tmp_path / "extra-openai-models.yaml").write_text(MODELS.format(url=embedded.url))
    command = [str(python_client().parent / "llm"), "-m", "tiny", "-o", "temperature", "0", "-o", "max_tokens", "60"]
    environ = {**without_proxies(), "LLM_USER_PATH": str(tmp_path)}

    def run(*words: str) -> Done:
        done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=PATIENCE, env=environ)
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.mark.parametrize("options", [[], ["--no-stream"]])
def test_a_prompt(llm: Command, options: list[str]) -> None:
    done = llm(*options, "--usage", "What is 2+2?")
    assert done.stdout.strip()
    assert re.search(r"Token usage: [1-9]\d* input, [1-9]\d* output", done.stderr)


def test_a_schema(llm: Command) -> None:
    person = json.loads(llm("--schema", "name, age int", ADA).stdout)
    assert {name: type(value) for name, value in person.items()} == {"name": str, "age": int}


def test_a_tool_then_a_text(llm: Command) -> None:
    expect_weather(llm("--no-stream", *TOOL))


def test_the_conversation_goes_on_after_a_tool(llm: Command) -> None:
    expect_weather(llm(*TOOL))
    later = llm("--continue", "And what is 3+3?").stdout
    assert later.strip()
    assert "get_weather(" not in later  # how a call was told to the model is not for the user


def expect_weather(done: Done) -> None:
    assert "Tool call: get_weather({'city': 'Paris'})\n  22 °C in Paris" in done.stderr
    assert done.stdout.strip()
