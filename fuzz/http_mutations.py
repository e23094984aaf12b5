"""Mutations of HTTP itself: request line, header fields, framing. Each leaves the document as it was."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from fuzz.bend import flip_bytes

if TYPE_CHECKING:
    from fuzz.requests import Request

ODD_LINES = (
    b"POST /v1/chat/completions",
    b"POST /v1/chat/completions HTTP/1.0",
    b"POST /v1/chat/completions HTTP/1.2",
    b"POST /v1/chat/completions HTTP/2.0",
    b"POST /v1/chat/completions HTTP/9.9",
    b"POST /v1/chat/completions RTSP/1.0",
    b"POST /v1/chat/completions ICE/1.0",
    b"POST /v1/chat/completions http/1.1",
    b"POST /v1/chat/completions HTTP/1.1 ",
    b"POST  /v1/chat/completions HTTP/1.1",
    b"POST\t/v1/chat/completions\tHTTP/1.1",
    b"post /v1/chat/completions HTTP/1.1",
    b"PROPFIND /v1/chat/completions HTTP/1.1",
    b"FROB /v1/chat/completions HTTP/1.1",
    b"PRI * HTTP/2.0",
    b"OPTIONS * HTTP/1.1",
    b"CONNECT example.test:443 HTTP/1.1",
    b"POST http://other.test/v1/chat/completions HTTP/1.1",
    b"POST //v1/chat/completions HTTP/1.1",
    b"POST /v1/../v1/chat/completions HTTP/1.1",
    b"POST /v1/chat/completions#x HTTP/1.1",
    b"POST /v1/chat/completions?" + b"a" * 9000 + b" HTTP/1.1",
    b"POST /v1/chat%2fcompletions HTTP/1.1",
    b"POST /v1/chat/\xc3\xa9 HTTP/1.1",
    b"POST /v1/chat/\x00 HTTP/1.1",
    b"POST  HTTP/1.1",
    b"",
    b"\r\n\r\nPOST /v1/chat/completions HTTP/1.1",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
)
ODD_FIELDS = (
    b"content-length: 0",
    b"Content-Length: 5",
    b"content-length: +5",
    b"content-length: -1",
    b"content-length: 0x10",
    b"content-length: 1e3",
    b"content-length: 5, 5",
    b"content-length: 5 5",
    b"content-length: ",
    b"content-length: 99999999999999999999999",
    b"content-length : 5",
    b" content-length: 5",
    b"content-length\x00: 5",
    b"content_length: 5",
    b"transfer-encoding: chunked",
    b"Transfer-Encoding: CHUNKED",
    b"transfer-encoding: chunked, chunked",
    b"transfer-encoding: identity",
    b"transfer-encoding: gzip, chunked",
    b"transfer-encoding: chunked;q=1",
    b"transfer-encoding:\x0bchunked",
    b"transfer-encoding: xchunked",
    b"transfer-encoding : chunked",
    b"transfer-encoding:\r\n chunked",
    b"X: y\r\n\ttransfer-encoding: chunked",
    b"X: y\ntransfer-encoding: chunked",
    b"X: y\rtransfer-encoding: chunked",
    b"transfer\xadencoding: chunked",
    b"host: other.test",
    b"host: a, b",
    b"host: \xc3\xa9",
    b"host:",
    b"connection: close",
    b"connection: keep-alive",
    b"connection: close, keep-alive",
    b"connection: traceparent",
    b"connection: upgrade\r\nupgrade: websocket",
    b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__",
    b"upgrade: h2c",
    b"expect: 100-continue",
    b"expect: 100-Continue",
    b"expect: 200-ok",
    b"expect: ",
    b"content-encoding: gzip",
    b"content-encoding: br",
    b"content-encoding: gzip, deflate",
    b"te: trailers",
    b"trailer: content-length",
    b"x-request-id: mine",
    b"x-forwarded-for: 10.0.0.1",
    b"origin: https://a.test",
    b"origin: https://a.test\r\naccess-control-request-method: POST",
    b"no colon here",
    b": no name",
    b"x\x00y: 1",
    b"x: \x00",
    b"x: \x7f\xff",
    b"x: " + b"a" * 5000,
    b"x: " + b"a" * 70000,
    b"(x): 1",
    b"x: y\r\n folded",
    b"content-type: text/plain",
    b"content-type: application/json; charset=utf-16",
    b"accept-encoding: gzip",
)


def mutate_http(request: Request, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 1, 2))):
        chance.choice(MUTATIONS)(request, chance)


def _line(request: Request, chance: random.Random) -> None:
    request.line = chance.choice(ODD_LINES) if chance.random() < 0.7 else flip_bytes(request.line, chance)


def _add_field(request: Request, chance: random.Random) -> None:
    request.headers.insert(chance.randrange(len(request.headers) + 1), chance.choice(ODD_FIELDS))


def _drop_field(request: Request, chance: random.Random) -> None:
    if request.headers:
        del request.headers[chance.randrange(len(request.headers))]


def _repeat_field(request: Request, chance: random.Random) -> None:
    if request.headers:
        request.headers.insert(chance.randrange(len(request.headers)), chance.choice(request.headers))


def _flip_field(request: Request, chance: random.Random) -> None:
    if request.headers:
        place = chance.randrange(len(request.headers))
        request.headers[place] = flip_bytes(request.headers[place], chance)


def _many_fields(request: Request, chance: random.Random) -> None:
    count = chance.choice((90, 101, 3000))
    request.headers += [b"x-%d: %d" % (number, number) for number in range(count)]


def _length(request: Request, chance: random.Random) -> None:
    """A length that is wrong by a little: the body's rest is read as the next request, or the next as its body."""
    wrong = len(request.body) + chance.choice((-40, -2, -1, 1, 2, 40))
    request.headers = [line for line in request.headers if not line.lower().startswith(b"content-length")]
    request.headers.append(b"content-length: %d" % max(0, wrong))


