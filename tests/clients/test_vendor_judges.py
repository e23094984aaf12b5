"""The vendors' own SDKs as judges of what the gateway says to them: some hundred generated requests, each held to the
types of the SDK (tests/protocols/judges)."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.clients.environments import VENDORS, python_client
from tests.clients.harness import VENDOR_NAMES
from tools.bootstrap import ROOT

COUNT = 250  # requests to generate; some cannot be said to a vendor
LEAST = 100
PATIENCE = 300.0  # seconds, on a busy machine
# A request that the vendor would refuse. It comes last, to see that the judge looks.
WRONG = {
    "anthropic": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
    "bedrock": {"path": "/model/m/converse", "body": {"messages": [{"role": "user", "content": "Hi"}]}},
    "cohere": {"path": "/v2/chat", "body": {"model": "m", "stream": False, "messages": [{"role": "nobody"}]}},
    "gemini": {"body": {"contents": [{"role": "user", "parts": [{"words": "Hi"}]}]}, "vertex": False},
}


@pytest.mark.parametrize("vendor", VENDOR_NAMES)
def test_the_sdk_takes_what_we_say(vendor: str) -> None:
    said = run([sys.executable, "-m", f"tests.protocols.{vendor}_requests", str(COUNT)], "")
    assert said.returncode == 0, said.stderr[-2000:]
    lines = said.stdout.splitlines()
    assert len(lines) > LEAST
    judge = ROOT / "tests/protocols/judges" / f"{vendor}.py"
    judged = run([str(python_client(VENDORS)), str(judge)], "\n".join([*lines, json.dumps(WRONG[vendor])]) + "\n")
    assert judged.returncode == 1, judged.stderr[-2000:]
    faults = {int(number) for number in re.findall(r"^line (\d+): ", judged.stderr, re.MULTILINE)}
    assert faults == {len(lines) + 1}, judged.stderr[-2000:]


def run(command: list[str], given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=given, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
