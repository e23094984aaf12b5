"""The fuzzers in CI size, and their processes: a gateway stands every case, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from bench.processes import tree
from fuzz import answer_fuzzer, request_fuzzer, soak
from fuzz.__main__ import arguments, play_again, tell
from fuzz.answer_cases import make_answer
from fuzz.requests import make_session
from tests.support.process import gone, until

ROOT = Path(__file__).resolve().parents[2]
SEED = 3


async def test_no_mutated_request_breaks_a_rule(tmp_path: Path) -> None:
    options = request_fuzzer.Options(SEED, count=400, seconds=60, heavy_share=0)
    report = await request_fuzzer.fuzz_requests(options, tmp_path)
    assert tell(report.lines(), report.findings, tmp_path / "found") == 0
    assert report.requests >= 400
    assert {200, 400, 401} <= set(report.statuses)
    assert report.pulse["asked"] > 0


async def test_no_mutated_answer_breaks_a_rule(tmp_path: Path) -> None:
    report = await answer_fuzzer.fuzz_answers(answer_fuzzer.Options(SEED, count=400, seconds=60), tmp_path)
    assert tell(report.lines(), report.findings, tmp_path / "found") == 0
    assert report.answers == 400
    assert {"200", "502"} <= set(report.outcomes)


async def test_a_case_can_be_played_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = request_fuzzer.to_case(make_session(SEED, 1))
    assert await play_again(json.loads(json.dumps(session))) == 0
    answer = answer_fuzzer.to_case(make_answer(SEED, 1))
    assert await play_again(json.loads(json.dumps(answer))) == 0
    assert capsys.readouterr().out.count("no rule is broken") == 2


async def test_a_short_soak_tells_of_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # without the embedded model
    await soak.soak(soak.Options(SEED, minutes=0.02, connections=4), tmp_path)
    told = capsys.readouterr().out
    assert "embedded model: no file" in told
    assert "status 200" in told
    assert [told.count(f"| {name} |") for name in ("supervisor", "evaluators", "worker or engine host")] == [1, 1, 2]
    assert "error log:" not in told


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_run_leaves_no_process(tmp_path: Path, sign: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fuzz", "requests", "--count", "1000000", "--out", str(tmp_path)),
        cwd=ROOT,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    try:
        await until(lambda: any(path.stat().st_size for path in tmp_path.glob("*/access.log")))
        family = tree(process.pid)
        process.send_signal(sign)
        assert await asyncio.wait_for(process.wait(), 20) == 130
        assert len(family) >= 4  # the fuzzer, the pulse, the supervisor, a worker
        assert all(gone(pid) for pid in family)
        assert not os.listdir(tmp_path)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def test_the_command_line_has_the_sizes() -> None:
    options = arguments(["requests", "--count", "1000000", "--seed", "5"])
    assert (options.what, options.count, options.seed) == ("requests", 1_000_000, 5)
