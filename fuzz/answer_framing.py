"""A body as an HTTP response on the wire: lengths, chunks, compression, cuts, and their faults.

`Framed` knows what the client of these bytes could have read: that is what the gateway's answer is judged against.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass, field

EXTRA_HEADERS = (
    b"x-a: b",
    b"set-cookie: secret=1",
    b"connection: close",
    b"connection: keep-alive",
    b"retry-after: 2",
    b"retry-after: soon",
    b"x-request-id: theirs",
    b"content-encoding: br",
    b"trailer: x",
    b"x: " + b"a" * 3000,
    b"x: " + b"a" * 70000,
)
ODD_HEADS = (
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 200\r\n",
    b"HTTP/1.1 200 \xff\r\n",
    b"HTTP/2 200\r\n",
    b"HTTP/1.1 20 OK\r\n",
    b"HTTP/1.1 999 X\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n",
    b"ICY 200 OK\r\n",
    b"\r\nHTTP/1.1 200 OK\r\n",
    b"<html>\r\n",
    b"",
)


@dataclass(slots=True)
class Framed:
    data: bytes  # on the wire
    plain: bytes  # of the body, what reached the reader at most
    complete: bool  # all of the body, by its framing
    exact: bool  # `plain` is known to be exactly what a careful reader reads
    status: int
    ending: str = ""  # "", "close", "reset" or "hang"
    splits: list[int] = field(default_factory=list)  # where the writes are split
    pause: float = 0.0  # seconds between two writes


def frame_body(body: bytes, status: int, kind: bytes, chance: random.Random, labels: list[str]) -> Framed:
    lines = [b"content-type: " + kind] if kind else []
    if chance.random() < 0.08:
        lines.append(chance.choice(EXTRA_HEADERS))
        labels.append(f"header {lines[-1][:30]!r}")
    payload, exact = body, True
    if chance.random() < 0.08:
        payload, exact = _compress(body, chance, labels)
        lines.append(b"content-encoding: gzip")
    framing = chance.choice(("length", "chunked", "chunked", "close"))
    pieces = _pieces(payload, framing, chance)
    if framing == "length":
        lines.append(b"content-length: %d" % len(payload))
    elif framing == "chunked":
        lines.append(b"transfer-encoding: chunked")
    start = b"HTTP/1.1 %d Said\r\n" % status
    if chance.random() < 0.03:
        start, exact = chance.choice(ODD_HEADS), False
        labels.append(f"head {start[:30]!r}")
    head = start + b"".join(line + b"\r\n" for line in lines) + b"\r\n"
    framed = Framed(head + b"".join(pieces), body, True, exact, status)
    framed.ending = "close" if framing == "close" or chance.random() < 0.1 else ""
    if chance.random() < 0.12:
        _wrong_framing(framed, head, pieces, framing, chance, labels)
    elif chance.random() < 0.3:
        _cut(framed, len(head), payload, framing, chance, labels)
    _split(framed, chance, labels)
    return framed


def _pieces(payload: bytes, framing: str, chance: random.Random) -> list[bytes]:
    if framing != "chunked":
        return [payload]
    size = chance.choice((5, 60, 300, 100_000))
    size = max(size, len(payload) // 2000)
    parts = [payload[at : at + size] for at in range(0, len(payload), size)]
    return [b"%x\r\n%b\r\n" % (len(part), part) for part in parts] + [b"0\r\n\r\n"]


def _compress(body: bytes, chance: random.Random, labels: list[str]) -> tuple[bytes, bool]:
    packed = gzip.compress(body, 1, mtime=0)
    match chance.randrange(4):
        case 0:
            labels.append("gzip cut")
            return packed[: chance.randrange(len(packed))], False
        case 1:
            labels.append("gzip damaged")
            at = chance.randrange(len(packed))
            return packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :], False
        case _:
            labels.append("gzip")
            return packed, True


def _wrong_framing(
    framed: Framed, head: bytes, pieces: list[bytes], framing: str, chance: random.Random, labels: list[str]
) -> None:
    """Lengths and chunks that lie. Nothing is known of what a reader makes of it, but that it is not whole."""
    framed.exact = False
    body = b"".join(pieces)
    if framing == "chunked" and len(pieces) > 1:
        labels.append("chunk size wrong")
        place = chance.randrange(len(pieces) - 1)
        size, _, rest = pieces[place].partition(b"\r\n")
        wrong = chance.choice((b"%x" % (int(size, 16) + 3), b"%x" % max(0, int(size, 16) - 3), b"zz", b"-1", b"f" * 20))
        pieces = [*pieces[:place], wrong + b"\r\n" + rest, *pieces[place + 1 :]]
        framed.data = head + b"".join(pieces)
    elif framing == "length":
        labels.append("length wrong")
        right = b"content-length: %d\r\n" % len(body)
        lie = b"content-length: %d\r\n" % chance.choice((len(body) + 7, max(0, len(body) - 7), 0, 10**12))
        lie = chance.choice((lie, right + lie))
        framed.data = head.replace(right, lie) + body
    framed.ending = "close"


def _cut(framed: Framed, head: int, payload: bytes, framing: str, chance: random.Random, labels: list[str]) -> None:
    at = chance.randrange(len(framed.data) + 1)
    sent = framed.data[:at]
    framed.ending = chance.choices(("close", "reset", "hang"), (75, 20, 5))[0]
    labels.append(f"{framed.ending} at {at} of {len(framed.data)}")
    read = _read_so_far(sent[head:], framing) if at > head else b""
    framed.complete = (framing == "close" and at > head and framed.ending == "close") or at == len(framed.data)
    if framing == "length" and len(read) == len(payload) and at >= head:
        framed.complete = True
    framed.data = sent
    if payload is framed.plain or payload == framed.plain:
        framed.plain = read
    else:
        framed.exact = False  # compressed: a prefix of unknown length
    if framed.ending == "reset":
        framed.exact = False  # a reset may destroy what is under way


def _read_so_far(data: bytes, framing: str) -> bytes:
    if framing != "chunked":
        return data
    out = []
    at = 0
    while (line := data.find(b"\r\n", at)) >= 0:
        size = int(data[at:line], 16)
        out.append(data[line + 2 : line + 2 + size])
        at = line + 4 + size
    return b"".join(out)


def _split(framed: Framed, chance: random.Random, labels: list[str]) -> None:
    size = len(framed.data)
    draw = chance.random()
    if draw < 0.05 and size < 3000:
        labels.append("byte by byte")
        framed.splits = list(range(1, size))
    elif draw < 0.35 and size > 2:
        framed.splits = sorted({chance.randrange(1, size) for _ in range(chance.randint(1, 8))})
        framed.pause = chance.choice((0.0, 0.0, 0.0, 0.002))
