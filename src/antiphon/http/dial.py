"""Making one connection: TCP or unix socket, straight or through a proxy, with TLS or without.

The only coroutine of the client. What can go wrong is told as a Failure with words that hold no secret.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import TypedDict

from antiphon.http.call import Failure
from antiphon.http.origin import Origin
from antiphon.http.proxy import Proxy, Tunnel, TunnelError


class _TlsOptions(TypedDict, total=False):
    ssl: ssl.SSLContext
    server_hostname: str
    ssl_handshake_timeout: float


@dataclass(frozen=True, slots=True)
class Dialer:
    origin: Origin
    context: ssl.SSLContext | None
    proxy: Proxy | None
    timeout: float  # the pool's; the loop's own limits on a handshake must not come first

    async def dial(self, connection: asyncio.Protocol) -> None:
        """Returns when `connection` has its transport; on any exception, cancellation too, nothing is left open."""
        loop, origin, proxy = asyncio.get_running_loop(), self.origin, self.proxy
        if origin.unix is not None:
            await loop.create_unix_connection(lambda: connection, origin.unix)
        elif proxy is None:
            tls = self._tls(origin.server_name or origin.host) if origin.tls else {}
            await loop.create_connection(lambda: connection, origin.host, origin.port, **tls)
        elif origin.tls:
            await self._dial_through(proxy, connection)
        else:
            tls = self._tls(proxy.host) if proxy.tls else {}
            await loop.create_connection(lambda: connection, proxy.host, proxy.port, **tls)

    async def _dial_through(self, proxy: Proxy, connection: asyncio.Protocol) -> None:
        loop, origin = asyncio.get_running_loop(), self.origin
        tunnel = Tunnel(origin, proxy, loop.create_future())
        outer = self._tls(proxy.host) if proxy.tls else {}
        transport, _ = await loop.create_connection(lambda: tunnel, proxy.host, proxy.port, **outer)
        try:
            await tunnel.opened
            inner = self._tls(origin.server_name or origin.host)
            context = inner.pop("ssl")
            secured = await loop.start_tls(transport, connection, context, **inner)
        except BaseException:
            transport.abort()
            raise
        if secured is None:
            raise ConnectionResetError
        connection.connection_made(secured)  # start_tls leaves this to us

    def _tls(self, server_name: str) -> _TlsOptions:
        assert self.context is not None
        name = server_name.rstrip(".")  # a name in a certificate has no trailing dot
        return {"ssl": self.context, "server_hostname": name, "ssl_handshake_timeout": self.timeout + 60.0}

    def explain(self, error: Exception) -> tuple[Failure, str]:
        label = self.origin.label
        if isinstance(error, ssl.SSLCertVerificationError):
            return Failure.TLS, f"{label}: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return Failure.TLS, f"{label}: {error.reason or 'the handshake failed'}"
        if isinstance(error, TunnelError):
            return Failure.CONNECT, f"{label}: {error}"
        if isinstance(error, ConnectionResetError | ConnectionAbortedError) and self.context is not None:
            return Failure.TLS, f"{label}: the connection ended in the handshake"
        if isinstance(error, OSError):
            return Failure.CONNECT, f"{label}: {error.strerror or error}"
        return Failure.CONNECT, f"{label}: {type(error).__name__}"
