"""Builds the default index of protected code from pinned copyleft packages of Debian and PyPI.

usage: python -m tools.build_index [--archives DIR] [-o FILE]

Needs the network for archives that are not in DIR yet (about 400 MB), and some minutes. The same archives give the same
index, byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tarfile
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from antiphon.evaluators.protected.build import Builder
from antiphon.evaluators.protected.sources import EXTENSIONS, TextSource
from antiphon.evaluators.protected.winnow import CODE

TABLE = Path(__file__).with_suffix(".toml")
OUTPUT = Path("src/antiphon/evaluators/protected/data/code.index")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.build_index", description="Build the default index.")
    parser.add_argument("--archives", type=Path, default=Path(".tools/archives"), help="where archives are kept")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    options.archives.mkdir(parents=True, exist_ok=True)
    table = tomllib.loads(TABLE.read_text())
    builder = Builder(CODE, say=lambda line: print(line, flush=True))
    for row in table["free"]:
        with unpacked(row, options.archives) as source:
            builder.leave_out(source)
    for row in table["copyleft"]:
        with unpacked(row, options.archives) as source:
            builder.add(source)
    keys = builder.write(options.output)
    print(f"{options.output}: {keys} fingerprints, {options.output.stat().st_size:,} bytes")
    return 0


@contextmanager
def unpacked(row: dict[str, Any], archives: Path) -> Iterator[TextSource]:
    """A package's source files in a folder that goes away afterwards."""
    archive = fetched(row["archive"], row["sha256"], archives)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, row["name"])
        with tarfile.open(archive) as tar:
            tar.extractall(folder, members=wanted(tar, row.get("parts", [])), filter="data")
        yield TextSource(folder, row.get("url", ""), row.get("license", ""), tuple(row.get("parts", ())))


def wanted(tar: tarfile.TarFile, parts: list[str]) -> Iterator[tarfile.TarInfo]:
    """Source files, under their path within the one folder that archives hold."""
    beginnings = tuple("" if part == "./" else part.rstrip("/") for part in parts) or ("",)
    for member in tar:
        path = member.name.removeprefix("./").partition("/")[2]
        if member.isfile() and path.startswith(beginnings) and Path(path).suffix.lower() in EXTENSIONS[CODE.kind]:
            yield member.replace(name=path)


def fetched(url: str, sha256: str, archives: Path) -> Path:
    archive = archives / url.rpartition("/")[2]
    if not archive.exists():
        print(f"fetching {url}", flush=True)
        part, _ = urllib.request.urlretrieve(url, archive.with_suffix(".part"))
        Path(part).replace(archive)
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise SystemExit(f"{archive} does not have the sha256 that {TABLE} names")
    return archive


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
