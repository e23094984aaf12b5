"""Questions about usage: sums over a span of time, told apart by time, by name, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from antiphon.accounts.rollups import MEASURES, Sums

PERIODS: Final = ("hour", "day", "total")
SPLITS: Final = ("key", "model", "tag", "team", "upstream")
PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """`only`: one name of one dimension, such as ("model", "gpt-4o"); with it, `split` is "key" or None."""

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
            raise ValueError("usage of one name is told apart by key alone")
        if self.key is not None and self.split in ("key", "team"):
            raise ValueError(f"usage of one key is not told apart by {self.split}")

    @property
    def grain(self) -> str:
        return "hour" if self.period == "hour" else "day"

    @property
    def dimension(self) -> str:
        return self.only[0] if self.only is not None else self.split or "all"


@dataclass(frozen=True, slots=True)
class UsageRow:
    start: int  # of the hour or day; 0 where the period is "total"
    name: str  # in the dimension of `split`; "" without one
    sums: Sums

    def as_dict(self) -> dict[str, int]:
        return dict(zip(MEASURES, self.sums, strict=True))
