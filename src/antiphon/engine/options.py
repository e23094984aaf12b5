"""What the supervisor tells the engine's host."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Final

END: Final = signal.SIGRTMIN  # ends the host; nobody else sends it


@dataclass(frozen=True, slots=True)
class EngineOptions:
    model: str | None  # path of a GGUF file; None: the packaged model
    name: str  # as what the model answers
    threads: int
    context: int  # tokens of one conversation
    slots: int  # conversations at a time
    queue: int  # requests that may wait for a slot
    queue_timeout: float  # seconds that a request may wait
    hang_after: float  # seconds without progress before the native engine is killed
    room: str  # a private directory: sockets and the state file
    key: str = field(repr=False)  # what the workers show

    @property
    def socket(self) -> str:
        return f"{self.room}/engine.sock"

    @property
    def state(self) -> str:
        return f"{self.room}/engine.json"
