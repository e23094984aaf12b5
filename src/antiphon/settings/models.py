"""`[[model]]`: what must hold between its keys, and the table of models that the rows are laid over."""

from __future__ import annotations

from dataclasses import asdict
from difflib import get_close_matches
from itertools import chain

import msgspec

from antiphon.document import Document
from antiphon.models.names import key_of
from antiphon.models.rows import ModelRow
from antiphon.models.table import SETTINGS, ModelTable, find_packaged, packaged
from antiphon.routing.patterns import is_pattern
from antiphon.settings.faults import Path, printable
from antiphon.settings.model import ModelSettings, Settings
from antiphon.settings.validate import Faults, Places, rows

AT_MOST = (("max_output", "context"), ("least_budget", "most_budget"))


def check(document: Document, faults: Faults, places: Places) -> None:
    first: dict[str, int] = {}
    for position, row in rows(document, "model"):
        path: Path = ("model", position)
        name, like = row.get("name"), row.get("like")
        if isinstance(name, str) and name:
            key = name if is_pattern(name) else key_of(name) or name
            if key in first:
                before = places.find(("model", first[key], "name"))[1]
                faults.add((*path, "name"), f"'name' is taken; the first one is at {before}")
            first.setdefault(key, position)
        if isinstance(like, str) and like.strip():
            _check_like(like, (*path, "like"), faults)
        for less, more in AT_MOST:
            if _is_more(row.get(less), row.get(more)):
                faults.add((*path, less), f"'{less}' must not be more than '{more}'")


def _check_like(like: str, path: Path, faults: Faults) -> None:
    found = find_packaged(like)
    if found is None or not found.is_exact:
        names = chain.from_iterable(packaged().vendors.values())
        close = get_close_matches(key_of(like), list(dict.fromkeys(names)), 1, 0.8)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        faults.add(path, f"'like' names \"{printable(like)}\", which the packaged table does not know{hint}")


def _is_more(less: object, more: object) -> bool:
    return type(less) is int and type(more) is int and less > more > 0


def model_table(settings: Settings) -> ModelTable:
    likes = {row.name: row.like for row in settings.models if row.like is not None}
    return ModelTable([_row(row) for row in settings.models], likes)


def _row(settings: ModelSettings) -> ModelRow:
    values = {name: value for name, value in asdict(settings).items() if name != "like" and value is not None}
    return msgspec.convert({**values, "source": SETTINGS, "date": ""}, ModelRow)
