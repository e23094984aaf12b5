"""A large request without the middle of its long strings.

To parse a text of 20 MiB and to write it again stops the worker for 60 ms, and takes up to eight times its memory (one
emoji makes each character four bytes wide). Nearly all of a large body is a few long strings, and their text is seldom
needed. So of a long string only the two ends are parsed, with a mark between them; what stands between stays in the
body as it was sent. It is proven to be JSON, a piece at a time, and it is sent on as it is.

A document with marks is called light. A mark is made of random letters, so that no text of a client contains one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from antiphon.chat.bounds import LARGE, NOT_JSON, PIECE, JsonBounds, Scan
from antiphon.errors import RequestError

LONG: Final = 2048  # bytes of a string
ENDS: Final = (128, 1024)  # bytes of a long string that are parsed at each end: at least, at most, and
SHARE: Final = 16  # between these one in so many
NEEDLESS: Final = 256  # bytes outside of strings, of which most are white space
# So many bytes that are not left out cost as much as an integer (`bounds`): of ASCII, and of others or escaped ones.
NARROW: Final = 64
WIDE: Final = 16
MOST_SPACE: Final = LARGE  # characters at an end of a text in which words are sought
EDGE_PIECE: Final = 16 * 1024  # bytes that are read at once from the end of a text
DIGITS: Final = 6  # of the number in a mark
# A mark looks like what it stands for to who looks for words, or for none: its letters, each in place of as many dots.
SPACE, JSON, WIDE_LETTER = " ", "json", "\u2026"
REST_OF_MARK: Final = DIGITS + 9  # bytes
LONGEST_ESCAPE: Final = 6  # bytes
NEAR: Final = 6 * LONGEST_ESCAPE  # bytes that hold three characters at least, however they are written
HIGH_HALF: Final = re.compile(rb"\\u[dD][89abAB]")
KEY: Final = re.compile(rb'"[ \t\r\n]*:')
OTHER_SPACE: Final = (b"\v", b"\f")  # white space that JSON does not allow

_read: Final = msgspec.json.Decoder(str).decode

Span = tuple[int, int, int]  # of a middle: where it begins and ends in the body, and how many characters it has


class Outline:
    """What was left out of a light document, and how to put it back."""

    __slots__ = ("_begin", "_blank", "_mark", "_spans", "_start", "body", "light_body")

    def __init__(self, body: bytes, light_body: bytes, token: str, spans: list[Span], blank: set[int]) -> None:
        """`blank`: the numbers of spans that are white space alone."""
        self.body = body
        self.light_body = light_body
        self._spans = spans
        self._blank = blank
        self._start = f"<{token}"  # of a mark
        self._begin = self._start.encode()
        self._mark = re.compile(f"<{token}([0-9]{{{DIGITS}}})[^>]*>")

    def whole(self, encoded: bytes) -> JsonPieces:
        """A light document that was encoded, with nothing left out."""
        first, *others = encoded.split(self._begin)
        return JsonPieces(self.body, first, [(self._spans[int(part[:DIGITS])], part) for part in others])

    def restore(self, value: Any) -> Any:
        """A light value with nothing left out. All of it is parsed: this takes time and memory."""
        if type(value) is str:
            return self._mark.sub(lambda found: "".join(self._pieces(found)), value)
        if type(value) is dict:
            return {self.restore(key): self.restore(inner) for key, inner in value.items()}
        return [self.restore(inner) for inner in value] if type(value) is list else value

    def size(self, text: str) -> int:
        """Characters of a light text with nothing left out."""
        marks = list(self._mark.finditer(text))
        return len(text) + sum(self._spans[int(mark[1])][2] - len(mark[0]) for mark in marks)

    def expand(self, text: str, known: set[int]) -> Iterator[str]:
        """A light text a piece at a time. `known`: middles that are not given again; those that are given are added."""
        end = 0
        for mark in self._mark.finditer(text):
            yield text[end : mark.start()]
            end = mark.end()
            if int(mark[1]) not in known:
                known.add(int(mark[1]))
                yield from self._pieces(mark)
        yield text[end:]

    def first(self, text: str, size: int) -> str:
        """So many characters from the beginning of a light text."""
        head = ""
        for piece in self.expand(text, set()):
            head += piece
            if len(head) >= size:
                break
        return head[:size]

    def is_blank(self, text: str) -> bool:
        """Of a light text without white space around it: with nothing left out it would be white space alone."""
        size = len(self._start)
        if not text.startswith(self._start) or int(text[size : size + DIGITS]) not in self._blank:
            return False
        if text.find(">") == len(text) - 1:  # one mark, the usual case; the others take ten times as long
            return True
        marks = [int(mark[1]) for mark in self._mark.finditer(text)]
        return self._blank.issuperset(marks) and not self._mark.sub("", text).strip()

    def edges(self, text: str, size: int) -> str:
        """A light text without white space around it. Where it is long, so many characters from its beginning and from
        its end."""
        if self._start not in text:
            return text.strip()
        if self.size(text) <= 2 * size:
            return "".join(self.expand(text, set())).strip()
        head = tail = ""
        room = MOST_SPACE
        for piece in self.expand(text, set()):
            head, room = (head + piece).lstrip(), room - len(piece)
            if len(head) > size or room < 0:
                break
        room = MOST_SPACE
        for piece in self._from_the_end(text, list(self._mark.finditer(text))):
            tail, room = (piece + tail).rstrip(), room - len(piece)
            if len(tail) > size or room < 0:
                break
        return f"{head[:size]}\n{tail[-size:]}"

    def _from_the_end(self, text: str, marks: list[re.Match[str]]) -> Iterator[str]:
        end = len(text)
        for mark in reversed(marks):
            yield text[mark.end() : end]
            end = mark.start()
            first, last, _ = self._spans[int(mark[1])]
            while last > first:
                begin = clean(self.body, first, last - EDGE_PIECE) if last - first > EDGE_PIECE else first
                yield "".join(decoded(self.body, begin, last))
                last = begin
        yield text[:end]

    def _pieces(self, mark: re.Match[str]) -> Iterator[str]:
        start, end, _ = self._spans[int(mark[1])]
        return decoded(self.body, start, end)


class JsonPieces:
    """A JSON text in pieces."""

    __slots__ = ("_body", "_first", "_others", "size")

    def __init__(self, body: bytes, first: bytes, others: list[tuple[Span, bytes]]) -> None:
        """`others`: what is to be put in, and what follows it, behind the rest of its mark."""
        self._body = body
        self._first = first
        self._others = others
        self.size = len(first) + sum([span[1] - span[0] + len(part) - REST_OF_MARK for span, part in others])

    def __iter__(self) -> Iterator[bytes | memoryview]:
        view = memoryview(self._body)
        yield self._first
        for (start, end, _), part in self._others:
            yield view[start:end]
            yield part[REST_OF_MARK:]


class OutlineReader:
    """Reads a large body: measures it, proves its long strings to be JSON and leaves them out. In steps: none of them
    takes more than a few milliseconds."""

    def __init__(self, body: bytes, bounds: JsonBounds, token: str) -> None:
        self._body = body
        self._scan = Scan(bounds)
        self._token = token
        self._light: list[bytes] = []
        self._spans: list[Span] = []
        self._blank: set[int] = set()
        self._taken = 0  # how far `_light` goes
        self._opened = 0  # where the string began in which a piece has ended

    @property
    def outline(self) -> Outline:
        """After the last step."""
        light = b"".join([*self._light, self._body[self._taken :]]) if self._light else self._body
        return Outline(self._body, light, self._token, self._spans, self._blank)

    def steps(self) -> Iterator[None]:
        """Raises RequestError."""
        body, scan = self._body, self._scan
        for start in range(0, len(body), PIECE):
            piece = body[start : start + PIECE]
            is_inside = bool(scan.in_string)
            parts = scan.feed(piece)
            short = len(piece) - sum([size for size in map(len, parts) if size > LONG])
            scan.charge(short // (NARROW if piece.isascii() and b"\\u" not in piece else WIDE))
            if len(parts) > 1 or not is_inside:
                yield from self._take(start, parts, is_inside)
                if scan.in_string:
                    self._opened = start + len(piece) - len(parts[-1])
            yield

    def _take(self, start: int, parts: list[bytes], is_inside: bool) -> Iterator[None]:
        if is_inside:  # a string that began in an earlier piece ends
            end = start + len(parts[0])
            if end - self._opened > LONG:
                yield from self._shorten(self._opened, end)
        if len(parts) == 1 or max(map(len, parts)) > NEEDLESS:
            last = len(parts) - 1
            for place, part in enumerate(parts):
                size = len(part)
                if size > NEEDLESS:
                    if place & 1 == is_inside:
                        self._squeeze(start, part)
                    elif size > LONG and 0 < place < last:
                        yield from self._shorten(start, start + size)
                start += size + 1

    def _squeeze(self, start: int, part: bytes) -> None:
        """White space between values: one of it is enough."""
        if any(space in part for space in OTHER_SPACE):
            return
        # A piece may end within a number: white space is put only where there was some.
        before, after = b" " * part[:1].isspace(), b" " * part[-1:].isspace()
        squeezed = before + b" ".join(part.split()) + after
        if 2 * len(squeezed) < len(part):
            self._leave_out(start, start + len(part), squeezed)

    def _shorten(self, start: int, end: int) -> Iterator[None]:
        """A long string, unless it is a name."""
        body = self._body
        if KEY.match(body, end):
            self._scan.charge((end - start) // WIDE)
            return
        some = min(max(ENDS[0], (end - start) // SHARE), ENDS[1])
        head, tail = clean(body, start, start + some), clean(body, start, end - some)
        size, is_ascii, is_blank, has_space, has_json = 0, True, True, False, False
        last = _few(body, clean(body, start, max(start, head - NEAR)), head)
        for text in decoded(body, head, tail):
            size += len(text)
            is_ascii = is_ascii and text.isascii()
            is_blank = is_blank and text.isspace()
            has_space = has_space or any(space in text for space in " \n\t")
            low = last + text.lower()
            has_json = has_json or "json" in low
            last = low[-3:]
            if size > PIECE:
                yield
        has_json = has_json or "json" in last + _few(body, tail, clean(body, tail, min(end, tail + NEAR)))
        look = (SPACE if has_space else ".") + (JSON if has_json else "....") + ("..." if is_ascii else WIDE_LETTER)
        self._leave_out(head, tail, f"<{self._token}{len(self._spans):0{DIGITS}}{look}>".encode())
        if is_blank:
            self._blank.add(len(self._spans))
        self._spans.append((head, tail, size))

    def _leave_out(self, start: int, end: int, instead: bytes) -> None:
        self._light += (self._body[self._taken : start], instead)
        self._taken = end


def _few(body: bytes, start: int, end: int) -> str:
    return "".join(decoded(body, start, end)).lower()


def decoded(body: bytes, start: int, end: int) -> Iterator[str]:
    """The text of a part of a JSON string, a piece at a time. Raises RequestError: it is not JSON."""
    while start < end:
        stop = end if end - start <= PIECE else clean(body, start, start + PIECE)
        try:
            yield _read(b'"%b"' % body[start:stop])
        except ValueError:  # msgspec's errors and UnicodeDecodeError are ValueErrors
            raise RequestError(NOT_JSON) from None
        start = stop


def clean(body: bytes, start: int, end: int) -> int:
    """The last place up to `end` at which a JSON string that begins at `start`, or a part of it, can be cut: not within
    a character, an escape or a pair of them that is one character."""
    for _ in range(3):
        end -= body[end] & 0xC0 == 0x80
    for _ in range(2):
        at = body.rfind(b"\\", max(start, end - LONGEST_ESCAPE), end)
        if at < 0:
            return end
        run = body[start : at + 1]
        if (len(run) - len(run.rstrip(b"\\"))) % 2 == 0:  # the second half of an escaped backslash
            return end
        size = LONGEST_ESCAPE if body[at + 1 : at + 2] == b"u" else 2
        if at + size <= end and not (at + size == end and HIGH_HALF.match(body, at)):
            return end
        end = at
    return end
