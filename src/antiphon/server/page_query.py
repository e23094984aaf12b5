"""The query of a list that comes in pages, as OpenAI's API has it: `limit`, `order`, `after`."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from antiphon.errors import RequestError

MOST: Final = 100  # of one page
USUAL: Final = 20
LONGEST: Final = 512  # characters of an id in a query


def read_query(query: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise RequestError("The query has too many fields.") from None
    found = dict(pairs)
    if any("\0" in name + value for name, value in found.items()):
        raise RequestError("The query holds a NUL character.", code="invalid_value")
    return found


def read_limit(asked: dict[str, str]) -> int:
    text = asked.get("limit", str(USUAL))
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise RequestError("Invalid 'limit': expected an integer.", param="limit", code="invalid_type")
    if int(text) < 1:
        words = f"Invalid 'limit': integer below minimum value. Expected a value >= 1, but got {int(text)} instead."
        raise RequestError(words, param="limit", code="integer_below_min_value")
    if int(text) > MOST:
        words = (
            f"Invalid 'limit': integer above maximum value. Expected a value <= {MOST}, but got {int(text)} instead."
        )
        raise RequestError(words, param="limit", code="integer_above_max_value")
    return int(text)


def read_order(asked: dict[str, str]) -> bool:
    """Whether the newest come first."""
    order = asked.get("order", "asc")
    if order not in ("asc", "desc"):
        words = f"Invalid value: '{order[:LONGEST]}'. Supported values are: 'asc' and 'desc'."
        raise RequestError(words, param="order", code="invalid_value")
    return order == "desc"


def no_cursor(id: str) -> RequestError:
    return RequestError(f"Invalid 'after': there is no '{id[:LONGEST]}'.", param="after", code="invalid_value")
