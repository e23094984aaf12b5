"""A duel: all gateways up at once on their own ports, driven in turn, round after round; medians over the rounds.

CPU time is the measure (whole process tree); wall-clock figures say as much about the host as about the gateway.
Compare only inside one duel, or by ratio to nginx.

usage: python -m bench.duel [--rounds N] [--seconds S] NAME…   |   --quick   |   --all   |   --list
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.arena import Arena, Contender, NotReady, arena
from bench.gateways import BY_NAME, GATEWAYS, Gateway
from bench.install import BUILD, Missing, compile_programs, install
from bench.load import FAST, JSON, PACED, Load, Outcome, drive, request
from bench.processes import busiest, resident_bytes, tree_resident_bytes

BASE, OURS = "nginx", "antiphon"
QUICK = (BASE, OURS, "vllm_router")
CHUNKS = 200

WARM_UP = (Load(JSON, 8, 4000, 10), Load(FAST, 8, 100, 5), Load(PACED, 32, 32, 5))
PHASES = {"json": Load(JSON, 64, 15000, 3), "fast": Load(FAST, 32, 400, 4), "paced": Load(PACED, 32, 64, 3)}
SLOW_WARM_UP = (Load(JSON, 8, 300, 10), Load(FAST, 8, 20, 5), Load(PACED, 32, 32, 5))
SLOW_PHASES = {"json": Load(JSON, 64, 400, 3), "fast": Load(FAST, 32, 32, 4), "paced": Load(PACED, 32, 32, 3)}
ALONE = Load(JSON, 1, 300, 3)  # one connection, for the latency that a gateway adds


@dataclass(slots=True)
class Score:
    """One gateway's samples, one per round: CPU per answer or chunk, added latency, lag (all in us); and its memory."""

    samples: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    worker_bytes: int = 0
    tree_bytes: int = 0
    faults: list[str] = field(default_factory=list)

    def median(self, name: str) -> float:
        return statistics.median(self.samples[name]) if self.samples[name] else float("nan")


def run(names: Sequence[str], rounds: int, seconds: float) -> dict[str, Score]:
    """Up to `rounds` rounds, and no new one after `seconds` unless there are fewer than three."""
    begin = time.monotonic()
    with arena(CHUNKS) as place:
        contenders = _enter_all(place, [BY_NAME[name] for name in names])
        scores = {contender.gateway.name: Score() for contender in contenders}
        for number in range(1, rounds + 1):
            round_begin = time.monotonic()
            for contender in contenders:
                _play(contender, scores[contender.gateway.name])
            spent = time.monotonic()
            print(f"bench: round {number} took {spent - round_begin:.0f} s", flush=True)
            if number >= 3 and spent + (spent - round_begin) > begin + seconds:
                break
        for contender in contenders:
            score = scores[contender.gateway.name]
            score.worker_bytes = resident_bytes(busiest(contender.process.pid))
            score.tree_bytes = tree_resident_bytes(contender.process.pid)
    return scores


def _enter_all(place: Arena, gateways: Sequence[Gateway]) -> list[Contender]:
    contenders = []
    for gateway in gateways:
        try:
            install(gateway)
            contender = place.enter(gateway)
        except (Missing, NotReady) as reason:
            print(f"bench: without {gateway.name}: {reason}", flush=True)
            continue
        for load in SLOW_WARM_UP if gateway.slow else WARM_UP:
            contender.drive(load)
        contenders.append(contender)
    return contenders


def _play(contender: Contender, score: Score) -> None:
    core, upstream = contender.arena.cores.driver, contender.arena.upstream
    direct = drive(ALONE, upstream, request(JSON, upstream), core)
    through, _, _ = contender.drive(ALONE)
    if direct.latency and through.latency:
        score.samples["added"].append(through.latency["p50"] - direct.latency["p50"])
    for name, load in (SLOW_PHASES if contender.gateway.slow else PHASES).items():
        outcome, cpu, apart = contender.drive(load)
        score.faults += _faults(name, load, outcome)
        if outcome.units:
            score.samples[name].append(cpu / outcome.units * 1e6)
            if apart:
                score.samples[f"{name} apart"].append(apart / outcome.units * 1e6)
        if name == "paced" and outcome.lag:
            score.samples["lag"].append(outcome.lag["p50"])


