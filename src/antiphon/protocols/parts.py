"""Pieces of Chat Completions messages that every protocol reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from antiphon.chat.event import scrub
from antiphon.document import Document

DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.+-]+=[\w.+-]+)*)(;base64)?,(.*)", re.DOTALL)


def read_data_url(url: str) -> tuple[str, str] | None:
    """-> (media type, base64). None: it is no data URL with base64 in it."""
    match = DATA_URL.fullmatch(url)
    if match is None or match[3] is None:
        return None
    return match[1] or "text/plain", match[4]


def parts_of(content: object) -> Iterator[Document]:
    """The parts of a message's content; a string is one part of text. Empty texts are left out."""
    if isinstance(content, str):
        if content:
            yield {"type": "text", "text": content}
        return
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and not (part.get("type") == "text" and not part.get("text")):
            yield part


def text_of(content: object) -> str:
    """All text of a content, joined."""
    return "".join(str(part.get("text", "")) for part in parts_of(content) if part.get("type") == "text")


def write_json(value: object) -> str:
    """A character that was cut is replaced."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(scrub(value)).decode()


def read_arguments(arguments: object) -> Document | None:
    """The arguments of a call as an object; "" is {}. None: they are none."""
    if not isinstance(arguments, str):
        return None
    if not arguments.strip():
        return {}
    try:
        found = msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
