"""A small corpus of our own making, and its index as a real file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from antiphon.evaluators.protected.build import build
from antiphon.evaluators.protected.index import ProtectedIndex
from antiphon.evaluators.protected.sources import describe
from antiphon.evaluators.protected.winnow import CODE

FILES = ("first.c", "second.c", "third.c")


def invented(seed: int, lines: int = 120) -> str:
    """Code that nobody has written: no two seeds share a run of lexemes."""
    chance = random.Random(seed)
    names = [f"name{chance.randrange(10**6)}" for _ in range(200)]
    shapes = ("int {} = {}({}, {});", "if ({} < {}) {{ {} += {}; }}", "return {}->{}[{} + {}];", "/* {} {}: {} {} */")
    return "\n".join(chance.choice(shapes).format(*chance.sample(names, 4)) for _ in range(lines)) + "\n"


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "invented"
    folder.mkdir()
    for seed, name in enumerate(FILES):
        (folder / name).write_text(invented(seed))
    return folder


@pytest.fixture(scope="session")
def index_file(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "invented.index"
    build(CODE, [describe(corpus, "https://example.org/{path}", "GPL-3.0-or-later")], [], path)
    return path


@pytest.fixture(scope="session")
def index(index_file: Path) -> ProtectedIndex:
    return ProtectedIndex.load(index_file)
