from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.routing.patterns import ModelPatterns
from antiphon.routing.route import Route, RouteTable, Target

TARGET = Target("up", None, 1, 0)


def table(*names: str) -> RouteTable:
    return RouteTable([Route(name, (TARGET,)) for name in names])


@pytest.mark.parametrize(
    ("names", "asked", "found"),
    [
        (["gpt-*"], "gpt-4o", "gpt-*"),
        (["gpt-*"], "gpt-", "gpt-*"),
        (["gpt-*"], "GPT-4o", None),
        (["gpt-*"], "my-gpt-4o", None),
        (["gpt-*", "gpt-4o"], "gpt-4o", "gpt-4o"),  # the very name wins
        (["gpt-*", "gpt-4*"], "gpt-4o", "gpt-4*"),  # the longest beginning wins
        (["gpt-*", "gpt-4*"], "gpt-3.5", "gpt-*"),
        (["gpt-4*x", "gpt-*"], "gpt-4o", "gpt-*"),  # the longest one that fits
        (["*", "*-mini"], "o4-mini", "*-mini"),  # the star alone comes last, wherever it stands
        (["*", "gpt-*"], "claude", "*"),
        (["**", "gpt-*"], "claude", "**"),
        (["g*-mini", "g*i"], "gpt-mini", "g*-mini"),  # equal beginnings: the first one
        (["g*i", "g*-mini"], "gpt-mini", "g*i"),
        (["a*b*c"], "a-b-c", "a*b*c"),
        (["a*b*c"], "a-c-b", None),
        (["a*b*b"], "ab", None),  # each part has a place of its own
        (["ab*ba"], "aba", None),
        (["a.c*"], "abc", None),  # nothing but the star is special
        (["a[bc]?*"], "a[bc]?x", "a[bc]?*"),
        (["openai/*"], "openai/gpt-4o", "openai/*"),
    ],
)
def test_which_route_answers(names: list[str], asked: str, found: str | None) -> None:
    route = table(*names).match(asked)
    assert (None if route is None else route.model) == found


@given(st.lists(st.text("ab*", min_size=1, max_size=6), unique=True), st.text("ab", max_size=8))
def test_as_the_plain_reading_of_the_rule(texts: list[str], name: str) -> None:
    texts = [text for text in texts if "*" in text]
    fitting = [text for text in texts if fnmatch.fnmatchcase(name, text)]
    expected = min(
        fitting,
        key=lambda text: (not text.strip("*"), -len(text.split("*")[0]), texts.index(text)),
        default=None,
    )
    assert ModelPatterns(texts).find(name) == expected


def test_patterns_are_no_names() -> None:
    routes = table("gpt-*", "m", "*")
    assert routes.names() == ["m"]
    assert [route.model for route in routes.patterns()] == ["gpt-*", "*"]
