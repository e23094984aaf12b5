"""Which setting a variable names: the same as if all names had been written down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.settings.names import PREFIX, SettingNames, token
from antiphon.settings.schema import ROOT, Node, Rows, TableSchema

LABELS = st.one_of(st.sampled_from(["a", "a b", "a--b", "0", "1", "_", "A__URL", "b_", "", "é"]), st.text(max_size=3))
TARGETS = st.lists(st.fixed_dictionaries({"upstream": LABELS}), max_size=2)
DOCUMENTS = st.fixed_dictionaries(
    {
        "upstream": st.lists(st.fixed_dictionaries({"name": LABELS}), max_size=3),
        "route": st.lists(st.fixed_dictionaries({"model": LABELS, "targets": TARGETS}), max_size=3),
        "key": st.sampled_from([[], "x", [3], [{"name": 3}]]),
        "safety": st.sampled_from([{}, "x", {"evaluator": [{"kind": "rules"}, {"kind": "rules"}]}]),
    }
)


def written(node: Node, value: Any, path: tuple[Any, ...] = (), positional: bool = False) -> Iterator[Any]:
    """Every (tokens, path, positional) of a document."""
    yield (), path, positional
    if isinstance(node, TableSchema):
        for key, child in node.keys.items():
            below = value.get(key) if isinstance(value, dict) else None
            for tokens, *rest in written(child, below, (*path, key), positional):
                yield (key.upper(), *tokens), *rest
    elif isinstance(node, Rows) and isinstance(value, list):
        for position, row in enumerate(value):
            ways = [(str(position), True)]
            if len(path) == 1 and isinstance(row, dict) and isinstance(row.get(node.label), str):
                ways.append((token(row[node.label]), positional))
            for word, by_position in ways:
                for tokens, *rest in written(node.row, row, (*path, position), by_position):
                    yield (word, *tokens), *rest


@settings(deadline=None)
@given(DOCUMENTS)
def test_every_name_leads_where_it_is_written(document: dict[str, Any]) -> None:
    by_label: dict[str, list[Any]] = {}
    by_position: dict[str, list[Any]] = {}
    for tokens, path, positional in written(ROOT, document):
        if tokens:
            (by_position if positional else by_label).setdefault(PREFIX + "__".join(tokens), []).append(path)
    names = SettingNames(document)
    for name in by_label.keys() | by_position.keys():
        expected = sorted(by_label[name]) if name in by_label else [min(by_position[name])]
        assert [path for path, _ in names.find(name)] == expected
    assert names.find(PREFIX + "NOTHING__SUCH") == []


def test_one_underscore_too_few() -> None:
    names = SettingNames({"route": [{"model": "gpt-4o"}, {"model": "a--b!"}]})
    for meant in ("SERVER__LISTEN", "SERVER__MAX_BODY", "ROUTE__GPT_4O__TARGETS", "ROUTE__A__B___SAFETY", "ROUTE__1"):
        name = PREFIX + meant
        assert names.underscored(re.sub("_+", "_", name)) == name
    for name in ("HOME", "SERVER", "ROUTE_OTHER_TARGETS", "ROUTE_2", "SERVER_LISTEN_"):
        assert names.underscored(PREFIX + name) is None


def test_many_rows_cost_one_index() -> None:
    """A name is not compared with rows that it does not name."""
    names = SettingNames({"route": [{"model": f"m-{number}"} for number in range(3000)]})
    assert [names.find(f"{PREFIX}ROUTE__M_{number}__MODEL")[0][0][1] for number in range(3000)] == list(range(3000))
    assert names.closest(f"{PREFIX}ROUTE__M_2999__TARGTES") == f"{PREFIX}ROUTE__M_2999__TARGETS"
