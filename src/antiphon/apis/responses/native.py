"""A request in the API's own words, for an upstream that speaks this API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from antiphon.apis.responses.reasoning import unsealed
from antiphon.apis.responses.summary import read_summary
from antiphon.document import Document

_OURS = frozenset({"previous_response_id", "store"})


def native_document(document: Document, items: Iterable[Any]) -> Document:
    """The request as it was sent, with all that it goes on from. The upstream keeps nothing: that is our affair."""
    out = {key: value for key, value in document.items() if key not in _OURS}
    out["store"] = False
    if type(document["input"]) is not str or document.get("previous_response_id") is not None:
        out["input"] = [native for item in items if (native := _native_item(item)) is not None]
    return out


def _native_item(item: Any) -> Any:
    """Ids are ours: the upstream does not know them. Reasoning goes back only where the upstream has encrypted it."""
    if type(item) is not dict:
        return item
    if item.get("type") == "compaction":
        summary = read_summary(item.get("encrypted_content"))
        return item if summary is None else {"role": "user", "content": summary}
    if item.get("type") == "reasoning":
        sealed = item.get("encrypted_content")
        if type(sealed) is not str or unsealed(sealed) is not None:
            return None
        return {key: value for key, value in item.items() if key not in ("content", "status")}
    return {key: value for key, value in item.items() if key not in ("id", "status")}
