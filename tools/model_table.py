"""Makes `src/antiphon/models/data/models.json` from the wheels of genai-prices and litellm (both MIT).

    .venv/bin/python -m tools.model_table            fetches the newest wheels from the package index
    .venv/bin/python -m tools.model_table A.whl B.whl [--date 2026-11-16]

The same wheels, date and earlier file make the same bytes. A row keeps its date as long as nothing in it changes.
Prices are genai-prices', else litellm's; limits and capabilities are litellm's, then `model_table.toml`'s. Where the
two disagree about a price, a line on stderr says so.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from antiphon.models.names import DATE, exact_keys, key_of
from antiphon.models.rows import ModelRow
from antiphon.models.table import TableFile
from antiphon.supply.download import download
from antiphon.supply.index_settings import PYPI, configured_index
from antiphon.supply.package_index import Index, IndexFile
from tools.model_sources import GENAI, KINDS, LITELLM, Document, Offer, read_genai, read_litellm, version_of

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "src/antiphon/models/data/models.json"
OWN: Final = ROOT / "tools/model_table.toml"
VENDORS: Final = tuple(dict.fromkeys([*GENAI.values(), *LITELLM.values(), "vertex"]))
MAKERS: Final = VENDORS[: VENDORS.index("perplexity")]
PROJECTS: Final = ("genai-prices", "litellm")

FLAGS: Final = {
    "sampling": "supports_sampling_params",
    "prefill": "supports_assistant_prefill",
    "tools": "supports_function_calling",
    "forced_tools": "supports_forced_tool_use",
    "images": "supports_vision",
    "json_schema": "supports_response_schema",
    "mid_system": "supports_mid_conversation_system",
}
# Of the model itself, wherever it runs.
INBORN: Final[tuple[str, ...]] = (
    *("sampling", "prefill", "forced_tools", "mid_system", "thinking", "efforts", "least_budget", "most_budget"),
    "max_tokens_name",
)
NEVER: Final = ("images", "tools")  # what the model itself cannot do, nobody who serves it can
EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
USUAL_EFFORTS: Final = ("low", "medium", "high")
Table = dict[str, dict[str, Document]]  # vendor -> key -> row
Report = Callable[[str], None]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.model_table", description=__doc__.partition("\n")[0])
    parser.add_argument("wheels", nargs="*", type=Path, help="of genai-prices and litellm (default: the newest)")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of rows that are new or changed")
    parser.add_argument("--output", type=Path, default=TARGET)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheels = options.wheels or [fetch(project, Path(folder)) for project in PROJECTS]
        earlier = options.output.read_bytes() if options.output.exists() else b""
        text = build(wheels[0], wheels[1], options.date, earlier, lambda line: print(line, file=sys.stderr))
    options.output.write_text(text)
    print(f"{options.output}: {text.count(chr(10))} lines, {len(text)} bytes")


def fetch(project: str, folder: Path) -> Path:
    """The newest wheel for this kind of machine, or for all."""
    index = Index(configured_index(os.environ) or PYPI, os.environ)
    wheels = [file for file in index.files(project) if file.name.endswith(".whl")]
    newest = max(wheels, key=lambda file: (_version(file), file.name))
    print(f"fetching {newest.name}", file=sys.stderr)
    return download(index, newest, folder)


def _version(file: IndexFile) -> tuple[int, ...]:
    numbers = file.name.split("-")[1].split(".")
    return tuple(int(number) for number in numbers) if all(map(str.isdigit, numbers)) else ()


def build(genai: Path, litellm: Path, date: str, earlier: bytes, report: Report) -> str:
    own = tomllib.loads(OWN.read_text())
    table: Table = {vendor: {} for vendor in VENDORS}
    for vendor, key, row in merge(read_genai(genai, date), read_litellm(litellm), report):
        row = fill(row, families(own["family"], vendor, exact_keys(row["name"])[-1]))
        table[vendor][key] = row
    for rows in table.values():
        add_bare(rows)
    inherit(table)
    for rows in table.values():
        drop_repeated(rows)
    keep_dates(table, earlier, date)
    lines = {key: {"name": key, "source": "antiphon", "date": date, **row} for key, row in own["line"].items()}
    keep_dates({"": lines}, earlier, date)
    sources = {"genai-prices": version_of(genai), "litellm": version_of(litellm)}
    return write({"date": date, "sources": sources}, lines, table)


# From the sources to rows


def merge(genai: Iterable[Offer], litellm: Iterable[Offer], report: Report) -> Iterator[tuple[str, str, Document]]:
    priced = {(offer.vendor, key_of(offer.name)): offer for offer in genai}
    limited: dict[tuple[str, str], Offer] = {}
    for offer in litellm:
        limited.setdefault((offer.vendor, key_of(offer.name)), offer)
    for place, offer in limited.items():
        yield *place, row_of(offer, priced.get(place), report)
    for place, offer in priced.items():
        if place not in limited and (offer.price or offer.context):
            others = (limited.get((offer.vendor, key)) for key in exact_keys(offer.name))
            same = next(filter(None, others), Offer(offer.vendor, offer.name))
            yield *place, row_of(replace(same, name=offer.name), offer, report)


def row_of(offer: Offer, priced: Offer | None, report: Report) -> Document:
    row: Document = {"name": offer.name, "kind": KINDS.get(offer.row.get("mode", ""), "chat")}
    output = offer.row.get("max_output_tokens")
    row["max_output"] = output if isinstance(output, int) and output > 0 and row["kind"] != "embedding" else None
    row["context"] = context_of(offer.context, row["max_output"], priced.context if priced else None)
    row["price"], sources = price_of(offer, priced, report)
    row["shutdown"] = offer.row.get("deprecation_date")
    if priced is not None and priced.context == row["context"] and not offer.context:
        sources = ["genai-prices"]
    if offer.row:
        sources = [*sources, "litellm"]
        row |= capabilities(offer) if row["kind"] == "chat" else {}
    row["source"] = " + ".join(dict.fromkeys(sources))
    return {key: value for key, value in row.items() if value is not None}


def context_of(most_input: int | None, most_output: int | None, window: int | None) -> int | None:
    """litellm's is the longest prompt, which is the window at most vendors; genai-prices' is the window."""
    if most_input is None or window is None:
        return most_input or window
    return window if window == most_input + (most_output or 0) else most_input


def price_of(offer: Offer, priced: Offer | None, report: Report) -> tuple[Document | None, list[str]]:
    ours, theirs = priced.price if priced else None, offer.price
    if ours is None:
        return theirs, []
    if theirs is None:
        return ours, ["genai-prices"]
    if any(ours.get(kind, 0) != theirs.get(kind, 0) for kind in ("input", "output")):
        told = [f"{rates.get('input')}/{rates.get('output')}" for rates in (ours, theirs)]
        report(f"{offer.vendor}/{offer.name}: genai-prices {told[0]}, litellm {told[1]}")
        return ours, ["genai-prices"]
    services = {**theirs.get("services", {}), **ours.get("services", {})}
    both = {**{kind: rate for kind, rate in theirs.items() if kind != "tiers"}, **ours}
    if "tiers" not in both and "tiers" in theirs:
        both["tiers"] = theirs["tiers"]
    if "tiers" in both:  # every rate is said in every tier
        rates = {kind: rate for kind, rate in both.items() if isinstance(rate, int)}
        both["tiers"] = [{**rates, **tier} for tier in both["tiers"]]
    return both | ({"services": dict(sorted(services.items()))} if services else {}), ["genai-prices"]


def capabilities(offer: Offer) -> Document:
    source = offer.row
    row: Document = {name: source[flag] for name, flag in FLAGS.items() if isinstance(source.get(flag), bool)}
    modalities = source.get("supported_modalities")
    if "images" not in row and isinstance(modalities, list):
        row["images"] = "image" in modalities
    if row.get("tools") is False:
        row["forced_tools"] = False
    is_claude = "claude" in offer.name
    if is_claude or offer.vendor in ("openai", "azure"):
        row |= reasoning(source, is_claude=is_claude)
    elif offer.vendor in ("gemini", "vertex") and source.get("supports_reasoning"):
        row["efforts"] = efforts_of(source) or None
    return row


def reasoning(source: Document, *, is_claude: bool) -> Document:
    thinks = source.get("supports_reasoning")
    if not thinks:
        return {"thinking": "none"} if is_claude or thinks is False else {}
    efforts = efforts_of(source)
    if is_claude:
        if not (source.get("supports_adaptive_thinking") or source.get("thinking_always_on")):
            return {"thinking": "budget"}
        kind = "always" if source.get("thinking_always_on") else "adaptive"
        return {"thinking": kind, "efforts": efforts or [*USUAL_EFFORTS]}
    if not efforts:
        return {}
    return {"thinking": "adaptive" if "none" in efforts else "always", "efforts": efforts}


def efforts_of(source: Document) -> list[str]:
    """[]: the source says nothing of them."""
    told = {effort: source.get(f"supports_{effort}_reasoning_effort") for effort in EFFORTS}
    levels = source.get("reasoning_effort_levels")
    if isinstance(levels, list) and levels:
        return [effort for effort in EFFORTS if effort in levels]
    if all(value is None for value in told.values()):
        return []
    return [effort for effort in EFFORTS if told[effort] or (told[effort] is None and effort in USUAL_EFFORTS)]


def families(rows: list[Document], vendor: str, key: str) -> Iterator[Document]:
    for row in rows:
        begins = [begin for begin in row["begins"] if key == begin or (key.startswith(begin) and not row.get("exact"))]
        if begins and vendor in row.get("vendors", VENDORS):
            yield {name: value for name, value in row.items() if name not in ("begins", "vendors", "exact")}


def fill(row: Document, others: Iterable[Document]) -> Document:
    if row.get("kind", "chat") != "chat":
        return row
    for other in others:
        row = {**other, **row}
    return row


# Between rows


def add_bare(rows: dict[str, Document]) -> None:
    """`claude-3-haiku-20240307` stands under `claude-3-haiku` too, where nothing else does: the newest of all dates."""
    dated: dict[str, list[tuple[int, str, str]]] = {}
    for key, row in rows.items():
        keys = exact_keys(row["name"])
        found = DATE.search(key)
        dated.setdefault(keys[-1], []).append((-len(keys), found[0] if found else "", key))
    for bare, keys_of_it in dated.items():
        rows.setdefault(bare, rows[max(keys_of_it)[2]])


def inherit(table: Table) -> None:
    """What a model is, its maker knows best; who serves it has the rest."""
    for vendor, rows in table.items():
        if vendor in MAKERS:
            continue
        for key, row in rows.items():
            bare = exact_keys(row["name"])[-1]
            made = next((table[maker][bare] for maker in MAKERS if bare in table[maker]), None)
            if made is not None and row.get("kind", "chat") == "chat":
                inborn: Document = {name: made[name] for name in INBORN if name in made}
                never = {name: False for name in NEVER if made.get(name) is False}
                rows[key] = {**inborn, **never, **row}
                if made.get("context") == row.get("context", 0) + row.get("max_output", 0):  # the prompt's part of it
                    rows[key]["context"] = made["context"]


def drop_repeated(rows: dict[str, Document]) -> None:
    """A row goes whose name leads to an equal one without it."""
    for key in sorted(rows, key=len, reverse=True):
        others = [other for other in exact_keys(rows[key]["name"]) if other != key and other in rows]
        shorter = [other for other in others if len(other) < len(key)]
        if shorter and _unnamed(rows[shorter[0]]) == _unnamed(rows[key]):
            del rows[key]


def _unnamed(row: Document) -> Document:
    return {name: value for name, value in row.items() if name not in ("name", "shutdown", "source")}


def keep_dates(table: Table, earlier: bytes, date: str) -> None:
    known = msgspec.json.decode(earlier, type=TableFile) if earlier else None
    for vendor, rows in table.items():
        before: Mapping[str, msgspec.Raw] = {}
        if known is not None:
            before = known.vendors.get(vendor, {}) if vendor else known.lines
        for key, row in rows.items():
            old = msgspec.json.decode(before[key]) if key in before else {}
            day = old.pop("date", date)
            same = old == _ordered({**row, "date": day}, without="date")
            rows[key] = {**row, "date": day if same else date}


# To text


def write(head: Document, lines: dict[str, Document], table: Table) -> str:
    """One line for each row, sorted, with members in the order of `ModelRow`."""
    parts = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    parts.append(f'"lines": {_object(lines)}')
    vendors = ",\n".join(f'"{vendor}": {_object(rows)}' for vendor, rows in table.items() if rows)
    text = "{\n" + ",\n".join([*parts, f'"vendors": {{\n{vendors}\n}}']) + "\n}\n"
    msgspec.json.decode(text, type=TableFile)
    return text


def _object(rows: dict[str, Document]) -> str:
    written = (f"{json.dumps(key)}:{json.dumps(_ordered(rows[key]), separators=(',', ':'))}" for key in sorted(rows))
    return "{\n" + ",\n".join(written) + "\n}"


def _ordered(row: Document, without: str = "") -> Document:
    """As `ModelRow` writes itself: its order of members, without those that stand for nothing. Also checks it."""
    whole: Document = msgspec.json.decode(msgspec.json.encode(msgspec.convert(row, ModelRow)))
    return {name: value for name, value in whole.items() if name != without}


if __name__ == "__main__":
    main()
