"""What a person sees while something is fetched: a bar on a terminal, a few lines elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Protocol, TextIO

REDRAW = 0.1  # seconds
STEP = 10  # percent between two lines
PAUSE = 1.0  # seconds between them at least
UNKNOWN_STEP = 10_000_000  # bytes between two lines where the whole is not known
BAR = 24  # characters


class Show(Protocol):
    def say(self, text: str) -> None:
        """One line."""

    def moved(self, here: int, whole: int | None) -> None:
        """Bytes that are here now, and in all if that is known."""


def show_on(stream: TextIO, environ: Mapping[str, str]) -> Bar | ProgressLines:
    return Bar(stream) if stream.isatty() and environ.get("TERM", "dumb") != "dumb" else ProgressLines(stream)


class ProgressLines:
    """For logs: each line stands by itself, and there are few."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._now = now
        self._said = now()
        self._step = 0

    def say(self, text: str) -> None:
        self._said, self._step = self._now(), 0
        print(f"antiphon: {text}", file=self._stream, flush=True)

    def moved(self, here: int, whole: int | None) -> None:
        step = here * 100 // whole // STEP if whole else here // UNKNOWN_STEP
        if here == whole or (step > self._step and self._now() - self._said >= PAUSE):
            self.say(_amount(here, whole).lstrip())
            self._step = step

    def close(self) -> None:
        pass


class Bar:
    """One line that is drawn over and over; the last state stays."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._now = now
        self._start: tuple[float, int] | None = None
        self._drawn = 0.0
        self._line = ""

    def say(self, text: str) -> None:
        self.close()
        print(f"antiphon: {text}", file=self._stream, flush=True)

    def moved(self, here: int, whole: int | None) -> None:
        now = self._now()
        if self._start is None or here < self._start[1]:
            self._start = now, here
        if here == whole or now - self._drawn >= REDRAW:
            self._drawn = now
            self._draw(here, whole, (here - self._start[1]) / max(now - self._start[0], 0.001))

    def close(self) -> None:
        """What is written next starts on a line of its own."""
        if self._line:
            print(file=self._stream, flush=True)
        self._line, self._start, self._drawn = "", None, 0.0

    def _draw(self, here: int, whole: int | None, rate: float) -> None:
        full = BAR * here // whole if whole else 0
        bar = f"[{'#' * full}{'.' * (BAR - full)}] " if whole else ""
        line = f"  {bar}{_amount(here, whole)}, {rate / 1e6:.1f} MB/s"[: self._width() - 1]
        self._stream.write("\r" + line.ljust(len(self._line)))
        self._stream.flush()
        self._line = line

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80


def _amount(here: int, whole: int | None) -> str:
    return f"{here * 100 // whole:3} %, {here / 1e6:.1f} of {whole / 1e6:.1f} MB" if whole else f"{here / 1e6:.1f} MB"
