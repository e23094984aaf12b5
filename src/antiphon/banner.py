"""What `antiphon serve` says when it is ready: where, what, and a line to try. Or that it cannot answer, and why."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from shlex import quote
from typing import Final

import msgspec

from antiphon import __version__
from antiphon.engine.state import EngineState
from antiphon.routing.patterns import is_pattern
from antiphon.safety.policy import WORDS, Grade, Policy
from antiphon.settings import Settings
from antiphon.settings.evaluators import in_force
from antiphon.settings.model import KeySettings, RouteSettings, ServerSettings
from antiphon.settings.policies import policies

MOST_ROUTES: Final = 20  # that the banner names


def banner(
    settings: Settings,
    sock: socket.socket,
    engine: EngineState | None,
    control: socket.socket | None = None,
    credential: str | None = None,
) -> str:
    """`engine`: None where it does not run. `control`: the control plane's listener. `credential`: the admin's, where
    it was just made."""
    server = settings.server
    workers = "1 worker" if server.workers == 1 else f"{server.workers} workers"
    lines = [f"Antiphon {__version__} {_how(settings, engine)}", f"  listening  {_where(server, sock)}  ({workers})"]
    if control is not None:
        lines.append(f"  {'control':9}  {_address(control)}")
    if credential is not None:
        lines.append(f"  {'admin':9}  {credential}  (shown this once; docs/control.md)")
    if engine is not None:
        lines.append(f"  {'engine':9}  {settings.engine.name}, {engine}")
    lines.append(f"  {'safety':9}  {describe_safety(settings)}")
    routes = [_route(route) for route in settings.routes[:MOST_ROUTES]]
    if len(settings.routes) > MOST_ROUTES:
        routes.append(f"and {len(settings.routes) - MOST_ROUTES:,} more (antiphon check names them)")
    for position, route in enumerate(routes):
        lines.append(f"  {'routes' if position == 0 else '':9}  {route}")
    lines.append(f"  {'try':9}  {_curl(settings, sock)}")
    return "\n".join(lines)


def _how(settings: Settings, engine: EngineState | None) -> str:
    if engine is None or engine.status == "ready" or not settings.rests_on_engine:
        return "is ready."
    return "is running, but cannot answer without its engine."


def describe_safety(settings: Settings) -> str:
    """What the server's own rules do, who judges, and how many others there are."""
    found = policies(settings)
    others, skytells = found.find("", None, "openai"), found.find("", None, "skytells")
    if others is None or skytells is None:
        return "off"
    does = _does(others)
    if _does(skytells) != does:
        does = f"{does}; {_verb(skytells)} in skytells"
    if others.prompt.closed:
        does += "; closed on failure"
    names = ", ".join(row.name for row in in_force(settings.safety))
    own = [_count(rows, noun) for rows, noun in ((settings.routes, "route"), (settings.keys, "key"))]
    told = " and ".join(filter(None, own))
    return f"{does} (by {names}){f'; {told} with own rules' if told else ''}"


def _does(policy: Policy) -> str:
    """With the severity from which it blocks, where that is one for all."""
    verb = _verb(policy)
    levels = {grade.threshold for grade in _grades(policy)}
    level = levels.pop() if verb == "blocks" and len(levels) == 1 else None
    return verb if level is None else f"{verb} from {WORDS[level]}"


def _verb(policy: Policy) -> str:
    if not (policy.prompt.filters or policy.answer.filters):
        return "annotates"
    return "blocks" if all(grade.blocks for grade in _grades(policy)) else "blocks in part"


def _grades(policy: Policy) -> tuple[Grade, ...]:
    return policy.prompt.grades + policy.answer.grades


def _count(rows: Sequence[RouteSettings | KeySettings], noun: str) -> str:
    number = sum(row.safety is not None for row in rows)
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


def _where(server: ServerSettings, sock: socket.socket) -> str:
    return _address(sock, "https" if server.tls is not None else "http")


def _address(sock: socket.socket, scheme: str = "http") -> str:
    if sock.family == socket.AF_UNIX:
        return f"unix:{sock.getsockname()}"
    host, port = sock.getsockname()[:2]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _route(route: RouteSettings) -> str:
    targets = [f"{target.upstream} ({target.model})" if target.model else target.upstream for target in route.targets]
    return f"{route.model} -> {', '.join(targets)}"


def _curl(settings: Settings, sock: socket.socket) -> str:
    server = settings.server
    names = [route.model for route in settings.routes if not is_pattern(route.model)]
    message = {"role": "user", "content": "Hello!"}
    body = msgspec.json.encode({"model": names[0] if names else "any", "messages": [message]}).decode()
    where = _where(server, sock).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    parts = ["curl --haproxy-protocol" if server.proxy_protocol else "curl"]
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
