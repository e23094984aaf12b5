"""Completion and the manual page know every command and option that the parser knows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from antiphon.cli import build_parser, main
from antiphon.shell_help import SHELLS, walk, write_completion, write_man


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["antiphon", "key", "cr"], {"create"}),
        (["antiphon", "key", "create", "--na"], {"--name"}),
        (["antiphon", "serve", "--lis"], {"--listen"}),
        (["antiphon", "model", "fetch", "--o"], {"--only"}),
        (["antiphon", "completion", "f"], {"fish"}),
        (["antiphon", "serve", "-c", "antiphon.toml", "--li"], {"--listen"}),
    ],
)
def test_bash_completes(tmp_path: Path, words: list[str], expected: set[str]) -> None:
    script = tmp_path / "antiphon"
    script.write_text(write_completion(build_parser(), "bash"))
    ask = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _antiphon; printf "%s\\n" "${COMPREPLY[@]}"'
    said = subprocess.run(["bash", "-c", ask, str(script), *words], capture_output=True, text=True, check=True)
    assert set(said.stdout.split()) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_and_option_is_there(shell: str) -> None:
    script = write_completion(build_parser(), shell)
    for command in walk(build_parser()):
        for verb in command.verbs:
            assert verb in script
        for action in command.options:
            name = action.option_strings[-1]
            assert (f"-l {name[2:]}" if shell == "fish" and name.startswith("--") else name) in script


def test_the_manual_page_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["man"]) == 0
    page = capsys.readouterr().out
    assert page == write_man(build_parser(), page.split("antiphon ")[1].split('"')[0])
    for command in walk(build_parser()):
        assert " ".join(command.words).replace("-", "\\-").lower() in page.lower()
    assert not any(line.startswith("'") for line in page.splitlines())
