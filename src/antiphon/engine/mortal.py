"""A child process that ends with its host, whatever it is doing."""

from __future__ import annotations

import ctypes
import signal

PR_SET_PDEATHSIG = 1  # of prctl(2)


def end_with_the_host() -> None:
    """Linux only; elsewhere the end of stdin has to do. The other signals are not meant for such a child: whoever sends
    them to all processes wants the gateway to drain, and the last answers need it."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        pass
