"""[[safety.evaluator]] rows: what each kind needs and takes, and which evaluators are in force.

Who writes no row gets the embedded classifier and protected material with the packaged index. Who writes rows gets
exactly these.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Final

from antiphon.document import Document
from antiphon.http.client import parse_url, proxy_for
from antiphon.routing.patterns import is_pattern
from antiphon.settings.address_types import FILE
from antiphon.settings.faults import Path, Wrong, printable
from antiphon.settings.model import EvaluatorSettings, SafetySettings
from antiphon.settings.validate import Faults, Places, rows, spell
from antiphon.settings.value_types import Site, Suggestions, processes_for

AT: Final = ("safety", "evaluator")
RULES: Final = ("words", "patterns", "file", "lists")  # of which rules need one
FOR_ALL: Final = frozenset({"kind", "name", "timeout", "stages", "routes", "keys"})


@dataclass(frozen=True, slots=True)
class EvaluatorKind:
    """A kind of evaluator."""

    takes: frozenset[str] = frozenset()  # keys besides those for all
    needs: tuple[str, ...] = ()
    inside: bool = False  # it lives in the evaluator process
    seconds: float = 2.0  # its time limit, where none is written
    stages: tuple[str, ...] = ("prompt", "answer")


CALLED: Final = frozenset({"url", "credential"})
KINDS: Final[Mapping[str, EvaluatorKind]] = MappingProxyType(
    {
        "embedded": EvaluatorKind(inside=True, seconds=1.0),
        "protected": EvaluatorKind(frozenset({"index"}), inside=True, seconds=1.0, stages=("answer",)),
        "rules": EvaluatorKind(frozenset({*RULES, "mode"}), inside=True, seconds=1.0),
        "openai": EvaluatorKind(CALLED | {"model"}, needs=("url",)),
        "azure": EvaluatorKind(CALLED, needs=("url", "credential")),
        "http": EvaluatorKind(CALLED, needs=("url",)),
        "chat": EvaluatorKind(CALLED | {"model", "route"}, seconds=5.0),
    }
)
DEFAULT: Final = (EvaluatorSettings("embedded", "embedded"), EvaluatorSettings("protected", "protected"))


def in_force(safety: SafetySettings) -> tuple[EvaluatorSettings, ...]:
    return safety.evaluators or DEFAULT


def complete(document: Document, cores: int) -> None:
    safety = document.setdefault("safety", {})
    if isinstance(safety, dict):
        safety.setdefault("processes", processes_for(cores))
    for _, row in _rows(document):
        if "name" not in row and isinstance(row.get("kind"), str):
            row["name"] = row["kind"]


def check(document: Document, faults: Faults, places: Places) -> None:
    first: dict[str, int] = {}
    routes, keys = (Suggestions(_known(document, *named)) for named in (("route", "model"), ("key", "name")))
    for position, row in _rows(document):
        kind, name = KINDS.get(str(row.get("kind"))), row.get("name")
        at = (*AT, position)
        if isinstance(name, str) and first.setdefault(name, position) != position:
            before = places.find((*AT, first[name]))[1]
            faults.add((*at, "name"), f"the name {_quote(name)} is taken by the evaluator at {before}; give it another")
        if kind is None:
            continue  # a fault already
        _keys(row, kind, at, faults)
        if row["kind"] == "rules" and not any(row.get(key) for key in RULES):
            faults.add(at, "rules need 'words', 'patterns', a 'file' or 'lists'")
        if row["kind"] == "chat":
            _chat(row, document, routes, at, faults)
        if row.get("stages") == []:
            faults.add((*at, "stages"), "'stages' is empty: it would look at nothing")
        _names(row, "routes", routes, at, faults)
        _names(row, "keys", keys, at, faults)


def check_files(document: Document, site: Site, faults: Faults) -> None:
    """Patterns are compiled and indexes read here, and again where they are used: a wrong one is to be known before
    anything starts. Of the document, not of what was built from it: other faults must not hide these."""
    for position, row in _rows(document):
        at = (*AT, position)
        if row.get("kind") == "rules":
            _rules(row, site, at, faults)
        elif row.get("kind") == "protected":
            _indexes(row, site, at, faults)


def _rules(row: Document, site: Site, at: Path, faults: Faults) -> None:
    words, patterns = _strings(row, "words"), _strings(row, "patterns")
    file = _path(row.get("file"), site)
    if not (words or patterns or file):
        return
    try:
        # Here, because only those who write rules need what it brings along; some machines have no such library.
        from antiphon.evaluators.rules import check  # noqa: PLC0415
    except ImportError:
        return  # the evaluator process will say so
    name = str(row.get("name"))
    wrong = check.patterns(list(patterns.values()))
    for number, why in wrong.items():
        place = list(patterns)[number]
        faults.add((*at, "patterns", place), f"'{spell(at)}.patterns[{place}]' is no pattern: {why}")
    found = []
    if (words or patterns) and not wrong:
        found += [(at, fault) for fault in check.rules(name, [*words.values()], [*patterns.values()], None)]
    if file:
        found += [((*at, "file"), fault) for fault in check.rules(name, (), (), file)]
    if (words or patterns) and file and not found and not wrong:  # together they may be too many
        found += [(at, fault) for fault in check.rules(name, [*words.values()], [*patterns.values()], file)]
    for path, fault in found:
        faults.add(path, fault)


def _indexes(row: Document, site: Site, at: Path, faults: Faults) -> None:
    from antiphon.evaluators.protected.index import ProtectedIndex  # noqa: PLC0415 (as above)
    from antiphon.evaluators.protected.layout import IndexFault  # noqa: PLC0415

    for place, name in _strings(row, "index").items():
        path = _path(name, site)
        try:
            if path:
                ProtectedIndex.load(FilePath(path))
        except (IndexFault, OSError, ValueError) as fault:
            faults.add((*at, "index", place), f"'{spell(at)}.index[{place}]' is no index: {fault}")


def _strings(row: Document, key: str) -> dict[int, str]:
    """What is sound in an array, with its place there; the rest is a fault already."""
    written = row.get(key)
    return {
        place: each
        for place, each in enumerate(written if isinstance(written, list) else ())
        if isinstance(each, str) and each
    }


def _path(written: object, site: Site) -> str | None:
    """None: there is no such file, which is a fault already."""
    try:
        return str(FILE.read(written, site)) if isinstance(written, str) else None
    except Wrong:
        return None


def check_proxies(safety: SafetySettings, environ: Mapping[str, str], faults: Faults) -> None:
    """As of upstreams: one that cannot be used would otherwise show only when the gateway starts."""
    for position, row in enumerate(safety.evaluators):
        if row.url is None:
            continue
        try:
            proxy_for(parse_url(row.url)[0], environ)
        except ValueError as error:
            faults.add((*AT, position, "url"), f"the environment's proxy cannot be used: {error}")


def _keys(row: Document, kind: EvaluatorKind, at: Path, faults: Faults) -> None:
    for key in kind.needs:
        if key not in row:
            faults.miss((*at, key))
    takes = kind.takes | FOR_ALL
    for key in row:
        if key not in takes and any(key in other.takes for other in KINDS.values()):
            faults.add((*at, key), f"'{key}' has no meaning for kind {_quote(row['kind'])}")


def _chat(row: Document, document: Document, routes: Suggestions, at: Path, faults: Faults) -> None:
    """Asked at a URL of its own, or where a route leads to."""
    if ("url" in row) == ("route" in row):
        faults.add(at, "kind \"chat\" needs either 'url' or 'route'")
    elif "url" in row and "model" not in row:
        faults.miss((*at, "model"))
    elif "route" in row:
        for key in ("credential", "model"):
            if key in row:
                faults.add((*at, key), f"'{key}' has no meaning beside 'route', whose target says it")
        _names({"route": [row["route"]]}, "route", routes, at, faults)
        name = row["route"]
        if isinstance(name, str) and is_pattern(name) and not _names_model(document, name):
            words = f"the first target of [[route]] {_quote(name)} names no model, so none could be asked"
            faults.add((*at, "route"), words)


def _names_model(document: Document, name: str) -> bool:
    """Whether the first target of that route says which model it is."""
    targets = [rows(route, "targets") for _, route in rows(document, "route") if route.get("model") == name]
    return any("model" in target for found in targets for place, target in found if place == 0)


def _names(row: Document, key: str, names: Suggestions, at: Path, faults: Faults) -> None:
    table = "key" if key == "keys" else "route"
    written = row.get(key)
    for place, name in enumerate(written if isinstance(written, list) else ()):
        if isinstance(name, str) and name not in names.known:
            path = (*at, key) if key == "route" else (*at, key, place)
            faults.add(path, f"there is no [[{table}]] {_quote(name)}{names.find(name)}")


def _known(document: Document, table: str, label: str) -> Collection[str]:
    """In the order of the file."""
    return dict.fromkeys(row[label] for _, row in rows(document, table) if isinstance(row.get(label), str))


def _rows(document: Document) -> list[tuple[int, Document]]:
    safety = document.get("safety")
    return list(rows(safety, "evaluator")) if isinstance(safety, dict) else []


def _quote(name: object) -> str:
    return f'"{printable(str(name))}"'
