"""Questions about usage: sums over a span of time, grouped by time, by name, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from antiphon.accounts.rollups import BY_KEY, MEASURES, Sums

PERIODS: Final = ("hour", "day", "total")
SPLITS: Final = ("key", "model", "tag", "team", "upstream")
PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """`only`: one name of one dimension, such as ("model", "gpt-4o"). ValueError: what is not kept (`rollups.py`)."""

    since: int
    until: int  # not included; both count by whole hours or days
    period: str = "day"
    split: str | None = None
    key: str | None = None  # this key's alone
    only: tuple[str, str] | None = None
    after: tuple[int, str] | None = None  # the last row of the page before: its start and name
    limit: int = PAGE

    def __post_init__(self) -> None:
        if self.only is not None and self.split not in (None, "key"):
            raise ValueError(f"usage of one {self.only[0]} can be grouped by key alone")
        if self.key is not None and self.split not in (None, *BY_KEY):
            raise ValueError(f"usage of one key cannot be grouped by {self.split}")
        by_both = self.dimension != "all" and (self.split == "key" or self.key is not None)
        if by_both and self.period == "hour":
            raise ValueError(f"usage by key and {self.dimension} is kept by day, not by hour")
        if by_both and self.dimension not in BY_KEY:
            raise ValueError(f"usage of one {self.dimension} is not kept by key")

    @property
    def grain(self) -> str:
        return "hour" if self.period == "hour" else "day"

    @property
    def dimension(self) -> str:
        if self.only is not None:
            return self.only[0]
        return "all" if self.split is None or self.split == "key" else self.split

    @property
    def name(self) -> str | None:
        """The one name that is looked at. None: all."""
        if self.only is not None:
            return self.only[1]
        return None if self.dimension != "all" else ""


@dataclass(frozen=True, slots=True)
class UsageRow:
    start: int  # of the hour or day; 0 where the period is "total"
    name: str  # in the dimension of `split`; "" without one
    sums: Sums

    def as_dict(self) -> dict[str, int]:
        return dict(zip(MEASURES, self.sums, strict=True))
