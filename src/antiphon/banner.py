"""What `antiphon serve` says when it is ready: where, what, and a line to try. Or that it cannot answer, and why."""

from __future__ import annotations

import socket
from shlex import quote

import msgspec

from antiphon import __version__
from antiphon.engine.state import State
from antiphon.settings import Settings
from antiphon.settings.evaluators import in_force
from antiphon.settings.model import RouteSettings, ServerSettings


def banner(settings: Settings, sock: socket.socket, engine: State | None) -> str:
    """`engine`: None where it does not run."""
    server = settings.server
    workers = "1 worker" if server.workers == 1 else f"{server.workers} workers"
    lines = [f"Antiphon {__version__} {_how(settings, engine)}", f"  listening  {_where(server, sock)}  ({workers})"]
    if engine is not None:
        lines.append(f"  {'engine':9}  {settings.engine.name}, {engine}")
    lines.append(f"  {'safety':9}  {_safety(settings)}")
    for position, route in enumerate(settings.routes):
        lines.append(f"  {'routes' if position == 0 else '':9}  {_route(route)}")
    lines.append(f"  {'try':9}  {_curl(settings, sock)}")
    return "\n".join(lines)


def _how(settings: Settings, engine: State | None) -> str:
    if engine is None or engine.status == "ready" or not settings.rests_on_engine:
        return "is ready."
    return "is running, but cannot answer without its engine."


def _safety(settings: Settings) -> str:
    safety = settings.safety
    if not safety.enabled:
        return "off"
    names = ", ".join(row.name for row in in_force(safety))
    return f"{safety.preset or 'moderate'}{', annotates only' if safety.mode == 'annotate' else ''} (by {names})"


def _where(server: ServerSettings, sock: socket.socket) -> str:
    if server.listen.unix is not None:
        return f"unix:{server.listen.unix}"
    host, port = sock.getsockname()[:2]
    scheme = "https" if server.tls is not None else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _route(route: RouteSettings) -> str:
    targets = [f"{target.upstream} ({target.model})" if target.model else target.upstream for target in route.targets]
    return f"{route.model} -> {', '.join(targets)}"


def _curl(settings: Settings, sock: socket.socket) -> str:
    server = settings.server
    names = [route.model for route in settings.routes if route.model != "*"]
    message = {"role": "user", "content": "Hello!"}
    body = msgspec.json.encode({"model": names[0] if names else "any", "messages": [message]}).decode()
    where = _where(server, sock).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    parts = ["curl"]
    if server.listen.unix is not None:
        parts.append(f"--unix-socket {quote(server.listen.unix)}")
        where = "https://localhost" if server.tls is not None else "http://localhost"
    if server.tls is not None:
        parts.append(f"--cacert {quote(server.tls.cert)}")
    parts.append(f"{where}/v1/chat/completions -H 'content-type: application/json'")
    if server.auth:
        parts.append('-H "authorization: Bearer $KEY"')
    parts.append(f"-d {quote(body)}")
    return " ".join(parts)
