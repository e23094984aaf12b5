"""The documents everything started from: read as an upstream's answer and written in their own dialect, they are equal.

Faults of the seeds themselves are set right [object-fields]: Maritaca's example id is no UUID.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon.chat.stream import ChatStream
from antiphon.dialects import DIALECTS, Writer

Document = dict[str, Any]

SEEDS = {
    path.stem: json.loads(path.read_text())
    for path in sorted((Path(__file__).parents[1] / "data/seeds").glob("*.json"))
}


def each(kind: str) -> list[Any]:
    return [
        pytest.param(seed["dialect"], document, id=f"{name}-{number}")
        for name, seed in SEEDS.items()
        for number, document in enumerate(seed[kind])
    ]


def copied(document: Document) -> Document:
    duplicate: Document = json.loads(json.dumps(document))
    return duplicate


def test_all_five_are_here() -> None:
    assert list(SEEDS) == ["crazyrouter_en", "crazyrouter_zh", "maritaca", "openai_chunks", "skytells"]


@pytest.mark.parametrize(("dialect", "document"), each("completions"))
def test_completions_come_back_equal(dialect: str, document: Document, render: Callable[..., Document]) -> None:
    expected = copied(document)
    if not DIALECTS[dialect].keeps_id(document["id"]):
        expected["id"] = DIALECTS[dialect].new_id(bytes(range(16)))
    for strict in (False, True):
        assert render(dialect, copied(document), strict=strict) == expected


@pytest.mark.parametrize(("dialect", "document"), each("chunks") + each("stream"))
def test_chunks_come_back_equal(dialect: str, document: Document, make_writer: Callable[..., Writer]) -> None:
    """As the stream machine hands them on: without a usage key; the prompt's results are the opening's."""
    canonical = copied(document)
    canonical.pop("usage", None)
    expected = copied(document)
    expected.pop("prompt_filter_results", None)
    for strict in (False, True):
        assert make_writer(dialect, strict=strict).chunk(copied(canonical)) == expected


def test_skytells_opening_comes_back_equal(make_writer: Callable[..., Writer]) -> None:
    first = SEEDS["skytells"]["stream"][0]
    assert make_writer("skytells").opening(copied(first)) == [first]


@pytest.mark.parametrize("name", [name for name, seed in SEEDS.items() if seed["stream"]])
def test_streams_come_back_equal(
    name: str, make_writer: Callable[..., Writer], make_stream: Callable[..., ChatStream]
) -> None:
    """Through the stream machine, as a turn does it."""
    seed = SEEDS[name]
    writer, machine = make_writer(seed["dialect"]), make_stream(seed["dialect"])
    written: list[Document] = []
    for chunk in seed["stream"]:
        for piece in machine.feed(copied(chunk)):
            if not written:
                written += writer.opening({**machine.envelope(), **copied(piece)})
            written.append(writer.chunk(piece))
    assert machine.done() == []
    assert written == seed["stream"]
