"""Real processes on one table: exact together, whoever is killed or stopped, and whenever."""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import time
from pathlib import Path

from antiphon.limits.limit import Caller, Cost, Limit
from antiphon.limits.limiter import BUSY, Hold, Limiter, Settlement
from antiphon.limits.table import STATE, LimitTable, create
from tests.limits.processes import fork

ALICE = Caller("alice")
RECORD = struct.Struct("=qq")  # an entry: sequence, money
DEADLINE = 60.0


def insist(limiter: Limiter, cost: Cost) -> Hold | None:
    """Admits, however busy the table is."""
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        result = limiter.admit(ALICE, "m", cost)
        if isinstance(result, Hold):
            return result
        if result is not BUSY:
            return None
    raise AssertionError("the lock is never free")


def settled(limiter: Limiter) -> None:
    until = time.monotonic() + DEADLINE
    while not limiter.flush():
        assert time.monotonic() < until


def test_twenty_at_once_over_five_processes_are_six(tmp_path: Path) -> None:
    path = str(tmp_path / "limits")
    create(path, 5, rows=64)
    limits = (Limit("a", total=500),)
    go_read, go_write = os.pipe()
    told_read, told_write = os.pipe()

    def ask(worker: int) -> None:
        limiter = Limiter(LimitTable(path), worker, limits)
        os.close(go_write)
        os.read(go_read, 1)  # until all may go
        for _ in range(4):
            os.write(told_write, b"+" if insist(limiter, Cost(money=75)) else b"-")

    workers = [fork(lambda worker=worker: ask(worker)) for worker in range(5)]  # type: ignore[misc]
    os.close(go_read)
    os.close(told_write)
    os.close(go_write)
    answers = b"".join(iter(lambda: os.read(told_read, 100), b""))
    os.close(told_read)
    assert [os.waitpid(pid, 0)[1] for pid in workers] == [0] * 5
    assert (answers.count(b"+"), answers.count(b"-")) == (6, 14)


