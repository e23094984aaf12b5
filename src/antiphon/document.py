"""A JSON object as it travels: a dictionary that is edited in place. Unknown keys stay [nothing-lost]."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def objects_in(value: object) -> list[Document]:
    """The objects of a list. What is no list, and what is no object in it, an upstream should not have sent."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
