"""The logprobs of /v1/completions, which are not spelled as chat's: in columns, with where each token begins."""

from __future__ import annotations

from typing import Any, Final

Document = dict[str, Any]
CONTINUES: Final = 0x80  # a byte inside a character (RFC 3629)


class LegacyLogprobs:
    """Of one choice."""

    def __init__(self) -> None:
        self.entries: list[Document] = []
        self._offset = 0  # characters begun so far

    def skip(self, text: str) -> None:
        self._offset += len(text)

    def spell(self, entries: list[Document]) -> Document:
        return {
            "tokens": [entry["token"] for entry in entries],
            "token_logprobs": [entry["logprob"] for entry in entries],
            "top_logprobs": [{each["token"]: each["logprob"] for each in entry["top_logprobs"]} for entry in entries],
            "text_offset": [self._next(entry["bytes"]) for entry in entries],
        }

    def _next(self, piece: list[int]) -> int:
        """Where a token begins; one that goes on with a character begins where that does."""
        begins_inside = piece[0] & 0xC0 == CONTINUES
        offset = self._offset - begins_inside
        self._offset += sum(byte & 0xC0 != CONTINUES for byte in piece)
        return offset
