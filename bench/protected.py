"""Protected material: how many copies are found, how much else is flagged, and what it costs.

Copies are excerpts of the packages that the default index was built from, as they stand and with other white space. The
others are pieces of about 4,000 characters of code under permissive licences.

usage: python -m bench.protected [--archives DIR] [--count N] [FOLDER...]
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sys
import sysconfig
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from antiphon.evaluators.protected.index import PACKAGED, ProtectedIndex
from antiphon.evaluators.protected.lexemes import PATTERNS, IndexKind, lexemes
from antiphon.evaluators.protected.match import ProtectedMaterial
from antiphon.evaluators.protected.sources import TextSource, between_notices, files
from antiphon.safety.verdict import Stage
from tools.build_index import TABLE, unpacked

LENGTHS = (64, 80, 120, 250)
PIECE = 4000
SPACES = (" ", "\n", "\n\t", "\n        ", "  ")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.protected", description="Protected material, measured.")
    parser.add_argument("--archives", type=Path, default=Path(".tools/archives"), help="as for tools.build_index")
    parser.add_argument("--count", type=int, default=1000, help="excerpts of each length, pieces of each folder")
    parser.add_argument("folders", nargs="*", type=Path, help="permissive code (default: this Python's library)")
    options = parser.parse_args(arguments)
    chance = random.Random(1)
    before = resident()
    began = time.perf_counter()
    index = ProtectedIndex.load(PACKAGED)
    loaded = time.perf_counter() - began
    matcher = ProtectedMaterial([index])
    print(f"index: {len(index)} fingerprints of {len(index.documents)} documents, loaded in {loaded * 1000:.1f} ms")
    print(f"memory: {(resident() - before) / 1000:.1f} MB more than before")
    for folder in options.folders or [Path(sysconfig.get_path("stdlib"))]:
        print_flagged(matcher, folder, options.count, chance)
    print_found(matcher, index, options, chance)
    return 0


def print_flagged(matcher: ProtectedMaterial, folder: Path, count: int, chance: random.Random) -> None:
    texts = pieces(folder, count, chance)
    began = time.perf_counter()
    verdicts = matcher.judge(texts, Stage.ANSWER)
    spent = time.perf_counter() - began
    flagged = [(text, verdict) for text, verdict in zip(texts, verdicts, strict=True) if verdict.protected_code]
    cost = spent * 1000 * 2000 / max(1, sum(map(len, texts)))
    print(f"{folder}: {len(flagged)} of {len(texts)} pieces flagged; {cost:.2f} ms per 2,000 characters")
    for text, verdict in flagged[:10]:
        print(f"    {verdict.citation}: {text[:60]!r}")


def print_found(
    matcher: ProtectedMaterial, index: ProtectedIndex, options: argparse.Namespace, chance: random.Random
) -> None:
    known = {document.path for document in index.documents}
    texts = [text for path, text in originals(options.archives) if path in known]
    print(f"lexemes    found as they stand    found reformatted    of {options.count}")
    sizes = [len(text) for text in texts]  # so that every place of the corpus is as likely as any other
    for length in LENGTHS:
        chosen = chance.choices(texts, sizes, k=options.count * 2)
        copies = [excerpt for text in chosen if (excerpt := cut(text, length, chance))][: options.count]
        other = [re.sub(r"\s+", lambda _: chance.choice(SPACES), copy) for copy in copies]
        rates = [found(matcher, copies), found(matcher, other)]
        print(f"{length:7}    {rates[0]:20.3f}    {rates[1]:17.3f}    {len(copies)}")


def found(matcher: ProtectedMaterial, texts: list[str]) -> float:
    return sum(bool(verdict.protected_code) for verdict in matcher.judge(texts, Stage.ANSWER)) / len(texts)


def originals(archives: Path) -> Iterator[tuple[str, str]]:
    for row in tomllib.loads(TABLE.read_text())["copyleft"]:
        with unpacked(row, archives) as source:
            for path, text in files(source, IndexKind.CODE):
                yield from ((path, part) for part in between_notices(text))


def cut(text: str, length: int, chance: random.Random) -> str | None:
    """So many lexemes from anywhere in a file; None where it is too short."""
    places = [found.span() for found in PATTERNS[IndexKind.CODE].finditer(text)]
    if len(places) <= length:
        return None
    first = chance.randrange(len(places) - length)
    for last in range(first + length - 1, len(places)):
        excerpt = text[places[first][0] : places[last][1]]
        if len(lexemes(IndexKind.CODE, excerpt)) >= length:
            return excerpt
    return None


def pieces(folder: Path, count: int, chance: random.Random) -> list[str]:
    """From as many files as can be."""
    texts = [text for _, text in files(TextSource(folder, "", ""), IndexKind.CODE) if len(text) > PIECE // 2]
    chosen = chance.sample(texts, min(count, len(texts)))
    chosen += chance.choices(texts, k=count - len(chosen)) if texts else []
    starts = [chance.randrange(max(1, len(text) - PIECE)) for text in chosen]
    return [text[start : start + PIECE] for text, start in zip(chosen, starts, strict=True)]


def resident() -> int:
    """Kilobytes at the most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
