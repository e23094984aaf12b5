"""Source code as it stands in tool results and questions: pieces of Python's standard library (PSF licence), as token
ids. Nobody labels them; the encoder says what it thinks of them (training/gate.py).

python -m training.bulk --vocabulary src/antiphon/evaluators/weights --out FOLDER
"""

# ruff: noqa: S311 - chance is no secret here
from __future__ import annotations

import argparse
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from training.prepare import Encoder

COUNT = 16_000
SIZES = (200, 400, 1_000, 1_500)  # characters
LONGEST = 480  # tokens


def pieces(count: int) -> Iterator[str]:
    chance = random.Random(17)
    files = sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
    files = [path for path in files if "site-packages" not in path.parts]
    for _ in range(count):
        text = chance.choice(files).read_text(encoding="utf-8", errors="replace")
        start = chance.randrange(max(1, len(text) - 400))
        yield text[start : start + chance.choice(SIZES)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    flat, bounds = Encoder(options.vocabulary)([text for text in pieces(COUNT) if text.strip()], LONGEST)
    np.savez_compressed(options.out / "bulk.npz", f=flat, o=bounds)
    print(len(bounds) - 1, "pieces", len(flat), "tokens")


if __name__ == "__main__":
    main()
