"""The scripts of training/ and bench/ name what exists: they need libraries that are not installed here, so they are
read, not run."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted([*ROOT.glob("training/**/*.py"), *ROOT.glob("bench/*.py")])


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Modules of ours, with the names that are taken from them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "antiphon":
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_what_a_script_imports_exists(path: Path) -> None:
    for module, name in imported(path):
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")
