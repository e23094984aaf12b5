"""The gateway's room: one that was left behind is swept, one that is in use is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from antiphon.runtime_dir import LOCK, PREFIX, open_runtime_dir, sweep
from tests.support.process import gone

GATEWAY = """
import os, signal, sys
from antiphon.runtime_dir import open_runtime_dir
with open_runtime_dir(sys.argv[1]) as room:
    child = os.fork()
    if child:
        print(room, child, flush=True)
    signal.pause()
"""


def leave_behind(place: Path) -> tuple[Path, int]:
    """By a gateway that is killed. -> its room, and its child, which lives"""
    with subprocess.Popen([sys.executable, "-c", GATEWAY, place], stdout=subprocess.PIPE, text=True) as gateway:
        assert gateway.stdout is not None
        room, child = gateway.stdout.readline().split()
        gateway.kill()
        gateway.wait()
    return Path(room), int(child)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)


def test_a_room_is_private_and_ends_with_its_use(tmp_path: Path) -> None:
    with open_runtime_dir(str(tmp_path)) as room:
        assert Path(room).stat().st_mode & 0o077 == 0
        sweep(str(tmp_path))
        assert Path(room).exists()
    assert not Path(room).exists()


def test_what_a_killed_gateway_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    left, child = leave_behind(tmp_path)
    end(child)
    assert left.exists()
    with open_runtime_dir(str(tmp_path)):
        assert not left.exists()


def test_a_room_is_in_use_while_any_process_of_its_gateway_lives(tmp_path: Path) -> None:
    left, child = leave_behind(tmp_path)
    sweep(str(tmp_path))
    assert left.exists()
    end(child)
    sweep(str(tmp_path))
    assert not left.exists()


def test_what_may_be_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    without_lock = tmp_path / f"{PREFIX}1"
    without_lock.mkdir(mode=0o700)
    open_to_others = tmp_path / f"{PREFIX}2"
    open_to_others.mkdir(mode=0o755)
    (open_to_others / LOCK).touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / LOCK).touch()
    linked = tmp_path / f"{PREFIX}3"
    linked.symlink_to(elsewhere)
    sweep(str(tmp_path))
    assert all(path.exists() for path in (without_lock, open_to_others, linked, elsewhere))
