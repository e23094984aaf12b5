"""usage: python -m antiphon.evaluators ORDERS LISTENER TOLD LIFE: a file, and three descriptors."""

from __future__ import annotations

import socket
import sys

from antiphon.evaluators import config, process

if __name__ == "__main__":
    told_by, *descriptors = sys.argv[1:]
    listener, told, life = map(int, descriptors)
    process.run(config.read(told_by), socket.socket(fileno=listener), told=told, life=life)
