"""The dialects towards clients, by name. A new one is a new row."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from antiphon.dialects.crazyrouter import CRAZYROUTER
from antiphon.dialects.dialect import Dialect
from antiphon.dialects.maritaca import MARITACA
from antiphon.dialects.openai import OPENAI
from antiphon.dialects.skytells import SKYTELLS
from antiphon.dialects.spelling import WriteOptions
from antiphon.dialects.writer import Writer

__all__ = ["DIALECTS", "Dialect", "WriteOptions", "Writer"]

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {dialect.name: dialect for dialect in (OPENAI, CRAZYROUTER, SKYTELLS, MARITACA)}
)
