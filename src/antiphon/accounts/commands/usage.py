"""`antiphon usage`: sums of the ledger by time, model, key, tag, team or upstream; a table with bars, JSON,
CSV or Parquet."""

from __future__ import annotations

import argparse
import base64
import csv
import io
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from antiphon.accounts.commands.parquet import write_parquet
from antiphon.accounts.commands.running import (
    SECOND,
    CommandRefused,
    parse_moment,
    run_with_store,
    write_price,
    write_table,
    write_time,
)
from antiphon.accounts.key_feed import wall_clock
from antiphon.accounts.rollups import DAY, HOUR, MEASURES, floor
from antiphon.accounts.stores.contract import Store
from antiphon.accounts.usage import PAGE, SPLITS, UsageQuery, UsageRow

USAGE: Final = (
    "Usage and cost out of the ledger, in hours and days of UTC. Prices are in the currency of the price table. "
    "A turn with several tags counts for each of them."
)
BY: Final = f"hour, day, {', '.join(SPLITS)}; a time and a name may be combined: day,model (default: day)"
SHOWN: Final = ("turns", "errors", "input_tokens", "cached_tokens", "output_tokens")
HEADS: Final = ("TURNS", "ERRORS", "INPUT", "CACHED", "OUTPUT", "PRICE")
BARS: Final = " ▏▎▍▌▋▊▉█"
WIDEST_BAR: Final = 40


def add_usage(commands: argparse._SubParsersAction[argparse.ArgumentParser], file: str) -> None:
    usage = commands.add_parser("usage", help="show usage and cost", description=USAGE)
    usage.add_argument("--by", type=_by, default="day", metavar="WHAT", help=BY)
    usage.add_argument("--since", type=parse_moment, default="30d", metavar="WHEN", help="default: 30d; or a date")
    usage.add_argument(
        "--until", type=parse_moment, metavar="WHEN", help="not included; default: the end of this hour or day"
    )
    usage.add_argument("--key", metavar="KEY", help="of this key alone: its name or id")
    only = usage.add_mutually_exclusive_group()
    for name in ("model", "tag", "team", "upstream"):
        only.add_argument(f"--{name}", metavar=name.upper(), help=f"of this {name} alone")
    form = usage.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs")
    form.add_argument("--csv", action="store_true", help="for spreadsheets")
    form.add_argument("--parquet", metavar="FILE", help="write a Parquet file (needs the extra antiphon[parquet])")
    usage.add_argument("--limit", type=_count, metavar="N", help="rows at most (default: all)")
    usage.add_argument("--after", type=_cursor, metavar="CURSOR", help="the rows after `next` of --json")
    usage.add_argument("-c", "--config", metavar="FILE", help=file)


def run_usage(options: argparse.Namespace, url: str) -> int:
    return run_with_store(url, lambda store: _usage(store, options))


async def _usage(store: Store, options: argparse.Namespace) -> str:
    names = await _key_names(store)
    named = await store.keys.find_named(options.key) if options.key else None
    query = _query(options, options.key if named is None else named.key.id)  # a [[key]] is not in the store
    rows = await _rows(store, query, options.limit)
    shown = [replace(row, name=names.get(row.name, row.name)) if query.split == "key" else row for row in rows]
    if options.json:
        is_cut = options.limit is not None and len(rows) == options.limit
        return _json(query, shown, rows[-1] if is_cut else None)
    if options.parquet:
        write_parquet(options.parquet, _labels(query), [(_cells(query, row), row.sums) for row in shown])
        return ""
    return _csv(query, shown) if options.csv else _table(query, shown)


def _query(options: argparse.Namespace, key: str | None) -> UsageQuery:
    now = wall_clock()
    period, split = options.by
    size = HOUR if period == "hour" else DAY
    since = _moment(options.since, now)
    until = _moment(options.until, now) if options.until else floor(now, size) + size
    only = [(name, getattr(options, name)) for name in ("model", "tag", "team", "upstream") if getattr(options, name)]
    try:
        query = UsageQuery(floor(since, size), until, period, split, key, only[0] if only else None, options.after)
    except ValueError as error:
        raise CommandRefused(str(error)) from None
    if query.since >= until:
        raise CommandRefused("--since is not before --until")
    return query


def _moment(moment: tuple[str, int], now: int) -> int:
    kind, value = moment
    return now - value if kind == "span" else value


