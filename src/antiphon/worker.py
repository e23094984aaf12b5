"""One worker process: a uvloop with the wired data plane, from its listening sockets to its last stream."""

from __future__ import annotations

import asyncio
import gc
import resource
import signal
import socket
import sys
import time

import uvloop

from antiphon import wiring
from antiphon.control.worker_socket import listen, worker_name
from antiphon.descriptors import DescriptorWatch
from antiphon.engine.options import EngineOptions
from antiphon.evaluators.config import EvaluatorConfig
from antiphon.heartbeat import beat
from antiphon.metrics.meter import TurnMeter, open_meter
from antiphon.settings import Settings
from antiphon.settings.model import ServerSettings
from antiphon.wiring_accounts import AccountsPlan
from antiphon.worker_reload import WorkerReload

AT_ONCE = signal.SIGRTMIN + 1  # asks a worker to drain without a lame-duck phase
REOPEN = (signal.SIGHUP, signal.SIGUSR1)  # log files, as nginx does; the supervisor blocks them until then
LOOK = 0.5  # seconds between looks at the descriptors and at what is measured
LAST_WORDS = 0.25  # seconds before the end of patience at which a stream is told that it will be cut


def run(
    settings: Settings,
    sockets: list[socket.socket],
    room: str,
    engine: EngineOptions | None,
    evaluators: EvaluatorConfig | None,
    accounts: AccountsPlan | None = None,
    *,
    number: int = 0,
    generation: int = 1,
    born: int,
    told: int,
    life: int,
) -> None:
    """`number`: which of the workers it is, from 0; `generation`: of the settings; `told`: the pipe for signs of life;
    `life`: a pipe whose end means that the supervisor is gone."""
    uvloop.run(_serve(settings, sockets, room, engine, evaluators, accounts, number, generation, born, told, life))


async def _serve(
    settings: Settings,
    sockets: list[socket.socket],
    room: str,
    engine: EngineOptions | None,
    evaluators: EvaluatorConfig | None,
    accounts: AccountsPlan | None,
    number: int,
    generation: int,
    born: int,
    told: int,
    life: int,
) -> None:
    loop = asyncio.get_running_loop()
    stopping, hurried = asyncio.Event(), asyncio.Event()

    def why_not() -> str | None:
        return "draining" if stopping.is_set() else None

    def stop_at_once() -> None:
        hurried.set()
        stopping.set()

    def end_as_orphan() -> None:
        loop.remove_reader(life)
        stop_at_once()

    meter = open_meter(room, number, time.monotonic, time.time) if settings.server.control is not None else None
    worker = await wiring.build(
        settings,
        born=born,
        room=room,
        ready=why_not,
        engine=engine,
        evaluators=evaluators,
        meter=meter,
        accounts=accounts,
        number=number,
    )
    await worker.server.start(sockets, wiring.server_tls(settings.server))
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    loop.add_signal_handler(AT_ONCE, stop_at_once)
    for reopen in REOPEN:
        loop.add_signal_handler(reopen, worker.log.reopen)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, REOPEN)
    loop.add_reader(life, end_as_orphan)
    _settle_memory()
    ready = asyncio.Event()
    ready.set()
    beating = loop.create_task(beat(told, ready))
    watching = loop.create_task(_watch_descriptors(worker, settings.server.max_connections))
    if meter is not None:
        meter.note_generation(generation)
    measuring = None if meter is None else loop.create_task(_measure(worker, meter))
    reload = WorkerReload(worker, meter, generation)
    answers = {"prepare": reload.prepare, "commit": reload.commit, "abort": reload.abort, "turns": worker.list_turns}
    asked = await listen(room, worker_name(number), answers)
    await stopping.wait()
    await _end(worker, settings.server, hurried, life)
    beating.cancel()
    watching.cancel()
    if measuring is not None:
        measuring.cancel()
    asked.close()
    sys.stdout.flush()


async def _end(worker: wiring.Worker, server: ServerSettings, hurried: asyncio.Event, life: int) -> None:
    """The lame-duck phase, unless somebody is in a hurry; then the drain."""
    loop = asyncio.get_running_loop()
    worker.server.leave()
    await _wait(hurried, server.lame_duck)
    loop.remove_reader(life)
    last_words = loop.call_later(max(0.0, server.drain - LAST_WORDS), worker.give_up)
    await worker.server.drain(server.drain)
    last_words.cancel()
    await worker.close()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        pass


async def _watch_descriptors(worker: wiring.Worker, max_connections: int) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    watch = DescriptorWatch(limit, worker.log.error, asyncio.get_running_loop().time)
    while True:
        watch.look(worker.server.connections, max_connections)
        await asyncio.sleep(LOOK)


async def _measure(worker: wiring.Worker, meter: TurnMeter) -> None:
    """What is true now, and how late timers come."""
    clock = time.monotonic
    while True:
        due = clock() + LOOK
        await asyncio.sleep(LOOK)
        meter.note(worker.open_turns, worker.server.connections, max(0.0, clock() - due))
        if worker.judge is not None and worker.judge.state is not None:
            meter.note_evaluators(worker.judge.state)


def _settle_memory() -> None:
    """What exists now lives as long as the process: the collector need not look at it again. Documents have no cycles,
    so young collections can be rare. (Taken over from the prototype; its gain was not measured apart.)"""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 50, 50)
