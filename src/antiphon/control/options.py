"""What the control process is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.engine.options import EngineOptions
from antiphon.settings import Settings


@dataclass(slots=True)
class ControlOptions:
    settings: Settings  # in use; a reload replaces them
    room: str  # the gateway's private directory
    engine: EngineOptions | None  # None: it does not run
    judged: bool  # there are evaluator processes
    state: str | None = None  # the folder that keeps the admin credential; None: there is none
    store: str | None = None  # URL of the accounts' store; None: accounts are off
    journal: str | None = None  # the folder of entries that are not in the store yet
