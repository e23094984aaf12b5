"""A duel: all gateways up at once on their own ports, driven in turn, case by case, round after round; medians.

CPU time is the measure (whole process tree); wall-clock figures say as much about the host as about the gateway.
Compare only inside one duel, or by ratio to nginx. Every request of a run differs from every other, but for the cases
named `repeated`; all gateways of a round get the same ones.

usage: python -m bench.duel [--rounds N] [--cases json,tools] [--beside NAME=CHECKOUT] NAME…   |   --quick   |   --all
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench import cases
from bench.arena import Arena, Contender, NotReady, arena
from bench.cases import JSON, OPENING, Case
from bench.gateways import BY_NAME, GATEWAYS, Gateway, antiphon
from bench.install import BUILD, Missing, compile_programs, install
from bench.processes import busiest, resident_bytes, tree_resident_bytes
from bench.report import NGINX, OURS, Report, Score, save

QUICK = (NGINX, OURS, "vllm_router")
QUICK_SHARE, WARM_SHARE, SLOW_SHARE = 0.5, 0.1, 0.04
QUICK_SECONDS = 100.0
ALONE = replace(JSON, connections=1, requests=500)
BETWEEN = 1_000_000  # numbers of requests between two runs of a case; no run has so many


@dataclass(frozen=True, slots=True)
class Programme:
    """The cases of a duel. With safety on a turn takes milliseconds of the evaluators' time: fewer cases."""

    chosen: Sequence[Case]
    judged: Sequence[Case]
    alone: Sequence[Case]  # one connection, for latencies

    def of(self, gateway: Gateway) -> list[Case]:
        return [_fit(case, gateway) for case in (self.judged if gateway.judges else self.chosen)]


def _fit(case: Case, gateway: Gateway) -> Case:
    return case.times(SLOW_SHARE) if gateway.slow else case


def run(gateways: Sequence[Gateway], programme: Programme, rounds: int, seconds: float) -> dict[str, Score]:
    """Up to `rounds` rounds, and no new one after `seconds` unless there are fewer than three."""
    begin = time.monotonic()
    with arena() as place:
        contenders = _enter_all(place, gateways, programme)
        scores = {contender.gateway.name: Score(contender.gateway.judges) for contender in contenders}
        for number in range(1, rounds + 1):
            round_begin = time.monotonic()
            _play(place, contenders, scores, programme, number * BETWEEN)
            spent = time.monotonic()
            print(f"bench: round {number} took {spent - round_begin:.0f} s", flush=True)
            if number >= 3 and spent + (spent - round_begin) > begin + seconds:
                break
        for contender in contenders:
            score = scores[contender.gateway.name]
            score.worker_bytes = resident_bytes(busiest(contender.process.pid))
            score.tree_bytes = tree_resident_bytes(contender.process.pid)
    return scores


def _enter_all(place: Arena, gateways: Sequence[Gateway], programme: Programme) -> list[Contender]:
    contenders = []
    for gateway in gateways:
        try:
            install(gateway)
            contender = place.enter(gateway)
        except (Missing, NotReady) as reason:
            print(f"bench: without {gateway.name}: {reason}", flush=True)
            continue
        for case in programme.of(gateway):
            contender.drive(case.times(WARM_SHARE))
        contenders.append(contender)
    return contenders


def _play(
    place: Arena, contenders: Sequence[Contender], scores: dict[str, Score], programme: Programme, number: int
) -> None:
    for contender in contenders:
        for case in programme.alone:
            _add_latency(place, contender, _fit(case, contender.gateway), scores[contender.gateway.name], number)
    for name in [case.name for case in programme.chosen]:
        for contender in contenders:
            for case in programme.of(contender.gateway):
                if case.name == name:
                    _add_cost(contender, case, scores[contender.gateway.name], number)


def _add_latency(place: Arena, contender: Contender, case: Case, score: Score, number: int) -> None:
    """What the gateway adds for one client alone, to a whole answer or to the first chunk of a stream."""
    direct = place.direct(case, number)
    through, _, _ = contender.drive(case, number)
    score.add_faults(f"{case.name}, one connection", through)
    before, after = (direct.first, through.first) if case.stream else (direct.latency, through.latency)
    if before and after:
        for cut in ("p50", "p99"):
            score.samples[f"{case.name} added {cut}"].append(after[cut] - before[cut])


