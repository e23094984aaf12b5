"""What foreign protocols cost alone, without sockets: CPU time to say a conversation of 20 KB in each of them, and to
read one streamed event.

Conversations are those of the case `history` (tools, calls and their results). Events are spelled by the scripted
upstream, a word in each, and fed one at a time. The shortcut for text deltas (`upstreams.foreign`) is not used here.
The smallest of several rounds counts: a busy machine only adds.

usage: python -m bench.translate [--rounds N]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from antiphon.document import Document
from antiphon.upstreams.foreign_protocols import PROTOCOLS, Spoken
from antiphon.upstreams.scripted.answers import find_language
from antiphon.upstreams.scripted.language import ScriptedAnswer
from antiphon.upstreams.scripted.reply import Reply
from bench import requests
from bench.cases import BY_NAME

NAMES = ("anthropic", "gemini", "bedrock", "cohere")
MODEL = "mock-model"
CONVERSATIONS, WORDS = 32, 400


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.translate", description="Foreign protocols alone.")
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args(arguments).rounds
    bodies = [ask.partition(b"\r\n\r\n")[2] for ask in islice(requests.pool(BY_NAME["history"], 1), CONVERSATIONS)]
    documents = [msgspec.json.decode(body) for body in bodies]
    size = sum(map(len, bodies)) / len(bodies) / 1000
    print(f"| protocol | say {size:.1f} KB, us | … as bytes | us for 20 KB | read an event, us |\n" + "|---" * 5 + "|")
    for name in NAMES:
        print(row(name, documents, size, rounds), flush=True)
    return 0


def row(name: str, documents: list[Document], size: float, rounds: int) -> str:
    spoken, events = PROTOCOLS[name](), stream_of(name)
    said = least(partial(say, spoken, documents), rounds) / len(documents)
    written = least(partial(write, spoken, documents), rounds) / len(documents)
    read = least(partial(read_all, spoken, events), rounds) / len(events)
    return f"| {name} | {said:.0f} | {written:.0f} | {said * 20 / size:.0f} | {read:.1f} |"


def write(spoken: Spoken, documents: list[Document]) -> list[bytes]:
    return [msgspec.json.encode(body) for body in say(spoken, documents)]


def say(spoken: Spoken, documents: list[Document]) -> list[Document]:
    facts = spoken.unknown(MODEL)
    encode = spoken.protocol.encode
    return [encode(document, MODEL, facts, None, strict=False).body for document in documents]


def stream_of(name: str) -> list[bytes]:
    asked = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    language = find_language(name)
    answer = ScriptedAnswer(language, asked, (Reply(" ".join(f"word{number}" for number in range(WORDS))),), 0)
    return [event.data for event in language.events(answer)]


def read_all(spoken: Spoken, events: list[bytes]) -> None:
    feed = spoken.protocol.open_stream(MODEL).feed
    for event in events:
        feed(event)


def least(run: Callable[[], Any], rounds: int) -> float:
    """Microseconds of CPU time."""
    spent = []
    for _ in range(rounds):
        begin = time.process_time_ns()
        run()
        spent.append(time.process_time_ns() - begin)
    return min(spent) / 1000


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
