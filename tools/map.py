"""The map of the rooms in docs/architecture.md, drawn from the import contracts in pyproject.toml.

`python -m tools.map` writes it into the page. A test checks that the page is current.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/architecture.md"
BEGIN = "<!-- The map is made by `python -m tools.map` from the import contracts. -->\n"
END = "<!-- End of the map. -->\n"
WIDTH = 6  # rooms in a line of a box


def read_layers(pyproject: str) -> list[list[str]]:
    """The layers from top to bottom, each with its rooms in order of the alphabet."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [sorted(re.split(r" [:|] ", layer)) for layer in layers]


def draw(layers: list[list[str]]) -> str:
    """A Mermaid flowchart: one box for each layer; an arrow means `may import`."""
    lines = ["```mermaid", "flowchart TD"]
    for number, rooms in enumerate(layers):
        rows = [" · ".join(rooms[at : at + WIDTH]) for at in range(0, len(rooms), WIDTH)]
        lines.append(f'    L{number}["{"<br/>".join(rows)}"]')
    lines += [f"    L{number} --> L{number + 1}" for number in range(len(layers) - 1)]
    return "\n".join([*lines, "```", ""])


def put_into(page: str, drawn: str) -> str:
    before, rest = page.split(BEGIN)
    return before + BEGIN + drawn + END + rest.split(END)[1]


def main() -> None:
    drawn = draw(read_layers((ROOT / "pyproject.toml").read_text()))
    PAGE.write_text(put_into(PAGE.read_text(), drawn))


if __name__ == "__main__":
    main()
