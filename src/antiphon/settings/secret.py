"""Secrets: values that may be used but never shown.

The file holds only where a secret is found: `env:NAME` or `file:PATH`. A variable that overrides a secret may hold the
secret itself, because the environment is such a place. No message of ours ever quotes one.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping

from antiphon.settings.faults import Wrong, printable

# A secret travels in an HTTP header (RFC 9110 §5.5): visible ASCII, spaces only inside.
SENDABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
LONGEST_FILE = 65536


class Secret:
    """A value whose `repr` and `str` do not show it. Not a dataclass: `asdict` would take it apart."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode("utf-8", "replace"), other._value.encode("utf-8", "replace"))

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (self._value,)


def find_secret(reference: str, environ: Mapping[str, str], folder: str) -> str | None:
    """The text behind `env:NAME` or `file:PATH`; None when `reference` is neither."""
    scheme, _, name = reference.partition(":")
    if scheme == "env":
        return _from_environment(name, environ)
    if scheme == "file":
        return _from_file(name, environ, folder)
    return None


def sendable(text: str) -> Secret:
    if not SENDABLE.fullmatch(text):
        raise Wrong("holds characters that an HTTP header cannot carry")
    return Secret(text)


def _from_environment(name: str, environ: Mapping[str, str]) -> str:
    if not name:
        raise Wrong("says 'env:' without the name of a variable")
    value = environ.get(name)
    if value is None:
        raise Wrong(f"refers to the environment variable {printable(name)}, which is not set")
    if not value:
        raise Wrong(f"refers to the environment variable {printable(name)}, which is empty")
    return value


def _from_file(name: str, environ: Mapping[str, str], folder: str) -> str:
    if not name:
        raise Wrong("says 'file:' without a path")
    # One trailing newline is the editor's, not the secret's.
    text = read_text(resolve(name, environ, folder), name, LONGEST_FILE)
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise Wrong(f"refers to the file {printable(name)}, which is empty")
    return text


def resolve(name: str, environ: Mapping[str, str], folder: str) -> str:
    """A path as a settings file means it: relative to the folder of that file; `~/` is the home folder."""
    if name.startswith("~/") and environ.get("HOME"):
        return environ["HOME"].rstrip("/") + name[1:]
    return name if name.startswith("/") or not folder else f"{folder.rstrip('/')}/{name}"


def read_text(path: str, shown: str, limit: int) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise Wrong(f"refers to the file {printable(shown)}: {reason(error)}") from None
    if len(data) > limit:
        raise Wrong(f"refers to the file {printable(shown)}, which is larger than {limit} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Wrong(f"refers to the file {printable(shown)}, which is not UTF-8 text") from None


def reason(error: Exception) -> str:
    """Why a file could not be used, in the system's own words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return "this is not a usable path"
