"""The table of models as text, for people, and as JSON, for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from antiphon.models.rows import ModelRow, Rates
from antiphon.models.table import ModelTable, packaged

UNIT: Final = "micro-dollars for a million tokens"
KINDS: Final = (
    *("input", "cached", "cache_write", "cache_write_1h", "output", "reasoning"),
    *("audio_input", "audio_cached", "audio_output", "image_input", "image_output"),
)
TAKES: Final = ("images", "tools", "forced_tools", "json_schema", "sampling", "prefill", "mid_system")
HEAD: Final = ("MODEL", "CONTEXT", "OUTPUT", "$ IN", "$ CACHED", "$ OUT", "THINKING", "TAKES")
NUMBERS: Final = range(1, 6)  # columns that are set to the right
Listed = tuple[str, ModelRow]  # vendor, "" where only the settings know the model


def choose(table: ModelTable, pattern: str | None) -> list[Listed]:
    """A pattern has `*` or `?`; another text may stand anywhere in a name. Where it stands in none, it is looked up as
    the name of a model."""
    rows = list(table.rows())
    if pattern is None:
        return rows
    wanted = pattern.lower()
    if "*" in wanted or "?" in wanted:
        return [listed for listed in rows if any(fnmatchcase(name, wanted) for name in _names(listed))]
    chosen = [listed for listed in rows if wanted in full_name(listed).lower()]
    found = None if chosen else table.find(pattern)
    return chosen if found is None else [(found.vendor, found.row)]


def full_name(listed: Listed) -> str:
    vendor, row = listed
    return f"{vendor}/{row.name}" if vendor else row.name


def write_table(rows: Sequence[Listed]) -> str:
    lines = [HEAD, *(_cells(listed) for listed in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def write_details(listed: Listed) -> str:
    """All that is known of one model."""
    width = max(len(word) for word, _ in _details(listed))
    return "\n".join(f"{word:<{width}}  {text}" for word, text in _details(listed))


def write_json(rows: Iterable[Listed]) -> str:
    models = [{"vendor": vendor or None, **msgspec.to_builtins(row)} for vendor, row in rows]
    file = packaged()
    document = {"unit": UNIT, "date": file.date, "sources": file.sources, "models": models}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _names(listed: Listed) -> tuple[str, str]:
    return full_name(listed).lower(), listed[1].name.lower()


def _cells(listed: Listed) -> tuple[str, ...]:
    row = listed[1]
    price = row.price or Rates()
    return (
        full_name(listed),
        _number(row.context),
        _number(row.max_output),
        _dollars(price.input),
        _dollars(price.cached),
        _dollars(price.output),
        row.thinking.value if row.thinking else "",
        ", ".join(_takes(row)),
    )


def _takes(row: ModelRow) -> Iterator[str]:
    for name in TAKES:
        value = getattr(row, name)
        if value is not None:
            yield name if value else f"no {name}"


def _details(listed: Listed) -> Iterator[tuple[str, str]]:
    row = listed[1]
    yield "model", full_name(listed)
    yield "kind", row.kind
    for name in ("context", "max_output"):
        yield name, f"{_number(getattr(row, name)) or 'unknown'}"
    if row.price is None:
        yield "price", "unknown"
    else:
        yield (
            "price",
            f"{_rates(row.price)} ($ for a million tokens{f', since {row.price.since}' * bool(row.price.since)})",
        )
        tariffs = {"": row.price, **row.price.services}
        for service, tariff in tariffs.items():
            if service:
                yield f"  {service}", _rates(tariff)
            for tier in tariff.tiers:
                yield f"  {service} > {tier.above}".replace("   ", "  "), _rates(tier)
    yield "takes", ", ".join(_takes(row)) or "unknown"
    yield "thinking", _thinking(row)
    if row.max_tokens_name:
        yield "limit", row.max_tokens_name
    if row.shutdown:
        yield "shutdown", row.shutdown
    yield "source", f"{row.source}{f', {row.date}' * bool(row.date)}"


def _thinking(row: ModelRow) -> str:
    parts = [row.thinking.value if row.thinking else "unknown"]
    if row.efforts:
        parts.append(f"efforts {' '.join(row.efforts)}")
    if row.least_budget is not None or row.most_budget is not None:
        parts.append(f"budget {row.least_budget or 0} to {row.most_budget or 'any'}")
    return ", ".join(parts)


def _rates(rates: Rates) -> str:
    told = ((kind, getattr(rates, kind)) for kind in KINDS)
    return ", ".join(f"{kind} {_dollars(rate)}" for kind, rate in told if rate is not None)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _dollars(micros: int | None) -> str:
    if micros is None:
        return ""
    whole, _, rest = f"{Decimal(micros) / 1_000_000:.6f}".partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}"
