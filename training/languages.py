"""The table of the language gate: log-probabilities of trigrams in the languages that are written in Latin letters.

The profiles of `langdetect` (Apache-2.0, counted on Wikipedia) are mixed with counts from our own training texts for
the languages that are judged, because people do not write like an encyclopedia.

    python -m training.languages --data SAFETY_DATA --out src/antiphon/evaluators/weights
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import langdetect
import numpy as np

from antiphon.evaluators.embedded.latin import LINK, WORD, trigrams
from training.data import read_rows

LATIN = [
    "af",
    "ca",
    "cs",
    "cy",
    "da",
    "de",
    "en",
    "es",
    "et",
    "fi",
    "fr",
    "hr",
    "hu",
    "id",
    "it",
    "lt",
    "lv",
    "nl",
    "no",
    "pl",
    "pt",
    "ro",
    "sk",
    "sl",
    "so",
    "sq",
    "sv",
    "sw",
    "tl",
    "tr",
    "vi",
]
OWN = {
    "pt": ("toldbr_pt",),
    "de": ("germeval_de",),
    "en": ("davidson", "edos", "mlc", "t0", "toxic_spans", "implicithate"),
}
SHARE = 0.5  # of our own counts
KEPT = 1400  # trigrams of each language
FLOOR = 2e-6


def profile(name: str) -> dict[str, float]:
    path = Path(langdetect.__file__).parent / "profiles" / name
    counts: Counter[str] = Counter()
    for gram, count in json.loads(path.read_text(encoding="utf-8"))["freq"].items():
        if len(gram) == 3:
            counts[gram.lower()] += count
    total = sum(counts.values())
    return {gram: count / total for gram, count in counts.items()}


def own(texts: list[str]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for text in texts:
        for word in WORD.findall(LINK.sub(" ", text).lower()):
            counts.update(trigrams(word))
    total = sum(counts.values())
    return {gram: count / total for gram, count in counts.items() if count > 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = read_rows(options.data)
    profiles = {name: profile(name) for name in LATIN}
    for name, sources in OWN.items():
        texts = [row["text"] for row in rows if row["src"] in sources]
        mixed = {gram: (1 - SHARE) * p for gram, p in profiles[name].items()}
        for gram, p in own(texts).items():
            mixed[gram] = mixed.get(gram, 0.0) + SHARE * p
        profiles[name] = mixed
    kept: set[str] = set()
    for p in profiles.values():
        kept.update(sorted(p, key=lambda gram: -p[gram])[:KEPT])
    grams = sorted(gram for gram in kept if "|" not in gram)
    table = np.array([[np.log(max(profiles[name].get(gram, 0.0), FLOOR)) for name in LATIN] for gram in grams])
    scale = float(np.abs(table).max() / 127)
    np.savez_compressed(
        options.out / "languages.npz",
        languages=np.array(" ".join(LATIN)),
        trigrams=np.array("|".join(grams)),
        table=np.round(table / scale).astype(np.int8),
        scale=np.array(scale),
    )
    print("languages.npz", table.shape)


if __name__ == "__main__":
    main()
