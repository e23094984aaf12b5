"""The evaluator process: listens on a unix socket of the gateway's own and judges what the workers ask.

It says on a pipe that it is ready, and from then on, twice a second, that it is alive: its loop runs, and its thread
does not hang in one batch. The supervisor kills one that falls silent. SIGTERM is not meant for it: the workers' last
answers need its verdicts, so it ends when the supervisor says so, by a signal of its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Final, cast

import msgspec
import uvloop

from antiphon.evaluators.backends import Loader, load_all, loaders
from antiphon.evaluators.config import END, EvaluatorConfig
from antiphon.evaluators.scheduler import Scheduler
from antiphon.evaluators.wire import Ask, EarlyTold, Frames, Hello, Told, WireError, ask_decoder, pack
from antiphon.heartbeat import beat, dump_on_signal
from antiphon.lines import put

SWITCH: Final = 0.001  # seconds after which the thread that computes lets the loop run: early looks are short
MOST_EARLY: Final = 64  # early looks of one read: 8 ms of work; whoever asks for more at once is told to hold

LONGEST_BATCH: Final = 5.0  # seconds; twenty times what a piece of prose takes, five times what one of emoji does


def run(orders: EvaluatorConfig, listener: socket.socket, *, told: int, life: int) -> None:
    """`told`: the pipe for signs of life; `life`: a pipe whose end means that the supervisor is gone."""
    dump_on_signal(orders.room)
    uvloop.run(_serve(loaders(orders), listener, told, life))


async def _serve(wanted: Mapping[str, Loader], listener: socket.socket, told: int, life: int) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    loop.add_signal_handler(END, stopping.set)
    loop.add_reader(life, stopping.set)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH)
    parts, faults = load_all(wanted)
    for fault in faults:
        _say(f"antiphon: {fault}.")
    scheduler = Scheduler(parts, _say)

    def docket_is_well() -> bool:
        return scheduler.began is None or loop.time() - scheduler.began < LONGEST_BATCH

    hello = Hello(None if not faults else f"{'. '.join(faults)}.")
    server = await loop.create_unix_server(lambda: WorkerConnection(scheduler, hello), sock=listener)
    loaded = asyncio.Event()
    loaded.set()
    beating = loop.create_task(beat(told, loaded, docket_is_well))
    await stopping.wait()
    beating.cancel()
    server.close()
    scheduler.close()
    os._exit(0)  # without waiting for the thread: nobody needs what it computes


class WorkerConnection(asyncio.Protocol):
    """One worker."""

    def __init__(self, scheduler: Scheduler, hello: Hello) -> None:
        self._scheduler = scheduler
        self._hello = hello
        self._frames = Frames()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its class
        stream.write(pack(Hello(self._hello.fault, self._scheduler.early_parts)))

    def data_received(self, data: bytes) -> None:
        try:
            early = 0
            for frame in self._frames.feed(data):
                ask = ask_decoder.decode(frame)
                if isinstance(ask, Ask):
                    self._scheduler.take(ask, self._reply)
                else:
                    early += 1
                    self._reply(EarlyTold(ask.id, early > MOST_EARLY or self._scheduler.look_early(ask)))
        except (WireError, msgspec.MsgspecError) as error:
            _say(f"antiphon: the evaluator process was asked what it cannot read: {type(error).__name__}")
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # A worker that does not read is not asked for more.

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def _reply(self, told: Told | EarlyTold) -> None:
        if self._transport is not None:
            self._transport.write(pack(told))


def _say(line: str) -> None:
    put(2, [line.encode()])
