"""Starts gateways one by one and shows what each answers: a check that a row of `gateways.py` works.

usage: python -m bench.peek [--cases CASE,CASE] NAME…
"""

from __future__ import annotations

import argparse
import sys
import time

from bench.arena import Contender, NotReady, arena, log_of
from bench.cases import BY_NAME as CASES
from bench.cases import Case
from bench.gateways import BY_NAME
from bench.install import Missing, compile_programs, install
from bench.load import exchange


def peek(name: str, cases: list[str]) -> str:
    with arena() as place:
        begin = time.monotonic()
        contender = place.enter(BY_NAME[name])
        seconds = time.monotonic() - begin
        answers = [_ask(contender, CASES[case]) for case in cases]
    return f"== {name}: up in {seconds:.1f} s\n" + "\n".join(answers)


def _ask(contender: Contender, case: Case) -> str:
    answer = exchange(contender.port, contender.request(case)).decode(errors="replace")
    if not case.stream:
        return f"-- {case.name}\n{answer}"
    return f"-- {case.name}: {answer.count('data:')} events\n{answer[:1400]}\n...{answer[-120:]!r}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peek", description="What gateways answer.")
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--cases", default="json,fast", metavar="CASE,CASE")
    options = parser.parse_args(arguments)
    for name in options.names:
        try:
            compile_programs()
            install(BY_NAME[name])
            print(peek(name, options.cases.split(",")), flush=True)
        except (Missing, NotReady) as reason:
            print(f"== {name}: {reason} (log: {log_of(BY_NAME[name])})", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
