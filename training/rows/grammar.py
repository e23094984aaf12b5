"""Templates with slots, `{name}`, filled at random; and the split of templates into training and held out."""

# ruff: noqa: S311 - rows are data, and chance is no secret here
from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import TypedDict

_SLOT = re.compile(r"\{(\w+)\}")

HATE, SELF_HARM, SEXUAL, VIOLENCE, JAILBREAK = range(5)
UNKNOWN = -1


class Row(TypedDict):
    text: str
    src: str
    lic: int
    y: list[int]


def row(text: str, source: str, positive: Sequence[int] = (), unknown: Sequence[int] = ()) -> Row:
    labels = [0] * 5
    for index in positive:
        labels[index] = 1
    for index in unknown:
        labels[index] = UNKNOWN
    return Row(text=text, src="own_" + source, lic=1, y=labels)


def share(templates: Sequence[str], held_out: bool) -> list[str]:
    """Every sixth template is held out."""
    return [text for index, text in enumerate(templates) if (index % 6 == 5) == held_out]


def fill(template: str, slots: Mapping[str, Sequence[str]], chance: random.Random) -> str:
    while match := _SLOT.search(template):
        template = template[: match.start()] + chance.choice(slots[match[1]]) + template[match.end() :]
    return template


def expand(templates: Sequence[str], slots: Mapping[str, Sequence[str]], count: int, seed: int) -> list[str]:
    """Up to `count` different texts; some in lower case or without the last mark, as people type."""
    chance = random.Random(seed)
    texts: dict[str, None] = {}
    for _ in range(count * 6):
        if len(texts) >= count or not templates:
            break
        texts[typed(fill(chance.choice(templates), slots, chance), chance)] = None
    return list(texts)


def typed(text: str, chance: random.Random) -> str:
    text = text[0].upper() + text[1:] if text else text
    dice = chance.random()
    if dice < 0.15:
        return text.lower()
    if dice < 0.22:
        return text.rstrip(".?!")
    if dice < 0.24:
        return text.upper()
    return text


def paragraph(pools: Sequence[Sequence[str]], slots: Mapping[str, Sequence[str]], chance: random.Random) -> str:
    """One sentence of each pool, in order."""
    return " ".join(fill(chance.choice(pool), slots, chance) for pool in pools)
