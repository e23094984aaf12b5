"""The table: rows by vendor and key, read from the packaged file when the first one is looked for.

The file is decoded to the depth of its rows; a row itself only when it is found. So it costs a few milliseconds once,
and little more memory than its own size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import msgspec

from antiphon.models.names import exact_keys, family_keys, key_of, line_keys, vendor_of
from antiphon.models.rows import ModelRow, Price
from antiphon.protocols.facts import ModelFacts
from antiphon.routing.patterns import ModelPatterns, is_pattern

FILE: Final = os.path.join(os.path.dirname(__file__), "data", "models.json")
SETTINGS: Final = "settings"  # the source of a row that the settings made
MOST_REMEMBERED: Final = 1024


class TableFile(msgspec.Struct, frozen=True):
    date: str  # when it was made
    sources: dict[str, str]  # name -> version
    lines: dict[str, msgspec.Raw]  # beginning of a key -> what holds for models that no row knows
    vendors: dict[str, dict[str, msgspec.Raw]]  # makers of models before those who serve others'


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens of a conversation, and of an answer."""

    context: int | None = None
    max_output: int | None = None


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A row, and how well it fits what was asked for."""

    vendor: str  # whose row it is; "" where only the settings or a family know the model
    row: ModelRow
    is_exact: bool  # the row is of this model; otherwise of its family
    is_own: bool  # the row is of the vendor that was asked for

    @property
    def price(self) -> Price | None:
        """None: nobody says what the model costs there. A family's price, or another vendor's, is not it."""
        return self.row.price if self.is_exact and self.is_own else None


@cache
def packaged() -> TableFile:
    with open(FILE, "rb") as file:
        return msgspec.json.decode(file.read(), type=TableFile)


def _read_row(raw: msgspec.Raw) -> ModelRow:
    return msgspec.json.decode(raw, type=ModelRow)  # a decoder that is kept would cost 3 ms at the start


class ModelTable:
    """The packaged rows, and those of the settings over them."""

    def __init__(self, settings: Iterable[ModelRow] = (), like: Mapping[str, str] | None = None) -> None:
        """`settings`: rows by the name that is written there, which may be a pattern; `like`: the model that such a
        name is another name of."""
        rows = list(settings)
        self._settings = {row.name if is_pattern(row.name) else key_of(row.name): row for row in rows}
        self._patterns = ModelPatterns(row.name for row in rows if is_pattern(row.name))
        self._like = dict(like or {})
        self._remembered: dict[tuple[str, str | None], FoundModel | None] = {}

    def find(self, name: str, vendor: str | None = None) -> FoundModel | None:
        """What is known of a model at a vendor; None as vendor: wherever it is."""
        asked = name, vendor
        if asked not in self._remembered:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[asked] = self._find(name, vendor)
        return self._remembered[asked]

    def facts(self, name: str, vendor: str | None, defaults: ModelFacts) -> ModelFacts:
        found = self.find(name, vendor)
        return defaults if found is None else found.row.facts(defaults)

    def sizes(self, name: str, vendor: str | None, told: Sizes) -> Sizes:
        """`told`: by the upstream itself, which knows better than the file. The settings know best."""
        found = self.find(name, vendor)
        known = (self._of_settings(name), told, found.row if found is not None and found.is_exact else None)
        return Sizes(
            next((one.context for one in known if one is not None and one.context is not None), None),
            next((one.max_output for one in known if one is not None and one.max_output is not None), None),
        )

    def rows(self) -> Iterator[tuple[str, ModelRow]]:
        """All of them, with their vendors: those of the settings first, with vendor ""."""
        for row in self._settings.values():
            found = None if is_pattern(row.name) else self.find(row.name)
            yield "", row if found is None else found.row
        for vendor, rows in packaged().vendors.items():
            for raw in rows.values():
                yield vendor, _read_row(raw)

    def _find(self, name: str, vendor: str | None) -> FoundModel | None:
        own = self._of_settings(name)
        found = find_packaged(self._like.get(own.name, name) if own else name, vendor)
        if own is None:
            return found
        if found is None:
            return FoundModel("", own, is_exact=True, is_own=True)
        context = found.row.context if found.is_exact else None
        known = msgspec.structs.replace(found.row, price=found.price, context=context)
        return FoundModel(found.vendor, own.over(known), is_exact=True, is_own=True)

    def _of_settings(self, name: str) -> ModelRow | None:
        if not self._settings:
            return None
        pattern = self._patterns.find(name)
        return self._settings.get(key_of(name)) or (self._settings.get(pattern) if pattern else None)


def find_packaged(name: str, vendor: str | None = None) -> FoundModel | None:
    file = packaged()
    vendor = vendor or vendor_of(name)
    order, keys = _order(file, name, vendor), exact_keys(name)
    return (
        _first(((place, key) for place in order for key in keys), file, vendor, is_exact=True)
        or _first(((place, key) for key in family_keys(name) for place in order), file, vendor, is_exact=False)
        or _of_line(name, file)
    )


def _first(
    places: Iterable[tuple[str, str]], file: TableFile, vendor: str | None, *, is_exact: bool
) -> FoundModel | None:
    for place, key in places:
        raw = file.vendors[place].get(key)
        if raw is not None:
            return FoundModel(place, _read_row(raw), is_exact, is_own=vendor is None or place == vendor)
    return None


def _of_line(name: str, file: TableFile) -> FoundModel | None:
    key = next((key for key in line_keys(name) if key in file.lines), None)
    return None if key is None else FoundModel("", _read_row(file.lines[key]), is_exact=False, is_own=False)


def _order(file: TableFile, name: str, vendor: str | None) -> list[str]:
    """The vendor that was asked for, then the one that the name begins with, then the file's order."""
    named = name.partition("/")[0].lower()
    first = [place for place in (vendor, named) if place in file.vendors]
    return list(dict.fromkeys([*first, *file.vendors]))
