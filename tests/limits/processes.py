"""Processes for tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def fork(become: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        become()
        status = 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
    finally:
        os._exit(status)
