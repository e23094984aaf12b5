"""Fields of a multipart form (RFC 7578), found while its bytes arrive. Files are passed over, not kept.

A form that another reader could read otherwise is refused: one that names a field twice that we act on, or spells it in
an encoding. So what was routed and judged is what the upstream reads.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from antiphon.errors import RequestError

MOST_PARTS: Final = 1000
MOST_HEADERS: Final = 16 * 1024  # bytes of one part's
MOST_VALUE: Final = 256 * 1024  # bytes of a field that we read
BROKEN: Final = "We could not parse the form body of your request: it is not valid multipart/form-data."
PARAMETER: Final = re.compile(rb'\s*;\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]*)', re.DOTALL)
PLAIN: Final = frozenset({b"", b"7bit", b"8bit", b"binary"})  # transfer encodings that change nothing


class Field:
    """`start` and `end`: where its value stands in the body."""

    __slots__ = ("end", "start", "text")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.start = start
        self.end = end


class FormReader:
    """`feed` raises RequestError. `fields` has those of the wanted ones that were found."""

    def __init__(self, content_type: bytes, wanted: Collection[str]) -> None:
        self._wanted = frozenset(wanted)
        self._delimiter = b"\r\n--" + _boundary(content_type)
        self._rest = bytearray(b"\r\n")  # what is not read yet; as if a line had ended before the body
        self._searched = 0  # bytes of it in which no delimiter begins
        self._at = -2  # where that begins in the body
        self._step = self._read_start
        self._name: str | None = None  # of the wanted field whose value is being read
        self._parts = 0
        self.fields: dict[str, Field] = {}
        self.ended = False

    def feed(self, data: bytes) -> None:
        if self.ended:
            return
        self._rest += data
        while not self.ended and self._step():
            pass

    def close(self) -> None:
        """The body has ended."""
        if not self.ended:
            raise RequestError(BROKEN)

    # Steps: each reads on from the beginning of `_rest`. False: it needs more.

    def _read_start(self) -> bool:
        if self._rest.startswith(b"\r\n\r\n"):  # an empty line before the first part
            self._skip(2)
        if len(self._rest) < len(self._delimiter):
            if not self._delimiter.startswith(bytes(self._rest)) and self._rest != b"\r\n\r":
                raise RequestError(BROKEN)
            return False
        if not self._rest.startswith(self._delimiter):
            raise RequestError(BROKEN)
        self._skip(len(self._delimiter))
        self._step = self._read_line
        return True

    def _read_line(self) -> bool:
        """The rest of a delimiter's line."""
        if self._rest.startswith(b"--"):
            self.ended = True
            self._rest.clear()
            return False
        end = self._rest.find(b"\r\n")
        line = self._rest if end < 0 else self._rest[:end]
        if line.strip(b" \t\r-") or len(line) > 128 or (end >= 0 and line.strip(b" \t")):
            raise RequestError(BROKEN)
        if end < 0:
            return False
        self._skip(end)  # the line's end is where the headers' end may begin
        self._step = self._read_headers
        return True

    def _read_headers(self) -> bool:
        end = self._rest.find(b"\r\n\r\n")
        if end > MOST_HEADERS or (end < 0 and len(self._rest) > MOST_HEADERS):
            raise RequestError("The headers of a part of the form are too large.")
        if end < 0:
            return False
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise RequestError(f"The form has more than {MOST_PARTS} parts.")
        self._name = self._read_name(bytes(self._rest[:end]))
        self._skip(end + 4)
        self._step = self._read_content
        return True

    def _read_content(self) -> bool:
        end = self._rest.find(self._delimiter, self._searched)
        self._searched = max(0, len(self._rest) - len(self._delimiter) + 1)
        if self._name is not None:
            if end > MOST_VALUE or (end < 0 and len(self._rest) > MOST_VALUE):
                raise RequestError(f"The field '{self._name}' of the form is too long.", param=self._name)
            if end >= 0:
                self.fields[self._name] = Field(_text(self._name, self._rest[:end]), self._at, self._at + end)
        elif end < 0:
            self._skip(self._searched)
        if end < 0:
            return False
        self._skip(end + len(self._delimiter))
        self._step = self._read_line
        return True

    def _read_name(self, head: bytes) -> str | None:
        """Of the part, if it is a field that is wanted."""
        headers: dict[bytes, bytes] = {}
        for line in head.split(b"\r\n"):
            key, _, value = line.partition(b":")
            key = key.strip().lower()
            if key == b"content-disposition" and key in headers:
                raise RequestError(BROKEN)
            headers[key] = value.strip()
        parameters = read_parameters(headers.get(b"content-disposition", b""))
        name = parameters.get(b"name", b"").decode("utf-8", "replace")
        if name not in self._wanted:
            return None
        encoding = headers.get(b"content-transfer-encoding", b"").lower()
        if name in self.fields:
            raise RequestError(f"The form has the field '{name}' more than once.", param=name)
        if b"filename" in parameters or encoding not in PLAIN:
            raise RequestError(f"The field '{name}' of the form must be plain text.", param=name)
        return name

    def _skip(self, size: int) -> None:
        del self._rest[:size]
        self._at += size
        self._searched = 0


def read_parameters(header: bytes) -> dict[bytes, bytes]:
    """What follows the first word of a header: `form-data; name="model"`."""
    first = header.find(b";")
    at = first if first >= 0 else len(header)
    found: dict[bytes, bytes] = {}
    while at < len(header.rstrip(b"; \t")):
        match = PARAMETER.match(header, at)
        if match is None or match[1].lower() in found:
            raise RequestError(BROKEN)
        value = match[2]
        if value[:1] == b'"':
            value = re.sub(rb"\\(.)", rb"\1", value[1:-1])
        name = match[1].lower()
        if name == b"name*":  # RFC 7578 §4.2 forbids it; some read it
            raise RequestError(BROKEN)
        found[name] = value
        at = match.end()
    return found


def _boundary(content_type: bytes) -> bytes:
    boundary = read_parameters(content_type).get(b"boundary", b"")
    if not 0 < len(boundary) <= 200:  # RFC 2046 §5.1.1 says 70; some clients take more
        raise RequestError("The content-type of the form has no boundary.")
    return boundary


def _text(name: str, value: bytearray) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise RequestError(f"The field '{name}' of the form is not UTF-8 text.", param=name) from None
