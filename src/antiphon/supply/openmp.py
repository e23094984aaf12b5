"""The OpenMP library that xllamacpp is linked against and does not carry: `libgomp.so.1`.

A machine that lacks it often has a copy inside another installed wheel; else `antiphon model fetch` brings one. Such a
copy is offered to the engine's process alone, by LD_LIBRARY_PATH, under the name that the loader looks for. LLVM's and
Intel's libraries export GCC's entry points too.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from antiphon.supply.files import INSTALL_OPENMP, OPENMP, FileFault, Packaged, cache_directory, is_whole, openmp_path

LIBRARY = "libgomp.so.1"
PLACES = (
    *("*.libs/libgomp*.so*", "*/lib/libgomp*.so*"),  # auditwheel's folders; torch
    *(
        "*.libs/libomp*.so*",
        "*.libs/libiomp5*.so*",
        "*/lib/libiomp5*.so*",
        "../../libiomp5.so",
    ),  # the last: intel-openmp
)
SYMBOL_SET = b"\0GOMP_4.5\0"  # the newest that xllamacpp asks for; a library from before GCC 6 lacks it
SYMBOL = "GOMP_loop_nonmonotonic_dynamic_next"  # of that set
LARGEST = 32 * 1024 * 1024


class OpenMpFault(FileFault):
    """There is no OpenMP library for the engine; the sentence says how to get one."""


def loader_has_it() -> bool:
    """Whether a process started from here would find it. It is loaded into this one for that: harmless until used."""
    if not sys.platform.startswith("linux"):
        return True  # wheels for other systems bring their own
    try:
        return hasattr(ctypes.CDLL(LIBRARY), SYMBOL)
    except OSError:
        return False


def openmp_directory(
    environ: Mapping[str, str],
    place: Path | None = None,
    *,
    has_it: Callable[[], bool] = loader_has_it,
    paths: Iterable[str] | None = None,
    carried: Mapping[str, Packaged] = OPENMP,
) -> str | None:
    """What LD_LIBRARY_PATH must hold for the engine; None: nothing, the loader finds the library by itself.

    `place` is a folder for the link to a copy in a wheel; it lies in the cache otherwise.
    """
    machine = platform.machine()
    if has_it():
        return None
    if found := installed_copy(sys.path if paths is None else paths):
        return _linked(found, environ, place)
    if brought := brought_copy(environ, carried.get(machine)):
        return str(brought.parent)
    fetch = "run `antiphon model fetch`, or " if machine in carried else ""
    raise OpenMpFault(f"The embedded engine needs {LIBRARY}, which this machine lacks: {fetch}{INSTALL_OPENMP}.")


def installed_copy(paths: Iterable[str]) -> Path | None:
    """One in an installed wheel. Only site-packages are searched: not the current folder, where anything may lie."""
    sites = [Path(path) for path in paths if Path(path).name in ("site-packages", "dist-packages")]
    return next(filter(is_usable, _copies(sites)), None)


def brought_copy(environ: Mapping[str, str], packaged: Packaged | None) -> Path | None:
    """The one that `antiphon model fetch` brought."""
    try:
        path = openmp_path(environ)
        return path if packaged and is_whole(path, packaged, environ) else None
    except (OSError, FileFault):
        return None


def is_usable(library: Path) -> bool:
    """Built for this machine, as its ELF header says, and new enough."""
    try:
        with library.open("rb") as file, open("/proc/self/exe", "rb") as interpreter:
            head, own = file.read(20), interpreter.read(20)
            return head[:6] == own[:6] and head[18:] == own[18:] and SYMBOL_SET in file.read(LARGEST)
    except OSError:
        return False


def _copies(sites: list[Path]) -> Iterator[Path]:
    for pattern in PLACES:
        for site in sites:
            yield from sorted(site.glob(pattern))


def _linked(library: Path, environ: Mapping[str, str], place: Path | None) -> str:
    """A folder that holds nothing but the link: the wheel's own may hold libraries that nobody should find."""
    try:
        name = hashlib.sha256(os.fsencode(library)).hexdigest()[:16]
        folder = place or cache_directory(environ) / "openmp" / name
        folder.mkdir(parents=True, exist_ok=True)
        link, draft = folder / LIBRARY, folder / f"{LIBRARY}.{os.getpid()}"
        if not (link.is_symlink() and link.readlink() == library):
            draft.unlink(missing_ok=True)
            draft.symlink_to(library)
            os.replace(draft, link)
    except (OSError, FileFault) as fault:
        raise OpenMpFault(f"{library} cannot be linked for the embedded engine ({fault}): {INSTALL_OPENMP}.") from fault
    return str(folder)
