"""What the parser lets through and we do not: rules on a request's head that keep two readers of the same bytes from
disagreeing about them (RFC 9112 §3.2, §6, §11.2). llhttp already refuses conflicting lengths, bare LF, obs-fold,
space before a colon and control characters.
"""

from __future__ import annotations

import re

from httptools import HttpParserError, HttpParserInvalidMethodError, HttpParserInvalidURLError

from antiphon.http.request import Refusal

# What a Host may be made of (RFC 3986 §3.2.2 reg-name, IP literals, port); deleted with translate(), which is quicker
# than a regular expression: anything left over is a fault.
HOST_BYTES = (
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+;=:[]"  # no comma: two joined hosts
)
# A request line whose method is a token we do not know (501), as opposed to bytes that are no HTTP at all (400).
REQUEST_LINE = re.compile(rb"(?:\r\n)*[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64} [^ \r\n]+ HTTP/1\.[01]\r\n")


def check_version(version: str, host: bytes | None) -> bool:
    """Version and Host; True for HTTP/1.0."""
    if version == "0.9" or version == "0.0":
        raise Refusal(400, "HTTP/0.9 is not supported.")
    if version != "1.1" and version != "1.0":
        raise Refusal(505, "This HTTP version is not supported; use HTTP/1.1.")
    if host is None and version == "1.1":
        raise Refusal(400, "The request has no Host header.")
    if host is not None and host.translate(None, HOST_BYTES):
        raise Refusal(400, "The Host header is not valid.")
    return version == "1.0"


def check_transfer_encoding(coding: bytes, *, http10: bool) -> None:
    if http10:
        raise Refusal(400, "Transfer-Encoding is not allowed in an HTTP/1.0 request.")
    if coding.lower() != b"chunked":
        raise Refusal(501, "Only the transfer coding chunked is supported.")


def check_expect(expect: bytes) -> None:
    if expect.lower() != b"100-continue":
        raise Refusal(417, "This expectation cannot be met.")


def head_size(target: bytes, headers: dict[bytes, bytes]) -> int:
    """Size of a head on the wire, less what every head has; repeated names are counted once."""
    return len(target) + sum(len(name) + len(value) + 4 for name, value in headers.items())


def refusal_for(error: HttpParserError, data: bytes | memoryview) -> Refusal:
    """The parser's complaint as a refusal; `data` begins with the request line, or is empty."""
    raised = error.__context__  # by one of our callbacks
    if isinstance(raised, Refusal):
        return raised
    if raised is not None:
        return refusal_for_fault(raised)
    if isinstance(error, HttpParserInvalidMethodError) and REQUEST_LINE.match(data):
        return Refusal(501, "The request method is not known.")
    if isinstance(error, HttpParserInvalidURLError):
        return Refusal(400, "The request target is not valid.")
    return Refusal(400, "The request is not valid HTTP/1.1.")


def refusal_for_fault(error: BaseException) -> Refusal:
    """What a client is told when we fail by our own fault."""
    if isinstance(error, MemoryError):
        return Refusal(503, "The server is out of memory. Please try again later.")
    return Refusal(500, "The server had an error while processing your request.")
