"""Harmless prose and prompts from public repositories whose licences permit it, as rows: `gathered.jsonl.gz`; and
Portuguese tweets with all votes of their annotators: `toldbr.jsonl.gz`.

    python -m training.gather --clones FOLDER --out SAFETY_DATA

FOLDER holds a clone (or a bare copy) of each repository below as OWNER+NAME or OWNER+NAME/repo; what is not there is
left out and named. Novels, histories, news, court records and speeches are full of violent deeds, prompts of agents
full of orders and forbidden things: nothing of it asks for harm.
"""

# ruff: noqa: S311, S603, S607 - rows are data, chance is no secret, and git is git
from __future__ import annotations

import argparse
import csv
import gzip
import html
import io
import json
import random
import re
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from training.rows.grammar import HATE, SEXUAL, Row, row

# Public domain texts, edited under CC0 (Standard Ebooks). Passages of some of these books are in the development sets,
# so false alarms in fiction are to be measured on other books.
BOOKS = (
    "agatha-christie_the-murder-of-roger-ackroyd", "alexandre-dumas_the-count-of-monte-cristo_chapman-and-hall",
    "alexandre-dumas_the-three-musketeers_william-robson", "arthur-conan-doyle_the-adventures-of-sherlock-holmes",
    "bram-stoker_dracula", "d-h-lawrence_women-in-love", "dashiell-hammett_red-harvest",
    "edgar-allan-poe_short-fiction", "edgar-rice-burroughs_tarzan-of-the-apes",
    "emile-zola_germinal_havelock-ellis", "ernest-hemingway_a-farewell-to-arms",
    "edward-gibbon_the-history-of-the-decline-and-fall-of-the-roman-empire",
    "fyodor-dostoevsky_crime-and-punishment_constance-garnett", "h-g-wells_the-island-of-doctor-moreau",
    "h-g-wells_the-war-of-the-worlds", "h-p-lovecraft_short-fiction", "h-rider-haggard_king-solomons-mines",
    "harriet-beecher-stowe_uncle-toms-cabin", "herman-melville_moby-dick",
    "homer_the-iliad_william-cullen-bryant", "jack-london_the-sea-wolf", "jack-london_white-fang",
    "james-fenimore-cooper_the-last-of-the-mohicans", "joseph-conrad_nostromo",
    "jules-verne_twenty-thousand-leagues-under-the-seas_f-p-walter",
    "mark-twain_the-adventures-of-huckleberry-finn", "mary-shelley_frankenstein", "philip-k-dick_short-fiction",
    "rafael-sabatini_captain-blood", "robert-e-howard_short-fiction", "stephen-crane_the-red-badge-of-courage",
    "upton-sinclair_the-jungle", "victor-hugo_les-miserables_isabel-f-hapgood", "walter-scott_ivanhoe",
    "william-hope-hodgson_the-night-land", "william-shakespeare_titus-andronicus",
)  # fmt: skip
# Repositories of prompts for agents, with the paths that hold them (MIT).
PROMPTS = {
    "danielmiessler+fabric": r"data/patterns/.*/system\.md",
    "wshobson+agents": r".*/(?:agents|commands|skills)/.*\.md",
    "github+awesome-copilot": r"(?:agents|instructions|prompts|chatmodes)/.*\.md|skills/[^/]+/SKILL\.md",
    "All-Hands-AI+OpenHands": r"(?!enterprise/).*(?:prompts?/.*\.(?:md|j2)|microagents/.*\.md|skills/.*\.md)",
}
# Genres of GUM that are CC-BY or CC-BY-SA (others are non-commercial).
GUM = ("news", "bio", "academic", "voyage", "interview", "court", "speech", "textbook")
PER_BOOK, PER_PROMPT, PER_GENRE = 260, 4, 900
_VIOLENT = re.compile(
    r"\b(?:blood|bloody|kill|killed|slain|slew|murder\w*|dead|death|corpse|sword|knife|dagger|gun|pistol|shot|stab\w*|"
    r"wound\w*|struck|strangl\w*|battle|scream\w*|throat|fight|fought|hang\w*|slave\w*|war)\b",
    re.I,
)
_SLUR = re.compile(r"\bnigg\w+|\bkike|\bdago|\bsavages?\b|\bjew", re.I)
_TAG = re.compile(r"<[^>]+>")


