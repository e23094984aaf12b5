"""Forward proxies: which one the environment asks for, and the CONNECT tunnel through it.

The rules are curl's (lower case wins, an empty variable is an unset one), with two differences:
- upper-case HTTP_PROXY is read, except where REQUEST_METHOD is set: in a CGI it would be the client's `Proxy:` header.
- localhost, 127.0.0.0/8, ::1 and unix sockets are always reached directly: a proxy's loopback is not ours.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import cast
from urllib.parse import unquote, urlsplit

from antiphon.http.origin import DEFAULT_PORTS, Origin, is_loopback, parse_host

MAX_TUNNEL_HEAD = 65_536
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: [^\r\n]*)?\r?\n")
_HEAD_END = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class Proxy:
    host: str
    port: int
    tls: bool = False
    authorization: bytes | None = field(default=None, repr=False)  # the value of Proxy-Authorization

    @property
    def header(self) -> bytes:
        """The proxy's own header line, or nothing."""
        return b"" if self.authorization is None else b"proxy-authorization: %b\r\n" % self.authorization


class TunnelError(Exception):
    """The proxy did not open the tunnel. Says why, without what we sent."""


def proxy_for(origin: Origin, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy to use for this origin, or None. ValueError where the environment names one we cannot use."""
    if origin.unix is not None or is_loopback(origin.host):
        return None
    names = ["https_proxy", "HTTPS_PROXY"] if origin.tls else ["http_proxy", "HTTP_PROXY"]
    if "REQUEST_METHOD" in environ and not origin.tls:
        names.remove("HTTP_PROXY")
    url = _first(environ, *names, "all_proxy", "ALL_PROXY")
    if url is None or is_exempt(origin, _first(environ, "no_proxy", "NO_PROXY") or ""):
        return None
    return parse_proxy(url)


def _first(environ: Mapping[str, str], *names: str) -> str | None:
    return next((value for name in names if (value := environ.get(name, "").strip())), None)


def parse_proxy(url: str) -> Proxy:
    """http://[user:password@]host[:port], https://…, or without a scheme. A ValueError repeats no part of it."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parse_host(parts.hostname or ""), parts.port
    except ValueError:  # urllib's own words repeat what it was given
        raise ValueError("the proxy's URL has no usable host or port") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise ValueError("only http:// and https:// proxies are supported")
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = b"Basic " + b64encode(pair.encode())
    return Proxy(host, port or DEFAULT_PORTS[parts.scheme], parts.scheme == "https", authorization)


def is_exempt(origin: Origin, no_proxy: str) -> bool:
    """Does NO_PROXY name this origin? Entries apart by commas or spaces."""
    return any(_names(entry, origin) for entry in no_proxy.lower().replace(",", " ").split())


def _names(entry: str, origin: Origin) -> bool:
    """`*`; a domain (its subdomains too, leading dot or not) or an address, with :port or without; a network."""
    if entry == "*":
        return True
    host, port = _split_port(entry)
    if port is not None and port != origin.port:
        return False
    name = origin.host.lower().rstrip(".")
    try:
        address = ip_address(name)
    except ValueError:
        domain = host.removeprefix("*").strip(".")
        return bool(domain) and (name == domain or name.endswith(f".{domain}"))
    try:
        return address in ip_network(host, strict=False)
    except ValueError:
        return False


def _split_port(entry: str) -> tuple[str, int | None]:
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        port = rest.removeprefix(":")
    elif entry.count(":") == 1:
        host, _, port = entry.partition(":")
    else:
        host, port = entry, ""
    return host, int(port) if port.isdecimal() else None


class Tunnel(asyncio.Protocol):
    """Asks a proxy for a tunnel and waits for its word; then the transport is handed on to TLS."""

    def __init__(self, origin: Origin, proxy: Proxy, settled: asyncio.Future[str | None]) -> None:
        authority = origin.authority.encode("ascii")
        self._request = b"CONNECT %b HTTP/1.1\r\nhost: %b\r\n%b\r\n" % (authority, authority, proxy.header)
        self._head = b""
        self.settled = settled  # what is wrong, or None: the tunnel is open

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)  # uvloop's are none by class

    def data_received(self, data: bytes) -> None:
        self._head += data
        end = _HEAD_END.search(self._head)
        if end is not None:
            self._settle(self._judge(end.end()))
        elif len(self._head) > MAX_TUNNEL_HEAD:
            self._settle("the proxy's answer is too large")

    def eof_received(self) -> None:
        self._settle("the proxy closed the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle("the proxy closed the connection")

    def _judge(self, end: int) -> str | None:
        status = _STATUS.match(self._head)
        if status is None:
            return "the proxy did not answer in HTTP"
        if not status[1].startswith(b"2"):
            return f"the proxy refused the tunnel with status {status[1].decode()}"
        # In TLS the client speaks first: anything here comes from the proxy, not from the origin.
        return "the proxy sent data of its own" if len(self._head) > end else None

    def _settle(self, fault: str | None) -> None:
        if not self.settled.done():
            self.settled.set_result(fault)
