"""Every key of the settings does something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import antiphon
from antiphon.settings.schema import ROOT, Node, Rows, TableSchema

SOURCES = Path(antiphon.__file__).parent
FORMS = {"model.py", "schema.py"}  # of settings: where a key is described, not used


def leaves(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(node, Rows):
        yield from leaves(node.row, path)
    elif isinstance(node, TableSchema):
        for key, below in node.keys.items():
            yield from leaves(below, (*path, key))
    else:
        yield path


def test_every_key_is_read_somewhere() -> None:
    """By their names, as attributes or words: a key that nothing reads would do nothing."""
    files = [file for file in SOURCES.rglob("*.py") if file.parent.name != "settings" or file.name not in FORMS]
    text = "\n".join(file.read_text() for file in files)
    used = set(re.findall(r"\.([a-z0-9_]+)\b", text)) | set(re.findall(r'"([a-z0-9_]+)"', text))
    assert [path for path in leaves(ROOT) if path[-1] not in used] == []
