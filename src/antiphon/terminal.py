"""The terminal that `antiphon serve` was started in. Closing it ends the gateway, as it ends other programs.

SIGHUP has two senses: the terminal has gone (then the kernel sends it, and the shell), or settings are to be read and
log files opened anew (then an operator or logrotate sends it). `nohup` starts a program with SIGHUP ignored; a service
manager, cron or `setsid` starts it without a terminal. Then only the second sense is left.
"""

from __future__ import annotations

import os
import signal
from typing import Final

SI_KERNEL: Final = 0x80  # of siginfo's si_code (sigaction(2)): nobody's kill(2)


class Terminal:
    def __init__(self) -> None:
        """At the start, before SIGHUP is handled."""
        self._counts = has_terminal() and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN

    def is_gone(self, hangup: signal.struct_siginfo) -> bool:
        """Whether this SIGHUP says so."""
        return self._counts and (hangup.si_code == SI_KERNEL or not has_terminal())


def has_terminal() -> bool:
    """A controlling one; after a hangup there is none."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
