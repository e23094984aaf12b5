"""`antiphon reconcile FILE…`: the ledger against a vendor's export of usage and costs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from antiphon.accounts.commands.running import (
    SECOND,
    CommandRefused,
    parse_moment,
    run_with_store,
    write_price,
    write_table,
)
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.reconcile.compare import (
    MEASURES,
    Cell,
    Difference,
    Sums,
    Tolerance,
    common_name,
    compare,
    sum_vendor,
)
from antiphon.accounts.reconcile.exports import LARGEST, ExportFault, ExportRow, read_export
from antiphon.accounts.rollups import DAY, floor
from antiphon.accounts.stores.contract import EntryQuery, Store
from antiphon.accounts.usage import UsageQuery

RECONCILE: Final = (
    "Compare the ledger with a vendor's export of usage or costs (OpenAI or Anthropic, JSON of the API or CSV of the "
    "console), by day and model. Exit status 0: they agree; 3: they differ; 1: it cannot be said."
)
FILES: Final = "exports of the same vendor; usage and costs may be given together"
UPSTREAM: Final = "turns of this [[upstream]] alone; reads entries instead of sums, so it takes longer"
ONLY: Final = "rows of this key, project or workspace alone, as the export calls it"
DIFFERS: Final = 3
PAGE: Final = 1000


def add_reconcile(commands: argparse._SubParsersAction[argparse.ArgumentParser], file: str) -> None:
    parser = commands.add_parser("reconcile", help="compare the ledger with a vendor's bill", description=RECONCILE)
    parser.add_argument("files", metavar="FILE", nargs="+", help=FILES)
    parser.add_argument("--upstream", metavar="NAME", help=UPSTREAM)
    parser.add_argument("--only", metavar="ID", help=ONLY)
    parser.add_argument("--since", type=parse_moment, metavar="WHEN", help="default: the first day of the export")
    parser.add_argument("--until", type=parse_moment, metavar="WHEN", help="not included; default: after its last day")
    parser.add_argument(
        "--tolerance", type=_percent, default="1", metavar="PERCENT", help="tokens that may differ (default: 1)"
    )
    parser.add_argument(
        "--money-tolerance",
        type=_percent,
        default="1",
        metavar="PERCENT",
        help="money that may differ (default: 1); a cent never matters, nor what the export has rounded",
    )
    parser.add_argument("--all", action="store_true", help="show also what agrees")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("-c", "--config", metavar="FILE", help=file)


def run_reconcile(options: argparse.Namespace, url: str) -> int:
    found: list[Difference] = []

    async def work(store: Store) -> str:
        rows = [row for name in options.files for row in _read(name)]
        found.extend(await _compare(store, options, rows))
        return _json(found) if options.json else _text(found, options)

    status = run_with_store(url, work)
    return DIFFERS if status == 0 and not all(one.agrees for one in found) else status


def _read(name: str) -> list[ExportRow]:
    try:
        with open(name, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise CommandRefused(f"{name}: {getattr(error, 'strerror', None) or 'not a usable path'}") from None
    if len(data) > LARGEST:
        raise CommandRefused(f"{name}: larger than {LARGEST} bytes")
    try:
        return read_export(name, data)
    except ExportFault as fault:
        raise CommandRefused(str(fault)) from None


async def _compare(store: Store, options: argparse.Namespace, rows: Sequence[ExportRow]) -> list[Difference]:
    if options.only is not None and rows and not any(options.only in row.keys for row in rows):
        known = sorted({key for row in rows for key in row.keys})
        raise CommandRefused(
            f"the export has no rows of {options.only!r}; it has {', '.join(known[:20]) or 'no names'}"
        )
    if not rows:
        raise CommandRefused("the export holds no usage")
    now = wall_clock()
    since = floor(_moment(options.since, now), DAY) if options.since else min(row.day for row in rows)
    until = _moment(options.until, now) if options.until else max(row.day for row in rows) + DAY
    vendor = sum_vendor([row for row in rows if since <= row.day < until], options.only)
    if options.upstream is not None:
        ledger = await _sum_entries(store, options.upstream, since, until)
    else:
        ledger = await _sum_usage(store, since, until)
    return compare(ledger, vendor, Tolerance(options.tolerance, options.money_tolerance))


async def _sum_usage(store: Store, since: int, until: int) -> dict[Cell, Sums]:
    cells: dict[Cell, Sums] = {}
    query = UsageQuery(since, until, "day", "model")
    while True:
        page = await store.ledger.usage(replace(query, limit=PAGE))
        for row in page:
            _add(cells, row.start, row.name, row.as_dict())
        if len(page) < PAGE:
            return cells
        query = replace(query, after=(page[-1].start, page[-1].name))


async def _sum_entries(store: Store, upstream: str, since: int, until: int) -> dict[Cell, Sums]:
    cells: dict[Cell, Sums] = {}
    query = EntryQuery(since=since, until=until, limit=PAGE)
    while page := await store.ledger.entries(query):
        for listed in page:
            entry = listed.entry
            if entry.upstream == upstream:
                turns = entry.attempts if entry.kind == "summary" else int(entry.kind == "turn")
                values = {"turns": turns, **{name: getattr(entry, name) for name in MEASURES[1:]}}
                values["estimated"] = int(entry.usage == "estimated")
                _add(cells, floor(entry.time, DAY), entry.model or entry.model_asked or "", values)
        query = replace(query, after=page[-1].cursor)
    return cells


def _add(cells: dict[Cell, Sums], day: int, model: str, values: dict[str, int]) -> None:
    sums = cells.setdefault((day, common_name(model)), Sums())
    sums.add({name: values[name] for name in MEASURES})
    sums.estimated += values["estimated"]


def _moment(moment: tuple[str, int], now: int) -> int:
    kind, value = moment
    return now - value if kind == "span" else value


# Forms


def _text(found: Sequence[Difference], options: argparse.Namespace) -> str:
    shown = [one for one in found if options.all or not one.agrees]
    differ = sum(not one.agrees for one in found)
    lines = [write_table(HEAD, [_cells(one) for one in shown], range(3, 7)), ""] if shown else []
    words = "the ledger and the export agree" if not differ else f"{differ} of {len(found)} sums differ"
    lines.append(f"{words}: {_total(found, 'price')}{_total(found, 'input_tokens')}{_total(found, 'output_tokens')}")
    keys = sorted({key for one in found if not one.agrees for key in one.keys})
    if differ and options.only is None and len(keys) > 1:
        lines.append(f"the export is of {', '.join(keys[:20])}; --only looks at one of them")
    named = {one.model for one in found if one.vendor}
    strange = sorted({one.model for one in found if one.model not in named})
    if strange and options.upstream is None:
        lines.append(f"the export never names {', '.join(strange[:20])}; --upstream looks at one vendor's turns")
    return "\n".join(line.rstrip(": ") if line.endswith(": ") else line for line in lines)


HEAD: Final = ("DAY", "MODEL", "MEASURE", "LEDGER", "VENDOR", "DIFFERENCE", "%", "NOTE")


def _cells(one: Difference) -> list[str]:
    write = write_price if one.measure == "price" else "{:,}".format
    share = f"{Decimal(one.ledger - one.vendor) / max(abs(one.vendor), 1) * 100:+.1f}" if one.vendor else ""
    notes = [] if one.where == "both" else [one.where]
    if one.estimated and not one.agrees:
        notes.append(f"{one.estimated} turns are estimated")
    if one.agrees:
        notes.append("agrees")
    figures = (write(one.ledger), write(one.vendor), write(one.ledger - one.vendor))
    return [_date(one.day), one.model or "(all)", one.measure, *figures, share, ", ".join(notes)]


def _total(found: Sequence[Difference], measure: str) -> str:
    rows = [one for one in found if one.measure == measure]
    if not rows:
        return ""
    write = write_price if measure == "price" else "{:,}".format
    ledger, vendor = sum(one.ledger for one in rows), sum(one.vendor for one in rows)
    return f"{measure} {write(ledger)} here and {write(vendor)} there. "


def _json(found: Sequence[Difference]) -> str:
    rows: list[dict[str, Any]] = [
        {
            "day": _date(one.day),
            "model": one.model or None,
            "measure": one.measure,
            "ledger": one.ledger,
            "vendor": one.vendor,
            "difference": one.ledger - one.vendor,
            "agrees": one.agrees,
            "where": one.where,
            "estimated_turns": one.estimated,
            "vendor_keys": list(one.keys),
        }
        for one in found
    ]
    document = {
        "agrees": all(one.agrees for one in found),
        "price_unit": "micro-units of the currency",
        "compared": len(found),
        "rows": rows,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _date(day: int) -> str:
    return datetime.fromtimestamp(day // SECOND, UTC).strftime("%Y-%m-%d")


def _percent(text: str) -> Decimal:
    try:
        percent = Decimal(text.removesuffix("%"))
        if not 0 <= percent <= 100:
            raise ValueError
    except (ValueError, ArithmeticError):
        raise argparse.ArgumentTypeError("must be a percentage from 0 to 100") from None
    return percent / 100
