"""Keys that do nothing yet: who writes one is told so, and no other key does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import antiphon
from antiphon.cli import main
from antiphon.settings.schema import IDLE, ROOT, Node, Rows, TableSchema

SOURCES = Path(antiphon.__file__).parent
FORMS = {"model.py", "schema.py"}  # of settings: where a key is described, not used


def test_check_names_each_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text('[server]\nlisten = "127.0.0.1:0"\n[accounts]\ncounters = "redis://x"\n')
    assert main(["check", "-c", str(path)]) == 0
    assert capsys.readouterr().err == (f"warning: {path}:4: [accounts]: 'counters' has no effect in this version.\n")


def test_check_names_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K", "sk-a")
    path = tmp_path / "antiphon.toml"
    path.write_text(
        '[[limit]]\nname = "x"\nconcurrent = 5\n\n[[limit]]\nname = "y"\nrequests_per_minute = 5\n\n'
        '[[key]]\nname = "a"\nsecret = "env:K"\n\n'
        '[[key]]\nname = "k"\nsecret = "env:K2"\nlimits = { concurrent = 3 }\n'
    )
    monkeypatch.setenv("K2", "sk-b")
    assert main(["check", "-c", str(path)]) == 0
    said = capsys.readouterr().err
    assert f'warning: {path}:1: [[limit]] "x" has no effect in this version.\n' in said
    assert f'warning: {path}:5: [[limit]] "y" has no effect in this version.\n' in said
    assert f"warning: {path}:16: [[key]] \"k\": 'limits' has no effect in this version.\n" in said
    assert said.count("no effect") == 3


def test_check_names_the_variable(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_ACCOUNTS__COUNTERS", "redis://user:secret@host")
    assert main(["check"]) == 0
    said = capsys.readouterr()
    assert "warning: ANTIPHON_ACCOUNTS__COUNTERS: [accounts]: 'counters' has no effect in this version.\n" in said.err
    assert "secret" not in said.err + said.out


def leaves(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(node, Rows):
        yield from leaves(node.row, path)
    elif isinstance(node, TableSchema):
        for key, below in node.keys.items():
            yield from leaves(below, (*path, key))
    else:
        yield path


def test_these_are_exactly_the_keys_that_nothing_reads() -> None:
    """By their names: every key that is used is read somewhere as an attribute or by its word."""
    files = [file for file in SOURCES.rglob("*.py") if file.parent.name != "settings" or file.name not in FORMS]
    text = "\n".join(file.read_text() for file in files)
    used = set(re.findall(r"\.([a-z0-9_]+)\b", text)) | set(re.findall(r'"([a-z0-9_]+)"', text))
    assert {path for path in leaves(ROOT) if path[-1] not in used} <= set(IDLE)
    attributes = {f"{table}.{key}" for table, key in IDLE}
    assert not [name for name in attributes if re.search(rf"\b(settings\.)?{re.escape(name)}\b", text)]
