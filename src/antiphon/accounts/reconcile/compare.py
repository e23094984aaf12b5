"""Sums of the ledger beside those of a vendor, by day and model. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from antiphon.accounts.reconcile.exports import ExportRow
from antiphon.models.names import exact_keys

MEASURES: Final = ("turns", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "price")
Cell = tuple[int, str]  # day and model; "" where the export says no model


@dataclass
class Sums:
    values: dict[str, int] = field(default_factory=dict)
    rounding: Decimal = Decimal(0)
    estimated: int = 0  # turns whose tokens nobody reported
    keys: set[str] = field(default_factory=set)

    def add(self, values: dict[str, int]) -> None:
        for name, value in values.items():
            self.values[name] = self.values.get(name, 0) + value


@dataclass(frozen=True, slots=True)
class Tolerance:
    tokens: Decimal  # parts of one
    money: Decimal
    cents: Decimal = Decimal(10_000)  # micro-units of money that never matter

    def allows(self, measure: str, ours: int, theirs: int, rounding: Decimal) -> bool:
        difference, most = abs(ours - theirs), max(abs(ours), abs(theirs))
        if measure == "price":
            return difference <= max(self.money * most, self.cents) + rounding
        return difference <= self.tokens * most


@dataclass(frozen=True, slots=True)
class Difference:
    day: int
    model: str
    measure: str
    ledger: int
    vendor: int
    agrees: bool
    estimated: int
    keys: tuple[str, ...]

    @property
    def where(self) -> str:
        if not self.ledger and self.vendor:
            return "vendor only"
        return "ledger only" if self.ledger and not self.vendor else "both"


def common_name(model: str) -> str:
    """Vendors say `gpt-4o-2024-08-06` in one export and `GPT-4o` in another: the name without its date."""
    if model.startswith("("):
        return model
    keys = exact_keys(model)
    return keys[-1] if keys else model


def sum_vendor(rows: Iterable[ExportRow], only: str | None = None) -> dict[Cell, Sums]:
    """`only`: rows of this key, project or workspace."""
    cells: dict[Cell, Sums] = {}
    for row in rows:
        if only is not None and only not in row.keys:
            continue
        sums = cells.setdefault((row.day, common_name(row.model) if row.model else ""), Sums())
        sums.add(row.sums)
        sums.rounding += row.rounding
        sums.keys.update(row.keys)
    return cells


def compare(ledger: dict[Cell, Sums], vendor: dict[Cell, Sums], tolerance: Tolerance) -> list[Difference]:
    """Every sum that the export states, and those of models that it should state. Where it names no models for a
    measure, that measure is compared by day."""
    found = []
    for measure in MEASURES:
        stated = {cell: sums for cell, sums in vendor.items() if measure in sums.values}
        if not stated:
            continue
        by_day = all(not model for _, model in stated)
        ours = _by_day(ledger) if by_day else ledger
        for cell in sorted(stated.keys() | ours.keys()):
            found += _difference(cell, measure, ours.get(cell, Sums()), stated.get(cell, Sums()), tolerance)
    return sorted(found, key=lambda one: (one.day, one.model, MEASURES.index(one.measure)))


def _by_day(cells: dict[Cell, Sums]) -> dict[Cell, Sums]:
    days: dict[Cell, Sums] = {}
    for (day, _), sums in cells.items():
        total = days.setdefault((day, ""), Sums())
        total.add(sums.values)
        total.estimated += sums.estimated
    return days


def _difference(cell: Cell, measure: str, ours: Sums, theirs: Sums, tolerance: Tolerance) -> list[Difference]:
    ledger, vendor = ours.values.get(measure, 0), theirs.values.get(measure, 0)
    if not ledger and not vendor:
        return []
    agrees = tolerance.allows(measure, ledger, vendor, theirs.rounding)
    return [Difference(*cell, measure, ledger, vendor, agrees, ours.estimated, tuple(sorted(theirs.keys)))]
