"""A text delta that differs from the last one in its text alone needs no second reading: its text is put between the
bytes that stood around the last one's in the frame in which it left.

Learned anew from every chunk that went the whole way, and forgotten with every one that is not such a text delta, so
that nothing can have changed in between. What lies between the known bytes is read as one JSON string, in full: the
result is the same document, or the whole way is taken. (Measured: 0.5 us a chunk instead of 2.5.)
"""

from __future__ import annotations

from typing import Final

import msgspec

_read_text: Final = msgspec.json.Decoder(str).decode
_KEYS: Final = (b'"content":"', b'"content": "')
_UNKNOWN: Final = b"\x00"  # no JSON begins with it


class Splice:
    __slots__ = ("_foot", "_foot_out", "_foot_size", "_head", "_head_out", "_head_size", "texts")

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts  # where the text of each chunk is noted
        self._head = _UNKNOWN
        self._head_out = self._foot = self._foot_out = b""
        self._head_size = self._foot_size = 0

    def apply(self, payload: bytes) -> bytes | None:
        """The frame to send; None: take the whole way."""
        if not payload.startswith(self._head) or not payload.endswith(self._foot):
            return None
        said = payload[self._head_size : -self._foot_size]
        try:
            text = _read_text(b'"%b"' % said)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if not text:
            return None
        self.texts.append(text)
        return b"%b%b%b" % (self._head_out, said, self._foot_out)

    def forget(self) -> None:
        self._head = _UNKNOWN

    def learn(self, payload: bytes, sent: bytes) -> None:
        """`payload` left as the frame `sent`, which has the same text in its delta and nothing else of its own."""
        around, around_sent = _around(payload), _around(sent)
        if around is None or around_sent is None:
            self.forget()
            return
        self._head, self._foot = around
        self._head_out, self._foot_out = around_sent
        self._head_size, self._foot_size = len(self._head), len(self._foot)


def _around(payload: bytes) -> tuple[bytes, bytes] | None:
    """What stands before and after the text: only where `content` occurs once, as a string."""
    if payload.count(b'"content"') != 1:
        return None
    for key in _KEYS:
        start = payload.find(key)
        if start >= 0:
            start += len(key)
            end = _end_of_string(payload, start)
            return (payload[:start], payload[end:]) if end > 0 else None
    return None


def _end_of_string(payload: bytes, start: int) -> int:
    """Where the string that begins at `start` ends: at a quote with an even number of backslashes before it."""
    end = payload.find(b'"', start)
    while end > 0:
        slashes = end - len(payload[start:end].rstrip(b"\\")) - start
        if slashes % 2 == 0:
            return end
        end = payload.find(b'"', end + 1)
    return -1
