"""A file of the package index brought into a folder: resumed where an earlier try ended, verified, then in place.

What has come so far lies in `NAME.DIGEST.part`: the digest in its name says which file it is a part of, whatever
mirror it came from, so an ETag (PyPI's mirrors often send none) is not needed. The digest of the whole decides.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from http.client import HTTPResponse
from pathlib import Path
from typing import TypeVar

from antiphon.supply.package_index import Dropped, Index, IndexFile, PackageIndexFault, Unreachable, pieces

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds before each further try; all of them resume

Told = Callable[[int, int | None], None]  # bytes that are here, bytes in all if known
Wait = Callable[[float], None]
Result = TypeVar("Result")


def unheard(here: int, whole: int | None) -> None:
    """Nobody watches."""


def download(index: Index, file: IndexFile, folder: Path, told: Told = unheard, wait: Wait = time.sleep) -> Path:
    """The file in `folder`, whole and verified. IndexFault: it is not to be had. OSError: it cannot be written."""
    if not file.sha256:
        raise PackageIndexFault(f"the index gives no sha256 for {file.name}")
    part = folder / f"{file.name}.{file.sha256[:12]}.part"
    while True:
        resumed = _size(part) > 0
        _receive(index, file, part, told, wait)
        if digest_of_bytes(part) == file.sha256:
            os.replace(part, folder / file.name)
            return folder / file.name
        part.unlink()
        if not resumed:
            raise PackageIndexFault(f"{file.name} does not have the sha256 that it should; what came was deleted")


def patiently(step: Callable[[], Result], wait: Wait, moved: Callable[[], bool] = lambda: False) -> Result:
    """Tries a step again after passing trouble; without a connection only if something had come before."""
    for pause in PAUSES:
        try:
            return step()
        except Dropped:
            pass
        except Unreachable:
            if not moved():
                raise
        wait(pause)
    return step()


def digest_of_bytes(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _receive(index: Index, file: IndexFile, part: Path, told: Told, wait: Wait) -> None:
    before = _size(part)
    patiently(lambda: _receive_rest(index, file, part, told), wait, lambda: _size(part) > before)


def _receive_rest(index: Index, file: IndexFile, part: Path, told: Told) -> None:
    have = _size(part)
    if have and have == file.size:
        return
    try:
        with index.open(file.url, {"Range": f"bytes={have}-"} if have else {}) as answer:
            start, whole = _extent(answer, have)
            if file.size is not None and whole not in (None, file.size):
                raise PackageIndexFault(f"{index.host} has {file.name} with {whole} bytes instead of {file.size}")
            _append(answer, part, start, whole or file.size, told)
    except PackageIndexFault as fault:
        if (
            fault.status != 416 or not have
        ):  # 416: there is nothing after what we have; the digest says whether it is right
            raise


def _append(answer: HTTPResponse, part: Path, start: int, whole: int | None, told: Told) -> None:
    here = start
    with part.open("r+b" if start else "wb") as out:
        out.seek(start)
        out.truncate()
        told(here, whole)
        for piece in pieces(answer, None if whole is None else whole - start):
            out.write(piece)
            here += len(piece)
            told(here, whole)
    if whole is not None and here < whole:
        raise Dropped(f"the connection ended after {here} of {whole} bytes")


def _extent(answer: HTTPResponse, have: int) -> tuple[int, int | None]:
    """-> where the body starts, and the size of the whole. A server that knows no ranges sends the whole again."""
    if answer.status == 206:
        said = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
        if said is None or int(said[1]) > have:
            raise PackageIndexFault("the server sends another part of the file than it was asked for")
        return int(said[1]), None if said[2] == "*" else int(said[2])
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
