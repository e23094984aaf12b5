"""What an answer needs to know from outside: who it is, when, and where fresh ids come from.

The pure rooms take no clock and no randomness; both arrive here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerDefaults:
    model: str  # the target's model: the name used where the upstream reports none [model-name]
    now: int  # Unix seconds: `created` where the upstream gives none
    keeps_id: Callable[[str], bool]  # has this id the dialect's form? [answer-id]
    new_id: Callable[[], str]
    new_call_id: Callable[[], str]  # "call_…", for a tool call that came without an id
