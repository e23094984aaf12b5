"""One class name has one meaning in all rooms."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src/antiphon"
PORTS = "flow/ports.py"


def classes() -> dict[str, list[str]]:
    """The files that define a class of each name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(SOURCE).as_posix())
    return found


def test_a_class_name_stands_once() -> None:
    """A port and the class that fills it may share a name: they are the same thing."""
    twice = {name: files for name, files in classes().items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if len(files) > 2 or PORTS not in files} == {}
