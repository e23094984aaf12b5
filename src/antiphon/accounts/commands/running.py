"""What the commands share: the store for as long as a command takes, arguments that name times, tables."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from antiphon.accounts.rollups import DAY, HOUR
from antiphon.accounts.stores.contract import Store, StoreError
from antiphon.columns import fit, printable, width_of

SECOND: Final = 1_000_000
UNITS: Final = {"s": SECOND, "m": 60 * SECOND, "h": HOUR, "d": DAY, "w": 7 * DAY}
SPAN: Final = re.compile(r"(\d{1,9})([smhdw])")
FURTHEST: Final = 100 * 366 * DAY
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE, as shells count


class CommandRefused(Exception):
    """What was asked for cannot be done; the message says why."""


def run_with_store(url: str, work: Callable[[Store], Awaitable[str]]) -> int:
    """Prints what `work` returns, on stdout. -> the exit status"""
    try:
        text = asyncio.run(_run(url, work))
    except (CommandRefused, StoreError) as error:
        print(f"antiphon: {error}", file=sys.stderr)
        return 1
    if not text:
        return 0
    try:
        print(text, flush=True)
    except BrokenPipeError:  # whoever read has enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return 0


async def _run(url: str, work: Callable[[Store], Awaitable[str]]) -> str:
    from antiphon.accounts.stores.urls import store_for  # noqa: PLC0415 (SQLite, that `antiphon serve` loads elsewhere)

    store = store_for(url)
    try:
        await store.open()
        return await work(store)
    finally:
        await store.close()


def parse_span(text: str) -> int:
    """`30d` and the like -> microseconds."""
    found = SPAN.fullmatch(text.strip())
    if found is None and text != "0":
        raise argparse.ArgumentTypeError(f"{text!r} is no span of time such as 90s, 45m, 12h, 30d or 4w")
    span = int(found[1]) * UNITS[found[2]] if found else 0
    if span > FURTHEST:
        raise argparse.ArgumentTypeError(f"{text!r} is more than 100 years")
    return span


def parse_moment(text: str) -> tuple[str, int]:
    """("span", microseconds) of `30d`, or ("at", microseconds) of a date or time; without a zone it is UTC."""
    if SPAN.fullmatch(text.strip()):
        return "span", parse_span(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        words = f"{text!r} is neither a span such as 30d nor a date such as 2026-12-31 or 2026-12-31T18:00Z"
        raise argparse.ArgumentTypeError(words) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if not 1970 < moment.year < 9999:
        raise argparse.ArgumentTypeError(f"{text!r} is not in the years 1971 to 9998")
    return "at", int(moment.timestamp()) * SECOND


def write_time(time: int | None) -> str:
    return "" if time is None else datetime.fromtimestamp(time // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_price(micros: int) -> str:
    whole, rest = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{whole:,}.{rest:06}"


def write_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: range = range(0)) -> str:
    """Columns in `right` are set to the right."""
    lines = [head, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(width_of(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            " " * (width - width_of(cell)) + cell if column in right else fit(cell, width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
