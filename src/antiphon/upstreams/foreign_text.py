"""Text deltas of foreign streams that differ in their text alone: their text is put into an event of the OpenAI
protocol, unread, and the flow splices that as it does with any other upstream's (docs/adr/0006-shortcuts.md).

What a delta looks like is learned from one that the protocol's decoder has read. A read that is not exactly one such
event takes the whole way, and all is forgotten. (4 us a chunk instead of 10.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from antiphon.flow.ports import Document

_encode: Final = msgspec.json.Encoder().encode
_read_text: Final = msgspec.json.Decoder(str).decode
_END: Final = b"\n\n"
_MARK: Final = "\x00"  # in the text's place; JSON escapes it, so that it stands once
_MARKED: Final = _encode(_MARK)[1:-1]


class TextEvent(NamedTuple):
    """The bytes around the text: of the vendor's event, and of ours."""

    head: bytes
    foot: bytes
    head_size: int
    foot_size: int
    our_head: bytes
    our_foot: bytes


def learn(data: bytes, chunks: list[Document]) -> TextEvent | None:
    """`data`: one read, whole events before it; `chunks`: what was read from it. None: it is not one text delta."""
    if len(chunks) != 1 or not data.endswith(_END) or data.find(_END) != len(data) - 2:
        return None
    [chunk] = chunks
    choices = chunk["choices"]
    if type(chunk) is not dict or len(choices) != 1:
        return None
    [choice] = choices
    text = choice["delta"].get("content")
    is_plain = len(choice) == 3 and choice["index"] == 0 and choice["finish_reason"] is None
    if not is_plain or not text or len(choice["delta"]) != 1:
        return None
    said = _find(data, text)
    if said is None:
        return None
    start, end = said
    marked = _encode({**chunk, "choices": [{**choice, "delta": {"content": _MARK}}]})
    if marked.count(_MARKED) != 1:
        return None
    before, _, after = marked.partition(_MARKED)
    head, foot = data[:start], data[end:]
    return TextEvent(head, foot, len(head), len(foot), b"data: " + before, after + _END)


def _find(data: bytes, text: str) -> tuple[int, int] | None:
    """Where the text stands, as the value of a key named `text`."""
    for colon in (b'"text":"', b'"text": "'):
        if data.count(colon) != 1:
            continue
        start = data.index(colon) + len(colon)
        written = _encode(text)[1:-1]
        end = start + len(written)
        if data.startswith(written, start) and data[end : end + 1] == b'"':
            return start, end
    return None


def read_pieces(pieces: list[bytes]) -> str:
    """The text of pieces that were spliced: each is the inside of a JSON string."""
    return _read_text(b'"%b"' % b"".join(pieces))