async def _rows(store: Store, query: UsageQuery, limit: int | None) -> list[UsageRow]:
    rows: list[UsageRow] = []
    while True:
        size = PAGE if limit is None else min(PAGE, limit - len(rows))
        page = await store.ledger.usage(replace(query, limit=size))
        rows += page
        if len(page) < size or len(rows) == limit:
            return rows
        query = replace(query, after=(rows[-1].start, rows[-1].name))


async def _key_names(store: Store) -> dict[str, str]:
    """By id. Of two keys with one name, the revoked one shows its id too."""
    names: dict[str, str] = {}
    after = ""
    while page := await store.keys.list(after, PAGE, revoked=True):
        for record in page:
            gone = record.key.revoked is not None
            names[record.key.id] = f"{record.key.name} ({record.key.id})" if gone else record.key.name
        after = page[-1].key.id
    return names


# Forms


def _labels(query: UsageQuery) -> list[str]:
    return [label for label in (query.period if query.period != "total" else None, query.split) if label]


def _cells(query: UsageQuery, row: UsageRow) -> list[str]:
    cells = []
    if query.period != "total":
        cells.append(_start(query, row))
    return [*cells, row.name] if query.split else cells


def _start(query: UsageQuery, row: UsageRow) -> str:
    form = "%Y-%m-%dT%H:00Z" if query.period == "hour" else "%Y-%m-%d"
    return datetime.fromtimestamp(row.start // SECOND, UTC).strftime(form)


def _table(query: UsageQuery, rows: Sequence[UsageRow]) -> str:
    labels = _labels(query)
    total = UsageRow(0, "", tuple(map(sum, zip(*(row.sums for row in rows), strict=True))) or (0,) * len(MEASURES))
    foot = ["total", *[""] * (len(labels) - 1)] if labels else []
    lines = [[*_cells(query, row), *_numbers(row)] for row in rows]
    if query.split != "tag":  # of tags the sum would count turns twice
        lines.append([*foot, *_numbers(total)])
    head = [*map(str.upper, labels), *HEADS]
    text = write_table(head, lines, range(len(labels), len(head))).splitlines()
    by = "price" if any(row.as_dict()["price"] for row in rows) else "turns"
    values = [max(0, row.as_dict()[by]) for row in rows]
    width = max(map(len, text))
    room = min(WIDEST_BAR, shutil.get_terminal_size((120, 24)).columns - width - 2)
    bars = ["", *(_bar(value, max(values), room) for value in values), *[""] * len(lines[len(rows) :])]
    return "\n".join(f"{line:<{width}}  {bar}".rstrip() for line, bar in zip(text, bars, strict=True))


def _bar(value: int, most: int, room: int) -> str:
    if room < 4 or not most:
        return ""
    eighths = round(value / most * room * 8)
    if value and not eighths:
        eighths = 1
    return BARS[8] * (eighths // 8) + (BARS[eighths % 8] if eighths % 8 else "")


def _numbers(row: UsageRow) -> list[str]:
    sums = row.as_dict()
    return [*(f"{sums[name]:,}" for name in SHOWN), write_price(sums["price"])]


def _json(query: UsageQuery, rows: Sequence[UsageRow], last: UsageRow | None) -> str:
    document: dict[str, Any] = {
        "since": write_time(query.since),
        "until": write_time(query.until),
        "price_unit": "micro-units of the currency",
        "rows": [{**dict(zip(_labels(query), _cells(query, row), strict=True)), **row.as_dict()} for row in rows],
        "next": None if last is None else _write_cursor(last),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _csv(query: UsageQuery, rows: Sequence[UsageRow]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_labels(query), *MEASURES])
    for row in rows:
        writer.writerow([*map(_harmless, _cells(query, row)), *row.sums])
    return out.getvalue().rstrip("\n")


def _harmless(cell: str) -> str:
    """Spreadsheets take cells that begin like this for formulas, and clients choose tags and models."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


# Arguments


def _by(text: str) -> tuple[str, str | None]:
    words = [word.strip() for word in text.split(",")]
    periods = [word for word in words if word in ("hour", "day")]
    splits = [word for word in words if word in SPLITS]
    if len(periods) > 1 or len(splits) > 1 or len(periods) + len(splits) < len(words):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {BY}")
    return periods[0] if periods else "total", splits[0] if splits else None


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError("must be a number from 1 to 1000000")
    return int(text)


def _write_cursor(row: UsageRow) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([row.start, row.name])).decode().rstrip("=")


def _cursor(text: str) -> tuple[int, str]:
    try:
        padded = text + "=" * (-len(text) % 4)
        start, name = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=tuple[int, str])
    except (ValueError, msgspec.MsgspecError):
        raise argparse.ArgumentTypeError("is no cursor") from None
    return start, name
