"""Lines on a full disk or a full pipe: whole ones or none, the lost ones counted and told."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiphon.lines import Lines
from antiphon.log import Log, LogFile

LINE = b'{"a": "' + b"x" * 90 + b'"}'


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """A file may grow to this size: a write takes a part, the next one is refused, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "access.log"


def opened(path: Path, flags: int = os.O_APPEND) -> Lines:
    return Lines(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600))


@pytest.mark.parametrize("flags", [os.O_APPEND, 0], ids=["a log file", "stderr that was redirected"])
@pytest.mark.parametrize("room", [0, 1, 99, 100, 101, 150, 250, 399])
def test_a_full_disk_leaves_whole_lines(path: Path, room: int, flags: int) -> None:
    lines = opened(path, flags)
    with file_limit(room):
        lost = lines.write([LINE] * 4)
    whole = room // (len(LINE) + 1)
    assert lost == 4 - whole
    assert lines.fault == "File too large"
    assert path.read_bytes() == (LINE + b"\n") * whole
    assert lines.write([b"next"]) == 0
    assert path.read_bytes() == (LINE + b"\n") * whole + b"next\n"


def test_a_torn_line_that_cannot_be_taken_back_is_ended() -> None:
    """As in a file that may only grow, or where another worker has written behind it."""
    descriptor = os.memfd_create("log", os.MFD_ALLOW_SEALING)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    lines = Lines(descriptor)
    with file_limit(150):
        assert lines.write([LINE, LINE]) == 1
        assert lines.write([LINE]) == 1
    assert lines.write([b"next"]) == 0
    assert os.pread(descriptor, 1000, 0) == LINE + b"\n" + LINE[: 150 - len(LINE) - 1] + b"\nnext\n"
    os.close(descriptor)


@pytest.mark.parametrize("size", [10, 1000, 5000, 70_000, 200_000])
def test_a_full_pipe_leaves_whole_lines(size: int) -> None:
    reader, writer = os.pipe()
    lines = Lines(writer)
    line = b"x" * size
    lost = lines.write([line] * (400_000 // size))
    assert lost > 0
    read = b""
    while select.select([reader], [], [], 0)[0]:
        read += os.read(reader, 1 << 20)
    assert lines.write([b"next"]) == 0
    read += os.read(reader, 1 << 20)
    os.close(reader)
    os.close(writer)
    *written, last = read.splitlines()
    assert last == b"next"
    torn = [each for each in written if each != line]
    assert len(torn) <= (1 if size >= select.PIPE_BUF else 0)
    assert len(written) - len(torn) + lost == 400_000 // size


def read(path: Path) -> bytes:
    return path.read_bytes()


async def test_lost_lines_are_told_once_when_it_begins_and_once_when_it_is_over(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = LogFile(str(path))
    with file_limit(250):
        for _ in range(3):
            for _ in range(4):
                log.add(LINE)
            log.flush()
    said = capfd.readouterr().err.splitlines()
    assert said == [f"antiphon: the log {path} cannot be written: File too large; lines are lost"]
    log.add(b'{"b": 1}')
    log.flush()
    *before, told, after = read(path).splitlines()
    assert before == [LINE, LINE]
    assert json.loads(told)["message"] == "10 log lines were lost: File too large"
    assert after == b'{"b": 1}'
    log.add(b'{"b": 2}')
    log.flush()
    assert read(path).splitlines()[-2:] == [b'{"b": 1}', b'{"b": 2}']
    log.close()
    assert capfd.readouterr().err == ""


async def test_what_is_never_written_is_told_at_the_end(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = Log(LogFile(str(path)), LogFile("off"))
    with file_limit(0):
        log._access.add(LINE)
        log.flush()
    log.close()
    assert f"antiphon: the log {path}: 1 log line was lost: File too large\n" in capfd.readouterr().err


async def test_a_file_that_was_moved_is_opened_anew(path: Path) -> None:
    log = LogFile(str(path))
    log.add(b"before")
    path_moved = path.with_suffix(".1")
    log.flush()
    os.rename(path, path_moved)
    log.add(b"gathered")
    log.reopen()
    log.add(b"after")
    log.flush()
    assert read(path_moved) == b"before\ngathered\n"
    assert read(path) == b"after\n"


async def test_a_log_that_cannot_be_opened_anew_goes_on_in_the_old_file(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = LogFile(str(path))
    os.rename(path, path.with_suffix(".1"))
    os.mkdir(path)
    log.reopen()
    log.add(b"after")
    log.flush()
    assert read(path.with_suffix(".1")) == b"after\n"
    assert "cannot be opened anew: Is a directory" in capfd.readouterr().err


def test_a_named_pipe_that_nobody_reads_does_not_hang(path: Path) -> None:
    os.mkfifo(path)
    program = f"from antiphon.log import LogFile; LogFile({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20)
    assert "No such device or address" in done.stderr
