"""How the engine is, in a small file that workers and the supervisor read: for /readyz and the banner."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Literal

import msgspec

Status = Literal["starting", "fetching", "ready", "unavailable"]


class EngineState(msgspec.Struct, frozen=True):
    status: Status
    reason: str | None = None  # why it is not ready, in one sentence

    def __str__(self) -> str:
        return self.status if self.reason is None else f"{self.status}: {self.reason}"


def write(path: str, state: EngineState) -> None:
    """Readers see the old state or the new one, never half of one. A state that cannot be kept is none at all."""
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "wb") as file:
            file.write(msgspec.json.encode(state))
        os.replace(draft, path)
    except OSError:
        for stale in (draft, path):
            with suppress(OSError):
                os.unlink(stale)


def read(path: str) -> EngineState:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=EngineState)
    except (OSError, msgspec.MsgspecError):
        return EngineState("starting")
