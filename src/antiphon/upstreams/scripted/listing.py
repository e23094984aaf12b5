"""The models that the scripted upstream says it has, in every language."""

from __future__ import annotations

from antiphon.upstreams.scripted.faults import FAULTS

BORN = 1767225600  # 2026-01-01: models do not change their age


def rows() -> dict[str, str]:
    """-> names, and what each does."""
    return {"scripted": "echoes what it is told", **{name: fault.what for name, fault in FAULTS.items()}}
