"""Rows of usage as a Parquet file, for those who look at them with DuckDB, Spark or pandas. pyarrow is an extra."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from antiphon.accounts.commands.running import CommandRefused
from antiphon.accounts.rollups import MEASURES

MISSING: Final = "--parquet needs a package that is not installed: pip install 'antiphon[parquet]'"


def write_parquet(path: str, labels: Sequence[str], rows: Sequence[tuple[Sequence[str], Sequence[int]]]) -> None:
    """Rows are labels and sums. The file is replaced whole, or not at all."""
    try:
        import pyarrow  # noqa: PLC0415 (an extra)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise CommandRefused(MISSING) from None
    columns: dict[str, Any] = {}
    for place, label in enumerate(labels):
        columns[label] = pyarrow.array([cells[place] for cells, _ in rows], pyarrow.string())
    for place, measure in enumerate(MEASURES):
        columns[measure] = pyarrow.array([sums[place] for _, sums in rows], pyarrow.int64())
    table = pyarrow.table(columns).replace_schema_metadata({"price_unit": "micro-units of the currency"})
    draft = f"{path}.new"
    try:
        pyarrow.parquet.write_table(table, draft)
        os.replace(draft, path)
    except OSError as error:
        raise CommandRefused(f"{path} cannot be written: {error.strerror or 'not a usable path'}") from None
