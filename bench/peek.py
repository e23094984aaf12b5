"""Starts gateways one by one and shows what each answers: a check that a row of `gateways.py` works.

usage: python -m bench.peek NAME…
"""

from __future__ import annotations

import sys
import time

from bench.arena import NotReady, arena, log_of
from bench.gateways import BY_NAME
from bench.install import Missing, compile_programs, install
from bench.load import FAST, JSON, exchange


def peek(name: str) -> str:
    with arena() as place:
        begin = time.monotonic()
        contender = place.enter(BY_NAME[name])
        seconds = time.monotonic() - begin
        whole = exchange(contender.port, contender.request(JSON)).decode(errors="replace")
        stream = exchange(contender.port, contender.request(FAST)).decode(errors="replace")
    events = stream.count("data:")
    return f"== {name}: up in {seconds:.1f} s\n{whole}\n-- {events} events\n{stream[:900]}\n...{stream[-120:]!r}"


def main(names: list[str]) -> int:
    for name in names:
        try:
            compile_programs()
            install(BY_NAME[name])
            print(peek(name), flush=True)
        except (Missing, NotReady) as reason:
            print(f"== {name}: {reason} (log: {log_of(BY_NAME[name])})", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
