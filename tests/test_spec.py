"""docs/spec.md and the code agree: each cited rule stands there, each rule has a source and a test that exists."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = (ROOT / "docs/spec.md").read_text()
NAME = r"\[([a-z]{2,}(?:-[a-z]{2,})+)\]"
RULES = {match[1]: match[2] for match in re.finditer(rf"^- \*\*{NAME}\*\* (.*?)(?=^- |^#|\Z)", SPEC, re.M | re.S)}
SOURCES = [
    path
    for folder in ("src/antiphon", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "node_modules" not in path.parts and path != Path(__file__)
]
CITED = re.compile(r"\[([a-z]{2,}(?:-[a-z]{2,})+)\]")
FOREIGN = re.compile(r"\bdecisions? \d|\bspec(?:\.md)? §|\bspec [A-Z]\d|\bpeers S\d")


def words(path: Path) -> Iterator[tuple[int, str]]:
    """The comments and docstrings of a file, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        is_docstring = token.type == tokenize.STRING and token.string.startswith('"""')
        is_comment = token.type == tokenize.COMMENT and "type: ignore" not in token.string
        if is_docstring or is_comment:
            yield token.start[0], token.string


def test_the_rules_are_read() -> None:
    assert len(RULES) == SPEC.count("- **[") > 40


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_a_source_and_a_test(name: str) -> None:
    rule = RULES[name]
    assert re.search(r"Source: \S", rule)
    found = re.search(r"Test: `(tests/\S+\.py)::(test_\w+)`", rule)
    assert found, "no test is named"
    assert re.search(rf"^\s*(?:async )?def {found[2]}\(", (ROOT / found[1]).read_text(), re.M), f"{found[0]} is gone"


def test_what_code_cites_stands_in_the_spec() -> None:
    unknown = [
        f"{path.relative_to(ROOT)}:{line} [{name}]"
        for path in SOURCES
        for line, text in words(path)
        for name in CITED.findall(text)
        if name not in RULES
    ]
    assert not unknown


def test_code_cites_nothing_that_is_not_in_the_tree() -> None:
    foreign = [
        f"{path.relative_to(ROOT)}:{line}" for path in SOURCES for line, text in words(path) if FOREIGN.search(text)
    ]
    assert not foreign
