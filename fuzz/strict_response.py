"""A strict reader of responses (RFC 9112), fed piece by piece. Any fault ends the reading and is kept in `fault`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) [\t\x20-\x7e]*\Z")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*\Z")
CHUNK = re.compile(rb"[0-9a-fA-F]{1,8}\Z")
ONCE = (b"content-length", b"transfer-encoding", b"x-request-id", b"content-type", b"connection", b"retry-after")


@dataclass(slots=True)
class Response:
    status: int
    headers: dict[bytes, bytes]
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    interim: int = 0  # 1xx answers before it

    @property
    def closes(self) -> bool:
        return self.headers.get(b"connection", b"").lower() == b"close"


class ResponseReader:
    def __init__(self, methods: list[bytes]) -> None:
        """`methods` of the requests, in order: an answer to HEAD has no body."""
        self.responses: list[Response] = []  # the complete ones
        self.open: Response | None = None  # its head is here, its body is not
        self.fault = ""
        self._methods = methods
        self._buffer = bytearray()
        self._left: int | None = None  # bytes of the body; None: chunked, or until the end
        self._chunked = False
        self._interim = 0

    def feed(self, data: bytes) -> None:
        if self.fault:
            return
        self._buffer += data
        while not self.fault and (self._read_head() if self.open is None else self._read_body()):
            pass

    def end(self) -> None:
        """The connection was closed."""
        if self.fault:
            return
        if self.open is not None and self._left is None and not self._chunked:
            self._finish()
        elif self.open is None and self._buffer:
            self.fault = "bytes that belong to no response"

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        first, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        found = STATUS_LINE.match(first)
        if found is None:
            self.fault = f"status line {first[:80]!r}"
            return False
        headers: dict[bytes, bytes] = {}
        for line in lines:
            pair = FIELD.match(line)
            if pair is None:
                self.fault = f"header line {line[:80]!r}"
                return False
            name = pair[1].lower()
            if name in headers and name in ONCE:
                self.fault = f"{name.decode()} twice"
                return False
            headers[name] = pair[2]
        self._begin(int(found[1]), headers)
        return True

    def _begin(self, status: int, headers: dict[bytes, bytes]) -> None:
        if status < 200:
            self._interim += 1
            return
        place = len(self.responses)
        method = self._methods[place] if place < len(self._methods) else b""
        self.open = Response(status, headers, interim=self._interim)
        self._interim = 0
        length, coding = headers.get(b"content-length"), headers.get(b"transfer-encoding")
        self._chunked = coding is not None
        if length is not None and (coding is not None or not length.isdigit()):
            self.fault = "framing of the response is ambiguous"
        elif coding is not None and coding != b"chunked":
            self.fault = f"transfer-encoding {coding[:40]!r}"
        elif method == b"HEAD" or status in (204, 304):
            self._finish()
        else:
            self._left = None if length is None else int(length)

    def _read_body(self) -> bool:
        assert self.open is not None
        if self._chunked:
            return self._read_chunk(self.open)
        taken = self._buffer if self._left is None else self._buffer[: self._left]
        self.open.body += taken
        if self._left is None:
            self._buffer.clear()
            return False
        self._left -= len(taken)
        del self._buffer[: len(taken)]
        if self._left:
            return False
        self._finish()
        return True

    def _read_chunk(self, response: Response) -> bool:
        line = self._buffer.find(b"\r\n")
        if line < 0:
            return False
        if CHUNK.match(self._buffer[:line]) is None:
            self.fault = f"chunk size {bytes(self._buffer[:40])!r}"
            return False
        size = int(self._buffer[:line], 16)
        end = line + 2 + size
        if len(self._buffer) < end + 2:
            return False
        if self._buffer[end : end + 2] != b"\r\n":
            self.fault = "a chunk that does not end"
            return False
        response.body += self._buffer[line + 2 : end]
        del self._buffer[: end + 2]
        if size == 0:
            self._finish()
        return True

    def _finish(self) -> None:
        assert self.open is not None
        self.open.complete = True
        self.responses.append(self.open)
        self.open = None
        self._left = None
        self._chunked = False
