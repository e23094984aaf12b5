"""What a compaction item carries: a summary, as one string."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Final

MARK: Final = "antiphon.summary.1."  # how our own strings begin
GIVEN: Final = "Summary of the conversation so far:\n\n"


def write_summary(text: str) -> str:
    return MARK + b64encode(text.encode()).decode()


def read_summary(text: object) -> str | None:
    """What the user is taken to say. None: it is not ours."""
    if type(text) is not str or not text.startswith(MARK):
        return None
    try:
        return GIVEN + b64decode(text[len(MARK) :], validate=True).decode()
    except ValueError:
        return None
