"""The control process: a server of its own for the control plane, until the supervisor ends it or is gone."""

from __future__ import annotations

import asyncio
import pickle
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import uvicorn
import uvloop

from antiphon.control.app import build_app
from antiphon.control.options import ControlOptions
from antiphon.control.worker_socket import CONTROL, listen
from antiphon.heartbeat import beat
from antiphon.log import append, error_line

MOST_CONNECTIONS = 256
IDLE = 15  # seconds that an idle connection is kept
DATE = 1.0  # seconds for which the date of answers holds
LAST_ANSWERS = 2  # seconds for answers under way when it ends


async def _take_settings(options: ControlOptions, data: bytes) -> dict[str, str]:
    """After a reload. `data` is from our own supervisor, on a socket in a directory that is ours alone."""
    _, options.settings = await asyncio.to_thread(pickle.loads, data)
    return {}


class ControlServer(uvicorn.Server):
    """Signals are ours: the supervisor asks the process to end. The server waits for that; uvicorn's own looks ten
    times a second: an idle gateway should cost nothing."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ended = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True
        self._ended.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # it renews the date of answers
            try:
                await asyncio.wait_for(self._ended.wait(), DATE)
            except TimeoutError:
                pass


def run_control(options: ControlOptions, listener: socket.socket, *, told: int, life: int) -> None:
    """`told`: the pipe for signs of life; `life`: a pipe whose end means that the supervisor is gone."""
    uvloop.run(_serve(options, listener, told, life))


async def _serve(options: ControlOptions, listener: socket.socket, told: int, life: int) -> None:
    loop = asyncio.get_running_loop()
    error_log = options.settings.server.error_log

    def log(message: str, error: BaseException | None) -> None:
        append(error_log, error_line(message, error))

    config = uvicorn.Config(
        build_app(options, log),
        loop="none",
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=LAST_ANSWERS,
    )
    server = ControlServer(config)

    def end_as_orphan() -> None:
        loop.remove_reader(life)
        server.stop()

    loop.add_signal_handler(signal.SIGTERM, server.stop)
    loop.add_reader(life, end_as_orphan)
    ready = asyncio.Event()
    ready.set()
    beating = loop.create_task(beat(told, ready))
    asked = await listen(options.room, CONTROL, {"settings": partial(_take_settings, options)})
    await server.serve(sockets=[listener])
    asked.close()
    beating.cancel()
