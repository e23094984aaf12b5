"""Responses that are kept: what is kept of one, and how a later request goes on from it.

Kept are the response as the client got it, the items of its own input, and the id of the response before it. An item's
id begins with the letters of its response's, so that a reference to an item says where to find it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from antiphon.apis.api import ApiStored
from antiphon.apis.responses.items import PlacedItem
from antiphon.apis.responses.notes import as_text
from antiphon.document import Document
from antiphon.errors import RequestError

KIND: Final = "response"
REFERENCE: Final = "item_reference"
PREFIX: Final = "resp_"
LETTERS: Final = 48  # of a response's id, behind its prefix
FIRST_INPUT: Final = 0x8000  # number of an input's first item
ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_IDS: Final = {"function_call": "fc_", "function_call_output": "fco_", "reasoning": "rs_", "message": "msg_"}
_MARKS: Final = (b"previous_response_id", REFERENCE.encode())

encode = msgspec.json.Encoder().encode


class KeptInput(msgspec.Struct):
    """The `request` of a kept response."""

    input: list[Any]
    previous: str | None = None


def item_id(response_id: str, prefix: str, number: int) -> str:
    return f"{prefix}{response_id.removeprefix(PREFIX)}{number:04x}"


def response_of(id: str) -> str | None:
    """The response that an item is of. None: no item of ours has such an id."""
    letters = id.rpartition("_")[2]
    return PREFIX + letters[:LETTERS] if len(letters) == LETTERS + 4 and ID.fullmatch(letters) else None


def may_refer(body: bytes) -> bool:
    return any(mark in body for mark in _MARKS)


def refers_to(document: Document) -> list[str]:
    found = []
    previous, items = document.get("previous_response_id"), document.get("input")
    if type(previous) is str and ID.fullmatch(previous):
        found.append(previous)
    for item in items if type(items) is list else ():
        if is_reference(item) and type(item.get("id")) is str and (id := response_of(item["id"])) is not None:
            found.append(id)
    return list(dict.fromkeys(found))


def is_reference(item: Any) -> bool:
    return type(item) is dict and item.get("type") == REFERENCE


def follows(stored: ApiStored) -> list[str]:
    previous = read_kept(stored).previous
    return [] if previous is None else [previous]


def read_kept(stored: ApiStored) -> KeptInput:
    return msgspec.json.decode(stored.request, type=KeptInput)


def read_response(stored: ApiStored) -> Document:
    response: Document = msgspec.json.decode(stored.answer)
    return response


def earlier_items(id: str, stored: Mapping[str, ApiStored]) -> list[PlacedItem]:
    """All items before a request that goes on from this response, oldest first."""
    turns: list[list[Any]] = []
    wanted: str | None = id
    while wanted is not None:
        kept = stored.get(wanted)
        if kept is None:
            text = f"Previous response with id '{wanted[:64]}' not found."
            raise RequestError(text, param="previous_response_id", code="previous_response_not_found")
        asked = read_kept(kept)
        turns.append([*asked.input, *read_response(kept)["output"]])
        wanted = asked.previous
    return [("previous_response_id", item) for turn in reversed(turns) for item in turn]


def with_references(items: Iterable[PlacedItem], stored: Mapping[str, ApiStored]) -> list[PlacedItem]:
    """Items in the place of references to them. An item is referred to once, so that what a small request becomes is no
    larger than what is kept. Raises RequestError."""
    known: dict[str, dict[str, Any]] = {}  # the items of each kept response, which is read once
    seen: set[str] = set()
    placed: list[PlacedItem] = []
    item: Any
    for path, item in items:
        if not is_reference(item):
            placed.append((path, item))
            continue
        id = as_text(item.get("id"), f"{path}.id")
        response = response_of(id) or ""
        if response in stored and response not in known:
            known[response] = _items_by_id(stored[response])
        found = known.get(response, {}).get(id)
        if found is None:
            raise RequestError(f"Item with id '{id[:64]}' not found.", param=f"{path}.id")
        if id in seen:
            raise RequestError(f"Duplicate item found with id '{id[:64]}'.", param=f"{path}.id", code="duplicate_item")
        seen.add(id)
        placed.append((path, found))
    return placed


def _items_by_id(kept: ApiStored) -> dict[str, Any]:
    """Where an id stands twice, the output's counts, and of an input the first one."""
    items = (*read_response(kept)["output"], *read_kept(kept).input)
    return {item["id"]: item for item in reversed(items) if type(item.get("id")) is str}


def listed_input(response_id: str, items: list[Any]) -> list[Document]:
    """Items of an input as they are kept and listed: each with an id, and with parts as content."""
    return [_listed(response_id, number, item) for number, item in enumerate(items)]


def _listed(response_id: str, number: int, item: Document) -> Document:
    kind = item.get("type") or "message"
    listed: Document = {"id": item_id(response_id, _IDS.get(kind, "item_"), FIRST_INPUT + number), "type": kind}
    listed |= {key: value for key, value in item.items() if value is not None}
    if kind == "message" and type(listed.get("content")) is str:
        part = "output_text" if listed.get("role") == "assistant" else "input_text"
        more: Document = {"annotations": []} if part == "output_text" else {}
        listed["content"] = [{"type": part, "text": listed["content"], **more}]
    return listed
