"""A text delta that differs from an earlier one in its text alone needs no second reading: its text is put between the
bytes that stood around the earlier one's in the frame in which it left. (0.5 us a chunk instead of 2.5 and more.)

A stream may have a few such shapes in turn: two choices, with `logprobs` or without, reasoning and then the answer.
Each is learned from a chunk that went the whole way (`see`, `learn`). What lies between the known bytes is read as one
JSON string, in full: the result is the same document, or the whole way is taken. `obfuscation` is a second string; it
is left out.

What was learned holds while the stream's machine would do the same again. Another text delta changes nothing for those
that are known, as long as it leaves in the same envelope and an unknown key has one value in all of them. Anything else
that goes the whole way may have changed anything: then all is forgotten.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from antiphon.chat.delta import SILENT
from antiphon.chat.envelope import OWN, STICKY
from antiphon.document import Document

MOST: Final = 24  # shapes known at a time
FUTILE: Final = 64  # shapes learned one after the other, none of which came again: no more are learned

# The key of a text in our delta, and what it may be called in the upstream's.
KEYS: Final = {
    "content": ("content",),
    "reasoning_content": ("reasoning_content", "reasoning"),
    "refusal": ("refusal",),
}
FIXED: Final = ("id", "object", "created", "model", *STICKY)

_read_text: Final = msgspec.json.Decoder(str).decode
_decode: Final = msgspec.json.Decoder().decode
_DATA: Final = b"data: "
_END: Final = b"\n\n"
_UNKNOWN: Final = b"\x00"  # no event begins with it
_TEXT: Final = "\x01"  # put in the text's place, to see that it is the text's
_PADDING: Final = "\x02"
_WATCHED: Final = frozenset({"error", "x_groq", "moderation"})  # keys whose values the machine reads
_WATCHED_IN_CHOICE: Final = frozenset({"error", "usage", "message"})


class Slots(NamedTuple):
    """The text, and the bytes around it and, if there is any, the obfuscation."""

    text: bytes
    head: bytes
    middle: bytes  # empty: there is no obfuscation
    foot: bytes
    text_first: bool = True

    def filled(self, text: bytes, padding: bytes) -> bytes:
        first, second = (text, padding) if self.text_first else (padding, text)
        return b"".join((self.head, first, self.middle, second if self.middle else b"", self.foot))


class Seen(NamedTuple):
    """A text delta on its way: what `learn` is to know of it."""

    slots: Slots
    choice: int  # its index
    key: str  # of the text in our delta
    envelope: tuple[Any, ...]  # that leaves with it
    extras: dict[tuple[int, str], Any]  # unknown keys that leave with it: of the choice, or (-1) of the chunk
    alone: bool  # it reports usage, of which the last report counts: no other may be known beside it


class Template(Struct, gc=False):
    """What a read is compared with, and what is sent."""

    head: bytes
    middle: bytes
    foot: bytes
    text_first: bool
    head_out: bytes
    foot_out: bytes
    choice: int
    key: str
    head_size: int
    foot_size: int


_NONE: Final = Template(_UNKNOWN, b"", b"", True, b"", b"", -1, "", 1, 0)


class Splice:
    """`any_shape`: the machine divides no text (`<think>`) and joins no sources; then shapes may alternate. Else only
    those are learned that it edits in place, as it does with a chunk shaped like the one before."""

    __slots__ = (
        "_alone",
        "_any_shape",
        "_envelope",
        "_extras",
        "_futile",
        "_known",
        "_mark",
        "_usual",
        "last",
        "texts",
    )

    def __init__(self, texts: list[str], *, any_shape: bool = False) -> None:
        self.texts = texts  # where the text of each chunk is noted
        self.last = _NONE  # what the last one spliced was like: its choice, and which of its texts it added to
        self._any_shape = any_shape
        self._known: list[Template] = []
        self._usual = _NONE  # the first to be tried
        self._envelope: tuple[Any, ...] = ()
        self._extras: dict[tuple[int, str], Any] = {}
        self._alone = False
        self._futile = 0
        self._mark = 0

    # Hot

    def apply_read(self, read: bytes) -> bytes | None:
        """A read that is one whole event -> the frame to send; None: take the whole way."""
        template = self._usual
        if not read.startswith(template.head) or not read.endswith(template.foot):
            other = self._find_other(read)
            if other is None:
                return None
            template = other
        said = read[template.head_size : -template.foot_size]
        if template.middle:
            first, found, second = said.partition(template.middle)
            said, padding = (first, second) if template.text_first else (second, first)
            if not found or not (padding.isalnum() or _is_string(padding)):
                return None
        try:
            text = _read_text(b'"%b"' % said)
        except ValueError:
            return None
        if not text:
            return None
        self.texts.append(text)
        self.last = template
        return b"".join((template.head_out, said, template.foot_out))

    def apply(self, payload: bytes) -> bytes | None:
        """The same for the payload of an event."""
        return self.apply_read(b"data: %b\n\n" % payload) if self._known else None

    def apply_reads(self, read: bytes) -> bytes | None:
        """The same for a read that is several whole events, of which every one is such a text delta."""
        if not read.endswith(_END):
            return None
        before = len(self.texts)
        out = []
        for event in read[:-2].split(_END):
            frame = self.apply_read(event + _END)
            if frame is None:
                del self.texts[before:]
                return None
            out.append(frame)
        return b"".join(out)

    def _find_other(self, read: bytes) -> Template | None:
        for template in self._known:
            if template is not self._usual and read.startswith(template.head) and read.endswith(template.foot):
                if template is self.last:  # twice in a row
                    self._usual = template
                return template
        return None

    # Learning

    def see(self, payload: bytes, document: Document, chunks: list[Document]) -> Seen | None:
        """Of every event that goes the whole way, before its chunks are written. `document` was read from `payload`,
        and `chunks` are what the machine gave for it. None: not a text delta, and all is forgotten."""
        seen = self._look(payload, document, chunks) if self._futile < FUTILE else None
        if seen is None or seen.alone or self._alone or seen.envelope != self._envelope or self._clashes(seen):
            self.forget()
        return seen

    def _clashes(self, seen: Seen) -> bool:
        """The machine remembers which value of an unknown key was sent last; what is spliced, it does not see."""
        return any(key in self._extras and self._extras[key] != value for key, value in seen.extras.items())

    def learn(self, seen: Seen, sent: bytes, name: str = "") -> None:
        """What was seen left as the frame `sent`: its text stands there, and nothing else that is its own. `name`: of
        the text in the frame, where it is another than in our delta."""
        out = _find(sent, name or seen.key)
        if out is None or out.middle:
            return
        self._futile = self._futile + 1 if len(self.texts) - self._mark <= 1 else 0
        self._mark = len(self.texts)
        self._envelope, self._alone = seen.envelope, seen.alone
        self._extras.update(seen.extras)
        head, foot = _DATA + seen.slots.head, seen.slots.foot + _END
        self._usual = Template(
            head,
            seen.slots.middle,
            foot,
            seen.slots.text_first,
            out.head,
            out.foot,
            seen.choice,
            seen.key,
            len(head),
            len(foot),
        )
        self._known.insert(0, self._usual)
        del self._known[MOST:]

    def forget(self) -> None:
        self._known.clear()
        self._extras.clear()
        self._usual = _NONE

    def _look(self, payload: bytes, document: Document, chunks: list[Document]) -> Seen | None:
        if len(chunks) != 1 or type(payload) is not bytes or b"\n" in payload:
            return None
        [chunk] = chunks
        if chunk is not document and not self._any_shape:
            return None
        said = _said(chunk)
        if said is None:
            return None
        index, key, text = said
        for name in KEYS[key]:
            slots = _find(payload, name)
            if slots is not None:
                shape = _shape(slots, text)
                if shape is None or not _explains(shape, name, bool(slots.middle), chunk):
                    return None
                return Seen(slots, index, key, *_beside(chunk), shape.get("usage") is not None)
        return None


def _is_string(padding: bytes) -> bool:
    try:
        _read_text(b'"%b"' % padding)
    except ValueError:
        return False
    return True


def _said(chunk: Document) -> tuple[int, str, str] | None:
    """(choice, key, text) of a chunk that leaves; None: it has more to say than one text."""
    choices = chunk["choices"]
    if len(choices) != 1:
        return None
    [choice] = choices
    delta = choice.get("delta")
    if not delta or len(delta) != 1 or choice.get("finish_reason") is not None or choice.get("logprobs") is not None:
        return None
    [(key, text)] = delta.items()
    return (choice["index"], key, text) if key in KEYS and type(text) is str and text else None


def _beside(chunk: Document) -> tuple[tuple[Any, ...], dict[tuple[int, str], Any]]:
    """(the envelope, unknown keys)"""
    [choice] = chunk["choices"]
    extras = {(-1, key): value for key, value in chunk.items() if key not in OWN}
    for key, value in choice.items():
        if key not in _CHOICE_KEYS:
            extras[choice["index"], key] = value
    return tuple([chunk.get(name) for name in FIXED]), extras


def _find(payload: bytes, key: str) -> Slots | None:
    """The bytes around the string of a key that stands once, and around the obfuscation."""
    text = _find_string(payload, b'"%b"' % key.encode())
    if text is None:
        return None
    start, end = text
    if b'"obfuscation"' not in payload:
        return Slots(payload[start:end], payload[:start], b"", payload[end:])
    padding = _find_string(payload, b'"obfuscation"')
    if padding is None:
        return None
    left, right = padding
    if start < left:
        return Slots(payload[start:end], payload[:start], payload[end:left], payload[right:])
    return Slots(payload[start:end], payload[:left], payload[right:start], payload[end:], text_first=False)


def _find_string(payload: bytes, key: bytes) -> tuple[int, int] | None:
    if payload.count(key) != 1:
        return None
    start = payload.index(key) + len(key)
    for colon in (b':"', b': "'):
        if payload.startswith(colon, start):
            start += len(colon)
            end = _end_of_string(payload, start)
            return (start, end) if end > 0 else None
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


def _shape(slots: Slots, text: str) -> Document | None:
    """The upstream's chunk with other words in its text's place; None: it was not this very text."""
    try:
        if text == _TEXT or _read_text(b'"%b"' % slots.text) != text:
            return None
        shape = _decode(slots.filled(b"\\u0001", b"\\u0002"))
    except (ValueError, RecursionError):
        return None
    return shape if type(shape) is dict else None


def _explains(shape: Document, name: str, padded: bool, chunk: Document) -> bool:
    """Is the upstream's chunk, read with other words in its text's place, a text delta and nothing else; and does what
    left of it say nothing that came from elsewhere?"""
    if padded and shape.get("obfuscation") != _PADDING:
        return False
    choices = shape.get("choices")
    if type(choices) is not list or len(choices) != 1 or type(choices[0]) is not dict:
        return False
    [choice] = choices
    [left] = chunk["choices"]
    delta = choice.get("delta")
    if type(delta) is not dict or delta.get(name) != _TEXT or type(choice.get("index")) is not int:
        return False
    if any(value and key not in (name, "role") for key, value in delta.items()) or not delta.keys() <= _DELTA_KEYS:
        return False
    if choice.get("finish_reason") is not None or choice.get("logprobs") is not None:
        return False
    if not (_WATCHED.isdisjoint(shape) and _WATCHED_IN_CHOICE.isdisjoint(choice)):
        return False
    return _is_within(chunk, shape, OWN) and _is_within(left, choice, _CHOICE_KEYS)


def _is_within(left: Document, came: Document, own: frozenset[str]) -> bool:
    """Did all that leaves come with this chunk, but for what the machine says of its own?"""
    return all(key in own or (key in came and came[key] == value) for key, value in left.items())


_DELTA_KEYS: Final = SILENT | {"content", "role"}
_CHOICE_KEYS: Final = frozenset({"index", "delta", "finish_reason", "logprobs"})
