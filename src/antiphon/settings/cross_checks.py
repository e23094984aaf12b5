"""What must hold between parts of the settings: names are unique, targets exist, locked doors have keys.

`check` looks at the document as written, so that it can speak although parts of it are wrong; `warn` at what was built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from antiphon.document import Document
from antiphon.http.client import parse_url, proxy_for
from antiphon.settings.faults import Path, printable
from antiphon.settings.model import EvaluatorSettings, ServerSettings, Settings, UpstreamSettings
from antiphon.settings.validate import Faults, Places, rows
from antiphon.settings.value_types import Suggestions


def check(document: Document, faults: Faults, places: Places) -> None:
    for table, label in (("upstream", "name"), ("route", "model"), ("key", "name"), ("limit", "name")):
        _unique(document, table, label, faults, places)
    _queues(document, faults)
    _targets(document, faults)
    _locks(document, faults)
    _listeners(document, faults)
    _bodies(document, faults)


def check_keys(settings: Settings, faults: Faults) -> None:
    """Two keys with one secret: nobody could say whose request it is."""
    owners: dict[str, str] = {}
    for position, key in enumerate(settings.keys):
        owner = owners.setdefault(key.secret.reveal(), key.name)
        if owner != key.name:
            faults.add(("key", position, "secret"), f"'secret' is the same as that of \"{printable(owner)}\"")


def check_proxies(settings: Settings, environ: Mapping[str, str], faults: Faults) -> None:
    """A proxy that cannot be used would otherwise show only when the gateway starts."""
    for position, upstream in enumerate(settings.upstreams):
        if upstream.url is None or not upstream.proxy:
            continue
        try:
            proxy_for(parse_url(upstream.url)[0], environ)
        except ValueError as error:
            words = f"the environment's proxy cannot be used: {error} (proxy = false goes without)"
            faults.add(("upstream", position, "url"), words)


def warn(settings: Settings) -> tuple[str, ...]:
    return tuple(_warnings(settings))


def _unique(document: Document, table: str, label: str, faults: Faults, places: Places) -> None:
    first: dict[str, int] = {}
    for position, row in rows(document, table):
        name = row.get(label)
        if not isinstance(name, str) or not name:
            continue
        if name in first:
            before = places.find((table, first[name], label))[1]
            faults.add((table, position, label), f"'{label}' is taken; the first one is at {before}")
        first.setdefault(name, position)


def _queues(document: Document, faults: Faults) -> None:
    for position, row in rows(document, "upstream"):
        for key in ("queue", "queue_timeout"):
            if key in row and "max_concurrent" not in row:
                faults.add(("upstream", position, key), f"'{key}' does nothing without 'max_concurrent'")


def _targets(document: Document, faults: Faults) -> None:
    upstreams = [row for _, row in rows(document, "upstream")]
    names = dict.fromkeys(row["name"] for row in upstreams if isinstance(row.get("name"), str))
    if upstreams and not document.get("route"):
        faults.add(("upstream", 0), "no [[route]] leads here: nothing would be answered")
    suggestions = Suggestions(names)
    for position, route in rows(document, "route"):
        for place, target in rows(route, "targets"):
            name = target.get("upstream")
            if isinstance(name, str) and name and name not in names:
                path = ("route", position, "targets", place, "upstream")
                faults.add(path, f'there is no [[upstream]] named "{printable(name)}"{suggestions.find(name)}')
            sent, model = target.get("model"), route.get("model")
            if isinstance(sent, str) and sent.count("*") == 1 and isinstance(model, str) and model.count("*") != 1:
                words = "'model' holds '*', which stands for what the route's own '*' does; the route must have one"
                faults.add(("route", position, "targets", place, "model"), words)


def _locks(document: Document, faults: Faults) -> None:
    server = document.get("server")
    accounts = document.get("accounts")
    if not isinstance(accounts, dict) or accounts.get("enabled") is not False:
        return  # the store may hold issued keys
    limited: list[Path] = [("limit", position, "name") for position, _ in rows(document, "limit")]
    limited += [("key", position, "limits") for position, row in rows(document, "key") if "limits" in row]
    for path in limited:
        faults.add(path, "nobody counts while [accounts] 'enabled' is false, so this would limit nothing")
    if isinstance(server, dict) and server.get("auth") is True and not document.get("key"):
        faults.add(("server", "auth"), "'auth' is true but there is no [[key]], so every request would be refused")


def _listeners(document: Document, faults: Faults) -> None:
    server = document.get("server")
    if not isinstance(server, dict):
        return
    listen, control = server.get("listen"), server.get("control")
    if isinstance(listen, str) and listen == control and not listen.endswith(":0"):
        faults.add(("server", "control"), "'control' must not be the same address as 'listen'")


def _bodies(document: Document, faults: Faults) -> None:
    server = document.get("server")
    if not isinstance(server, dict):
        return
    memory, largest = server.get("max_body_memory"), server.get("max_body", ServerSettings().max_body)
    if isinstance(memory, int) and isinstance(largest, int) and 1 <= memory < largest:
        faults.add(("server", "max_body_memory"), f"'max_body_memory' must be 'max_body' ({largest}) or more")


def _warnings(settings: Settings) -> Iterator[str]:
    server = settings.server
    if not server.auth and not server.listen.loopback:
        yield (
            f"auth is false and {server.listen} can be reached from other machines: anyone who reaches it can spend "
            "your credentials. Set [server] auth = true with a [[key]], or listen on 127.0.0.1."
        )
    if server.control is not None and not server.control.loopback:
        yield f"the control plane on {server.control} can be reached from other machines, without encryption."
    yield from _listener_warnings(server)
    used = {target.upstream for route in settings.routes for target in route.targets}
    for upstream in settings.upstreams:
        if upstream.name not in used:
            yield f'[[upstream]] "{printable(upstream.name)}" is the target of no route.'
        if _sends_in_clear(upstream):
            yield f'[[upstream]] "{printable(upstream.name)}" sends its credential unencrypted: its url is http://.'
    for row in settings.safety.evaluators:
        if _sends_in_clear(row):
            yield f'[[safety.evaluator]] "{printable(row.name)}" sends its credential unencrypted: its url is http://.'


def _listener_warnings(server: ServerSettings) -> Iterator[str]:
    if server.listen.unix is None and (server.socket_mode is not None or server.socket_group is not None):
        yield f"socket_mode and socket_group do nothing: {server.listen} is no unix socket."
    for network in server.trusted_proxies:
        if network.endswith("/0"):
            yield f"trusted_proxies holds {network}: every client may claim to have any address."
    if server.forwarded_header is not None and not server.trusted_proxies:
        yield "forwarded_header does nothing: there are no trusted_proxies."


def _sends_in_clear(row: UpstreamSettings | EvaluatorSettings) -> bool:
    parts = urlsplit(row.url or "")
    if row.credential is None or parts.scheme != "http" or not parts.hostname:
        return False
    try:
        return not (ip_address(parts.hostname).is_private or ip_address(parts.hostname).is_loopback)
    except ValueError:  # a bare word is a name of the own network: localhost, a compose service
        return "." in parts.hostname
