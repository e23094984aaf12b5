"""A request that was read from Gemini's API, as one upstream takes it. Tools that Gemini itself runs are refused."""

from __future__ import annotations

from typing import Final

from antiphon.apis.changes import ApiChanges, unsupported
from antiphon.apis.targets import fit_common
from antiphon.document import Document

_OWN: Final = frozenset({"gemini", "vertex"})  # rows of the catalog


def fit(document: Document, protocol: str, changes: ApiChanges) -> Document:
    """`protocol`: the upstream's row of the catalog. Never alters `document`."""
    if protocol in _OWN:
        return document
    for tool in document.get("tools", ()):
        if tool["type"] != "function":
            raise unsupported("tools", f"'{tool['type']}' is a tool of Gemini's own, which the model's upstream lacks")
    told = {key: value for key, value in document.items() if key != "thinking_config"}  # it is an effort or a budget
    return fit_common(told, protocol, changes)
