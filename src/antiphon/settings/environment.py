"""Environment variables laid over the file: ANTIPHON_SERVER__LISTEN, ANTIPHON_UPSTREAM__OPENAI__TIMEOUT__IDLE.

Two underscores go one level down. A row is named by its label (letters and digits as they are, all else `_`) or by its
position from 0. Case does not matter. An empty variable counts as not set. A variable with two underscores that names
nothing is a fault; without them it is some other program's, unless it is plainly one of ours misspelled.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from antiphon.settings.faults import Fault, Path, printable
from antiphon.settings.kinds import Form, Kind
from antiphon.settings.schema import ROOT, Many, Node, Rows, Table
from antiphon.settings.secret import Secret
from antiphon.settings.walk import Document, Faults, Places

PREFIX = "ANTIPHON_"
SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
Named = tuple[Path, Node]


def overlay(document: Document, environ: Mapping[str, str], places: Places, faults: Faults) -> None:
    """Writes every override into `document` and notes in `places` where it came from."""
    expand(ROOT, document)
    known = name_all(document)
    referred = set(_references(document))
    chosen: dict[Path, tuple[str, Node]] = {}
    for variable in sorted(environ):
        if not variable.upper().startswith(PREFIX) or not environ[variable]:
            continue
        found = _resolve(variable, known, referred, faults)
        if found and found[0] in chosen:
            faults.tell(Fault(variable, f"sets the same value as {chosen[found[0]][0]}"))
        elif found:
            chosen[found[0]] = (variable, found[1])
    # Whole tables before the keys in them.
    for path, (variable, node) in sorted(chosen.items(), key=lambda item: len(item[0])):
        lay(document, path, node, environ[variable], variable, places, faults)


def lay(document: Document, path: Path, node: Node, text: str, variable: str, places: Places, faults: Faults) -> None:
    """One override."""
    if isinstance(node, Table) and text in node.short:
        path, node = (*path, node.short[text]), node.keys[node.short[text]]
    try:
        value = parse(node, text)
    except ValueError:
        wanted = "an inline table" if isinstance(node, Table) else "an array"
        faults.tell(Fault(variable, f"must be {wanted} in TOML"))
        return
    if not _put(document, path, value):
        faults.tell(Fault(variable, "has no table to stand in: another value is in its way"))
    places.variables[path] = variable


def expand(node: Node, value: object) -> object:
    """In place: a word that stands for a table becomes the table, so that variables can be laid into it."""
    if isinstance(node, Table) and isinstance(value, str) and value in node.short:
        return {node.short[value]: value}
    if isinstance(node, Table) and isinstance(value, dict):
        for key, child in node.keys.items():
            if key in value:
                value[key] = expand(child, value[key])
    return value


def parse(node: Node, text: str) -> object:
    """The text of a variable as the value that the file would hold. ValueError: it had to be TOML and is not."""
    if isinstance(node, Many):
        return _toml(text) if text.lstrip().startswith("[") else _words(text)
    if isinstance(node, Table) and node.short and not text.lstrip().startswith("{"):
        return text  # a word in place of a table; the wrong one is named with those it could be
    if not isinstance(node, Kind):
        return _toml(text)
    if node.form is Form.SECRET:
        return text if text.startswith(("env:", "file:")) else Secret(text)
    if node.form is Form.SWITCH:
        return SWITCHES.get(text.strip().lower(), text)
    try:
        value = _toml(text)
    except ValueError:
        return text
    return value if node.form is Form.VALUE or isinstance(value, str) else text


def name_all(document: Document) -> Mapping[str, list[Named]]:
    """Every variable that could be set -> what it names. More than one thing: it is ambiguous."""
    names: dict[str, list[Named]] = {}
    by_position: dict[str, Named] = {}
    for tokens, path, node, positional in _walk(ROOT, document, (), (), False):
        variable = PREFIX + "__".join(tokens)
        if positional:
            by_position.setdefault(variable, (path, node))
        else:
            names.setdefault(variable, []).append((path, node))
    for variable, named in by_position.items():
        names.setdefault(variable, [named])
    return names


def _walk(
    node: Node, value: object, tokens: tuple[str, ...], path: Path, positional: bool
) -> Iterator[tuple[tuple[str, ...], Path, Node, bool]]:
    if tokens:
        yield tokens, path, node, positional
    if isinstance(node, Table):
        table = value if isinstance(value, dict) else {}
        for key, child in node.keys.items():
            yield from _walk(child, table.get(key), (*tokens, key.upper()), (*path, key), positional)
    elif isinstance(node, Rows) and isinstance(value, list):
        for position, row in enumerate(value):
            label = row.get(node.label) if isinstance(row, dict) else None
            # Targets and evaluators repeat their labels: they are named by position only.
            if len(path) == 1 and isinstance(label, str):
                yield from _walk(node.row, row, (*tokens, _token(label)), (*path, position), positional)
            yield from _walk(node.row, row, (*tokens, str(position)), (*path, position), True)


def _token(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", label).upper()


def _resolve(variable: str, known: Mapping[str, list[Named]], referred: set[str], faults: Faults) -> Named | None:
    name = variable.upper()
    named = known.get(name, [])
    if "__" not in name.removeprefix(PREFIX):
        if variable not in referred and (meant := _underscored(name, known)):
            faults.tell(Fault(variable, f"names no setting; did you mean {meant}?"))
        return None
    if len(named) == 1:
        return named[0]
    if named:
        positions = " or ".join(str(path[1]) for path, _ in named)
        faults.tell(Fault(variable, f"names more than one; use its position instead of its name: {positions}"))
    elif variable not in referred:
        faults.tell(Fault(printable(variable), f"names no setting{_hint(name, known)}"))
    return None


def _hint(name: str, known: Mapping[str, list[Named]]) -> str:
    table, _, rest = name.removeprefix(PREFIX).partition("__")
    row = rest.partition("__")[0]
    if isinstance(ROOT.keys.get(table.lower()), Rows) and f"{PREFIX}{table}__{row}" not in known:
        return f": there is no [[{table.lower()}]] {printable(row)}"
    close = get_close_matches(name, [other for other in known if "__" in other], 1, 0.8)
    return f"; did you mean {close[0]}?" if close else ""


def _underscored(name: str, known: Mapping[str, list[Named]]) -> str | None:
    """ANTIPHON_SERVER_LISTEN was surely meant to be ANTIPHON_SERVER__LISTEN."""
    return next((other for other in known if "__" in other and re.sub("_+", "_", other) == name), None)


def _references(value: object) -> Iterator[str]:
    """The variables that the file itself asks for."""
    if isinstance(value, str) and value.startswith("env:"):
        yield value.removeprefix("env:")
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _references(item)


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
