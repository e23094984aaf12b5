"""What the supervisor says of its processes, in a small file that the control process reads."""

from __future__ import annotations

import os

import msgspec

FILE = "processes"


class ProcessState(msgspec.Struct, frozen=True):
    what: str
    pid: int  # 0: it does not run now
    starts: int  # so many of its kind were started in this place


class SupervisorState(msgspec.Struct, frozen=True):
    pid: int = 0
    started: float = 0.0  # Unix seconds
    draining: bool = False
    generation: int = 1  # of the settings
    path: str = ""  # of the settings file; "": there is none
    reloads: int = 0  # that were tried
    faults: tuple[str, ...] = ()  # why the last one was refused
    reloading: bool = False  # one is under way
    processes: tuple[ProcessState, ...] = ()


def reload_asked_now(state: SupervisorState) -> int:
    """Which of the `reloads` it will be. One that is under way may have read an older file."""
    return state.reloads + (2 if state.reloading else 1)


def write_state(room: str, state: SupervisorState) -> None:
    """Readers see the old state or the new one. Where it cannot be written, the old one stays."""
    path = os.path.join(room, FILE)
    try:
        with open(f"{path}.new", "wb") as file:
            file.write(msgspec.json.encode(state))
        os.replace(f"{path}.new", path)
    except OSError:
        return


def read_state(room: str) -> SupervisorState:
    try:
        with open(os.path.join(room, FILE), "rb") as file:
            return msgspec.json.decode(file.read(), type=SupervisorState)
    except (OSError, msgspec.MsgspecError):
        return SupervisorState()
