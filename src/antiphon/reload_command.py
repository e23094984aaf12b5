"""`antiphon reload`: asks a gateway of this user to read its settings again, and says what came of it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from glob import glob
from typing import Final

from antiphon.control.state import FILE, SupervisorState, read_state, reload_asked_now
from antiphon.runtime_dir import PREFIX, runtime_dir_for_sockets

RELOAD: Final = (
    "Read the settings again, in a gateway that runs with them: in all its workers or in none. "
    "Answers under way are not touched. Exit status 1: they are not in use, and why."
)
PID: Final = "the gateway's process, where several run with the same settings"
PATIENCE: Final = 60.0  # seconds
NAP: Final = 0.02


def add_reload(commands: argparse._SubParsersAction[argparse.ArgumentParser], file: str) -> None:
    reload = commands.add_parser("reload", help="let a running gateway read its settings again", description=RELOAD)
    reload.add_argument("-c", "--config", metavar="FILE", help=file)
    reload.add_argument("--pid", type=int, metavar="PID", help=PID)


def run_reload(options: argparse.Namespace) -> int:
    path = options.config or ("antiphon.toml" if os.path.exists("antiphon.toml") else None)
    found = [
        (room, state)
        for room, state in running_gateways()
        if (state.pid == options.pid if options.pid else state.path == (os.path.abspath(path) if path else ""))
    ]
    if len(found) != 1:
        words = ", ".join(str(state.pid) for _, state in found)
        print(f"antiphon: {f'several run ({words}): choose one with --pid' if found else NONE}", file=sys.stderr)
        return 1
    room, before = found[0]
    try:
        os.kill(before.pid, signal.SIGHUP)
    except OSError as error:
        print(f"antiphon: the gateway {before.pid} cannot be asked: {error.strerror}", file=sys.stderr)
        return 1
    return _wait(room, before)


NONE: Final = "no gateway of this user runs with these settings"


def running_gateways() -> list[tuple[str, SupervisorState]]:
    """(its private directory, what it says of itself)"""
    files = glob(os.path.join(runtime_dir_for_sockets(), f"{PREFIX}*", FILE))
    found = [(os.path.dirname(file), read_state(os.path.dirname(file))) for file in files]
    return [(room, state) for room, state in found if state.pid and os.path.exists(f"/proc/{state.pid}")]


def _wait(room: str, before: SupervisorState) -> int:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        state = read_state(room)
        if state.reloads >= reload_asked_now(before):
            for fault in state.faults:
                print(f"antiphon: settings are not reloaded: {fault}", file=sys.stderr)
            if not state.faults:
                print(f"settings generation {state.generation} is in use")
            return 1 if state.faults else 0
        time.sleep(NAP)
    print(f"antiphon: the gateway {before.pid} does not say what came of it", file=sys.stderr)
    return 1
