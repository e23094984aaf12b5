"""Bringing the gateways and the two C programs onto this machine, under `bench/build/`. Re-runs are no-ops.

What cannot be installed is a reason in words, with the line that would install it; the benchmark goes on without it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from bench.gateways import Apt, Checkout, Gateway, Npm, Wheels
from tools.bootstrap import TOOLS, environment
from tools.uv import find_uv

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
BUILD = BENCH / "build"
PROGRAMS = {"mock": ("mock.c", "answers.c", "messages.c", "answers.h"), "loadgen": ("loadgen.c",)}


class Missing(Exception):
    """Something could not be installed; the message says what and how."""


def home(gateway: Gateway) -> Path:
    return BUILD / "gateways" / gateway.name


def program(name: str) -> Path:
    return BUILD / name


def compile_programs() -> None:
    """The mock upstream and the load generator."""
    BUILD.mkdir(exist_ok=True)
    sources = {name: [BENCH / "src" / file for file in files] for name, files in PROGRAMS.items()}
    stale = [name for name, files in sources.items() if any(_is_older(program(name), file) for file in files)]
    if not stale:
        return
    if not shutil.which("cc") and not shutil.which("gcc"):
        _apt("gcc", "libc6-dev")
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    for name in stale:
        units = [str(file) for file in sources[name] if file.suffix == ".c"]
        _run([compiler, "-O2", "-o", str(program(name)), *units])


def install(gateway: Gateway) -> None:
    """Raises Missing, with the reason, where it cannot be had here."""
    source = gateway.source
    match source:
        case Checkout():
            root = Path(gateway.root or ROOT)
            if not (root / ".venv/bin/antiphon").exists():
                raise Missing(f"not installed: make install (in {root})")
        case Apt():
            if not Path(source.program).exists():
                _apt(source.package)
        case Wheels():
            _once(gateway, " ".join(source.requirements), _install_wheels)
        case Npm():
            if not shutil.which("npm"):
                raise Missing("npm is not installed: sudo apt-get install nodejs npm")
            _once(gateway, source.package, _install_npm)
        case _:
            assert_never(source)


def _once(gateway: Gateway, what: str, do: Callable[[Gateway], None]) -> None:
    """Runs an installation unless the last one, whole, was of the same version."""
    stamp = home(gateway) / ".installed"
    if stamp.is_file() and stamp.read_text() == what:
        return
    print(f"bench: installing {what}", flush=True)
    shutil.rmtree(home(gateway), ignore_errors=True)
    home(gateway).parent.mkdir(parents=True, exist_ok=True)
    do(gateway)
    stamp.write_text(what)


def _install_wheels(gateway: Gateway) -> None:
    assert isinstance(gateway.source, Wheels)
    uv = str(find_uv(TOOLS, os.environ))
    place = str(home(gateway))
    _run([uv, "venv", "--quiet", "--python", sys.executable, place])
    _run([uv, "pip", "install", "--quiet", "--python", f"{place}/bin/python", *gateway.source.requirements])


def _install_npm(gateway: Gateway) -> None:
    assert isinstance(gateway.source, Npm)
    _run(
        [
            "npm",
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(home(gateway)),
            gateway.source.package,
        ]
    )


def _apt(*packages: str) -> None:
    line = f"apt-get install -y {' '.join(packages)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Missing(f"{packages[0]} is not installed: sudo {line}")
    print(f"bench: {line}", flush=True)
    try:
        _run(line.split())
    except Missing:  # a fresh machine has no package lists yet
        _run(["apt-get", "update"])
        _run(line.split())


def _run(command: list[str]) -> None:
    # RUNLEVEL keeps Debian's packages from starting their service.
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**environment(), **quiet}, timeout=900)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{command[0]}: {error}") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{' '.join(command[:3])} … failed: {lines[-1] if lines else done.returncode}")


def _is_older(made: Path, source: Path) -> bool:
    return not made.exists() or made.stat().st_mtime < source.stat().st_mtime
