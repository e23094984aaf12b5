"""A strict reader of requests (RFC 9112), written apart from the gateway's: what the bytes of a session mean.

Whatever two readers could read in two ways is a fault here. A gateway may refuse more than this reader does (limits);
it must never accept more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

# Several spaces between the words: RFC 9112 §3 lets a reader take them for one, and most do.
REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) +([\x21-\x7e\x80-\xff]+) +HTTP/1\.([01])\Z")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*\Z")
HOST = re.compile(rb"[A-Za-z0-9._~%!$&'()*+;=:\[\]-]*\Z")
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\Z")
END = b"\r\n"


class Rest(Enum):
    """What stands behind the last complete request."""

    NOTHING = "nothing"
    PARTIAL = "partial"  # the beginning of a request
    BAD = "bad"  # no HTTP
    UNREAD = "unread"  # the last request ended the connection


class BadRequest(Exception):
    pass


class Partial(Exception):
    pass


@dataclass(slots=True)
class Read:
    method: bytes
    target: bytes
    headers: dict[bytes, list[bytes]]
    body: bytes = b""
    last: bool = False  # the connection ends with it
    http10: bool = False

    def first(self, name: bytes) -> bytes | None:
        values = self.headers.get(name)
        return values[0] if values else None


@dataclass(slots=True)
class Meaning:
    requests: list[Read] = field(default_factory=list)
    rest: Rest = Rest.NOTHING


def read_requests(data: bytes) -> Meaning:
    meaning = Meaning()
    at = 0
    try:
        while True:
            while data.startswith(END, at):
                at += 2
            if at >= len(data):
                return meaning
            request, at = _read(data, at)
            meaning.requests.append(request)
            if request.last:
                meaning.rest = Rest.UNREAD
                return meaning
    except BadRequest:
        meaning.rest = Rest.BAD
    except Partial:
        meaning.rest = Rest.PARTIAL
    return meaning


def _read(data: bytes, at: int) -> tuple[Read, int]:
    line, at = _line(data, at)
    found = REQUEST_LINE.match(line)
    if found is None:
        raise BadRequest
    headers, at = _fields(data, at)
    request = Read(found[1], found[2], headers, http10=found[3] == b"0")
    _check_host(request)
    request.last = _ends(request)
    request.body, at = _body(request, data, at)
    return request, at


def _line(data: bytes, at: int) -> tuple[bytes, int]:
    end = data.find(END, at)
    line = data[at:] if end < 0 else data[at:end]
    if b"\n" in line or b"\r" in line[:-1] or b"\x00" in line:
        raise BadRequest
    if end < 0:
        raise Partial
    return line, end + 2


def _fields(data: bytes, at: int) -> tuple[dict[bytes, list[bytes]], int]:
    headers: dict[bytes, list[bytes]] = {}
    while True:
        line, at = _line(data, at)
        if not line:
            return headers, at
        found = FIELD.match(line)
        if found is None:
            raise BadRequest
        headers.setdefault(found[1].lower(), []).append(found[2])


def _check_host(request: Read) -> None:
    hosts = request.headers.get(b"host", [])
    if len(hosts) > 1 or (not hosts and not request.http10) or not all(HOST.match(host) for host in hosts):
        raise BadRequest


def _ends(request: Read) -> bool:
    words = {word.strip().lower() for value in request.headers.get(b"connection", []) for word in value.split(b",")}
    if b"close" in words or request.method == b"CONNECT" or (b"upgrade" in words and b"upgrade" in request.headers):
        return True
    return request.http10 and b"keep-alive" not in words


def _body(request: Read, data: bytes, at: int) -> tuple[bytes, int]:
    lengths = request.headers.get(b"content-length", [])
    codings = request.headers.get(b"transfer-encoding", [])
    if codings:
        if lengths or request.http10 or len(codings) > 1 or codings[0].lower() != b"chunked":
            raise BadRequest
        return _chunks(data, at)
    if not lengths:
        return b"", at
    if len(lengths) > 1 or not re.fullmatch(rb"[0-9]{1,19}", lengths[0]):
        raise BadRequest
    end = at + int(lengths[0])
    if end > len(data):
        raise Partial
    return data[at:end], end


def _chunks(data: bytes, at: int) -> tuple[bytes, int]:
    body: list[bytes] = []
    while True:
        line, at = _line(data, at)
        found = CHUNK.match(line)
        if found is None:
            raise BadRequest
        size = int(found[1], 16)
        if size == 0:
            _, at = _fields(data, at)
            return b"".join(body), at
        if at + size + 2 > len(data):
            if len(data) > at + size and not END.startswith(data[at + size : at + size + 2]):
                raise BadRequest
            raise Partial
        if data[at + size : at + size + 2] != END:
            raise BadRequest
        body.append(data[at : at + size])
        at += size + 2