class Clone:
    def __init__(self, folder: Path, name: str) -> None:
        places = [folder / name, folder / name / "repo", folder / name / "repo" / ".git"]
        found = [place for place in places if (place / "HEAD").exists() or (place / ".git").exists()]
        self.path = found[0] if found else None
        if not found:
            print("not there:", name)

    def _git(self, *words: str) -> bytes:
        return subprocess.run(["git", "-C", str(self.path), *words], check=True, capture_output=True).stdout

    def names(self, pattern: str) -> list[str]:
        if self.path is None:
            return []
        listed = self._git("ls-tree", "-r", "-z", "--name-only", "HEAD").decode("utf-8", "replace").split("\0")
        return [name for name in listed if re.fullmatch(pattern, name)]

    def read(self, name: str) -> bytes:
        try:
            return self._git("cat-file", "blob", f"HEAD:{name}")
        except subprocess.CalledProcessError:  # listed, but its contents were not copied
            return b""

    def texts(self, pattern: str) -> Iterator[tuple[str, str]]:
        for name in self.names(pattern):
            yield name, self.read(name).decode("utf-8", "replace")


def pieces(paragraphs: list[str], size: int) -> list[str]:
    """Paragraphs joined up to about `size` characters."""
    made, held = [], ""
    for paragraph in paragraphs:
        if held and len(held) + len(paragraph) > size:
            made.append(held)
            held = ""
        held = f"{held}\n{paragraph}" if held else paragraph[: 2 * size]
    return [*made, held] if len(held) > size // 4 else made


def plain(markup: str) -> list[str]:
    """Paragraphs of XHTML."""
    found = re.findall(r"<(?:p|l|blockquote|dd)\b[^>]*>(.*?)</(?:p|l|blockquote|dd)>", markup, re.S)
    words = [" ".join(html.unescape(_TAG.sub(" ", text)).replace("\u2060", "").split()) for text in found]
    return [text for text in words if len(text) > 20]


