"""One entry of an upstream's `tool_calls`, read: whichever way a vendor spells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from antiphon.chat.failure import malformed
from antiphon.document import Document

FUNCTION: Final = ("function", "arguments")
CUSTOM: Final = ("custom", "input")
_OWN_KEYS: Final = ("function", "custom", "name", "arguments", "input")
_ENTRY_KEYS: Final = frozenset({"index", "id", "type", "function", "custom"})


@dataclass(slots=True)
class Fragment:
    """One entry of an upstream's `tool_calls`, read."""

    index: int | None
    id: str | None
    kind: tuple[str, str]  # (type, key of the words); a foreign call has no such key
    name: str | None
    words: str  # a piece of the arguments (of a custom tool: of its input)
    extras: Document  # unknown keys beside `function`
    inner: Document  # unknown keys inside it

    def says(self) -> bool:
        return bool(self.name or self.words or self.extras or self.inner)


def read_entries(value: object) -> list[Document]:
    """Null and "" are none; one object stands for a list of one."""
    if not value:
        return []
    entries = [value] if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise malformed()
    entries = [entry for entry in entries if entry is not None]
    if not all(isinstance(entry, dict) for entry in entries):
        raise malformed()
    return entries


def read_fragment(entry: Document) -> Fragment:
    if _is_foreign(entry):
        extras = {name: value for name, value in entry.items() if name not in ("index", "id", "type")}
        return Fragment(
            _read_index(entry.get("index")), _read_id(entry.get("id")), (entry["type"], ""), None, "", extras, {}
        )
    custom = entry.get("type") == "custom" or (isinstance(entry.get("custom"), dict) and not entry.get("function"))
    kind = CUSTOM if custom else FUNCTION
    key = kind[1]
    body, known = entry.get(kind[0]), _ENTRY_KEYS
    if body is None and ("name" in entry or key in entry):  # written flat, without `function`
        body = {name: entry[name] for name in ("name", key) if name in entry}
        known = known | {"name", key}
    if body is not None and not isinstance(body, dict):
        raise malformed()
    body = body or {}
    name = body.get("name")
    return Fragment(
        _read_index(entry.get("index")),
        _read_id(entry.get("id")),
        kind,
        name if isinstance(name, str) and name else None,
        _read_words(body.get(key)),
        {} if entry.keys() <= known else {name: value for name, value in entry.items() if name not in known},
        {name: value for name, value in body.items() if name != "name" and name != key},
    )


def _read_index(value: object) -> int | None:
    """Only a label to tell fragments apart, so any number will do; some send it as a string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _read_id(value: object) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if type(value) is int and abs(value) < 1 << 64 else None


def _read_words(value: Any) -> str:
    """Arguments given as an object, not as a string, become one (A8)."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _is_foreign(entry: Document) -> bool:
    """A call of a vendor's own kind, with a body of its own (Zhipu's `web_browser`)."""
    kind = entry.get("type")
    return isinstance(kind, str) and kind not in ("", *_OWN_KEYS) and all(entry.get(key) is None for key in _OWN_KEYS)
