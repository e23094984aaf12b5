"""Values of a LiteLLM file: written there, or named as `os.environ/NAME`. Secrets never stand in our settings file:
one that is written in LiteLLM's goes to a file of its own, or is left to an environment variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

REFERENCE: Final = "os.environ/"
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
UNSET: Final = "unset.invalid"  # a host that never exists (RFC 2606)


@dataclass
class Notes:
    """What a reader must know: what was not carried over, and what remains to be done."""

    lost: list[str] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)

    def lose(self, words: str) -> None:
        if words not in self.lost:
            self.lost.append(words)

    def ask(self, words: str) -> None:
        if words not in self.todo:
            self.todo.append(words)


class Values:
    """`folder`: where secrets are written that stand in the file, relative to the settings file; None: nowhere."""

    def __init__(self, environ: Mapping[str, str], written: Mapping[str, object], folder: str | None) -> None:
        self.notes = Notes()
        self.secrets: dict[str, str] = {}  # file -> text
        self._environ = environ
        self._written = {name: str(value) for name, value in written.items() if isinstance(value, str | int)}
        self._folder = folder

    def text(self, value: object, what: str) -> str | None:
        """What is no secret. A variable counts as it is now; one that is not set is asked for."""
        name = self._variable(value)
        if name is None:
            return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        found = self._written.get(name) or self._environ.get(name)
        if not found:
            self.notes.ask(f"{what} stood in the environment variable {name}, which is not set here")
        return found or None

    def is_set(self, name: str) -> bool:
        return bool(self._environ.get(name) or self._written.get(name))

    def secret(self, value: object, what: str) -> str | None:
        """-> `env:NAME` or `file:PATH`"""
        name = self._variable(value)
        if name is not None and name not in self._written:
            return f"env:{name}"
        text = self._written.get(name) if name is not None else value
        return self._literal(text, what) if isinstance(text, str) and text else None

    def secret_of(self, variable: str) -> str:
        """Of a variable that LiteLLM reads by itself."""
        return self.secret(REFERENCE + variable, variable) or f"env:{variable}"

    def _variable(self, value: object) -> str | None:
        if not isinstance(value, str) or not value.startswith(REFERENCE):
            return None
        name = value.removeprefix(REFERENCE)
        return name if VARIABLE.fullmatch(name) else None

    def _literal(self, text: str, what: str) -> str:
        for path, known in self.secrets.items():
            if known == text:
                return f"file:{path}"
        word = re.sub(r"[^a-z0-9]+", "-", what.lower()).strip("-") or "secret"
        if self._folder is None:
            name = "LITELLM_" + word.replace("-", "_").upper()
            self.notes.ask(f"{what} stood in the file itself: set the environment variable {name} to it")
            return f"env:{name}"
        path = os.path.join(self._folder, word)
        number = 1
        while path in self.secrets:
            number += 1
            path = os.path.join(self._folder, f"{word}-{number}")
        self.secrets[path] = text
        return f"file:{path}"
