"""How likely each token of a text was: one entry per token, in OpenAI's spelling. Joined, their bytes are the text.

llama.cpp tells one token with each event, and spells it with all the text that the event brings. That is another text
than the token's own in three cases: one that may begin a stop word comes without a text, which a later event brings;
tokens that end inside a character come in no event at all, only the count shows them; the end token has no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from antiphon.document import Document
from antiphon.engine.native_client import AsksEngine

UNTOLD: Final = -9999.0  # OpenAI's own figure for a logprob that is not told
UNREADABLE: Final = "\ufffd"


@dataclass(slots=True)
class _Token:
    id: int = -1
    logprob: float = UNTOLD
    piece: bytes | None = None  # None: not known
    rivals: list[Document] = field(default_factory=list)


class TokenLogprobs:
    """Hears events, gives entries when the text is said. `rivals`: how many other tokens each entry names."""

    def __init__(self, native: AsksEngine, rivals: int) -> None:
        self._native = native
        self._rivals = rivals
        self._heard: list[_Token] = []  # whose text is still to come
        self._count = 0

    def hear(self, event: Document) -> None:
        for entry in event.get("completion_probabilities") or ():
            count = int(event.get("tokens_predicted") or 0)
            self._heard += [_Token() for _ in range(count - self._count - 1)]
            self._heard.append(self._read(entry))
            self._count = count

    async def take(self, text: str) -> list[Document]:
        """The entries of what is said now. What was heard and is not said (a stop word, the end) has none."""
        heard, self._heard = self._heard, []
        if not heard or not text:
            return []
        if len(heard) > 1:
            for token in heard:
                if token.piece is None and token.id >= 0:
                    token.piece = await self._ask(token.id)
        pieces = shared(text.encode(), [token.piece for token in heard] if len(heard) > 1 else [None])
        return [_entry(token, piece) for token, piece in zip(heard, pieces, strict=True) if piece]

    def _read(self, entry: Document) -> _Token:
        likely = entry.get("top_logprobs") or ()
        own = next((rival.get("bytes") for rival in likely if rival.get("id") == entry.get("id")), None)
        return _Token(
            entry.get("id", -1),
            entry.get("logprob", UNTOLD),
            None if own is None else bytes(own),
            [_spelled(bytes(rival.get("bytes") or ()), rival["logprob"]) for rival in likely[: self._rivals]],
        )

    async def _ask(self, token: int) -> bytes | None:
        text = (await self._native.ask("/detokenize", {"tokens": [token]}))["content"]
        return None if UNREADABLE in text else str(text).encode()


def shared(text: bytes, pieces: Sequence[bytes | None]) -> list[bytes]:
    """The text, divided among its tokens. What of the pieces goes beyond the text is cut off."""
    shares: list[bytes] = []
    unknown = 0
    for piece in (*pieces, None):
        if piece is None and len(shares) + unknown < len(pieces):
            unknown += 1
            continue
        if unknown:
            end = text.find(piece, unknown) if piece else len(text)
            end = len(text) if end < 0 else end
            first = max(1, end - unknown + 1)  # tokens that begin a character hold most of its bytes
            shares += [text[:first], *(text[at : at + 1] for at in range(first, first + unknown - 1))]
            text, unknown = text[end:], 0
        if piece is not None:
            shares.append(text[: len(piece)])
            text = text[len(piece) :]
    return [*shares[:-1], shares[-1] + text]


def _entry(token: _Token, piece: bytes) -> Document:
    return {**_spelled(piece, token.logprob), "top_logprobs": token.rivals}


def _spelled(piece: bytes, logprob: float) -> Document:
    """Bytes that are no text by themselves are written as OpenAI writes them: \\xe6\\x97."""
    return {"token": piece.decode("utf-8", "backslashreplace"), "logprob": logprob, "bytes": list(piece)}


# The logprobs of /v1/completions: in columns, with where each token begins.

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
