"""Names the adapters: settings in, a wired worker out. (The upstreams': `wiring_upstreams`; the evaluators':
`wiring_evaluators`.)"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import resource
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import quote

from antiphon.apis import API_DIALECTS
from antiphon.billing.issued_keys import IssuedKeys
from antiphon.billing.turns import TurnBilling
from antiphon.chat.bounds import JsonBounds
from antiphon.descriptors import most_spare
from antiphon.dialects import DIALECTS
from antiphon.document import Document
from antiphon.engine import state
from antiphon.engine.options import EngineOptions
from antiphon.entropy import Entropy
from antiphon.evaluators.composite import Composite
from antiphon.evaluators.config import EvaluatorConfig
from antiphon.evaluators.link import STARTING
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Judge, Upstream
from antiphon.flow.turn import Meter
from antiphon.generation import Generation, WorkerParts
from antiphon.generation import Worker as Worker
from antiphon.http.forwarded import TrustedProxies
from antiphon.http.server import Limits, Server
from antiphon.http.tls import server_context
from antiphon.log import Log, LogFile
from antiphon.models.table import Sizes
from antiphon.routing.route import Route, RouteTable, Target
from antiphon.safety.policies import Policies
from antiphon.server.app import App, AppOptions
from antiphon.server.cors import Cors
from antiphon.server.models import Models
from antiphon.server.paths import VITAL
from antiphon.settings import EvaluatorSettings, Secret, Settings
from antiphon.settings.evaluators import KINDS
from antiphon.settings.model import ServerSettings, TimeoutSettings, UpstreamSettings
from antiphon.settings.models import model_table
from antiphon.settings.policies import policies
from antiphon.tokens import TokenCounter
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.client import HttpUpstream
from antiphon.upstreams.scripted import ScriptedUpstream
from antiphon.wiring_accounts import (
    AccountsPlan,
    StaticKeys,
    completion_client,
    key_ring,
    open_accounts,
    renew_accounts,
    static_keys,
)
from antiphon.wiring_evaluators import build_panel
from antiphon.wiring_upstreams import MakeUpstream, upstream_maker

BODY_MEMORY = 256 * 1024 * 1024  # bytes, where the settings do not say how many
OWN_DESCRIPTORS = 64  # of a worker: listeners, log files, evaluators, the tokenizer


async def build(
    settings: Settings,
    *,
    born: int,
    room: str,
    ready: Callable[[], str | None],
    engine: EngineOptions | None = None,
    evaluators: EvaluatorConfig | None = None,
    judge: Judge | None = None,
    meter: Meter | None = None,
    accounts: AccountsPlan | None = None,
    number: int = 0,
) -> Worker:
    """`born`: when the gateway started (models' `created`); `room`: a private directory for sockets of our own;
    `ready`: None, or why this worker takes no requests; `engine`: what its host was told, where it runs; `evaluators`:
    likewise, what their process was told; `judge`: another one in their place; `meter`: None where nothing
    is counted; `accounts`: None where they are off; `number`: the worker's."""
    server = settings.server
    log = Log(LogFile(server.access_log), LogFile(server.error_log))
    parts = WorkerParts(
        born,
        room,
        ready,
        engine,
        evaluators,
        judge,
        meter,
        accounts,
        log,
        TokenCounter(),
        Entropy(),
        completion_client(accounts, log),
        itertools.count(1),
        number,
    )
    first = await build_generation(settings, parts)

    def crashed(error: BaseException) -> None:
        log.error("a connection failed by our own fault", error)

    worker = Worker(
        Server(
            first.app.handle,
            _limits(server),
            first.app.render_fault,
            crashed,
            trusted=TrustedProxies(server.trusted_proxies, server.forwarded_header),
            proxy_protocol=server.proxy_protocol,
            note=log.error,
            vital=VITAL,
        ),
        parts,
        first,
    )
    worker.server.wants_body = worker.wants_body
    if parts.completions is not None:
        worker.beside = (asyncio.create_task(parts.completions.run()),)
    return worker


async def build_generation(settings: Settings, parts: WorkerParts, old: Generation | None = None) -> Generation:
    """`old`: the generation in use; what has not changed is taken over, with its open connections."""
    server, log = settings.server, parts.log
    make = upstream_maker(settings, parts.entropy, log, parts.room)
    upstreams, scripted = await _upstreams(settings, parts, make, old)
    ports: dict[str, Upstream] = {**upstreams}
    composite = _judge(settings, parts.evaluators, ports, log, make) if old is None else old.judge
    rules, keys = policies(settings), static_keys(settings)
    issued, billing, beside = _accounts(settings, parts, rules, keys)
    gateway = Gateway(
        routes=RouteTable(_routes(settings)),
        upstreams=ports,
        dialects={**DIALECTS, **API_DIALECTS},
        counter=parts.counter,
        ledger=log,
        clock=time.monotonic,
        wall=time.time,
        draw=random.random,
        entropy=parts.entropy,
        maritaca_object=server.maritaca_object,
        judge=parts.judge or composite,
        policies=rules,
        bounds=JsonBounds(server.max_json_depth, server.max_json_values),
        meter=parts.meter,
        billing=billing,
        completions=parts.completions,
    )
    health = _health(settings, parts.ready, parts.engine, composite)
    models = _models(settings, gateway, upstreams, parts.born, log)
    app = App(gateway, key_ring(settings, keys, issued), Cors(server.cors), models, _app_options(server), health)
    if old is not None:
        app.take_over(old.app)
    return Generation(settings, app, upstreams, scripted, composite, beside)


def _accounts(
    settings: Settings, parts: WorkerParts, rules: Policies, keys: StaticKeys
) -> tuple[IssuedKeys | None, TurnBilling | None, tuple[asyncio.Task[None], ...]]:
    """Journal and limits are the worker's; keys and prices go by the settings."""
    if parts.plan is None:
        return None, None, ()
    count_cost = None if parts.meter is None else parts.meter.count_cost
    if parts.accounts is None:
        parts.accounts = open_accounts(settings, parts.plan, parts.number, rules, keys, parts.log, count_cost)
        return parts.accounts.issued, parts.accounts.billing, ()
    return renew_accounts(settings, parts.plan, rules, parts.accounts, count_cost)


async def _upstreams(
    settings: Settings, parts: WorkerParts, make: MakeUpstream, old: Generation | None
) -> tuple[dict[str, HttpUpstream], dict[str, ScriptedUpstream]]:
    """Those that are as they were are taken over. What is known of models is part of how a foreign one is spoken to."""
    same = old is not None and old.settings.models == settings.models
    before = {row.name: row for row in old.settings.upstreams} if old is not None and same else {}
    upstreams: dict[str, HttpUpstream] = {}
    scripted: dict[str, ScriptedUpstream] = {}
    for upstream in settings.upstreams:
        name = upstream.name
        if old is not None and before.get(name) == upstream and name in old.upstreams:
            upstreams[name] = old.upstreams[name]
            if name in old.scripted:
                scripted[name] = old.scripted[name]
        elif upstream.protocol == "embedded":
            if parts.engine is not None:  # else no route leads there
                upstreams[name] = _embedded(upstream, parts.engine, make)
        else:
            url = upstream.url
            if url is None:
                scripted[name] = _scripted(upstream)
                place = f"{parts.room}/{os.getpid()}-{next(parts.sockets)}.sock"
                url = await scripted[name].start(unix=place)
            upstreams[name] = make(upstream, url)
    return upstreams, scripted


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
    tls = server.tls
    if tls is None:
        return None
    return server_context(tls.cert, tls.key, tls.client_ca, required=tls.client_auth != "optional")


def _judge(
    settings: Settings,
    evaluators: EvaluatorConfig | None,
    upstreams: Mapping[str, Upstream],
    log: Log,
    make: MakeUpstream,
) -> Composite | None:
    """None: nothing is judged."""

    def own(row: EvaluatorSettings) -> Upstream:
        seconds = TimeoutSettings(*[row.timeout or KINDS[row.kind].seconds] * 4)
        upstream = UpstreamSettings(f"evaluator {row.name}", "openai", row.url, row.credential, seconds)
        return make(upstream, row.url or "")

    return build_panel(settings, evaluators, upstreams, own, log.error)


def _health(
    settings: Settings, ready: Callable[[], str | None], engine: EngineOptions | None, judge: Composite | None
) -> Callable[[], Document]:
    """What /readyz says besides its status. With a reason, requests would not be answered."""
    rests_on_engine = settings.rests_on_engine

    def look() -> Document:
        reason = ready()
        if reason is not None:
            return {"reason": reason}
        named: Document = {}
        reasons = []
        if judge is not None and judge.state is not None:
            named["evaluators"] = judge.state
            if judge.state == STARTING:  # one that cannot be had is named in each turn instead
                reasons.append(f"evaluators: {STARTING}")
        if engine is not None:
            found = state.read(engine.state)
            named["engine"] = str(found)
            if found.status != "ready" and rests_on_engine:
                reasons.append(f"engine: {found.reason or found.status}")
        return {"reason": "; ".join(reasons), **named} if reasons else named

    return look


def _scripted(upstream: UpstreamSettings) -> ScriptedUpstream:
    if upstream.speaks is None:
        return ScriptedUpstream()
    return ScriptedUpstream(speaks=upstream.speaks)


def _embedded(upstream: UpstreamSettings, engine: EngineOptions, make: MakeUpstream) -> HttpUpstream:
    url = f"http+unix://{quote(engine.socket, safe='')}/v1"
    return make(replace(upstream, credential=Secret(engine.key)), url)


def _routes(settings: Settings) -> list[Route]:
    return [
        Route(route.model, tuple(Target(t.upstream, t.model, t.weight, t.priority) for t in route.targets))
        for route in settings.routes
    ]


def _limits(server: ServerSettings) -> Limits:
    memory = server.max_body_memory
    return Limits(
        max_body=server.max_body,
        max_body_memory=max(BODY_MEMORY, server.max_body) if memory is None else memory,
        header_timeout=server.header_timeout,
        body_timeout=server.body_timeout,
        min_body_rate=server.min_body_rate,
        request_timeout=server.request_timeout,
        keepalive=server.keepalive,
        write_timeout=server.write_timeout,
        max_connections=server.max_connections,
        max_client_connections=server.max_client_connections,
        spare=most_spare(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        crowded=min(server.max_connections, _descriptors() // 2),
    )


def _descriptors() -> int:
    """How many there may be. A stream takes two, and some are for us."""
    return max(2, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - OWN_DESCRIPTORS)


def _models(settings: Settings, gateway: Gateway, upstreams: Mapping[str, HttpUpstream], born: int, log: Log) -> Models:
    """The embedded model answers to any name, so its host is not asked."""
    embedded = frozenset(row.name for row in settings.upstreams if row.protocol == "embedded")
    asked = [row.name for row in settings.upstreams if row.list_models and row.name not in embedded]
    sources = {name: upstreams[name].models for name in asked}
    table = model_table(settings)
    vendors = {row.name: CATALOG[row.protocol].table_vendor for row in settings.upstreams}

    def sizes(upstream: str, model: str, told: Sizes) -> Sizes:
        if upstream in embedded:
            return Sizes(settings.engine.context)
        return table.sizes(model, vendors.get(upstream), told)

    return Models(gateway.routes, born, sources, embedded, gateway.clock, log.error, sizes)


def _app_options(server: ServerSettings) -> AppOptions:
    silence = server.keepalive if server.keepalive_comment is None else server.keepalive_comment
    return AppOptions(
        server.dialect,
        server.strict,
        silence,
        server.receipts,
        server.max_client_requests,
        max_upload=server.max_upload,
        max_form=server.max_body,
        drops_tools=server.built_in_tools == "drop",
    )
