"""Which setting a variable names: ANTIPHON_UPSTREAM__OPENAI__URL.

A name is taken apart along the schema, so that its cost does not grow with the number of settings. An array of tables
is indexed by its labels when the first variable leads there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from antiphon.settings.faults import Path
from antiphon.settings.schema import ROOT, Node, Rows, TableSchema

PREFIX = "ANTIPHON_"
MOST_DIGITS = 9  # of a position
Named = tuple[Path, Node]


def token(label: str) -> str:
    """A row's label as it stands in a variable."""
    return re.sub(r"[^A-Za-z0-9]", "_", label).upper()


def _collapsed(label: str) -> str:
    return re.sub("_+", "_", token(label)).strip("_")


@dataclass(frozen=True, slots=True)
class NameStyle:
    """What joins the parts of a name, and how a row's label is written in it."""

    joint: str
    write: Callable[[str], str]


EXACT = NameStyle("__", token)
ONE_UNDERSCORE = NameStyle("_", _collapsed)


@dataclass(frozen=True, slots=True)
class Step:
    """What a name has led to so far."""

    node: Node
    value: object  # of the document, there
    path: Path = ()
    tokens: tuple[str, ...] = ()  # as they are written exactly
    positional: bool = False  # a row on the way was named by its position


class SettingNames:
    """The names of one document, before variables are laid into it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._indexes: dict[tuple[Path, str], dict[str, list[int]]] = {}

    @cached_property
    def referred(self) -> frozenset[str]:
        """The variables that the file itself asks for."""
        return frozenset(_references(self._document))

    def find(self, name: str) -> list[Named]:
        """More than one thing: the name is ambiguous. A row's label counts before a position."""
        found = sorted(self._follow(EXACT, self._root(), name.removeprefix(PREFIX)), key=lambda step: step.path)
        by_label = [step for step in found if not step.positional]
        return [(step.path, step.node) for step in by_label or found[:1]]

    def underscored(self, name: str) -> str | None:
        """ANTIPHON_SERVER_LISTEN was surely meant to be ANTIPHON_SERVER__LISTEN."""
        for step in self._follow(ONE_UNDERSCORE, self._root(), name.removeprefix(PREFIX).strip("_")):
            meant = PREFIX + "__".join(step.tokens)
            if len(step.tokens) > 1 and re.sub("_+", "_", meant) == name:
                return meant
        return None

    def closest(self, name: str) -> str | None:
        """The setting that a misspelled name was surely meant to be. Of rows only those are tried that it names."""
        known = [PREFIX + "__".join(tokens) for tokens in _below(self._root(), f"{name}__") if len(tokens) > 1]
        return next(iter(get_close_matches(name, known, 1, 0.8)), None)

    def _root(self) -> Step:
        return Step(ROOT, self._document)

    def _follow(self, spelling: NameStyle, step: Step, rest: str | None) -> Iterator[Step]:
        if rest is None:
            yield step
            return
        for head, tail in _cuts(rest, spelling.joint):
            for further in self._further(spelling, step, head):
                yield from self._follow(spelling, further, tail)

    def _further(self, spelling: NameStyle, step: Step, head: str) -> Iterator[Step]:
        node, value = step.node, step.value
        if isinstance(node, TableSchema) and head.lower() in node.keys:
            yield _into(step, head.lower())
        elif isinstance(node, Rows) and isinstance(value, list):
            if _has_labels(step):
                for position in self._index(spelling, node, value, step.path).get(head, ()):
                    yield _to_row(step, node, value, position, token(value[position][node.label]), step.positional)
            if head.isascii() and head.isdigit() and len(head) <= MOST_DIGITS:
                position = int(head)
                if str(position) == head and position < len(value):
                    yield _to_row(step, node, value, position, head, True)

    def _index(self, spelling: NameStyle, node: Rows, rows: list[object], path: Path) -> dict[str, list[int]]:
        """Written label -> positions."""
        index = self._indexes.get((path, spelling.joint))
        if index is None:
            index = self._indexes[path, spelling.joint] = {}
            for position, row in enumerate(rows):
                label = row.get(node.label) if isinstance(row, dict) else None
                if isinstance(label, str):
                    index.setdefault(spelling.write(label), []).append(position)
        return index


def _has_labels(step: Step) -> bool:
    """Targets and evaluators repeat their labels: they are named by position only."""
    return len(step.path) == 1


def _into(step: Step, key: str) -> Step:
    assert isinstance(step.node, TableSchema)
    value = step.value.get(key) if isinstance(step.value, dict) else None
    return Step(step.node.keys[key], value, (*step.path, key), (*step.tokens, key.upper()), step.positional)


def _to_row(step: Step, node: Rows, rows: list[Any], position: int, written: str, positional: bool) -> Step:
    return Step(node.row, rows[position], (*step.path, position), (*step.tokens, written), positional)


def _cuts(text: str, joint: str) -> Iterator[tuple[str, str | None]]:
    """Every way to take the first part off; a label may hold the joint itself."""
    at = text.find(joint)
    while at >= 0:
        yield text[:at], text[at + len(joint) :]
        at = text.find(joint, at + 1)
    yield text, None


def _below(step: Step, name: str) -> Iterator[tuple[str, ...]]:
    if step.tokens:
        yield step.tokens
    node, value = step.node, step.value
    if isinstance(node, TableSchema):
        for key in node.keys:
            yield from _below(_into(step, key), name)
    elif isinstance(node, Rows) and isinstance(value, list):
        for position, row in enumerate(value):
            label = row.get(node.label) if isinstance(row, dict) and _has_labels(step) else None
            written = [str(position), token(label)] if isinstance(label, str) else [str(position)]
            for each in written:
                if f"__{each}__" in name:
                    yield from _below(_to_row(step, node, value, position, each, step.positional), name)


def _references(value: object) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("env:"):
        yield value.removeprefix("env:")
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _references(item)
