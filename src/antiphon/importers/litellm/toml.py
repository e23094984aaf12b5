"""Our settings as TOML text, with comments."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, Final

WIDTH: Final = 116


def write_comment(words: str, indent: str = "") -> str:
    """Control characters are shown, not written: what is quoted came from a file."""
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in words)
    lines = textwrap.wrap(shown, WIDTH, initial_indent=f"# {indent}", subsequent_indent=f"#   {indent}")
    return "\n".join(lines)


def write_table(head: str, keys: Mapping[str, Any]) -> str:
    lines = [f"[{head}]"]
    lines += [f"{name} = {write_value(value)}" for name, value in keys.items()]
    return "\n".join(lines)


def write_route(model: str, targets: Iterable[Mapping[str, Any]]) -> str:
    rows = []
    for target in targets:
        shown = {key: value for key, value in target.items() if (key, value) not in (("priority", 0), ("weight", 1))}
        rows.append(write_value(shown))
    if len(rows) == 1:
        return f"[[route]]\nmodel = {write_value(model)}\ntargets = [{rows[0]}]"
    listed = "".join(f"    {row},\n" for row in rows)
    return f"[[route]]\nmodel = {write_value(model)}\ntargets = [\n{listed}]"


def write_value(value: Any) -> str:
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(name)} = {write_value(item)}" for name, item in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_value, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    if isinstance(value, int | float):
        return _decimal(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _decimal(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else json.dumps(name, ensure_ascii=False)
