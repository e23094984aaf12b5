"""usage: python -m fuzz [all|requests|answers|soak] [options]

Runs against a gateway process of its own and ends with status 1 if a rule was broken. The cases of a finding are
written as files; `--replay FILE` plays one again. The same seed gives the same cases.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import uvloop

from fuzz import answer_fuzzer, request_fuzzer, soak
from fuzz.findings import Findings
from fuzz.requests import HEAVY_SHARE

SECONDS = 25.0  # of each fuzzer, where neither --seconds nor --count is given
ENDLESS = 10**9


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("what", nargs="?", default="all", choices=("all", "requests", "answers", "soak"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="requests, or answers, of each fuzzer")
    parser.add_argument("--seconds", type=float, help=f"at most so long for each fuzzer (default {SECONDS:.0f})")
    parser.add_argument("--connections", type=int, default=24, help="at a time")
    parser.add_argument("--heavy", type=float, default=HEAVY_SHARE, help="share of very large bodies")
    parser.add_argument("--minutes", type=float, default=30.0, help="of a soak")
    parser.add_argument("--out", type=Path, default=Path("fuzz/found"), help="folder for the cases of findings")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    return parser.parse_args(words)


async def run(options: argparse.Namespace) -> int:
    this = asyncio.current_task()
    assert this is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)  # as Ctrl-C: what was started is ended
    if options.replay is not None:
        return await play_again(json.loads(options.replay.read_text()))
    if options.what == "soak":
        with tempfile.TemporaryDirectory() as folder:
            return await soak.soak(soak.Options(options.seed, options.minutes, options.connections), Path(folder))
    seconds = options.seconds or (ENDLESS if options.count else SECONDS)
    count = options.count or ENDLESS
    broken = 0
    if options.what in ("all", "requests"):
        asked = request_fuzzer.Options(options.seed, count, seconds, options.connections, options.heavy)
        with tempfile.TemporaryDirectory() as folder:
            report = await request_fuzzer.fuzz_requests(asked, Path(folder))
        broken += tell(report.lines(), report.findings, options.out)
    if options.what in ("all", "answers"):
        wanted = answer_fuzzer.Options(options.seed, count, seconds, options.connections)
        with tempfile.TemporaryDirectory() as folder:
            answers = await answer_fuzzer.fuzz_answers(wanted, Path(folder))
        broken += tell(answers.lines(), answers.findings, options.out)
    return 1 if broken else 0


def tell(lines: list[str], findings: Findings, out: Path) -> int:
    print("\n".join(lines))
    print("\n".join(findings.save(out)) if len(findings) else "findings: none", flush=True)
    return len(findings)


async def play_again(case: dict[str, Any]) -> int:
    print(f"was {case.get('rule')}: {case.get('detail')}")
    if case["kind"] == "request":
        found = [(breach.rule, breach.detail) for breach in await request_fuzzer.replay(case)]
    else:
        found = await answer_fuzzer.replay(case)
    print("\n".join(f"{rule}: {detail}" for rule, detail in found) or "no rule is broken")
    return 1 if found else 0


def main() -> int:
    options = arguments()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(run(options))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("fuzz: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
