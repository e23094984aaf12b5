"""No process of ours looks up or contacts anything that the settings do not name, nor leaves files elsewhere."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.upstreams.scripted import ScriptedUpstream, json_answer
from tests.support.process import COMMAND, PATIENCE, Process
from tests.support.raw import call
from tests.support.shapes import completion
from tests.support.trap import Trap, trapped, why_not

REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
ASK = {"messages": [{"role": "user", "content": "I will kill you. What is the capital of France?"}], "max_tokens": 8}
CONTACT = "import socket; socket.create_connection(('192.0.2.1', 443), 5)"
LOOKUP = "import socket; socket.getaddrinfo('telemetry.invalid', 443)"
# onnxruntime writes a moment after it was imported.
LINGER = "import antiphon.evaluators.embedded, os, threading; threading.Event().wait(1.5); os._exit(0)"


class Place:
    """Empty folders for what programs leave behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names = {"HOME": "home", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state", "TMPDIR": "tmp"}
        for name in [*self.names.values(), "work"]:
            (folder / name).mkdir()

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
        for name in ("CI", "GITHUB_ACTIONS"):  # telemetry is quieter there
            kept.pop(name, None)
        return {**kept, **{name: str(self.folder / place) for name, place in self.names.items()}}

    def left(self) -> set[str]:
        """Files, below the folders that stand for the user's."""
        places = [self.folder / name for name in self.names.values()]
        return {str(f.relative_to(self.folder)) for place in places for f in place.rglob("*") if not f.is_dir()}

    def is_ours(self, where: str) -> bool:
        """A socket in the gateway's private directory."""
        return where.startswith(f"{self.folder}/tmp/antiphon-")


@pytest.fixture
def place() -> Iterator[Place]:
    """With a short name: sockets lie there."""
    with tempfile.TemporaryDirectory(prefix="trap-", dir="/tmp") as folder:
        yield Place(Path(folder))


def run(trap: Trap, place: Place, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        trap.command(*command),
        capture_output=True,
        text=True,
        timeout=120,
        env={**place.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        pass_fds=[trap.theirs.fileno()],
    )


@pytest.mark.parametrize(("program", "found"), [(CONTACT, "192.0.2.1 443 by "), (LOOKUP, "")])
def test_the_trap_catches_contacts_and_lookups(place: Place, program: str, found: str) -> None:
    if program == LOOKUP and not Path("/etc/resolv.conf").exists():
        pytest.skip("this machine has no resolver")
    with trapped(place.is_ours) as trap:
        done = run(trap, place, sys.executable, "-c", program)
    assert done.returncode != 0
    assert trap.contacts
    assert all(contact.startswith(found) for contact in trap.contacts)


def test_the_classifier_alone(place: Place) -> None:
    with trapped(place.is_ours) as trap:
        done = run(trap, place, sys.executable, "-c", LINGER)
    assert (done.returncode, done.stderr) == (0, "")
    assert trap.contacts == []
    assert place.left() == set()


def test_judge(place: Place) -> None:
    with trapped(place.is_ours) as trap:
        done = run(trap, place, COMMAND, "judge", "I will kill you.")
    assert done.returncode == 0
    assert trap.contacts == []
    assert place.left() == set()


async def serve_and_ask(trap: Trap, place: Place, settings: str, models: list[str]) -> None:
    path = place.folder / "work/antiphon.toml"
    path.write_text(settings)
    process = await asyncio.create_subprocess_exec(
        *trap.command(COMMAND, "serve", "-c", str(path)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**place.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        pass_fds=[trap.theirs.fileno()],
    )
    try:
        gateway = Process(process)
        await gateway.ready()
        async with asyncio.timeout(PATIENCE):
            while True:
                ready = await call(gateway.port, "GET", "/readyz")
                if ready.json.get("evaluators") == "ready":
                    break
                await asyncio.sleep(0.02)
        for model in models:
            answer = await call(gateway.port, "POST", "/v1/chat/completions", {"model": model, **ASK})
            assert answer.status == 200
            assert answer.json["choices"][0]["content_filter_results"]
        process.send_signal(signal.SIGTERM)
        assert await gateway.ended() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


SERVER = """
[server]
listen = "127.0.0.1:0"
access_log = "off"
[[safety.evaluator]]
kind = "embedded"
[[safety.evaluator]]
kind = "protected"
[[safety.evaluator]]
kind = "rules"
lists = ["secrets"]
"""


async def test_serve_contacts_the_named_upstream_alone(place: Place) -> None:
    """Its answer has no usage, so that the tokenizer's process runs too."""
    document = completion()
    document.pop("usage", None)
    upstream = ScriptedUpstream([json_answer(document)])
    url = await upstream.start()
    port = url.rpartition(":")[2].partition("/")[0]
    text = f"""{SERVER}
[engine]
enabled = false
[[upstream]]
name = "named"
protocol = "openai"
url = {json.dumps(url)}
[[route]]
model = "m"
targets = [{{ upstream = "named" }}]
"""
    with trapped(lambda where: place.is_ours(where) or where == f"127.0.0.1 {port}") as trap:
        await serve_and_ask(trap, place, text, ["m"])
    await upstream.stop()
    assert trap.seen > 0
    assert trap.contacts == []
    assert place.left() == set()


async def test_serve_with_the_embedded_model_contacts_nobody(place: Place, model_file: Path) -> None:
    text = f"{SERVER}[engine]\nmodel = {json.dumps(str(model_file))}\nthreads = 1\n"
    with trapped(place.is_ours) as trap:
        await serve_and_ask(trap, place, text, ["any"])
    assert trap.seen > 0
    assert trap.contacts == []
    # docs/operations.md names them
    documented = {"state/antiphon/engine.log", "cache/antiphon/digests"}
    assert {name for name in place.left() if not name.startswith(tuple(documented))} == set()
