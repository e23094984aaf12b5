"""A worker that writes its journal and says what it has written, until it is killed."""

from __future__ import annotations

import fcntl
import os

from antiphon.accounts.entry import LedgerEntry
from antiphon.accounts.journal.writer import JournalWriter


def write_for_ever(folder: str, worker: int, size: int, pipe: str) -> None:
    said = os.open(pipe, os.O_WRONLY)
    fcntl.fcntl(said, fcntl.F_SETPIPE_SZ, 4096)  # it cannot be far ahead of who reads
    writer = JournalWriter(folder, worker, print, segment_bytes=size)
    for turn in range(10**9):
        writer.post(LedgerEntry(time=1_700_000_000_000_000 + turn, request_id=f"{worker}/{turn}", price=1))
        os.write(said, f"{worker}/{turn}\n".encode())
