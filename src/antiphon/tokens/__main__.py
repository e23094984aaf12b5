"""The tokenizer process: reads jobs from its standard input, writes tallies to its standard output, until EOF.

An encoding is loaded when it is first asked for. A text that the tokenizer cannot take ends the process; the worker
answers by the rule of thumb and starts a new one on the next need.
"""

from __future__ import annotations

import signal
import sys
from typing import BinaryIO

import msgspec

from antiphon.tokens.encodings import count, load
from antiphon.tokens.wire import LENGTH, Job, Tally, pack


def serve(jobs: BinaryIO, tallies: BinaryIO) -> None:
    decoder = msgspec.json.Decoder(Job)
    encodings = {}
    while len(header := jobs.read(LENGTH.size)) == LENGTH.size:
        job = decoder.decode(jobs.read(*LENGTH.unpack(header)))
        if job.encoding not in encodings:
            encodings[job.encoding] = load(job.encoding)
        encoding = encodings[job.encoding]
        prompt = sum(count(encoding, text) for text in job.prompt)
        answer = count(encoding, "".join(job.answer))
        tallies.write(pack(Tally(prompt, answer)))
        tallies.flush()


if __name__ == "__main__":
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):  # meant for the worker, if sent to all processes
        signal.signal(number, signal.SIG_IGN)
    serve(sys.stdin.buffer, sys.stdout.buffer)