def _faults(name: str, load: Load, outcome: Outcome) -> list[str]:
    """A figure counts only if every answer was whole: all chunks, and [DONE], in every stream."""
    found = []
    if outcome.errors:
        found.append(f"{name}: {outcome.errors} errors, first: {outcome.first_error}")
    if load.kind.stream and outcome.good and (outcome.fewest, outcome.most) != (CHUNKS, CHUNKS):
        found.append(f"{name}: {outcome.fewest} to {outcome.most} events per stream, not {CHUNKS}")
    if load.kind.stream and outcome.without_done:
        found.append(f"{name}: {outcome.without_done} streams without [DONE]")
    return found


# What is printed


def table(scores: dict[str, Score]) -> str:
    head = (
        "gateway",
        "JSON c64 CPU us",
        "added p50 c1 us",
        "fast chunk CPU us",
        "paced chunk CPU us",
        "paced lag p50 us",
    )
    lines = [" | ".join(("", *head, "worker RSS MB", "tree RSS MB", "")).strip(), "|---" * 8 + "|"]
    for name, score in sorted(scores.items(), key=lambda item: item[1].median("json")):
        cells = [_cell(score.samples[column]) for column in ("json", "added", "fast", "paced", "lag")]
        memory = [f"{size / 1e6:.0f}" for size in (score.worker_bytes, score.tree_bytes)]
        lines.append(f"| {' | '.join((name, *cells, *memory))} |")
        if score.samples["json apart"]:
            beside = ", ".join(f"{phase} {score.median(f'{phase} apart'):.1f}" for phase in ("json", "fast", "paced"))
            lines.append(f"\n{name}: its evaluators spent besides, CPU us: {beside}")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} [{min(values):.1f}-{max(values):.1f}]" if values else "-"


def ratios(scores: dict[str, Score]) -> str:
    """The last line: each gateway's CPU over nginx's of the same duel, and what a worker of ours holds in memory."""
    base = scores.get(BASE)
    parts = []
    for name, score in scores.items():
        if base and name != BASE:
            shares = (f"{phase} {score.median(phase) / base.median(phase):.2f}" for phase in ("json", "paced", "fast"))
            parts.append(f"{name}/{BASE}: {' '.join(shares)}")
    if OURS in scores:
        parts.append(f"worker RSS {scores[OURS].worker_bytes / 1e6:.0f} MB")
    return " | ".join(parts) or "no ratios: nginx and another gateway are needed"


def save(scores: dict[str, Score]) -> Path:
    folder = BUILD / "results"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"duel-{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    rows = {
        name: {
            **score.samples,
            "worker_bytes": score.worker_bytes,
            "tree_bytes": score.tree_bytes,
            "faults": score.faults,
        }
        for name, score in scores.items()
    }
    file.write_text(json.dumps(rows, indent=1) + "\n")
    return file


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    if options.list:
        print("\n".join(f"{gateway.name:16}{gateway.language}" for gateway in GATEWAYS))
        return 0
    if unknown := [name for name in options.names if name not in BY_NAME]:
        print(f"bench: no such gateway: {' '.join(unknown)} (see --list)", file=sys.stderr)
        return 2
    names = QUICK if options.quick else [gateway.name for gateway in GATEWAYS] if options.all else options.names
    try:
        compile_programs()
        for name in names:  # before the clock of --quick starts
            _try_install(BY_NAME[name])
    except Missing as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 1
    scores = run(names, options.rounds, 70 if options.quick else options.seconds)
    print(table(scores))
    print(f"bench: saved in {save(scores).relative_to(BUILD.parent.parent)}")
    faults = [f"bench: not valid: {name}: {fault}" for name, score in scores.items() for fault in score.faults]
    print("\n".join([*faults, ratios(scores)]))
    missing = not options.all and scores.keys() != set(names)
    return 1 if missing or any(score.faults for name, score in scores.items() if name == OURS) else 0


def _try_install(gateway: Gateway) -> None:
    try:
        install(gateway)
    except Missing:
        pass  # said when it would enter the arena


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.duel", description="Gateways side by side.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no round that would end later")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)}; within 90 s after set-up")
    parser.add_argument("--all", action="store_true", help="every gateway that can be installed here")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
