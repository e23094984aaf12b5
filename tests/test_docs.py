"""Pages that lead to files: every file that they name exists, and the map of the rooms is current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.map import PAGE, ROOT, draw, put_into, read_layers

PAGES = ("glossary.md", "questions.md", "walk.md")
# `flow/answer.py`, `apis/`, `docs/settings.md`, `limits/exchange.lua`; not `/v1/chat/completions` nor `VendorRow`.
NAMED = re.compile(r"`([\w/]+(?:\.(?:py|md|lua)|/))`")


def find(name: str) -> Path | None:
    places = (ROOT / "src/antiphon" / name, ROOT / name)
    return next((place for place in places if place.exists()), None)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page: str) -> None:
    named = NAMED.findall((ROOT / "docs" / page).read_text())
    assert len(named) > 30
    assert [name for name in named if find(name) is None] == []


def test_there_are_twenty_questions_and_each_names_a_file() -> None:
    questions = re.split(r"^\d+\. ", (ROOT / "docs/questions.md").read_text(), flags=re.MULTILINE)[1:]
    assert len(questions) == 20
    assert [question for question in questions if not NAMED.search(question)] == []


def test_functions_that_the_walk_names_stand_in_their_files() -> None:
    named = re.findall(r"`([\w/]+\.py)` `(?:\w+\.)?(\w+)`", (ROOT / "docs/walk.md").read_text())
    assert len(named) >= 7
    missing = [
        (file, name)
        for file, name in named
        if not re.search(rf"\b(?:def|class) {name}\b", (ROOT / "src/antiphon" / file).read_text())
    ]
    assert missing == []


def test_the_map_of_the_rooms_is_current() -> None:
    """After a change of the contracts: `python -m tools.map`."""
    page = PAGE.read_text()
    assert put_into(page, draw(read_layers((ROOT / "pyproject.toml").read_text()))) == page
