"""The engine's host: a process that speaks the OpenAI protocol on a unix socket and keeps a native engine running."""

from __future__ import annotations

import asyncio
import hmac
import os
import signal
import socket
from functools import partial
from typing import Final

import msgspec
import uvloop

from antiphon.document import Document
from antiphon.engine.chat import ChatTurn
from antiphon.engine.completions import CompletionTurn
from antiphon.engine.embeddings import embed
from antiphon.engine.engine import Engine, bounds_of
from antiphon.engine.launcher import Launcher
from antiphon.engine.options import END, EngineOptions
from antiphon.engine.reply import JSON, encode, fail, reply_to
from antiphon.engine.rotating_log import RotatingLog, journal_path
from antiphon.engine.schema.compiler_client import Compiler
from antiphon.engine.slot_queue import SlotQueue
from antiphon.engine.watchdog import Watchdog
from antiphon.errors import AntiphonError, AuthError, RequestError
from antiphon.heartbeat import beat
from antiphon.http.remote import Remote
from antiphon.http.server import Exchange, Limits, Request, Server
from antiphon.lines import put

LARGEST: Final = 64 * 1024 * 1024  # bytes of a request: the workers have bounded it already


def run(options: EngineOptions, listener: socket.socket, *, told: int, life: int) -> None:
    """`told`: a pipe for signs of life; `life`: a pipe whose end means: the supervisor is gone."""
    uvloop.run(_serve(options, listener, told, life))


async def _serve(options: EngineOptions, listener: socket.socket, told: int, life: int) -> None:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    # SIGTERM sent to all processes (systemd does) means: drain. The workers' last answers need the engine, so it ends
    # when the supervisor says so, by a signal of its own.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    loop.add_signal_handler(END, stopping.set)
    loop.add_reader(life, stopping.set)
    host = Host(options)
    limits = Limits(max_body=LARGEST, keepalive=3600.0, write_timeout=3600.0)
    server = Server(host.handle, limits, render_fault)
    await server.start([listener], None)
    keeping = loop.create_task(host.watchdog.run())
    beating = loop.create_task(beat(told, host.watchdog.settled))
    await asyncio.wait({keeping, loop.create_task(stopping.wait())}, return_when=asyncio.FIRST_COMPLETED)
    loop.remove_reader(life)
    if keeping.done() and not stopping.is_set():
        keeping.result()  # by our own fault: the traceback goes to stderr, and the supervisor starts another host
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    beating.cancel()
    await host.compiler.close()
    await host.watchdog.close()
    await server.drain(0.0)


def render_fault(status: int, reason: str, request: Request | None, remote: Remote) -> tuple[bytes, bytes]:
    return JSON, encode({"error": {"message": reason, "type": "invalid_request_error", "param": None, "code": None}})


class Host:
    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._key = b"Bearer " + options.key.encode()
        slots = SlotQueue(options.slots, options.queue, options.queue_timeout)
        launcher = Launcher(options, RotatingLog(journal_path(os.environ)), os.environ)
        self.watchdog = Watchdog(options, slots, launcher, _say)
        self._engine = Engine(options, slots, self.watchdog, bounds=bounds_of(options.model))
        self.compiler = Compiler(launcher.watched, self._engine.bounds, os.environ)
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, exchange: Exchange) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        exchange.on_lost = partial(_cancel, task)

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await self._turn(exchange)
        except AntiphonError as error:
            fail(exchange, error)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # by our own fault: whoever waits must hear so
            _say(f"antiphon: the engine's host failed: {type(error).__name__}: {error}")
            fail(exchange, AntiphonError("The embedded engine failed by a fault of its host.", code="engine_error"))

    async def _turn(self, exchange: Exchange) -> None:
        request, engine = exchange.request, self._engine
        if not hmac.compare_digest(request.headers.get(b"authorization", b""), self._key):
            raise AuthError("The engine answers the gateway only.")
        document = _decode(request)
        if request.path == b"/v1/chat/completions":
            reply = reply_to(exchange, document)
            await ChatTurn(engine, self.compiler, document, reply).run()
        elif request.path == b"/v1/completions":
            await CompletionTurn(engine, document, exchange).run()
        elif request.path == b"/v1/embeddings":
            await embed(engine, document, exchange)
        else:
            raise RequestError("There is no such endpoint.", status=404, code="unknown_url")


def _cancel(task: asyncio.Task[None]) -> None:
    """The worker has closed the connection: its client is gone."""
    task.cancel()


def _decode(request: Request) -> Document:
    try:
        document = msgspec.json.decode(request.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise RequestError("The body of the request is not a JSON object.")
    return document


def _say(line: str) -> None:
    put(2, [line.encode()])
