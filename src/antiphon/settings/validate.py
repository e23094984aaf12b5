"""Reads a document against the schema: every fault is noted, what is sound is built.

Nothing stops at the first fault. A part with a fault in it becomes FAILED, and so does what holds it; its neighbours
are still read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Final

from antiphon.document import Document
from antiphon.settings.faults import Path, SettingsFault, Wrong, printable, quoted
from antiphon.settings.schema import OTHER_NAMES, ROOT, Many, Node, Rows, TableSchema
from antiphon.settings.toml_lines import locate
from antiphon.settings.value_types import Site, ValueType, closest, name_type, suggest


class Failed(Enum):
    FAILED = 0


FAILED: Final = Failed.FAILED


class Places:
    """Where each value came from: a line of the file, or the variable laid over it."""

    def __init__(self, file: str | None, text: str) -> None:
        self._file = file
        self._text = text
        self.variables: dict[Path, str] = {}

    @cached_property
    def _lines(self) -> Mapping[Path, int]:
        """Sought for the first fault: sound settings do without."""
        return locate(self._text)

    def find(self, path: Path) -> tuple[int, str]:
        """(line, where); the line is 0 for what is not from the file. What is not written stands in its table."""
        outward = [path[:end] for end in range(len(path), 0, -1)]
        for part in outward:  # first, because a variable replaces all that the file has below it
            if part in self.variables:
                return 0, self.variables[part]
        for part in outward:
            if part in self._lines:
                return self._lines[part], f"{self._file}:{self._lines[part]}"
        return (1, f"{self._file}:1") if self._file else (0, "settings")


class Faults:
    """Gathers faults and tells them in the order of the file, then those of the environment."""

    def __init__(self, document: Document, places: Places) -> None:
        self._document = document
        self._places = places
        self._found: list[tuple[int, SettingsFault]] = []
        self.expected: set[Path] = set()  # what misspelled keys were meant to be

    def add(self, path: Path, message: str, *, at: Path | None = None) -> None:
        """`path` is the table or value that the sentence is about; `at` where to point, if elsewhere."""
        line, where = self._places.find(path if at is None else at)
        subject = describe(path, self._document)
        self.tell(SettingsFault(where, f"{subject}: {message}" if subject else message), line)

    def miss(self, path: Path) -> None:
        """A key must be there. Said once: not again where a misspelled one has been named."""
        if path not in self.expected:
            self.add(path, f"'{spell(path)}' is missing")

    def tell(self, fault: SettingsFault, line: int = 0) -> None:
        self._found.append((line, fault))

    def __bool__(self) -> bool:
        return bool(self._found)

    def ordered(self) -> tuple[SettingsFault, ...]:
        found = sorted(self._found, key=lambda pair: (pair[0] == 0, pair[0]))
        return tuple(fault for _, fault in found)


def describe(path: Path, document: Document) -> str:
    """The table as its writer knows it: [server], [[upstream]] "openai", [[route]] 2 where it has no name."""
    if not path or not isinstance(path[0], str):
        return ""
    node = ROOT.keys.get(path[0])
    if not isinstance(node, Rows):
        return f"[{path[0]}]" if node else ""
    if len(path) == 1 or not isinstance(path[1], int):
        return f"[[{path[0]}]]"
    return f"[[{path[0]}]] {row_label(document, path[0], path[1], node.label)}"


def row_label(document: Document, table: str, position: int, label: str) -> str:
    rows = document.get(table)
    row = rows[position] if isinstance(rows, list) and position < len(rows) else None
    name = row.get(label) if isinstance(row, dict) else None
    return f'"{printable(name)}"' if isinstance(name, str) and name else str(position + 1)


def spell(path: Path) -> str:
    """A key inside its table: 'listen', 'timeout.idle', 'targets[0].weight'."""
    start = 2 if len(path) > 1 and isinstance(path[1], int) else 1
    text = ""
    for part in path[start:]:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return printable(text)


def rows(document: Document, table: str) -> Iterator[tuple[int, Document]]:
    """What is sound enough to be looked at: the tables in an array of tables, with their positions."""
    written = document.get(table)
    for position, row in enumerate(written if isinstance(written, list) else ()):
        if isinstance(row, dict):
            yield position, row


class Validator:
    def __init__(self, document: Document, site: Site, faults: Faults) -> None:
        self._document = document
        self._site = site
        self._faults = faults

    def read(self, node: Node, value: object, path: Path) -> object:
        if isinstance(node, ValueType):
            return self._plain(node, value, path)
        if isinstance(node, Many):
            return self._many(node, value, path)
        if isinstance(node, Rows):
            return self._rows(node, value, path)
        return self._table(node, value, path)

    def _plain(self, kind: ValueType, value: object, path: Path) -> object:
        try:
            return kind.read(value, self._site)
        except Wrong as wrong:
            self._report(path, str(wrong))
            return FAILED

    def _many(self, node: Many, value: object, path: Path) -> object:
        if not isinstance(value, list):
            self._report(path, f"must be an array of strings, not {name_type(value)}")
            return FAILED
        items = [self._plain(node.item, item, (*path, position)) for position, item in enumerate(value)]
        return FAILED if FAILED in items else tuple(dict.fromkeys(items))

    def _rows(self, node: Rows, value: object, path: Path) -> object:
        if not isinstance(value, list):
            self._report(path, _expected_rows(path, value))
            return FAILED
        if len(value) < node.least:
            self._report(path, f'needs at least {node.least} entry, such as {{ {node.label} = "…" }}')
            return FAILED
        rows = [self._table(node.row, row, (*path, position)) for position, row in enumerate(value)]
        return FAILED if FAILED in rows else tuple(rows)

    def _table(self, table: TableSchema, value: object, path: Path) -> object:
        if isinstance(value, str) and value in table.short:
            value = {table.short[value]: value}
        if not isinstance(value, dict):
            self._report(path, _expected_table(table, path, value))
            return FAILED
        values = {key: self._entry(table, key, item, (*path, key)) for key, item in value.items()}
        missing = [key for key in table.required if key not in value]
        for key in missing:
            self._faults.miss((*path, key))
        if missing or FAILED in values.values():
            return FAILED
        return self._build(table, values, path)

    def _entry(self, table: TableSchema, key: str, value: object, path: Path) -> object:
        node = table.keys.get(key)
        if node is not None:
            return self.read(node, value, path)
        self._unknown(table, key, path)
        return FAILED

    def _build(self, table: TableSchema, values: Mapping[str, object], path: Path) -> object:
        built = table.build(**values)
        if table.check is None:
            return built
        try:
            table.check(built)
        except Wrong as wrong:
            self._report(path, str(wrong))
            return FAILED
        return built

    # Faults.

    def _report(self, path: Path, message: str) -> None:
        key = spell(path)
        self._faults.add(path, f"'{key}' {message}" if key else message)

    def _unknown(self, table: TableSchema, key: str, path: Path) -> None:
        if len(path) == 1:
            self._faults.add(path, f"unknown {_what_at_root(key, self._document)}{_suggest_at_root(key)}")
            return
        meant = next((name for name in OTHER_NAMES.get(key.lower(), ()) if name in table.keys), None)
        meant = meant or closest(key, table.keys)
        hint = ""
        if meant:
            hint = f"; did you mean '{spell((*path[:-1], meant))}'?"
            self._faults.expected.add((*path[:-1], meant))
        self._faults.add(path, f"unknown key '{spell(path)}'{hint}")


def _expected_rows(path: Path, value: object) -> str:
    if len(path) == 1:
        return f"must be written [[{path[0]}]], with two brackets" if isinstance(value, dict) else "must be tables"
    return f"must be an array of tables, not {name_type(value)}"


def _expected_table(table: TableSchema, path: Path, value: object) -> str:
    if len(path) == 1 and isinstance(value, list):
        return f"must be written [{path[0]}], with one bracket"
    if table.short and isinstance(value, str):
        return f"must be one of {', '.join(table.short)}, or a table, not {quoted(value)}{suggest(value, table.short)}"
    keys = ", ".join(table.keys if len(table.keys) < 5 else table.required)
    return f"must be a table{f' with {keys}' if keys else ''}, not {name_type(value)}"


def _what_at_root(key: str, document: Document) -> str:
    value = document.get(key)
    is_table = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(row, dict) for row in value))
    return f"table {quoted(key)}" if is_table else f"key {quoted(key)}"


def _suggest_at_root(key: str) -> str:
    """A key above the first header belongs to some table; a table's name may be misspelled."""
    for name, node in ROOT.keys.items():
        table = node.row if isinstance(node, Rows) else node
        if isinstance(table, TableSchema) and key in table.keys:
            return f"; it belongs under {f'[[{name}]]' if isinstance(node, Rows) else f'[{name}]'}"
    return suggest(key, ROOT.keys)
