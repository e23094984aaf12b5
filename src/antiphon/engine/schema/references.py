"""Where a schema's references lead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote


def pointed(root: Any, reference: str) -> Any:
    """What a reference within its document points to: `#`, a pointer from the root, or an `$anchor`. Raises KeyError,
    or IndexError, TypeError or ValueError for a path that does not fit its document."""
    fragment = unquote(reference)  # it is the fragment of a URI (RFC 6901 §6)
    if re.fullmatch("#[A-Za-z_][A-Za-z0-9._-]*", fragment):
        return anchored(root, fragment[1:])
    if not re.match("#(/|$)", fragment):
        raise KeyError(reference)
    found = root
    for step in fragment[2:].split("/") if len(fragment) > 1 else ():
        found = found[int(step) if type(found) is list else step.replace("~1", "/").replace("~0", "~")]
    return found


def anchored(root: Any, name: str) -> Any:
    """Raises ValueError for none, and for several: they may be of documents within this one (`$id`)."""
    (found,) = (inner for inner in within(root) if inner.get("$anchor") == name)
    return found


def within(value: Any) -> Iterator[dict[str, Any]]:
    if type(value) is dict:
        yield value
    for inner in value.values() if type(value) is dict else value if type(value) is list else ():
        yield from within(inner)
