"""What is seen of a fetch: one line drawn over on a terminal, few lines elsewhere."""

from __future__ import annotations

import io
import os
import pty

from antiphon.supply.progress import Bar, Lines, show_on

WHOLE = 100_000_000


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_for_ten_percent_and_never_two_in_a_second() -> None:
    clock, out = Clock(), io.StringIO()
    lines = Lines(out, clock)
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
    lines = Lines(out, clock)
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
            assert isinstance(show_on(terminal, {"TERM": "dumb"}), Lines)
    finally:
        os.close(leader)
        os.close(follower)
    assert isinstance(show_on(io.StringIO(), {"TERM": "xterm"}), Lines)
