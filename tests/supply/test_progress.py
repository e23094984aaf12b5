"""What is seen of a fetch: one line drawn over on a terminal, few lines elsewhere."""

from __future__ import annotations

import io
import os
import pty
import re

import pytest

from antiphon.lines import Lines as LogLines
from antiphon.supply.progress import Bar, ProgressLines, show_on

WHOLE = 100_000_000


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_for_ten_percent_and_never_two_in_a_second() -> None:
    clock, out = Clock(), io.StringIO()
    lines = ProgressLines(out, clock)
    lines.say("fetching")
    for percent in range(0, 101):
        clock.now += 0.06
        lines.moved(percent * WHOLE // 100, WHOLE)
    lines.close()
    assert out.getvalue().splitlines() == [
        "antiphon: fetching",
        "antiphon: 16 %, 16.0 of 100.0 MB",
        "antiphon: 33 %, 33.0 of 100.0 MB",
        "antiphon: 50 %, 50.0 of 100.0 MB",
        "antiphon: 67 %, 67.0 of 100.0 MB",
        "antiphon: 84 %, 84.0 of 100.0 MB",
        "antiphon: 100 %, 100.0 of 100.0 MB",
    ]


def test_a_slow_line_gets_ten_lines() -> None:
    clock, out = Clock(), io.StringIO()
    lines = ProgressLines(out, clock)
    for percent in range(0, 101):
        clock.now += 5
        lines.moved(percent * WHOLE // 100, WHOLE)
    assert len(out.getvalue().splitlines()) == 10


def test_a_bar_is_one_line_with_the_rate_of_this_run() -> None:
    clock, out = Clock(), io.StringIO()
    bar = Bar(out, clock)
    bar.say("fetching")
    clock.now = 10.0
    bar.moved(50_000_000, WHOLE)  # resumed: these count for the bar, not for the rate
    clock.now = 10.05
    bar.moved(51_000_000, WHOLE)  # too soon to be drawn
    clock.now = 20.0
    bar.moved(75_000_000, WHOLE)
    clock.now = 20.01
    bar.moved(WHOLE, WHOLE)  # the end always is
    bar.close()
    bar.close()
    assert out.getvalue() == (
        "antiphon: fetching\n"
        "\r  [############............]  50 %, 50.0 of 100.0 MB, 0.0 MB/s"
        "\r  [##################......]  75 %, 75.0 of 100.0 MB, 2.5 MB/s"
        "\r  [########################] 100 %, 100.0 of 100.0 MB, 5.0 MB/s\n"
    )


def test_a_shorter_line_covers_the_longer_one_and_a_word_starts_anew() -> None:
    clock, out = Clock(), io.StringIO()
    bar = Bar(out, clock)
    clock.now = 1.0
    bar.moved(123_456_789, None)
    clock.now = 2.0
    bar.moved(1, None)
    bar.say("what happened")
    assert out.getvalue() == "\r  123.5 MB, 0.0 MB/s\r  0.0 MB, 0.0 MB/s  \nantiphon: what happened\n"


def test_the_bar_is_for_terminals() -> None:
    leader, follower = pty.openpty()
    try:
        with open(follower, "w", closefd=False) as terminal:
            assert isinstance(show_on(terminal, {"TERM": "xterm"}), Bar)
            assert isinstance(show_on(terminal, {"TERM": "dumb"}), ProgressLines)
    finally:
        os.close(leader)
        os.close(follower)
    assert isinstance(show_on(io.StringIO(), {"TERM": "xterm"}), ProgressLines)


def shown(written: bytes) -> list[str]:
    """The lines that stand on a wide terminal after these bytes."""
    lines, column = [""], 0
    for piece in re.split(r"(\r|\n|\x1b\[K)", written.decode()):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            lines.append("")
        elif piece == "\x1b[K":
            lines[-1] = lines[-1][:column]
        else:
            lines[-1] = lines[-1][:column].ljust(column) + piece + lines[-1][column + len(piece) :]
            column += len(piece)
    return lines


def test_log_lines_of_other_processes_and_a_bar_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    clock, (leader, follower) = Clock(), pty.openpty()
    try:
        with open(follower, "w", closefd=False) as terminal:
            bar = Bar(terminal, clock)
            for percent in (25, 50, 75, 100):
                clock.now += 1.0
                bar.moved(percent * WHOLE // 100, WHOLE)
                if percent < 100:
                    assert LogLines(follower).write([b'{"status":%d}' % percent, b"x" * 200]) == 0
            bar.close()
        written = b""
        while not written.endswith(b"25.0 MB/s\r\n"):
            written += os.read(leader, 65_536)
    finally:
        os.close(leader)
        os.close(follower)
    logged = [line for percent in (25, 50, 75) for line in (f'{{"status":{percent}}}', "x" * 200)]
    assert shown(written) == [*logged, "  [########################] 100 %, 100.0 of 100.0 MB, 25.0 MB/s", ""]


def test_a_log_on_a_plain_terminal_has_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    leader, follower = pty.openpty()
    try:
        LogLines(follower).write([b"line"])
        assert os.read(leader, 100) == b"line\r\n"
    finally:
        os.close(leader)
        os.close(follower)