def _both_framings(request: Request, chance: random.Random) -> None:
    """A length and chunks at once, with a whole request behind the last chunk: what smuggling is made of."""
    inner = smuggled(request)
    request.body = chance.choice((b"0\r\n\r\n" + inner, b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner)))
    lines = [b"content-length: %d" % len(request.body), chance.choice(TRANSFER_ENCODINGS)]
    chance.shuffle(lines)
    request.headers = [line for line in request.headers if not _is_framing(line)] + lines


def _chunks(request: Request, chance: random.Random) -> None:
    inner = smuggled(request)
    request.headers = [line for line in request.headers if not _is_framing(line)]
    request.headers.append(b"transfer-encoding: chunked")
    body = request.body or b"{}"
    size = b"%x" % len(body)
    request.body = chance.choice(
        (
            b"%b\r\n%b\r\n0\r\n\r\n" % (b"0x" + size, body),
            b"%b\r\n%b\r\n0\r\n\r\n" % (b"+" + size, body),
            b"%b\r\n%b\r\n0\r\n\r\n" % (b"-" + size, body),
            b"%b \r\n%b\r\n0\r\n\r\n" % (size, body),
            b"%b\n%b\n0\n\n" % (size, body),
            b"%b\r%b\r0\r\r" % (size, body),
            b"%b;\x00\r\n%b\r\n0\r\n\r\n" % (size, body),
            b"%b;a=b\nc\r\n%b\r\n0\r\n\r\n" % (size, body),
            b"%b\r\n%bXX0\r\n\r\n" % (size, body),
            b"%b\r\n%b\r\n00000\r\n\r\n" % (size, body),
            b"%b\r\n%b\r\n0\r\nx: y\r\ncontent-length: 3\r\n\r\n" % (size, body),
            b"%b\r\n%b\r\n0\r\nno colon\r\n\r\n" % (size, body),
            b"ffffffffffffffff1\r\n%b\r\n0\r\n\r\n" % body,
            b"%b\r\n%b\r\n0\r\n" % (size, body),
            b"%b\r\n%b\r\n0\r\n\r\n" % (size, body) + inner,
            b"%b\r\n%b\r\n0\r\nx: y\r\n" % (size, body) + inner,
            b"\r\n%b\r\n%b\r\n0\r\n\r\n" % (size, body),
            b"%b;%b\r\n%b\r\n0\r\n\r\n" % (size, b"e" * 70000, body),
        )
    )


def _flip_anything(request: Request, chance: random.Random) -> None:
    """Bytes of the head as a whole."""
    head = request.line + b"\r\n" + b"\r\n".join(request.headers)
    request.line, *request.headers = flip_bytes(head, chance).split(b"\r\n")


def _truncate(request: Request, chance: random.Random) -> None:
    if request.body:
        request.body = request.body[: chance.randrange(len(request.body))]


def _line_ends(request: Request, chance: random.Random) -> None:
    """Bare LF or CR at the end of one line."""
    if request.headers:
        place = chance.randrange(len(request.headers))
        end = chance.choice((b"\n", b"\r", b"\r\r\n", b"\n\r\n"))
        request.headers[place] += end + b"x-after: 1"


MUTATIONS: tuple[Callable[[Request, random.Random], None], ...] = (
    _line,
    _line,
    _add_field,
    _add_field,
    _add_field,
    _add_field,
    _drop_field,
    _repeat_field,
    _flip_field,
    _many_fields,
    _length,
    _both_framings,
    _chunks,
    _chunks,
    _flip_anything,
    _truncate,
    _line_ends,
)
TRANSFER_ENCODINGS = (
    b"transfer-encoding: chunked",
    b"Transfer-Encoding:chunked",
    b"transfer-encoding: xchunked",
    b"transfer-encoding : chunked",
    b"transfer-encoding:\tchunked",
    b"transfer-encoding: chunked\r\ntransfer-encoding: identity",
    b"x: x\ntransfer-encoding: chunked",
    b"transfer-encoding\n: chunked",
)


def smuggled(request: Request) -> bytes:
    """A whole request with a marker of its own (it ends in "s")."""
    marker = request.marker.encode() + b"s"
    body = b'{"model":"scripted","messages":[{"role":"user","content":"%b"}]}' % marker
    key = b"authorization: Bearer sk-fuzz-plain-0001\r\n"
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nidempotency-key: %b\r\n%b" % (marker, key)
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def _is_framing(line: bytes) -> bool:
    return line.lower().startswith((b"content-length", b"transfer-encoding"))
