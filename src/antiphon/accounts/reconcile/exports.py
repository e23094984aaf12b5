"""A vendor's export of usage or costs, as JSON of its API or as CSV of its console, read into plain rows.

What is read: OpenAI's usage of completions and costs; Anthropic's usage of messages and cost report.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from antiphon.accounts.rollups import DAY, floor

LARGEST: Final = 256 * 1024 * 1024  # bytes of one file
MOST_ROWS: Final = 5_000_000
CENTS: Final = 10_000  # micro-units
Row = Mapping[str, Any]


class ExportFault(Exception):
    """The file cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class ExportRow:
    """`model` None: the export does not say. `sums`: measures of the ledger that it states, money in micro-units."""

    day: int
    model: str | None
    keys: tuple[str, ...]  # the vendor's names of keys, projects and workspaces
    sums: dict[str, int]
    rounding: Decimal = field(default=Decimal(0))  # micro-units by which the money may be rounded


def read_export(name: str, data: bytes) -> list[ExportRow]:
    """Raises ExportFault."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    try:
        rows = list(_json_rows(text) if text.lstrip()[:1] in (b"{", b"[") else _csv_rows(text))
    except ExportFault as fault:
        raise ExportFault(f"{name}: {fault}") from None
    if len(rows) > MOST_ROWS:
        raise ExportFault(f"{name}: more than {MOST_ROWS} rows")
    return rows


# JSON: pages of buckets, each with results


def _json_rows(text: bytes) -> Iterator[ExportRow]:
    try:
        document = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ExportFault("this is no JSON") from None
    pages = document if isinstance(document, list) else [document]
    if not pages or not all(isinstance(page, dict) and isinstance(page.get("data"), list) for page in pages):
        raise ExportFault("this is no page of a usage or cost report: it has no 'data'")
    if pages[-1].get("has_more"):
        raise ExportFault("it is cut: has_more is true. Put all its pages into one array, or give all files")
    for page in pages:
        for bucket in page["data"]:
            yield from _bucket_rows(bucket)


def _bucket_rows(bucket: Any) -> Iterator[ExportRow]:
    results = bucket.get("results") if isinstance(bucket, dict) else None
    if not isinstance(results, list):
        raise ExportFault("a bucket has no 'results'")
    day = _day(bucket.get("start_time", bucket.get("starting_at")))
    for result in results:
        if not isinstance(result, dict):
            raise ExportFault("a result is no object")
        yield _json_row(day, result)


def _json_row(day: int, result: Row) -> ExportRow:
    keys = _keys(result)
    if "uncached_input_tokens" in result:
        creation = result.get("cache_creation") or {}
        written = _whole(creation, "ephemeral_1h_input_tokens") + _whole(creation, "ephemeral_5m_input_tokens")
        plain, read = _whole(result, "uncached_input_tokens"), _whole(result, "cache_read_input_tokens")
        sums = _tokens(plain + read + written, read, _whole(result, "output_tokens"), written)
        return ExportRow(day, _name(result.get("model")), keys, sums)
    if "input_tokens" in result:
        return ExportRow(day, _name(result.get("model")), keys, _openai_tokens(result))
    amount = result.get("amount")
    if isinstance(amount, dict):  # OpenAI: in units of the currency
        _check_currency(amount.get("currency"))
        return ExportRow(
            day, _line_item(result.get("line_item")), keys, {"price": _micros(amount.get("value"), 1_000_000)}
        )
    if amount is not None:  # Anthropic: in cents
        _check_currency(result.get("currency"))
        return ExportRow(day, _name(result.get("model")), keys, {"price": _micros(amount, CENTS)})
    raise ExportFault("it holds neither tokens of completions or messages, nor costs")


# CSV: one row for each result


def _csv_rows(text: bytes) -> Iterator[ExportRow]:
    try:
        reader = csv.DictReader(io.StringIO(text.decode("utf-8"), newline=""), strict=True)
        columns = set(reader.fieldnames or ())
        read = _csv_reader(columns)
        for row in reader:
            found = read(row)
            if found is not None:
                yield found
    except (UnicodeDecodeError, csv.Error):
        raise ExportFault("this is neither JSON nor CSV") from None


def _csv_reader(columns: set[str]) -> Any:
    for needed, read in (
        ({"usage_date_utc", "usage_output_tokens"}, _anthropic_usage),
        ({"usage_date_utc", "cost_usd"}, _anthropic_cost),
        ({"start_time", "amount_value"}, _openai_cost),
        ({"start_time", "input_tokens", "output_tokens"}, _openai_usage),
    ):
        if needed <= columns:
            return read
    if {"start_time", "end_time"} <= columns:
        return lambda row: None  # OpenAI's export of days without usage has no other columns
    raise ExportFault("its columns are those of no export of OpenAI or Anthropic")


def _anthropic_usage(row: Row) -> ExportRow:
    names = ("cache_write_5m", "cache_write_1h", "cache_write")
    written = sum(_whole(row, f"usage_input_tokens_{name}") for name in names)
    read, plain = _whole(row, "usage_input_tokens_cache_read"), _whole(row, "usage_input_tokens_no_cache")
    sums = _tokens(plain + read + written, read, _whole(row, "usage_output_tokens"), written)
    return ExportRow(_day(row["usage_date_utc"]), _name(row.get("model_version") or row.get("model")), _keys(row), sums)


def _anthropic_cost(row: Row) -> ExportRow:
    cost = row["cost_usd"]
    price = {"price": _micros(cost, 1_000_000)}
    return ExportRow(_day(row["usage_date_utc"]), _name(row.get("model")), _keys(row), price, _half_digit(cost))


def _openai_cost(row: Row) -> ExportRow | None:
    if not row["amount_value"]:
        return None  # a day without costs
    _check_currency(row.get("amount_currency"))
    price = {"price": _micros(row["amount_value"], 1_000_000)}
    return ExportRow(_day(row["start_time"]), _line_item(row.get("line_item")), _keys(row), price)


def _openai_usage(row: Row) -> ExportRow | None:
    if not row["input_tokens"] and not row["output_tokens"]:
        return None
    return ExportRow(_day(row["start_time"]), _name(row.get("model")), _keys(row), _openai_tokens(row))


# Values


def _openai_tokens(row: Row) -> dict[str, int]:
    sums = _tokens(_whole(row, "input_tokens"), _whole(row, "input_cached_tokens"), _whole(row, "output_tokens"))
    if row.get("num_model_requests") not in (None, ""):
        sums["turns"] = _whole(row, "num_model_requests")
    return sums


def _tokens(input: int, cached: int, output: int, written: int | None = None) -> dict[str, int]:
    sums = {"input_tokens": input, "cached_tokens": cached, "output_tokens": output}
    return sums if written is None else {**sums, "cache_write_tokens": written}


def _keys(row: Row) -> tuple[str, ...]:
    names = ("api_key_id", "api_key", "project_id", "project_name", "workspace_id", "workspace")
    return tuple(value for name in names if isinstance(value := row.get(name), str) and value)


def _name(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _line_item(value: object) -> str | None:
    """`gpt-4o-2024-08-06, cached input` -> the model. One without a comma is no model's."""
    name = _name(value)
    if name is None:
        return None
    model, comma, _ = name.partition(", ")
    return model if comma else f"({name})"