def _add_cost(contender: Contender, case: Case, score: Score, number: int) -> None:
    outcome, cpu, apart = contender.drive(case, number)
    score.add_faults(case.name, outcome)
    units = outcome.good if case.is_short else outcome.units
    if units:
        score.samples[case.name].append(cpu / units * 1e6)
        if contender.gateway.judges:
            score.samples[f"{case.name} apart"].append(apart / units * 1e6)
    if case.pace and outcome.lag:
        score.samples[f"{case.name} lag"].append(outcome.lag["p50"])


# The command


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    if options.list:
        print("\n".join(f"{gateway.name:16}{gateway.language}" for gateway in GATEWAYS))
        print("cases: " + " ".join(cases.BY_NAME))
        return 0
    names = QUICK if options.quick else [gateway.name for gateway in GATEWAYS] if options.all else options.names
    wanted = (
        options.cases.split(",") if options.cases else cases.QUICK if options.quick else [c.name for c in cases.ALL]
    )
    if unknown := [name for name in names if name not in BY_NAME] + [n for n in wanted if n not in cases.BY_NAME]:
        print(f"bench: no such gateway or case: {' '.join(unknown)} (see --list)", file=sys.stderr)
        return 2
    gateways = [BY_NAME[name] for name in names] + [_beside(word) for word in options.beside]
    try:
        compile_programs()
        for gateway in gateways:  # before the clock of --quick starts
            _try_install(gateway)
    except Missing as reason:
        print(f"bench: {reason}", file=sys.stderr)
        return 1
    programme = _programme([cases.BY_NAME[name] for name in wanted], gateways, options)
    print(f"bench: paced chunks are {options.pace:g} ms apart", flush=True)
    scores = run(gateways, programme, options.rounds, QUICK_SECONDS if options.quick else options.seconds)
    report = Report(scores, programme.chosen, options.base, options.smallest)
    return _tell(report, {gateway.name for gateway in gateways}, options.all)


def _programme(wanted: list[Case], gateways: Sequence[Gateway], options: argparse.Namespace) -> Programme:
    share = options.share or (QUICK_SHARE if options.quick else 1.0)
    paced = [replace(case, pace=int(options.pace * 1000)) if case.pace else case for case in wanted]
    chosen = [case.times(share) for case in paced]
    judged = chosen if options.cases else [case for case in chosen if case.safety_bar]
    only_judging = all(gateway.judges for gateway in gateways if gateway.name != options.base)
    alone = [case.times(share) for case in (ALONE, OPENING)]
    return Programme(judged if only_judging else chosen, judged, alone)


def _tell(report: Report, names: set[str], all_of_them: bool) -> int:
    scores = report.scores
    print(report.tables())
    print(f"\nbench: saved in {save(scores, BUILD / 'results').relative_to(BUILD.parent.parent)}")
    faults = [f"bench: not valid: {name}: {fault}" for name, score in scores.items() for fault in score.faults]
    print("\n".join([*faults, report.last_line()]))
    missing = not all_of_them and scores.keys() != names
    return 1 if missing or any(score.faults for name, score in scores.items() if name.startswith(OURS)) else 0


def _try_install(gateway: Gateway) -> None:
    try:
        install(gateway)
    except Missing:
        pass  # said when it would enter the arena


def _beside(word: str) -> Gateway:
    """NAME=CHECKOUT or NAME=CHECKOUT:ROW, a row of ours whose settings it takes."""
    name, _, place = word.partition("=")
    root, _, row = place.partition(":")
    like = BY_NAME.get(row or OURS)
    if name in BY_NAME or not like or not like.config or not Path(root, ".venv/bin/antiphon").exists():
        raise SystemExit(f"bench: --beside takes a new name, a checkout with .venv, and a row of ours, not {word!r}")
    return antiphon(name, like.config, like.judges, str(Path(root).resolve()))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.duel", description="Gateways side by side.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no round that would end later")
    parser.add_argument("--cases", metavar="CASE,CASE", help="see --list")
    parser.add_argument("--pace", type=float, default=cases.PACE / 1000, help="ms between paced chunks (default: 5)")
    parser.add_argument("--share", type=float, help="of each case's requests; for a look on a busy machine")
    parser.add_argument(
        "--beside", action="append", default=[], metavar="NAME=CHECKOUT[:ROW]", help="another checkout, too"
    )
    parser.add_argument("--base", default=NGINX, metavar="NAME", help="whom the others are compared with")
    parser.add_argument("--smallest", action="store_true", help="compare the smallest values, not the medians")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)}; about two minutes after set-up")
    parser.add_argument("--all", action="store_true", help="every gateway that can be installed here")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
