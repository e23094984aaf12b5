"""Makes `.venv` from the lock file: `python -m tools.bootstrap (runtime|everything)`, run by the Makefile.

`check-lock` says whether the lock file is current; `uv ARGS…` runs the same uv by hand. The interpreter is the one that
runs this file; uv never downloads another. `runtime` keeps what `everything` installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from antiphon.supply.index_settings import INDEX_VARIABLES, ca_file, configured_index, is_foreign
from tools.uv import find_uv

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"
VENV = ROOT / ".venv"
SETS = {"runtime": ["--no-default-groups", "--inexact"], "everything": []}


def main(arguments: list[str]) -> int:
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb not in (*SETS, "check-lock", "uv"):
        print(__doc__, file=sys.stderr)
        return 2
    uv = str(find_uv(TOOLS, os.environ))
    if verb == "uv":
        return subprocess.run([uv, *rest], env=environment()).returncode
    if verb == "check-lock":
        return check_lock(uv)
    if is_foreign(configured_index(os.environ)) and sync_by_index(uv, SETS[verb], environment()) == 0:
        return 0
    return sync(uv, SETS[verb], environment())


def environment() -> dict[str, str]:
    """This interpreter, this `.venv`, no downloads of Python; and the index and certificates that pip would use."""
    environ = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environ |= {"UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never", "UV_PROJECT_ENVIRONMENT": str(VENV)}
    if (index := configured_index(os.environ)) and is_foreign(index):
        environ["UV_DEFAULT_INDEX"] = index
    if bundle := ca_file(os.environ):
        environ.setdefault("SSL_CERT_FILE", bundle)
    return environ


def check_lock(uv: str) -> int:
    """Against pyproject.toml alone: no network, and no index of the user's, whose address would make it look stale."""
    environ = {name: value for name, value in environment().items() if name not in INDEX_VARIABLES}
    command = [uv, "lock", "--quiet", "--check", "--offline", "--no-config"]
    return subprocess.run(command, cwd=ROOT, env=environ).returncode


def sync(uv: str, options: list[str], environ: dict[str, str]) -> int:
    """`--frozen`: exactly the lock file, no resolution; `make lint` says whether the lock file is current."""
    command = [uv, "sync", "--quiet", "--frozen", *options]
    return subprocess.run(command, cwd=ROOT, env=environ).returncode


def sync_by_index(uv: str, options: list[str], environ: dict[str, str]) -> int:
    """The same from the user's own index: a lock file names PyPI's addresses, which such a machine may not reach.

    Versions and digests still come from the lock file.
    """
    wanted = TOOLS / "requirements.txt"
    TOOLS.mkdir(exist_ok=True)
    if not (VENV / "bin/python").exists():
        subprocess.run([uv, "venv", "--quiet", str(VENV)], env=environ, check=True)
    groups = [option for option in options if option != "--inexact"]
    export = [uv, "export", "--quiet", "--frozen", "--no-emit-project", "--output-file", str(wanted), *groups]
    install = [uv, "pip", "install", "--quiet", "--python", str(VENV / "bin/python")]
    steps = (
        export,
        [*install, "--require-hashes", "-r", str(wanted)],
        [*install, "--no-deps", "--editable", str(ROOT)],
    )
    for step in steps:
        done = subprocess.run(step, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
