"""The line of every key in a TOML document, because `tomllib` does not keep them.

Scans text that `tomllib` has already accepted, so it knows only enough grammar to find its way: keys, headers, strings,
brackets. It never raises: where it would lose its way it stops, and later keys are found at their table's line.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping

from antiphon.settings.faults import Path

BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
SPACE = re.compile(r"[ \t]*")
DOT = re.compile(r"[ \t]*\.[ \t]*")
KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
# Up to two quotes may stand directly before the closing three (TOML 1.0, "String").
STRING = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''',
    re.DOTALL,
)
SCALAR = re.compile(r"[^,\]}#\n]+")


class Lost(Exception):
    """The text is not what the scanner expects here."""


def locate(text: str) -> Mapping[Path, int]:
    """Key path -> line, counted from 1, of all that is written in `text`."""
    scanner = _Scanner(text.replace("\r\n", "\n"))
    try:
        scanner.document()
    except (Lost, ValueError, RecursionError):
        pass
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.breaks = [found.start() for found in re.finditer("\n", text)]
        self.lines: dict[Path, int] = {}
        self.lengths: dict[Path, int] = {}  # of arrays of tables, so far

    def document(self) -> None:
        table: Path = ()
        while self.peek(BLANK):
            if self.text.startswith("[[", self.at):
                table = self.header("[[", "]]")
            elif self.text.startswith("[", self.at):
                table = self.header("[", "]")
            else:
                self.pair(table)

    # Statements.

    def header(self, opening: str, closing: str) -> Path:
        line = self.line()
        self.expect(opening)
        keys = self.keys()
        self.expect(closing)
        path: Path = ()
        for key in keys[:-1]:
            path = self.latest((*path, key))
            self.lines.setdefault(path, line)
        path = (*path, keys[-1])
        if opening == "[[":
            self.lines.setdefault(path, line)
            self.lengths[path] = self.lengths.get(path, 0) + 1
        path = self.latest(path)
        self.lines[path] = line
        return path

    def pair(self, table: Path) -> None:
        line = self.line()
        path = table
        for key in self.keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self.expect("=")
        self.value(path)

    def latest(self, path: Path) -> Path:
        """A header that names an array of tables means its last element."""
        length = self.lengths.get(path)
        return path if length is None else (*path, length - 1)

    # Values.

    def value(self, path: Path) -> None:
        first = self.peek(SPACE)
        if first == "[":
            self.array(path)
        elif first == "{":
            self.inline(path)
        else:
            self.take(STRING if first in ('"', "'") else SCALAR)

    def array(self, path: Path) -> None:
        self.expect("[")
        position = 0
        while self.peek(BLANK) != "]":
            self.lines[(*path, position)] = self.line()
            self.value((*path, position))
            self.separator("]")
            position += 1
        self.expect("]")

    def inline(self, path: Path) -> None:
        self.expect("{")
        while self.peek(BLANK) != "}":
            self.pair(path)
            self.separator("}")
        self.expect("}")

    def separator(self, closing: str) -> None:
        if self.peek(BLANK) != closing:
            self.expect(",")

    # Characters.

    def keys(self) -> list[str]:
        keys = [self.key()]
        while found := DOT.match(self.text, self.at):
            self.at = found.end()
            keys.append(self.key())
        return keys

    def key(self) -> str:
        self.peek(SPACE)
        text = self.take(KEY)
        return next(iter(tomllib.loads(f"{text} = 0"))) if text[0] in "\"'" else text

    def peek(self, skipped: re.Pattern[str]) -> str:
        """Skips blanks; the next character, "" at the end."""
        found = skipped.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise Lost
        self.at = found.end()
        return found.group()

    def expect(self, mark: str) -> None:
        self.peek(SPACE)
        if not self.text.startswith(mark, self.at):
            raise Lost
        self.at += len(mark)

    def line(self) -> int:
        return bisect_left(self.breaks, self.at) + 1
