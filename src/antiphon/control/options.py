"""What the control process is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.engine.options import EngineOptions
from antiphon.settings import Settings


@dataclass(frozen=True, slots=True)
class ControlOptions:
    settings: Settings
    room: str  # the gateway's private directory
    engine: EngineOptions | None  # None: it does not run
    judged: bool  # there are evaluator processes
