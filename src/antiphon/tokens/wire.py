"""What travels between a worker and its tokenizer: JSON behind a length of four bytes, both ways, answers in order."""

from __future__ import annotations

import struct

import msgspec

LENGTH = struct.Struct(">I")


class Job(msgspec.Struct):
    encoding: str
    prompt: list[str]
    answer: list[str]


class Tally(msgspec.Struct):
    prompt: int
    answer: int


def pack(message: Job | Tally) -> bytes:
    body = msgspec.json.encode(message)
    return LENGTH.pack(len(body)) + body
