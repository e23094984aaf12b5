"""Cold start: from spawning `antiphon serve` to 200 on /readyz.

The first run may also pay for reading files from disk and for writing byte code; the others show what remains.

usage: python -m bench.start [--runs N] [--routes N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from bench.arena import Arena, NotReady, arena, free_port, fresh_folder
from bench.gateways import BY_NAME
from bench.install import Missing, compile_programs, install
from bench.load import exchange

WITHIN = 30.0
READY = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def measure(place: Arena, routes: int = 0) -> float:
    gateway = BY_NAME["antiphon"]
    run, port, more = fresh_folder(gateway), free_port(), more_routes(routes)
    begin = time.monotonic()
    with place.launched(gateway, run, port, more) as process:
        while not is_ready(port):
            if process.poll() is not None or time.monotonic() > begin + WITHIN:
                raise NotReady(_why(process))
            time.sleep(0.002)
        return time.monotonic() - begin


def more_routes(count: int) -> str:
    row = '[[route]]\nmodel = "model-{0:05d}"\ntargets = [{{ upstream = "mock", model = "upstream-model-{0:05d}" }}]\n'
    return "\n" + "".join(row.format(number) for number in range(count))


def is_ready(port: int) -> bool:
    try:
        return exchange(port, READY, timeout=5).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def _why(process: subprocess.Popen[bytes]) -> str:
    return f"it exited with {process.returncode}" if process.poll() is not None else f"not ready within {WITHIN:.0f} s"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.start", description="Cold start to ready.")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--routes", type=int, default=0, help="so many beside the one of peers/antiphon.toml")
    options = parser.parse_args(arguments)
    try:
        compile_programs()
        install(BY_NAME["antiphon"])
        with arena() as place:
            seconds = [measure(place, options.routes) for _ in range(options.runs)]
    except (Missing, NotReady) as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 1
    spread = f"first {seconds[0]:.3f}, {min(seconds):.3f} to {max(seconds):.3f}, {len(seconds)} runs"
    print(f"start to ready, {options.routes + 1} routes: {statistics.median(seconds):.3f} s ({spread})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
