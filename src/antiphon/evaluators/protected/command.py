"""`antiphon index build DIR… -o FILE`: an index of one's own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from antiphon.evaluators.protected.build import build
from antiphon.evaluators.protected.index import ProtectedIndex
from antiphon.evaluators.protected.layout import IndexFault
from antiphon.evaluators.protected.sources import describe
from antiphon.evaluators.protected.winnow import CODE, TEXT

INDEX = "Indexes of protected code and text, which answers are compared with."
BUILD = (
    "Read every source file (with --text: every text file) below the folders and write an index of them. What a file's "
    "own head says of its licence goes before --license; files under permissive licences are left out."
)
OUTPUT = "where the index goes; an existing one is replaced"
LICENSE = "SPDX identifier for files that do not name a licence (default: by COPYING, LICENSE, PKG-INFO or debian/)"
URL = "what a match is cited as; {path} in it stands for the file's path (default: the package's home page)"
SKIP = "folder of freely usable code, whose pieces are left out; may be given more than once"


def add_index(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`index` among the commands of `antiphon`."""
    index = commands.add_parser("index", help="build an index of protected material", description=INDEX)
    verbs = index.add_subparsers(dest="verb", metavar="VERB", title="verbs", required=True)
    make = verbs.add_parser("build", help="build one from folders", description=BUILD)
    make.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="folder to read, with its subfolders")
    make.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=OUTPUT)
    make.add_argument("--license", metavar="SPDX", help=LICENSE)
    make.add_argument("--url", metavar="URL", help=URL)
    make.add_argument("--text", action="store_true", help="index prose, not code")
    make.add_argument("--skip", type=Path, action="append", default=[], metavar="DIR", help=SKIP)


def run_index(options: argparse.Namespace) -> int:
    try:
        for folder in (*options.folders, *options.skip):
            if not folder.is_dir():
                raise IndexFault(f"{folder}: not a folder")
        _check_output(options.output)
        keys, documents = _build(options)
    except IndexFault as fault:
        return _fail(str(fault))
    except OSError as error:
        return _fail(f"{error.filename or options.output}: {error.strerror}")
    size = options.output.stat().st_size
    print(f"{options.output}: {documents} documents, {keys} fingerprints, {size:,} bytes")
    return 0


def _check_output(path: Path) -> None:
    """Before folders are read for minutes."""
    if path.is_dir():
        raise IndexFault(f"{path}: this is a folder; --output names the file that the index is written to")
    if not path.parent.is_dir():
        raise IndexFault(f"{path}: there is no folder {path.parent}")


def _fail(why: str) -> int:
    print(f"antiphon: {why}", file=sys.stderr)
    return 1


def _build(options: argparse.Namespace) -> tuple[int, int]:
    sources = [describe(folder, options.url, options.license) for folder in options.folders]
    free = [describe(folder) for folder in options.skip]
    keys = build(TEXT if options.text else CODE, sources, free, options.output, _say)
    return keys, len(ProtectedIndex.load(options.output).documents)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command by itself: `python -m antiphon.evaluators.protected.command index build …`."""
    parser = argparse.ArgumentParser(prog="antiphon")
    add_index(parser.add_subparsers(dest="command", required=True))
    return run_index(parser.parse_args(arguments))
