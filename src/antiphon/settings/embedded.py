"""The embedded model in the settings: rows that nobody had to write, defaults that depend on the machine, and what must
hold of it.

Who writes no upstream and no route gets the embedded model for everything (or the scripted upstream, where it is off).
In other files it runs where it is asked for: by an [engine] table, an [[upstream]] of its protocol, or a target that
names it.
"""

from __future__ import annotations

from pathlib import PurePath

from antiphon.document import Document
from antiphon.settings.faults import printable
from antiphon.settings.model import PACKAGED
from antiphon.settings.validate import Faults, Places, rows

EMBEDDED = "embedded"  # the protocol, and the upstream's name where it is not written
# The engine's host bounds the wait for a slot, and watches the engine. A long prompt takes minutes on a small machine.
PATIENT = {"first_byte": 900.0, "idle": 900.0, "total": 3600.0}


def fill(document: Document, seen: Document) -> None:
    """Adds the rows that are not written. `seen` is the document with the environment laid over it."""
    if seen.get("upstream", []) == [] and seen.get("route", []) == []:
        document["upstream"], document["route"] = _whole(seen)
        return
    name = _upstream(seen)
    if name is None and _asked(seen):
        name = EMBEDDED
        _append(document, "upstream", {"name": EMBEDDED, "protocol": EMBEDDED})
    if name is not None and _enabled(seen) and _name(seen) not in [row.get("model") for _, row in rows(seen, "route")]:
        _append(document, "route", {"model": _name(seen), "targets": [{"upstream": name}]})


def complete(document: Document, cores: int) -> None:
    """Fills in what depends on the machine or on other keys, after the environment."""
    engine = document.setdefault("engine", {})
    if isinstance(engine, dict):
        engine.setdefault("name", _name(document))
        engine.setdefault("threads", max(1, cores - 1))
    for _, row in _embedded(document):
        timeout = row.setdefault("timeout", {})
        if isinstance(timeout, dict):
            row["timeout"] = {**PATIENT, **timeout}


def check(document: Document, faults: Faults, places: Places) -> None:
    found = _embedded(document)
    for position, row in found:
        for key in ("url", "credential"):
            if key in row:
                message = f"'{key}' has no meaning here: the gateway starts the embedded model itself"
                faults.add(("upstream", position, key), message)
    for position, _ in found[1:]:
        before = places.find(("upstream", found[0][0], "protocol"))[1]
        faults.add(("upstream", position, "protocol"), f"there is one embedded model; it is the upstream at {before}")
    if not _enabled(document):
        for model in _leading_to(document, [row["name"] for _, row in found if "name" in row]):
            faults.add(("engine", "enabled"), f"'enabled' is false, but [[route]] \"{printable(model)}\" needs it")
    elif "engine" in document and not found:  # its own row was not added, because the name is taken
        for position, row in rows(document, "upstream"):
            if row.get("name") == EMBEDDED:
                message = "'name' is that of the embedded model, which [engine] asks for; give this upstream another"
                faults.add(("upstream", position, "name"), message)


def _whole(seen: Document) -> tuple[list[Document], list[Document]]:
    if not _enabled(seen):
        rest = {"model": "*", "targets": [{"upstream": "scripted"}]}
        return [{"name": "scripted", "protocol": "scripted"}], [rest]
    own = {"model": _name(seen), "targets": [{"upstream": EMBEDDED}]}
    rest = {"model": "*", "targets": [{"upstream": EMBEDDED, "model": _name(seen)}]}
    return [{"name": EMBEDDED, "protocol": EMBEDDED}], [own, rest]


def _enabled(document: Document) -> bool:
    return _engine(document).get("enabled") is not False


def _asked(seen: Document) -> bool:
    """For a model that is not written as an [[upstream]]."""
    if any(row.get("name") == EMBEDDED for _, row in rows(seen, "upstream")):
        return False
    return ("engine" in seen and _enabled(seen)) or bool(_leading_to(seen, [EMBEDDED]))


def _leading_to(document: Document, upstreams: list[object]) -> list[str]:
    """The models whose routes have a target among these upstreams."""
    return [
        str(route.get("model", ""))
        for _, route in rows(document, "route")
        if any(target.get("upstream") in upstreams for _, target in rows(route, "targets"))
    ]


def _upstream(document: Document) -> str | None:
    """The name of the upstream that is the embedded model."""
    return next((row["name"] for _, row in _embedded(document) if isinstance(row.get("name"), str)), None)


def _embedded(document: Document) -> list[tuple[int, Document]]:
    return [(position, row) for position, row in rows(document, "upstream") if row.get("protocol") == EMBEDDED]


def _engine(document: Document) -> Document:
    engine = document.get("engine")
    return engine if isinstance(engine, dict) else {}


def _name(document: Document) -> str:
    """As what the model answers: as written, else as its file is called, else as the packaged one is known."""
    engine = _engine(document)
    name, model = engine.get("name"), engine.get("model")
    if isinstance(name, str) and name:
        return name
    return PurePath(model).stem.lower() if isinstance(model, str) and PurePath(model).stem else PACKAGED


def _append(document: Document, table: str, row: Document) -> None:
    written = document.setdefault(table, [])
    if isinstance(written, list):  # else it is a fault already
        written.append(row)
