"""Finding uv, or bringing it into `.tools/` by whatever this Python can do.

In order: uv on PATH, if it is new enough for our lock file; what an earlier run brought; a venv with pip; pip alone
(`--target` works where Debian marks its Python as externally managed); and, where Python has neither, the wheel itself
from the package index. Nothing outside the checkout is written.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path

from antiphon.supply.download import download
from antiphon.supply.index_settings import PYPI, ca_file, configured_index
from antiphon.supply.package_index import Index, IndexFile, PackageIndexFault

VERSION = "0.13.7"
OLDEST = (0, 8, 0)  # reads our lock file and its groups, as tried; an older one is passed over


class Refused(Exception):
    """One way of getting uv did not work on this machine; the message says why, in one line."""


def find_uv(tools: Path, environ: Mapping[str, str]) -> Path:
    """A uv that works, or SystemExit with what was tried and the line that would help."""
    if present := _present(tools):
        return present
    print(f"antiphon: uv is not on this machine; bringing uv {VERSION} into {tools.name}/", flush=True)
    reasons = []
    for bring in (_by_venv, _by_pip, _by_wheel):
        try:
            return _checked(bring(tools, environ))
        except Refused as refused:
            reasons.append(f"  {bring.__name__.removeprefix('_by_')}: {refused}")
    raise SystemExit(
        "antiphon: uv could not be installed:\n"
        + "\n".join(reasons)
        + "\nantiphon: install it yourself, then run make again: "
        "sudo apt-get install python3-venv ca-certificates   (or: pipx install uv)"
    )


def _present(tools: Path) -> Path | None:
    on_path = shutil.which("uv")
    if on_path and (version_of(Path(on_path)) or (0,)) >= OLDEST:
        return Path(on_path)
    brought = (tools / "venv/bin/uv", tools / "target/bin/uv", tools / "bin/uv")
    return next((uv for uv in brought if uv.is_file() and version_of(uv)), None)


def version_of(uv: Path) -> tuple[int, ...] | None:
    """None when it does not run: a pyenv shim of a version that is off, a binary of another machine."""
    try:
        answer = subprocess.run([uv, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"uv (\d+)\.(\d+)\.(\d+)", answer.stdout)
    return tuple(map(int, found.groups())) if found and answer.returncode == 0 else None


def _checked(uv: Path) -> Path:
    if version_of(uv) is None:
        raise Refused(f"{uv} does not run here")
    return uv


# The three ways


def _by_venv(tools: Path, environ: Mapping[str, str]) -> Path:
    home = tools / "venv"
    try:
        _run([sys.executable, "-m", "venv", "--clear", str(home)], environ)
        _run([str(home / "bin/python"), "-m", "pip", "install", "--quiet", f"uv=={VERSION}"], environ)
    except Refused:
        shutil.rmtree(home, ignore_errors=True)  # Debian's venv leaves half an environment behind
        raise
    return home / "bin/uv"


def _by_pip(tools: Path, environ: Mapping[str, str]) -> Path:
    home = tools / "target"
    shutil.rmtree(home, ignore_errors=True)
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(home), f"uv=={VERSION}"], environ)
    return home / "bin/uv"


def _by_wheel(tools: Path, environ: Mapping[str, str]) -> Path:
    try:
        index = Index(configured_index(environ) or PYPI, environ)
        chosen = choose_wheel(index.files("uv"), sys.platform, platform.machine(), musl=_is_musl())
        tools.mkdir(exist_ok=True)
        wheel = download(index, chosen, tools)
    except PackageIndexFault as fault:
        raise Refused(str(fault)) from fault
    target = tools / "bin/uv"
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith("/scripts/uv"))
        target.write_bytes(archive.read(member))
    target.chmod(0o755)
    wheel.unlink()
    return target


def choose_wheel(files: list[IndexFile], system: str, machine: str, *, musl: bool) -> IndexFile:
    """The wheel of our version for this machine. uv's musllinux binary is static, so it serves as a second choice."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.lower(), machine.lower())
    if system == "darwin":
        wanted = [("macosx", "arm64" if machine == "aarch64" else machine)]
    else:
        wanted = [(family, machine) for family in (("musllinux",) if musl else ("manylinux", "musllinux"))]
    for family, ending in wanted:
        for file in files:
            if not (file.name.startswith(f"uv-{VERSION}-") and file.name.endswith(".whl")):
                continue
            tags = file.name.removesuffix(".whl").rsplit("-", 1)[-1].split(".")
            if any(tag.startswith(family) and tag.endswith(f"_{ending}") for tag in tags):
                return file
    raise PackageIndexFault(f"the index has no wheel of uv {VERSION} for {system} on {machine}")


def _is_musl() -> bool:
    return "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")) or "musl" in str(sysconfig.get_config_var("SOABI"))


def _run(command: list[str], environ: Mapping[str, str]) -> None:
    bundle = ca_file(environ)
    trust = {"PIP_CERT": bundle} if bundle else {}
    quiet = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, env={**environ, **quiet, **trust})
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Refused(
            next(iter([*[line for line in lines if "No module" in line or "ERROR" in line], *lines[-1:]]), "failed")
        )
