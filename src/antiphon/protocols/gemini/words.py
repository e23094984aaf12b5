"""Names and paths as Gemini spells them."""

from __future__ import annotations

import re
from typing import Final

_SEGMENT: Final = re.compile(r"(?:models|tunedModels|endpoints|cachedContents)/[^/]+")
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9._~@-]")


def camel(name: str) -> str:
    """`thinking_config` -> `thinkingConfig`."""
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest) if rest else name


def path_of(model: str, *, stream: bool) -> str:
    """Below `…/v1beta`, or on Vertex below `…/publishers/google`."""
    folder, name = model.split("/", 1) if _SEGMENT.fullmatch(model) else ("models", model)
    escaped = _UNSAFE.sub(lambda byte: b"%%%02X" % byte[0][0], name.encode()).decode()
    return f"/{folder}/{escaped}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
