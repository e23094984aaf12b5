"""A table of limits on a disk that is full: turns are refused, and no process dies of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INSIDE = """
import os, sys
from antiphon.limits.limit import Caller, Cost, Limit
from antiphon.limits.limiter import Hold, Limiter, Settlement
from antiphon.limits.table import LimitTable, create

folder = sys.argv[1]
create(f"{folder}/limits", 2)
limit = Limit("each", concurrent=5, per=("key",))
first, second = (Limiter(LimitTable(f"{folder}/limits"), number, (limit,)) for number in range(2))
said = []
ask = lambda limiter, key: said.append("held" if isinstance(limiter.admit(Caller(key), "m", Cost()), Hold) else "full")
ask(first, "known")
with open(f"{folder}/filled", "wb", buffering=0) as file:
    try:
        while file.write(bytes(4096)):
            pass
    except OSError:
        pass
ask(first, "known")
ask(first, "new")
ask(second, "known")
said.append(second.resettle(1, [Settlement(1, Caller("refused"), "m", Cost())]))
os.unlink(f"{folder}/filled")
ask(first, "new")
ask(second, "known")
print(*said)
"""


SAID = ["held", "held", "full", "full", "True", "held", "held"]


def test_a_full_disk_refuses_new_subjects(tmp_path: Path) -> None:
    """On a file system of its own, in a namespace of mounts."""
    space = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=256k none {tmp_path}"
    try:
        able = subprocess.run([*space, mount], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        able = False
    if not able:
        pytest.skip("this machine does not let us mount")
    inside = [*space, f'{mount} && exec "$@"', "sh", sys.executable, "-c", INSIDE, str(tmp_path)]
    done = subprocess.run(inside, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, SAID), done.stderr
