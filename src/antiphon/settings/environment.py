"""Environment variables laid over the file: ANTIPHON_SERVER__LISTEN, ANTIPHON_UPSTREAM__OPENAI__TIMEOUT__IDLE.

Two underscores go one level down. A row is named by its label (letters and digits as they are, all else `_`) or by its
position from 0. Case does not matter. An empty variable counts as not set. A variable with two underscores that names
nothing is a fault; without them it is some other program's, unless it is plainly one of ours misspelled.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

from antiphon.document import Document
from antiphon.settings.faults import Path, SettingsFault, printable
from antiphon.settings.names import PREFIX, Named, SettingNames
from antiphon.settings.schema import ROOT, Many, Node, Rows, TableSchema
from antiphon.settings.secret import Secret
from antiphon.settings.validate import Faults, Places
from antiphon.settings.value_types import Form, ValueType

SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def overlay(document: Document, environ: Mapping[str, str], places: Places, faults: Faults) -> None:
    """Writes every override into `document` and notes in `places` where it came from."""
    expand(ROOT, document)
    names = SettingNames(document)
    chosen: dict[Path, tuple[str, Node]] = {}
    for variable in sorted(environ):
        if not variable.upper().startswith(PREFIX) or not environ[variable]:
            continue
        found = _resolve(variable, names, faults)
        if found and found[0] in chosen:
            faults.tell(SettingsFault(variable, f"sets the same value as {chosen[found[0]][0]}"))
        elif found:
            chosen[found[0]] = (variable, found[1])
    # Whole tables before the keys in them.
    for path, (variable, node) in sorted(chosen.items(), key=lambda item: len(item[0])):
        apply_override(document, path, node, environ[variable], variable, places, faults)


def apply_override(
    document: Document, path: Path, node: Node, text: str, variable: str, places: Places, faults: Faults
) -> None:
    """One override."""
    if isinstance(node, TableSchema) and text in node.short:
        path, node = (*path, node.short[text]), node.keys[node.short[text]]
    try:
        value = parse(node, text)
    except ValueError:
        wanted = "an inline table" if isinstance(node, TableSchema) else "an array"
        faults.tell(SettingsFault(variable, f"must be {wanted} in TOML"))
        return
    if not _put(document, path, value):
        faults.tell(SettingsFault(variable, "has no table to stand in: another value is in its way"))
    places.variables[path] = variable


def expand(node: Node, value: object) -> object:
    """In place: a word that stands for a table becomes the table, so that variables can be laid into it."""
    if isinstance(node, TableSchema) and isinstance(value, str) and value in node.short:
        return {node.short[value]: value}
    if isinstance(node, TableSchema) and isinstance(value, dict):
        for key, child in node.keys.items():
            if key in value:
                value[key] = expand(child, value[key])
    return value


def parse(node: Node, text: str) -> object:
    """The text of a variable as the value that the file would hold. ValueError: it had to be TOML and is not."""
    if isinstance(node, Many):
        return _toml(text) if text.lstrip().startswith("[") else _words(text)
    if isinstance(node, TableSchema) and node.short and not text.lstrip().startswith("{"):
        return text  # a word in place of a table; the wrong one is named with those it could be
    if not isinstance(node, ValueType):
        return _toml(text)
    if node.form is Form.SECRET:
        return text if text.startswith(("env:", "file:")) else Secret(text)
    if node.form is Form.SWITCH:
        return SWITCHES.get(text.strip().lower(), text.strip())
    try:
        value = _toml(text)
    except ValueError:
        return text
    return value if node.form is Form.VALUE or isinstance(value, str) else text


def _resolve(variable: str, names: SettingNames, faults: Faults) -> Named | None:
    name = variable.upper()
    if "__" not in name.removeprefix(PREFIX):
        meant = names.underscored(name)
        if meant and variable not in names.referred:
            faults.tell(SettingsFault(variable, f"names no setting; did you mean {meant}?"))
        return None
    named = names.find(name)
    if len(named) == 1:
        return named[0]
    if named:
        positions = " or ".join(str(path[1]) for path, _ in named)
        faults.tell(SettingsFault(variable, f"names more than one; use its position instead of its name: {positions}"))
    elif variable not in names.referred:
        faults.tell(SettingsFault(printable(variable), f"names no setting{_hint(name, names)}"))
    return None


def _hint(name: str, names: SettingNames) -> str:
    table, _, rest = name.removeprefix(PREFIX).partition("__")
    row = rest.partition("__")[0]
    if isinstance(ROOT.keys.get(table.lower()), Rows) and not names.find(f"{PREFIX}{table}__{row}"):
        return f": there is no [[{table.lower()}]] {printable(row)}"
    close = names.closest(name)
    return f"; did you mean {close}?" if close else ""


def _toml(text: str) -> object:
    try:
        document = tomllib.loads(f"value = {text}")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if len(document) != 1:
        raise ValueError("more than one value")
    return document["value"]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _put(document: Document, path: Path, value: object) -> bool:
    """False where something on the way is no table; the file's own fault is reported when it is read."""
    holder: object = document
    for part in path[:-1]:
        holder = holder.setdefault(part, {}) if isinstance(holder, dict) else _at(holder, part)
    if isinstance(holder, dict):
        holder[path[-1]] = value
        return True
    return False


def _at(holder: object, part: str | int) -> object:
    found = isinstance(holder, list) and isinstance(part, int) and part < len(holder)
    return holder[part] if found else None  # type: ignore[index]