def test_killed_at_random_nothing_is_left_over_and_the_books_agree(tmp_path: Path) -> None:
    """The journal is written first, then the table; a worker dies anywhere. As the supervisor does it: resettle,
    release, start the next. In the end what was spent is the sum of the journals, and nothing is held."""
    path = str(tmp_path / "limits")
    create(path, 5, rows=64)
    limits = (Limit("a", total=10**12, concurrent=1000), Limit("b", month=10**12, tokens_per_minute=10**9))
    chance = random.Random(14)

    def work(worker: int, sequence: int) -> None:
        limiter = Limiter(LimitTable(path), worker, limits)
        journal = os.open(tmp_path / f"journal{worker}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        dice = random.Random()
        running = []
        while True:
            hold = insist(limiter, Cost(10, 10, dice.randrange(1, 50)))
            assert hold is not None
            running.append(hold)
            if len(running) > 5:
                hold, money = running.pop(dice.randrange(5)), dice.randrange(100)
                hold.extend(Cost(5, 5, 1), Cost(1, 10, 60))
                sequence += 1
                os.write(journal, RECORD.pack(sequence, money))
                hold.settle(Cost(7, 8, money), sequence)

    def entries(worker: int, after: int = 0) -> list[Settlement]:
        file = tmp_path / f"journal{worker}"
        data = file.read_bytes()[after * RECORD.size :] if file.exists() else b""
        return [Settlement(number, ALICE, "m", Cost(7, 8, money)) for number, money in RECORD.iter_unpack(data)]

    supervisor = Limiter(LimitTable(path, patience=5.0), 4, limits)
    pids = [fork(lambda worker=worker: work(worker, 0)) for worker in range(4)]  # type: ignore[misc]
    try:
        for _ in range(100):
            time.sleep(chance.random() * 0.02)
            worker = chance.randrange(4)
            os.kill(pids[worker], signal.SIGKILL)
            os.waitpid(pids[worker], 0)
            done = max(0, supervisor.table.settled(worker) - 5)  # some are told twice
            assert supervisor.resettle(worker, entries(worker, done))
            assert supervisor.table.release(worker)
            last = supervisor.table.settled(worker)
            pids[worker] = fork(lambda worker=worker, last=last: work(worker, last))  # type: ignore[misc]
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    for worker in range(4):
        assert supervisor.resettle(worker, entries(worker))
        assert supervisor.table.release(worker)
    total = sum(entry.actual.money for worker in range(4) for entry in entries(worker))
    assert total > 0
    rows = supervisor._find(ALICE, "m")
    assert rows is not None
    for row in rows:
        words = STATE.unpack_from(supervisor.table.memory, row.at)
        assert words[10] == total
        assert words[11:] == (0, 0, 0, 0)


def test_killed_between_any_two_stores_a_change_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    """The log, cut and uncut: whoever comes next sees one state or the other, in all rows."""
    path = str(tmp_path / "limits")
    create(path, 2, rows=64)
    limits = (Limit("a", total=1000), Limit("b", total=1000))

    def die_inside(step: int) -> None:
        """Ends at the n-th line of the table's code, as if it were killed there."""
        limiter = Limiter(LimitTable(path), 0, limits)
        lines = 0

        def trace(frame: object, event: str, arg: object) -> object:
            nonlocal lines
            if event == "line":
                lines += 1
                if lines == step:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)  # type: ignore[arg-type]
        hold = limiter.admit(ALICE, "m", Cost(money=10))
        assert isinstance(hold, Hold)
        hold.settle(Cost(money=7), 1)
        sys.settrace(None)

    outcomes = set()
    for step in range(1, 1000):
        other = Limiter(LimitTable(path), 1, limits)
        assert other.restart(0)
        before = _spent(other)
        pid = fork(lambda step=step: die_inside(step))  # type: ignore[misc]
        killed = os.waitpid(pid, 0)[1] != 0
        assert other.table.release(0)
        spent = _spent(other)
        assert spent[0] == spent[1]
        made = spent[0] - before[0]
        assert (made, other.table.settled(0)) in ((0, 0), (7, 1))
        for row in other._find(ALICE, "m") or ():
            assert STATE.unpack_from(other.table.memory, row.at)[11:] == (0, 0, 0, 0)
        outcomes.add((killed, made))
        if not killed:
            break
        create(path, 2, rows=64)
        if spent[0] > 900:
            os.unlink(path)
            create(path, 2, rows=64)
        other.table.close()
    assert outcomes == {(True, 0), (True, 7), (False, 7)}


def _spent(limiter: Limiter) -> list[int]:
    assert limiter.table.enter()  # repairs what a dead process left
    limiter.table.leave()
    return [STATE.unpack_from(limiter.table.memory, row.at)[10] for row in limiter._find(ALICE, "m") or ()]


def test_one_that_is_stopped_inside_blocks_nobody_for_long(tmp_path: Path) -> None:
    path = str(tmp_path / "limits")
    create(path, 2, rows=64)
    limits = (Limit("a", total=1000, concurrent=10),)
    told_read, told_write = os.pipe()

    def stop_inside() -> None:
        limiter = Limiter(LimitTable(path), 0, limits)
        assert isinstance(limiter.admit(ALICE, "m", Cost(money=100)), Hold)
        assert limiter.table.enter()
        os.write(told_write, b"!")
        os.kill(os.getpid(), signal.SIGSTOP)

    limiter = Limiter(LimitTable(path), 1, limits)
    hold = limiter.admit(ALICE, "m", Cost(money=100))
    assert isinstance(hold, Hold)
    pid = fork(stop_inside)
    try:
        assert os.read(told_read, 1) == b"!"
        for _ in range(1000):
            assert limiter.admit(ALICE, "m", Cost(money=100)) is BUSY
        hold.settle(Cost(money=60), 1)  # is not lost
        assert not limiter.flush()
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(told_read)
        os.close(told_write)
    assert limiter.flush()
    assert limiter.table.release(0)
    assert limiter.table.settled(1) == 1
    assert isinstance(limiter.admit(ALICE, "m", Cost(money=940)), Hold)
    assert not isinstance(limiter.admit(ALICE, "m", Cost(money=1)), Hold)
