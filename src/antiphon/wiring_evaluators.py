"""Wiring's part for the evaluators: settings in, a composite out, and what the evaluator processes are told."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from antiphon.evaluators.backends import reach
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.composite import AsyncEvaluator, Composite, Coverage, LocalMember, RemoteMember
from antiphon.evaluators.config import EvaluatorConfig, ProtectedConfig, RuleConfig
from antiphon.evaluators.remote import (
    Azure,
    Chat,
    HttpTransport,
    OpenAIModerations,
    Own,
    RemoteEvaluator,
    Service,
    Transport,
    UpstreamTransport,
)
from antiphon.evaluators.remote.transport import LARGEST
from antiphon.flow.ports import Upstream
from antiphon.http.client import Pool, Timeouts, parse_url, proxy_for
from antiphon.safety.verdict import Stage
from antiphon.settings import EvaluatorSettings, Settings
from antiphon.settings.evaluators import KINDS, in_force

Log = Callable[[str], None]
OpenUpstream = Callable[[EvaluatorSettings], Upstream]  # one of its own, for a chat model at a URL


def evaluator_orders(settings: Settings, room: str) -> EvaluatorConfig | None:
    """None: safety is off, or all evaluators are elsewhere, so there are no evaluator processes."""
    rows = [row for row in in_force(settings.safety) if KINDS[row.kind].inside]
    if not settings.safety.enabled or not rows:
        return None
    return EvaluatorConfig(
        room,
        tuple(row.name for row in rows if row.kind == "embedded"),
        tuple(ProtectedConfig(row.name, row.index) for row in rows if row.kind == "protected"),
        tuple(_rule_order(row) for row in rows if row.kind == "rules"),
        settings.safety.processes,
    )


def build_panel(
    settings: Settings, process: EvaluatorConfig | None, upstreams: Mapping[str, Upstream], own: OpenUpstream, log: Log
) -> Composite | None:
    """`process`: what the evaluator processes were told, where they run. None: there is nobody to ask."""
    if not settings.safety.enabled:
        return None
    rows = in_force(settings.safety)
    inside = [row for row in rows if KINDS[row.kind].inside] if process is not None else []
    outside = [row for row in rows if not KINDS[row.kind].inside]
    if not inside and not outside:
        return None
    client = None
    if process is not None:
        seconds, queue = max(map(_seconds, inside)), settings.safety.queue_ms / 1000
        client = EvaluatorClient(process.sockets, seconds, log, queue)
    composite = Composite(
        client,
        [LocalMember(row.name, _bounds(row), _reach(row)) for row in inside],
        [RemoteMember(_remote(row, settings, upstreams, own, log), _bounds(row)) for row in outside],
    )
    composite.start()
    return composite


def _rule_order(row: EvaluatorSettings) -> RuleConfig:
    return RuleConfig(row.name, row.words, row.patterns, row.file, row.lists)


def _reach(row: EvaluatorSettings) -> int:
    return reach(_rule_order(row)) if row.kind == "rules" else 0


def _seconds(row: EvaluatorSettings) -> float:
    return KINDS[row.kind].seconds if row.timeout is None else row.timeout


def _bounds(row: EvaluatorSettings) -> Coverage:
    stages = KINDS[row.kind].stages if row.stages is None else row.stages
    routes = None if row.routes is None else frozenset(row.routes)
    return Coverage(frozenset(map(Stage, stages)), routes, None if row.keys is None else frozenset(row.keys))


def _remote(
    row: EvaluatorSettings, settings: Settings, upstreams: Mapping[str, Upstream], own: OpenUpstream, log: Log
) -> AsyncEvaluator:
    seconds = _seconds(row)
    if row.kind == "chat":
        return RemoteEvaluator(row.name, Chat(), _chat_carrier(row, settings, upstreams, own), seconds, log)
    assert row.url is not None  # a fault otherwise
    origin, prefix = parse_url(row.url)
    services: dict[str, Callable[[], Service]] = {
        "openai": partial(OpenAIModerations, prefix.decode(), row.model),
        "azure": Azure,
        "http": Own,
    }
    service = services[row.kind]()
    headers = "content-type: application/json\r\naccept: application/json\r\nuser-agent: antiphon\r\n"
    if row.credential is not None:
        headers += f"{service.auth}{row.credential.reveal()}\r\n"
    pool = Pool(
        origin,
        Timeouts(seconds, seconds, seconds, seconds),
        proxy=proxy_for(origin, os.environ),
        max_body=LARGEST,
        log=lambda what, error: log(f"evaluator {row.name}: {what}: {type(error).__name__}"),
    )
    return RemoteEvaluator(row.name, service, HttpTransport(pool, prefix, headers.encode()), seconds, log)


def _chat_carrier(
    row: EvaluatorSettings, settings: Settings, upstreams: Mapping[str, Upstream], own: OpenUpstream
) -> Transport:
    if row.route is None:
        return UpstreamTransport(own(row), row.model or "", owned=True)
    route = next(route for route in settings.routes if route.model == row.route)
    target = route.targets[0]
    return UpstreamTransport(upstreams[target.upstream], target.model or route.model, owned=False)