def _whole(row: Row, name: str) -> int:
    value = row.get(name)
    if value in (None, ""):
        return 0
    try:
        number = Decimal(str(value).replace(",", ""))
        if isinstance(value, bool) or number != int(number) or not 0 <= number < 10**15:
            raise ValueError
    except (ValueError, ArithmeticError):
        raise ExportFault(f"'{name}' is no number of tokens or requests") from None
    return int(number)


def _micros(value: object, unit: int) -> int:
    try:
        amount = Decimal(str(value).replace(",", "")) * unit
        if isinstance(value, bool) or not amount.is_finite() or abs(amount) > 10**15:
            raise ValueError
    except (ValueError, InvalidOperation):
        raise ExportFault("an amount of money is no number") from None
    return int(amount.to_integral_value())


def _half_digit(text: str) -> Decimal:
    exponent = Decimal(text.replace(",", "")).as_tuple().exponent
    return (
        Decimal(5) * Decimal(10) ** (int(exponent) + 5) if isinstance(exponent, int) and exponent > -6 else Decimal(0)
    )


def _check_currency(value: object) -> None:
    if isinstance(value, str) and value.lower() not in ("usd", ""):
        raise ExportFault(f"its currency is {value[:8]!r}; prices of the ledger are in US dollars")


def _day(value: object) -> int:
    """The start of the day, in microseconds, of seconds since 1970 or an ISO 8601 time."""
    try:
        if isinstance(value, str) and not value.isdigit():
            moment = datetime.fromisoformat(value)
            seconds = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
        else:
            seconds = float(value)  # type: ignore[arg-type]
        if not 0 < seconds < 2**35:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ExportFault("a row has no time that can be read") from None
    return floor(int(seconds) * 1_000_000, DAY)
