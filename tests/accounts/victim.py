"""Workers that write their journals and say what they have written, until they are killed.

`python -m tests.accounts.victim` forks one for each line of its stdin (folder, worker, size, pipe, with tabs) and says
its process id: a hundred interpreters would take a minute to start.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys

from antiphon.accounts.entry import LedgerEntry
from antiphon.accounts.journal.writer import JournalWriter


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps them
    for line in sys.stdin:
        folder, worker, size, pipe = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            write_for_ever(folder, int(worker), int(size), pipe)
        print(child, flush=True)


def write_for_ever(folder: str, worker: int, size: int, pipe: str) -> None:
    said = os.open(pipe, os.O_WRONLY)
    fcntl.fcntl(said, fcntl.F_SETPIPE_SZ, 4096)  # it cannot be far ahead of who reads
    writer = JournalWriter(folder, worker, print, segment_bytes=size)
    for turn in range(10**9):
        writer.post(LedgerEntry(time=1_700_000_000_000_000 + turn, request_id=f"{worker}/{turn}", price=1))
        os.write(said, f"{worker}/{turn}\n".encode())


if __name__ == "__main__":
    main()
