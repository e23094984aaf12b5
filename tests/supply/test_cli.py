"""`antiphon model`: what goes to stdout, what to stderr, and the exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.cli import main
from antiphon.supply.files import MODEL
from tests.supply.fetch_kit import Shop, environment, selling

SETTINGS = "antiphon.toml"


def run(environ: dict[str, str], *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "antiphon", "model", *arguments]
    return subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.fixture
def offline(tmp_path: Path) -> dict[str, str]:
    with selling(Shop()) as shop:
        return environment(tmp_path, shop.url)


def test_the_path_is_told(offline: dict[str, str], tmp_path: Path) -> None:
    done = run(offline, "path", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path}/cache/antiphon/models/{MODEL.name}\n"


def test_a_fault_is_a_sentence_on_stderr_and_no_settings_are_read(offline: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text("these are no settings")
    done = run(offline, "fetch", "--only", "model", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "antiphon: The model SmolLM2-135M-Instruct could not be fetched (127.0.0.1: Connection refused;"
    )
    assert f"with the sha256 {MODEL.sha256}" in last
    assert f" at {tmp_path}/cache/antiphon/models/{MODEL.name}, or name another GGUF file in the settings" in last


def test_a_program_hears_the_fault_on_stdout_too(offline: dict[str, str], tmp_path: Path) -> None:
    done = run(offline, "fetch", "--only", "model", "--report", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("The model SmolLM2-135M-Instruct could not be fetched")
    assert done.stderr.splitlines()[-1] == f"antiphon: {done.stdout.rstrip()}"


def test_it_ends_well_while_the_host_holds_its_stdin(offline: dict[str, str], tmp_path: Path) -> None:
    """As the engine's host runs it, in a session of its own: a thread waits for the end of stdin meanwhile."""
    child = subprocess.Popen(
        [sys.executable, "-m", "antiphon", "model", "fetch", "--only", "model", "--report"],
        env=offline,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stderr is not None
        said, complaint = child.stdout.read(), child.stderr.read()
        assert child.wait(30) == 1, complaint  # not a signal's
    assert said.startswith("The model SmolLM2-135M-Instruct could not be fetched")
    assert "Fatal" not in complaint


@pytest.mark.parametrize("arguments", [["model"], ["model", "fly"], ["model", "fetch", "--only", "everything"]])
def test_misuse(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: antiphon model" in capsys.readouterr().err
