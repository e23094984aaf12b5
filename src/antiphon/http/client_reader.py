"""Reading answers off one connection: bytes in, facts out. No I/O.

The parser's callbacks only note what they see. One parser serves all answers of a connection: it is right again after
every keep-alive answer, and a new one would cost 0.6 us each. Where it is not (HEAD, `Connection: close`, bytes after
the end), `keep` is False and the connection is not used again.
"""

from __future__ import annotations

from typing import Final

from httptools import HttpResponseParser

_BODYLESS: Final = frozenset({204, 304})


class AnswerReader:
    __slots__ = (
        "_is_head",
        "_keep",
        "_max_bytes",
        "_max_count",
        "_repeats",
        "complete",
        "end",
        "fresh",
        "headers",
        "interim",
        "on_body",
        "on_message_begin",
        "parser",
        "pieces",
        "status",
        "until_eof",
    )

    def __init__(self, max_header_bytes: int, max_header_count: int) -> None:
        self._max_bytes = max_header_bytes
        self._max_count = max_header_count
        self.pieces: list[bytes] = []
        # The parser calls list.append itself: 0.06 us less per chunk than a method of ours.
        self.on_body = self.pieces.append
        # The same trick for one bit: not empty while the parser stands between two messages.
        self.fresh = [True]
        self.on_message_begin = self.fresh.clear
        self.reset(False)
        self.parser: HttpResponseParser | None = HttpResponseParser(self)
        # RFC 9112 §2.2 lets a recipient take a bare LF for a line's end, and old servers pad their chunk sizes.
        self.parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)

    def reset(self, is_head: bool) -> None:
        """Before each request."""
        self._is_head = is_head
        self._repeats = 0
        self.interim = 0
        self.status = 0  # until the final head is complete
        self.headers: dict[bytes, bytes] = {}
        self.complete = False
        self.end = 0  # once complete: how many of the pieces are this answer's
        self._keep = False  # as far as this answer is concerned
        self.until_eof = False  # the body ends where the connection does

    def close(self) -> None:
        """Unties the parser from its callbacks, which are ours: a cycle otherwise."""
        self.parser = None
        self.pieces.clear()

    @property
    def keep(self) -> bool:
        """Once complete: whether the connection may serve again. Not where more has begun than was asked for."""
        return self._keep and bool(self.fresh)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:
            return  # a trailer, or an answer that nobody asked for
        name = name.lower()
        headers = self.headers
        if name not in headers:
            headers[name] = value
            return
        self._repeats += 1
        if self._repeats <= self._max_count:  # joining without a bound would be quadratic
            headers[name] = b"%b, %b" % (headers[name], value)

    def is_over(self, received: int) -> bool:
        """Is the head over its limits, `received` bytes into the answer? Counted only where it can be."""
        if len(self.headers) + self._repeats > self._max_count:
            return True
        if received <= self._max_bytes:
            return False
        return not self.status or sum(map(len, self.headers)) + sum(map(len, self.headers.values())) > self._max_bytes

    def on_headers_complete(self) -> None:
        parser = self.parser
        if self.status or parser is None:
            return
        status = parser.get_status_code()
        if status < 200:
            self.interim += 1
            self.headers = {}
            return
        self.status = status
        headers = self.headers
        self._keep = parser.should_keep_alive()
        if b"connection" in headers and parser.get_http_version() == "1.0":
            self._keep = False
        if self._is_head:
            self.complete, self._keep = True, False  # the parser cannot be told, and waits for a body
        elif b"content-length" not in headers and b"transfer-encoding" not in headers:
            self.until_eof = status not in _BODYLESS

    def on_message_complete(self) -> None:
        self.fresh.append(True)
        if self.complete:
            self._keep = False  # a second answer
        elif self.status:
            self.complete = True
            self.end = len(self.pieces)
