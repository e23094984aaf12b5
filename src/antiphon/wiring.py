"""Names the adapters: settings in, a wired worker out. (The evaluators': `wiring_evaluators`.)"""

from __future__ import annotations

import os
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import quote

from antiphon.dialects import DIALECTS
from antiphon.engine import state
from antiphon.engine.options import EngineOptions
from antiphon.entropy import Entropy
from antiphon.evaluators.orders import Orders
from antiphon.evaluators.panel import Panel
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Document, Judge, Upstream
from antiphon.http.client import Concurrency, Pool, Timeouts, parse_url, proxy_for, ssl_context
from antiphon.http.server import Limits, Server
from antiphon.log import Log, LogFile
from antiphon.routing.route import Route, RouteTable, Target
from antiphon.server.cors import Cors
from antiphon.server.door import Door, DoorOptions
from antiphon.server.keys import Key, KeyRing, digest
from antiphon.settings import EvaluatorSettings, Secret, Settings
from antiphon.settings.evaluators import KINDS
from antiphon.settings.model import ServerSettings, TimeoutSettings, UpstreamSettings
from antiphon.settings.policies import policies
from antiphon.tokens import TokenCounter
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.client import HttpUpstream
from antiphon.upstreams.scripted import ScriptedUpstream
from antiphon.wiring_evaluators import build_panel

# A TLS context for a file of certificates, or for the system's alone. Upstreams share it: to read the system's takes
# 30 ms and .8 MB each time.
Trust = Callable[[str | None], ssl.SSLContext]


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker's parts, in the order in which they are closed."""

    server: Server
    door: Door
    upstreams: tuple[HttpUpstream, ...]
    scripted: tuple[ScriptedUpstream, ...]
    counter: TokenCounter
    log: Log
    judge: Panel | None = None

    async def close(self) -> None:
        await self.door.close()
        if self.judge is not None:
            await self.judge.close()
        for upstream in self.upstreams:
            await upstream.close()
        for scripted in self.scripted:
            await scripted.stop()
        await self.counter.close()
        self.log.flush()


async def build(
    settings: Settings,
    *,
    born: int,
    room: str,
    ready: Callable[[], str | None],
    engine: EngineOptions | None = None,
    evaluators: Orders | None = None,
    judge: Judge | None = None,
) -> Worker:
    """`born`: when the gateway started (models' `created`); `room`: a private directory for sockets of our own;
    `ready`: None, or why this worker takes no requests; `engine`: what its host was told, where it runs; `evaluators`:
    likewise, what their process was told; `judge`: another one in their place."""
    server = settings.server
    log = Log(LogFile(server.access_log), LogFile(server.error_log))
    scripted: dict[str, ScriptedUpstream] = {}
    upstreams: dict[str, HttpUpstream] = {}
    trust = cache(ssl_context)
    for upstream in settings.upstreams:
        if upstream.protocol == "embedded":
            if engine is not None:  # else no route leads there
                upstreams[upstream.name] = _embedded(upstream, engine, log, trust)
            continue
        url = upstream.url
        if url is None:
            scripted[upstream.name] = ScriptedUpstream()
            url = await scripted[upstream.name].start(unix=f"{room}/{os.getpid()}-{len(scripted)}.sock")
        upstreams[upstream.name] = _upstream(upstream, url, log, trust)
    counter = TokenCounter()
    ports: dict[str, Upstream] = {**upstreams}
    panel = _judge(settings, evaluators, ports, log, trust)
    gateway = Gateway(
        routes=RouteTable(_routes(settings)),
        upstreams=ports,
        dialects=DIALECTS,
        counter=counter,
        ledger=log,
        clock=time.monotonic,
        wall=time.time,
        draw=random.random,
        entropy=Entropy(),
        maritaca_object=server.maritaca_object,
        judge=judge or panel,
        policies=policies(settings),
    )
    health = _health(settings, ready, engine, panel)
    door = Door(gateway, _keys(settings), Cors(server.cors), _door_options(settings, gateway, born), health)

    def crashed(error: BaseException) -> None:
        log.error("a connection failed by our own fault", error)

    return Worker(
        server=Server(door.handle, _limits(server), door.render_fault, crashed),
        door=door,
        upstreams=tuple(upstreams.values()),
        scripted=tuple(scripted.values()),
        counter=counter,
        log=log,
        judge=panel,
    )


def engine_options(settings: Settings, room: str, key: str) -> EngineOptions | None:
    """None: no route leads to the embedded model, so its engine does not run."""
    if settings.embedded is None:
        return None
    engine = settings.engine
    return EngineOptions(
        model=engine.model,
        name=engine.name,
        threads=engine.threads,
        context=engine.context,
        slots=engine.slots,
        queue=engine.queue,
        queue_timeout=engine.queue_timeout,
        hang_after=engine.hang_after,
        room=room,
        key=key,
    )


