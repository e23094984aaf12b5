"""`[[limit]]` and a key's `limits`: what their values may be, and the rules that they become."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from zoneinfo import ZoneInfo, available_timezones

from antiphon.limits.limit import Caller, Limit
from antiphon.limits.resp import parse_url
from antiphon.settings.faults import Wrong, quoted
from antiphon.settings.model import BudgetSettings, KeySettings, MeasureSettings, Settings
from antiphon.settings.secret import Secret
from antiphon.settings.value_types import NAME, Form, Site, ValueType, name_type, need_text, read_secret_url, suggest

RICHEST = 1_000_000_000  # units of the currency
MOST_LABELS = 64
LABEL = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")


def _read_money(value: object, site: Site) -> int:
    """-> micro-units. What stands in the file counts, digit by digit, not the float that it became."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"must be a number, not {name_type(value)}")
    if not 0 < value <= RICHEST:  # nor is nan
        raise Wrong(f"must be more than 0, and {RICHEST} or less")
    micros = Decimal(repr(value)) * 1_000_000
    if micros != int(micros):
        raise Wrong("must not have more than 6 decimals")
    return int(micros)


def _read_labels(value: object, site: Site) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise Wrong(f'must be a table, such as {{ tier = "free" }}, not {name_type(value)}')
    if len(value) > MOST_LABELS:
        raise Wrong(f"must not hold more than {MOST_LABELS} labels")
    for name, text in value.items():
        if not LABEL.fullmatch(name):
            raise Wrong(f"holds {quoted(name)}; a label's name is of letters, digits and '_.:/-', 64 at most")
        try:
            NAME.read(text, site)
        except Wrong as wrong:
            raise Wrong(f"holds {quoted(name)}, which {wrong}") from None
    return tuple(sorted(value.items()))


def _read_time_zone(value: object, site: Site) -> str:
    text = need_text(value)
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError):  # KeyError: ZoneInfoNotFoundError
        known = available_timezones()
        hint = suggest(text, known) if known else "; this machine has no table of time zones (package tzdata)"
        raise Wrong(f"must be a time zone, such as 'UTC' or 'Europe/Rome', not {quoted(text)}{hint}") from None
    return text


def _read_counters(value: object, site: Site) -> Secret:
    """Its parts are not quoted: it may hold a password."""
    secret = read_secret_url(value, site)
    try:
        parse_url(secret.reveal())
    except ValueError as error:
        raise Wrong(str(error)) from None
    return secret


MONEY = ValueType(_read_money, Form.VALUE)
LABELS = ValueType(_read_labels, Form.VALUE)
TIME_ZONE = ValueType(_read_time_zone)
COUNTERS = ValueType(_read_counters, Form.SECRET)


def check_limit(measures: MeasureSettings) -> None:
    said = [getattr(measures, name) for name in MeasureSettings.__slots__ if name != "budget"]
    if measures.budget == BudgetSettings() and not any(said):
        raise Wrong("limits nothing: it needs one of requests_per_minute, tokens_per_minute, concurrent, budget, …")


def limits_of(settings: Settings) -> tuple[Limit, ...]:
    """Those of [[limit]]."""
    return tuple(
        replace(
            _limit(row.name, row),
            keys=row.keys,
            teams=row.teams,
            labels=dict(row.labels),
            models=row.models,
            per=row.per,
        )
        for row in settings.limits
    )


def caller_of(key: KeySettings) -> Caller:
    """Who holds a static key."""
    own = () if key.limits is None else (_limit(f"key:{key.name}", key.limits),)
    return Caller(key.name, key.team, dict(key.labels), own)


def _limit(name: str, row: MeasureSettings) -> Limit:
    return Limit(
        name,
        row.requests_per_minute,
        row.input_tokens_per_minute,
        row.output_tokens_per_minute,
        row.tokens_per_minute,
        row.concurrent,
        row.budget.day,
        row.budget.month,
        row.budget.total,
    )
