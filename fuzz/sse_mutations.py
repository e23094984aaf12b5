"""Events as bytes of an event stream (WHATWG HTML §9.2), in spellings that are allowed and in some that are not."""

from __future__ import annotations

import random

NOISE = (
    b": a comment\n\n",
    b":\n",
    b"event: message\n",
    b"id: 5\n",
    b"retry: 1000\n",
    b"\n",
    b"\n\n\n",
    b"data\n\n",
    b"data:\n\n",
    b"unknown: field\n",
    b"garbage without a colon\n",
    b"\xff\xfe\n",
    b"data: \xff\xfe\n\n",
    b"data: not json\n\n",
    b"data: 5\n\n",
    b"data: null\n\n",
    b"data: []\n\n",
    b'data: {"a": \n\n',
    b"event: error\ndata: failed\n\n",
    b"event: ping\ndata: {}\n\n",
    b"data: [DONE]\n\n",
    b"data: [done]\n\n",
    b"data: [DONE] \n\n",
    b"\xef\xbb\xbf",
)
GIANT = (70_000, 1_100_000, 9_000_000)


def spell_stream(events: list[bytes], chance: random.Random, labels: list[str]) -> bytes:
    out = [b"data: %b\n\n" % event for event in events]
    if chance.random() < 0.35:
        _mutate(out, events, chance, labels)
    if chance.random() < 0.12:
        labels.append("no [DONE]")
        del out[-1]
    return b"".join(out)


def _mutate(out: list[bytes], events: list[bytes], chance: random.Random, labels: list[str]) -> None:
    match chance.randrange(8):
        case 0:
            end = chance.choice((b"\r\n", b"\r"))
            labels.append(f"line ends {end!r}")
            out[:] = [event.replace(b"\n", end) for event in out]
        case 1:
            labels.append("no space")
            out[:] = [b"data:%b\n\n" % event for event in events]
        case 2:
            labels.append("several data lines")
            out[:] = [b"data: %b\n\n" % event.replace(b", ", b",\ndata: ", 1) for event in events]
        case 3:
            labels.append("last line open")
            out[-1] = out[-1].rstrip(b"\n") + chance.choice((b"", b"\n"))
        case 4:
            labels.append("joined")
            place = chance.randrange(len(out))
            out[place] = out[place][:-1]
        case 5 if chance.random() < 0.15:
            labels.append("giant")
            size = chance.choice(GIANT)
            out.insert(chance.randrange(len(out) + 1), chance.choice((b"data: ", b": ", b"")) + b"x" * size + b"\n\n")
        case 6:
            labels.append("BOM")
            out[0] = b"\xef\xbb\xbf" + out[0]
        case _:
            labels.append("noise")
            for _ in range(chance.randint(1, 3)):
                out.insert(chance.randrange(len(out) + 1), chance.choice(NOISE))