def books(folder: Path, chance: random.Random) -> Iterator[Row]:
    for title in BOOKS:
        found = []
        clone = Clone(folder, "standardebooks+" + title)
        for _, text in clone.texts(r"src/epub/text/(?!titlepage|colophon|imprint|un).*"):
            paragraphs = plain(text)
            for size in (250, 500, 800):
                found += pieces(paragraphs, size)[:: 2 if size > 250 else 3]
        chance.shuffle(found)
        found.sort(key=lambda text: not _VIOLENT.search(text))
        violent = sum(bool(_VIOLENT.search(text)) for text in found)
        cut = min(violent, 2 * PER_BOOK // 3)
        for text in found[:cut] + found[violent:][: PER_BOOK - cut]:
            yield row(text, "fiction", unknown=[HATE] if _SLUR.search(text) else [])


def prompts(folder: Path, chance: random.Random) -> Iterator[Row]:
    for name, pattern in PROMPTS.items():
        for _, text in Clone(folder, name).texts(pattern):
            found = pieces([line for line in text.split("\n\n") if line.strip()], chance.choice([500, 1_200, 2_000]))
            for piece in [*found[:1], *chance.sample(found[1:], min(len(found) - 1, PER_PROMPT - 1))] if found else []:
                yield row(piece, "prompts")


def gum(folder: Path, chance: random.Random) -> Iterator[Row]:
    for _, text in Clone(folder, "amir-zeldes+gum").texts(rf"_build/src/xml/GUM_(?:{'|'.join(GUM)})_.*\.xml"):
        sentences = re.findall(r"<s\b[^>]*>(.*?)</s>", text, re.S)
        lines = [_TAG.sub("", sentence).splitlines() for sentence in sentences]
        words = [[line.split("\t")[0] for line in sentence if "\t" in line] for sentence in lines]
        found = pieces([untokenised(sentence) for sentence in words if sentence], chance.choice([200, 450, 800]))
        yield from (row(piece, "genres") for piece in found)


def blogs(folder: Path, chance: random.Random) -> Iterator[Row]:
    """English Web Treebank (CC-BY-SA-4.0): weblogs and newsgroups, mail, reviews, answers."""
    found: list[Row] = []
    for _, text in Clone(folder, "UniversalDependencies+UD_English-EWT").texts(
        r"not-to-release/sources/(?:weblog|newsgroup|email|reviews|answers)/.*\.conllu"
    ):
        sentences = re.findall(r"^# text = (.*)$", text, re.M)
        parts = pieces(sentences, chance.choice([150, 400, 800]))
        found += [row(piece, "web", unknown=[HATE, SEXUAL]) for piece in parts]
    chance.shuffle(found)
    yield from found[: 2 * PER_GENRE]


def corpora(folder: Path, chance: random.Random) -> Iterator[Row]:
    """MASC (free for any use), addresses of American presidents and Shakespeare (public domain), out of NLTK's data."""
    clone = Clone(folder, "nltk+nltk_data")
    if clone.path is None:
        return
    for name in ("masc_tagged", "state_union", "inaugural", "shakespeare"):
        found: list[str] = []
        with zipfile.ZipFile(io.BytesIO(clone.read(f"packages/corpora/{name}.zip"))) as archive:
            for inside in archive.namelist():
                if inside.endswith((".txt", ".xml")) and "README" not in inside and "spam" not in inside:
                    text = archive.read(inside).decode("utf-8", "replace")
                    found += pieces(_paragraphs(name, text), chance.choice([200, 500, 800]))
        chance.shuffle(found)
        yield from (row(text, "speeches" if name != "masc_tagged" else "genres") for text in found[:PER_GENRE])


def _paragraphs(name: str, text: str) -> list[str]:
    if name == "masc_tagged":  # word_TAG
        lines = [[word.rsplit("_", 1)[0] for word in line.split()] for line in text.splitlines()]
        return [untokenised(words) for words in lines if words]
    if name == "shakespeare":
        return [" ".join(_TAG.sub(" ", speech).split()) for speech in re.findall(r"<SPEECH>(.*?)</SPEECH>", text, re.S)]
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n|\r\n\r\n", text) if paragraph.strip()]


def untokenised(words: list[str]) -> str:
    text = " ".join(words)
    text = re.sub(r"\s+([.,;:!?)\]’”]|n't|'\w+\b)", r"\1", text)
    return re.sub(r"([(\[“])\s+", r"\1", text)


def documents(folder: Path) -> Iterator[str]:
    """Mails, tables and code of BIPIA (MIT): what an injected order hides in (rows/injections.py)."""
    clone = Clone(folder, "microsoft+BIPIA")
    for name in ("email", "table", "code"):
        for kind in ("train", "test"):
            for line in clone.read(f"benchmark/{name}/{kind}.jsonl").decode().splitlines()[:150]:
                context = json.loads(line)["context"]
                yield "\n".join(context) if isinstance(context, list) else str(context)


def portuguese(folder: Path) -> Iterator[dict[str, object]]:
    """ToLD-Br (CC-BY-SA-4.0): what one annotator or more called offensive, and what hateful."""
    clone = Clone(folder, "JAugusto97+ToLD-Br")
    text = clone.read("ToLD-BR.csv").decode("utf-8") if clone.path else ""
    for line in csv.DictReader(io.StringIO(text)):
        hate = any(float(line[name]) >= 1 for name in ("homophobia", "racism", "misogyny", "xenophobia"))
        offensive = hate or any(float(line[name]) >= 1 for name in ("insult", "obscene"))
        yield {"text": line["text"], "hate": int(hate), "offensive": int(offensive)}


def write(path: Path, rows: Iterable[object]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for each in rows:
            file.write(json.dumps(each, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("clones", "out"):
        parser.add_argument("--" + name, type=Path, required=True)
    options = parser.parse_args()
    chance = random.Random(3)
    made: list[Row] = []
    for source in (books, prompts, gum, blogs, corpora):
        found = list(source(options.clones, chance))
        print(source.__name__, len(found))
        made += found
    made += [row(text[:1_500], "documents") for text in documents(options.clones)]
    for each in made:
        each["src"] = each["src"].replace("own_", "public_")
    write(options.out / "gathered.jsonl.gz", made)
    write(options.out / "toldbr.jsonl.gz", portuguese(options.clones))
    print(len(made), "rows")


if __name__ == "__main__":
    main()
