"""What the oracles found: grouped by rule, the first cases of each group kept as files to replay."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEPT = 3  # cases of a group
DIGITS = re.compile(r"\d+")


@dataclass(slots=True)
class Group:
    rule: str
    detail: str  # of the first case
    count: int = 0
    cases: list[dict[str, Any]] = field(default_factory=list)


class Findings:
    def __init__(self) -> None:
        self.groups: dict[tuple[str, str], Group] = {}

    def add(self, rule: str, detail: str, case: dict[str, Any] | None = None) -> None:
        """`rule`: what should hold. Details that differ in numbers only are one group."""
        key = (rule, DIGITS.sub("#", detail)[:160])
        group = self.groups.setdefault(key, Group(rule, detail[:400]))
        group.count += 1
        if case is not None and len(group.cases) < KEPT:
            group.cases.append(case)

    def __len__(self) -> int:
        return sum(group.count for group in self.groups.values())

    def save(self, folder: Path) -> list[str]:
        """Writes the cases; returns a report, one paragraph for each group."""
        report = []
        folder.mkdir(parents=True, exist_ok=True)
        for number, group in enumerate(sorted(self.groups.values(), key=lambda one: -one.count)):
            lines = [f"{group.count} × {group.rule}: {group.detail}"]
            for place, case in enumerate(group.cases):
                path = folder / f"{case['kind']}-{number}-{place}.json"
                path.write_text(json.dumps({"rule": group.rule, "detail": group.detail, **case}, indent=1))
                lines.append(f"    python -m fuzz --replay {path}")
            report.append("\n".join(lines))
        return report
