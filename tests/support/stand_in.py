"""`antiphon serve` with a stand-in for the engine's host: the scripted upstream, on the engine's socket.

It does what it is told, line by line, on the pipe that STAND_IN names: `ready`, `unavailable REASON`, `continue` (with
the answers that wait), `stubborn` (the signal that ends it is not heard), `hang` (for good). It begins with "starting",
like the real one.

usage: STAND_IN=PIPE python -m tests.support.stand_in FILE
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

from antiphon import serve
from antiphon.engine import state
from antiphon.engine.options import END, EngineOptions
from antiphon.heartbeat import beat
from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, json_answer, sse, wait
from tests.support.shapes import completion, hello

PIPE = os.environ.get("STAND_IN", "")


class Control:
    """The test's end: where it gives orders, and reads the stand-in's process id."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "orders"
        os.mkfifo(self.path)
        self._pipe = os.open(self.path, os.O_RDWR)

    def order(self, line: str) -> None:
        os.write(self._pipe, line.encode() + b"\n")

    @property
    def pid(self) -> int:
        return int(self.path.with_suffix(".pid").read_text())

    def close(self) -> None:
        os.close(self._pipe)


def run(options: EngineOptions, listener: socket.socket, *, told: int, life: int) -> None:
    listener.close()  # the scripted upstream opens its own, at the same place
    Path(options.socket).unlink(missing_ok=True)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    asyncio.run(_serve(options, told, life))


async def _serve(options: EngineOptions, told: int, life: int) -> None:
    loop = asyncio.get_running_loop()
    stopping, going_on, settled = asyncio.Event(), asyncio.Event(), asyncio.Event()
    beating = loop.create_task(beat(told, settled))
    loop.add_signal_handler(END, stopping.set)
    loop.add_reader(life, stopping.set)

    def answer(request: Received) -> Script:
        if request.document.get("stream"):
            return sse(*hello()[:2], wait(going_on), *hello()[2:])
        known = request.headers.get("authorization") == f"Bearer {options.key}"
        return json_answer(completion("known" if known else "a stranger"))

    def obey() -> None:
        for line in os.read(orders, 4096).decode().splitlines():
            carry_out(*line.partition(" ")[::2])

    def carry_out(word: str, rest: str) -> None:
        if word in ("ready", "unavailable"):
            state.write(
                options.state, state.EngineState("ready") if word == "ready" else state.EngineState("unavailable", rest)
            )
            settled.set()
        elif word == "continue":
            going_on.set()
        elif word == "stubborn":
            loop.remove_signal_handler(END)
            signal.signal(END, signal.SIG_IGN)
            os.write(2, b"stubborn now\n")
        elif word == "hang":
            while True:  # also when a signal wakes it
                signal.pause()

    upstream = ScriptedUpstream(answer)
    await upstream.start(unix=options.socket)
    state.write(options.state, state.EngineState("starting"))
    draft = Path(PIPE).with_suffix(".draft")
    draft.write_text(str(os.getpid()))
    draft.replace(Path(PIPE).with_suffix(".pid"))
    orders = os.open(PIPE, os.O_RDONLY | os.O_NONBLOCK)
    loop.add_reader(orders, obey)
    await stopping.wait()
    beating.cancel()
    await upstream.stop()


if __name__ == "__main__":
    raise SystemExit(serve.run(load(sys.argv[1], {}, CATALOG), host=run, least_patience=0.0))