def server_tls(server: ServerSettings) -> ssl.SSLContext | None:
    if server.tls is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(server.tls.cert, server.tls.key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _judge(
    settings: Settings, evaluators: Orders | None, upstreams: Mapping[str, Upstream], log: Log, trust: Trust
) -> Panel | None:
    """None: nothing is judged."""

    def own(row: EvaluatorSettings) -> Upstream:
        seconds = TimeoutSettings(*[row.timeout or KINDS[row.kind].seconds] * 4)
        upstream = UpstreamSettings(f"evaluator {row.name}", "openai", row.url, row.credential, seconds)
        return _upstream(upstream, row.url or "", log, trust)

    return build_panel(settings, evaluators, upstreams, own, log.error)


def _health(
    settings: Settings, ready: Callable[[], str | None], engine: EngineOptions | None, judge: Panel | None
) -> Callable[[], Document]:
    """What /readyz says besides its status. With a reason, requests would not be answered."""
    rests_on_engine = settings.rests_on_engine

    def look() -> Document:
        reason = ready()
        if reason is not None:
            return {"reason": reason}
        named: Document = {}
        if judge is not None and judge.state is not None:  # without them the gateway answers, and says so in each turn
            named["evaluators"] = judge.state
        if engine is None:
            return named
        found = state.read(engine.state)
        named["engine"] = str(found)
        if found.status == "ready" or not rests_on_engine:
            return named
        return {"reason": f"engine: {found.reason or found.status}", **named}

    return look


def _embedded(upstream: UpstreamSettings, engine: EngineOptions, log: Log, trust: Trust) -> HttpUpstream:
    url = f"http+unix://{quote(engine.socket, safe='')}/v1"
    return _upstream(replace(upstream, credential=Secret(engine.key)), url, log, trust)


def _upstream(upstream: UpstreamSettings, url: str, log: Log, trust: Trust) -> HttpUpstream:
    origin, prefix = parse_url(url)
    row = CATALOG[upstream.protocol].at_host(origin.host)
    proxy = proxy_for(origin, os.environ) if upstream.proxy else None
    is_tls = origin.tls or (proxy is not None and proxy.tls)
    timeout = upstream.timeout
    pool = Pool(
        origin,
        Timeouts(timeout.connect, timeout.first_byte, timeout.idle, timeout.total),
        ssl_context=trust(upstream.ca if origin.tls else None) if is_tls else None,
        proxy=proxy,
        max_idle=upstream.max_idle,
        concurrency=_concurrency(upstream),
        log=lambda what, error: log.error(f"upstream {upstream.name}: {what}", error),
    )
    secrets: tuple[str, ...] = ()
    headers = (
        b"content-type: application/json\r\naccept: application/json, text/event-stream\r\nuser-agent: antiphon\r\n"
    )
    if upstream.credential is not None:
        secrets = (upstream.credential.reveal(),)
        headers += row.auth.value + secrets[0].encode() + b"\r\n"
    return HttpUpstream(
        upstream.name,
        row,
        frozenset(upstream.lacks) if upstream.lacks is not None else row.lacks,
        pool,
        prefix.rstrip(b"/") + row.path.encode(),
        headers,
        think=upstream.think,
        forward=tuple(name.encode() for name in upstream.forward_headers),
        secrets=secrets,
        log=log.error,
    )


def _concurrency(upstream: UpstreamSettings) -> Concurrency | None:
    if upstream.max_concurrent is None:
        return None
    return Concurrency(upstream.max_concurrent, upstream.queue, upstream.queue_timeout)


def _routes(settings: Settings) -> list[Route]:
    return [
        Route(route.model, tuple(Target(t.upstream, t.model, t.weight, t.priority) for t in route.targets))
        for route in settings.routes
    ]


def _keys(settings: Settings) -> KeyRing:
    keys = [Key(key.name, digest(key.secret.reveal().encode()), key.dialect, key.strict) for key in settings.keys]
    return KeyRing(keys, required=settings.server.auth)


def _limits(server: ServerSettings) -> Limits:
    return Limits(
        max_body=server.max_body,
        header_timeout=server.header_timeout,
        body_timeout=server.body_timeout,
        keepalive=server.keepalive,
        write_timeout=server.write_timeout,
        max_connections=server.max_connections,
    )


def _door_options(settings: Settings, gateway: Gateway, born: int) -> DoorOptions:
    models: list[Document] = [
        {"id": name, "object": "model", "created": born, "owned_by": gateway.routes.find(name).targets[0].upstream}
        for name in gateway.routes.names()
    ]
    server = settings.server
    silence = server.keepalive if server.keepalive_comment is None else server.keepalive_comment
    return DoorOptions(server.dialect, server.strict, tuple(models), silence)
