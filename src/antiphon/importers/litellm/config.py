"""LiteLLM's YAML file. It is read by the parser that LiteLLM uses, in its safe mode: plain values, no objects.

A file may repeat a part of itself many times over with a few letters (aliases), so the values are counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

LARGEST: Final = 8 * 1024 * 1024  # bytes of one file
MOST_VALUES: Final = 200_000
MOST_FILES: Final = 100
NO_YAML: Final = "reading YAML needs a package that is not installed: pip install 'antiphon[import]'"


class ImportFault(Exception):
    """The file cannot be used; the message says why and quotes no value."""


class Section:
    """A mapping of the file, and which of its keys nobody has read."""

    def __init__(self, path: str, value: object) -> None:
        self.path = path
        self.values: dict[str, Any] = {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}
        self._left = dict.fromkeys(key for key, item in self.values.items() if item is not None)

    def take(self, key: str) -> Any:
        self._left.pop(key, None)
        return self.values.get(key)

    def section(self, key: str) -> Section:
        return Section(f"{self.path}.{key}" if self.path else key, self.take(key))

    def left(self) -> list[str]:
        return list(self._left)


def read_config(path: str) -> Section:
    """Raises ImportFault."""
    document = _load(path)
    files = [path]
    for name in _texts(document.pop("include", None)):
        _include(document, os.path.join(os.path.dirname(path), name), files)
    if sum(1 for _ in islice(_walk(document, 0), MOST_VALUES + 1)) > MOST_VALUES:
        raise ImportFault(f"{path}: more than {MOST_VALUES} values")
    return Section("", document)


def _include(document: dict[str, Any], path: str, files: list[str]) -> None:
    """As LiteLLM does it: lists are put together, other values replace those that were there."""
    if path in files or len(files) >= MOST_FILES:
        raise ImportFault(f"{path}: included more than once, or too many files")
    files.append(path)
    for key, value in _load(path).items():
        if isinstance(value, list) and isinstance(document.get(key), list):
            document[key] = [*document[key], *value]
        else:
            document[key] = value


def _load(path: str) -> dict[str, Any]:
    try:
        import yaml  # noqa: PLC0415 (an extra)
    except ImportError:
        raise ImportFault(NO_YAML) from None
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise ImportFault(f"{path}: {getattr(error, 'strerror', None) or 'not a usable path'}") from None
    if len(data) > LARGEST:
        raise ImportFault(f"{path}: larger than {LARGEST} bytes")
    try:
        document = yaml.safe_load(data)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path}:{mark.line + 1}" if mark is not None else path
        raise ImportFault(f"{place}: {error.problem or error.context or 'this is no YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ImportFault(f"{path}: this is no YAML") from None
    if not isinstance(document, dict):
        raise ImportFault(f"{path}: this is no LiteLLM configuration: a mapping with 'model_list' and the like")
    return document


def _walk(value: object, depth: int) -> Iterator[None]:
    yield None
    if depth > 100:
        raise ImportFault("the file is nested too deeply")
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in items:
        yield from _walk(item, depth + 1)


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
