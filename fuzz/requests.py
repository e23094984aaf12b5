"""One mutated request, and the sessions in which requests travel: several on one connection, pipelined.

A session follows from its seed and number alone. Half of its kinds have clean HTTP and a mutated document, the others
have mutated HTTP around a valid document. Every request carries a marker, in a header that travels upstream and in its
text, so that each turn of the upstream can be told to belong to one request.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from fuzz import request_documents
from fuzz.bend import bend, damage_text
from fuzz.http_mutations import mutate_http

BASES = {
    "/v1": None,
    "/openai/v1": "openai",
    "/crazyrouter/v1": "crazyrouter",
    "/skytells/v1": "skytells",
    "/maritaca/api": "maritaca",
    "/maritaca/v1": "maritaca",
    "/api/v1": "maritaca",
}
# The gateway's keys: name → secret. The second has a dialect, the third is strict.
KEYS = {"plain": "sk-fuzz-plain-0001", "spelled": "sk-fuzz-spelled-0002", "strict": "sk-fuzz-strict-0003"}
KEY_DIALECT = {"spelled": "skytells"}
HEAVY_SHARE = 0.001
LARGEST = 20 * 1024 * 1024


@dataclass(slots=True)
class Request:
    """`parts` is what is sent: start line, header lines and body. `exact` means that the head was not mutated."""

    line: bytes
    headers: list[bytes]
    body: bytes
    marker: str
    dialect: str | None = None  # known where the head is exact
    exact: bool = True

    def render(self) -> bytes:
        return self.line + b"\r\n" + b"".join(line + b"\r\n" for line in self.headers) + b"\r\n" + self.body


@dataclass(slots=True)
class Session:
    number: int
    requests: list[Request]
    cuts: list[int] = field(default_factory=list)  # where the bytes are split into several writes
    waits: bool = False  # wait for the answer to an incomplete request, rather than leave
    heavy: bool = False

    def render(self) -> bytes:
        return b"".join(request.render() for request in self.requests)

    def pieces(self) -> list[bytes]:
        data = self.render()
        places = [0, *sorted({min(cut, len(data)) for cut in self.cuts}), len(data)]
        return [data[start:end] for start, end in pairwise(places) if end > start]


def make_session(seed: int, number: int, heavy_share: float = HEAVY_SHARE) -> Session:
    chance = random.Random(f"{seed}/{number}")
    if chance.random() < heavy_share:
        return Session(number, [_heavy(chance, f"fz.{number}.0")], heavy=True)
    count = chance.choice((1, 2, 4, 8, 12))
    requests = [_request(chance, f"fz.{number}.{place}") for place in range(count)]
    if chance.random() < 0.35:
        place = chance.randrange(count)
        mutate_http(requests[place], chance)
        requests[place].exact = False
    session = Session(number, requests, waits=chance.random() < 0.02)
    if chance.random() < 0.15:
        size = len(session.render())
        session.cuts = [chance.randrange(size) for _ in range(chance.randint(1, 6))]
    return session


def _request(chance: random.Random, marker: str) -> Request:
    base = chance.choice(tuple(BASES))
    key, lines = _key(chance)
    dialect = BASES[base] or KEY_DIALECT.get(key or "") or "openai"
    headers = [b"Host: gateway.test", b"idempotency-key: " + marker.encode(), *lines]
    kind = chance.random()
    if kind < 0.06:
        method, path = _question(chance, base)
        return Request(f"{method} {path} HTTP/1.1".encode(), headers, b"", marker, None)
    endpoint = chance.choices(tuple(request_documents.ENDPOINTS), (70, 10, 10, 10))[0]
    document = request_documents.ENDPOINTS[endpoint](chance, marker)
    times = chance.choice((0, 1, 1, 1, 2, 3, 6))
    body = bend(document, chance, times) if times else json.dumps(document).encode()
    if chance.random() < 0.06:
        body = damage_text(body, chance)
    if chance.random() < 0.05:
        headers.append(chance.choice((b"x-antiphon-receipt: 1", b"x-antiphon-strict: 1", b"accept: text/event-stream")))
    query = chance.choice(("", "", "", "", "?stream=true", "?x=%00&y")) if chance.random() < 0.2 else ""
    line = f"POST {base}/{endpoint}{query} HTTP/1.1".encode()
    headers.append(b"content-type: application/json")
    return _framed(chance, Request(line, headers, body, marker, dialect))


def _question(chance: random.Random, base: str) -> tuple[str, str]:
    """A request without a body."""
    paths = (
        f"{base}/models",
        f"{base}/models/scripted",
        f"{base}/models/%ff%00",
        "/healthz",
        "/readyz",
        f"{base}/x",
        "/",
    )
    return chance.choice(("GET", "GET", "HEAD", "OPTIONS", "DELETE", "POST")), chance.choice(paths)


def _key(chance: random.Random) -> tuple[str | None, list[bytes]]:
    """Valid, invalid or no key, in one of the three forms."""
    draw = chance.random()
    if draw < 0.04:
        return None, []
    name = chance.choice(("plain", "plain", "plain", "spelled", "strict")) if draw > 0.1 else None
    secret = KEYS[name] if name else chance.choice(("", "sk-wrong", "sk-fuzz-plain-0001 ", "\xe4", "a" * 3000))
    form = chance.choice(("authorization: Bearer {}", "Authorization: Key {}", "x-api-key: {}"))
    return (name if secret.strip() == secret else None), [form.format(secret).encode("latin-1")]


def _framed(chance: random.Random, request: Request) -> Request:
    """The body as it travels: plain or compressed, with a length or in chunks, perhaps after 100 Continue."""
    if chance.random() < 0.08:
        request.body, name = _compressed(chance, request.body)
        request.headers.append(b"content-encoding: " + name)
    if chance.random() < 0.04:
        request.headers.append(b"expect: 100-continue")
    if chance.random() < 0.15:
        request.headers.append(b"transfer-encoding: chunked")
        request.body = chunked(chance, request.body)
    else:
        request.headers.append(b"content-length: %d" % len(request.body))
    return request


def _compressed(chance: random.Random, body: bytes) -> tuple[bytes, bytes]:
    match chance.randrange(6):
        case 0:
            return zlib.compress(body), b"deflate"
        case 1:
            return gzip.compress(body, 1, mtime=0)[:-5], b"gzip"
        case 2:
            return damage_text(gzip.compress(body, 1, mtime=0), chance), b"gzip"
        case 3:
            return body, chance.choice((b"identity", b"br", b"gzip", b"gzip, gzip"))
        case _:
            return gzip.compress(body, 1, mtime=0), b"gzip"


def chunked(chance: random.Random, body: bytes) -> bytes:
    out = []
    at = 0
    while at < len(body):
        size = chance.choice((1, 7, 100, 4000))
        piece = body[at : at + size]
        extension = chance.choice((b"", b"", b"", b";a=b", b';a="b;c"'))
        out.append(b"%x%b\r\n%b\r\n" % (len(piece), extension, piece))
        at += size
    trailer = chance.choice((b"", b"", b"", b"x-trailer: 1\r\n"))
    return b"".join(out) + b"0\r\n" + trailer + b"\r\n"


def _heavy(chance: random.Random, marker: str) -> Request:
    """A body that is large, deep or made of many containers: what can stop the loop."""
    kind = chance.randrange(len(HEAVY_PIECES))
    size = 2 ** chance.randint(16, 24)
    size = LARGEST - 4096 if chance.random() < 0.2 else size
    packed = chance.random() < 0.5
    headers = [b"Host: gateway.test", b"idempotency-key: " + marker.encode()]
    headers += [b"authorization: Bearer " + KEYS["plain"].encode(), b"content-type: application/json"]
    body = heavy_body(kind, size, packed)
    if packed:
        headers.append(b"content-encoding: gzip")
    headers.append(b"content-length: %d" % len(body))
    return Request(b"POST /v1/chat/completions HTTP/1.1", headers, body, marker, "openai")


# (opening, repeated, closing, what closes each repetition at the end)
HEAVY_PIECES = (
    (b'"x":[', b"[],", b"0]", b""),
    (b'"x":[', b"{},", b"0]", b""),
    (b'"x":', b"[", b"0", b"]"),
    (b'"x":', b'{"a":', b"0", b"}"),
    (b'"x":"', b"\\u00e9", b'"', b""),
    (b'"x":[', b"1,", b"0]", b""),
    (b'"x":[', b'{"a":1,"a":2},', b"0]", b""),
    (b'"messages":[', b'{"role":"user","content":"a"},', b'{"role":"user","content":"b"}]', b""),
    (b'"messages":[{"role":"user","content":[', b'{"type":"text","text":"a"},', b'{"type":"text","text":"b"}]}]', b""),
)


@lru_cache(maxsize=8)
def heavy_body(kind: int, size: int, packed: bool) -> bytes:
    opening, repeated, closing, last = HEAVY_PIECES[kind]
    start = b'{"model":"scripted",'
    if b"messages" not in opening:
        start += b'"messages":[{"role":"user","content":"hi"}],'
    room = size - len(start) - len(opening) - len(closing) - 1
    count = max(1, room // (len(repeated) + len(last)))
    body = start + opening + repeated * count + closing + last * count + b"}"
    return gzip.compress(body, 1, mtime=0) if packed else body
