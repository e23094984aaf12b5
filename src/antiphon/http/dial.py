"""Making one connection: TCP or unix socket, straight or through a proxy, with TLS or without.

The only coroutine of the client. What can go wrong is told as a Failure with words that hold no secret.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

from antiphon.http.call import Failure
from antiphon.http.origin import Origin
from antiphon.http.proxy import Proxy, Tunnel, TunnelError


@dataclass(frozen=True, slots=True)
class Dialer:
    origin: Origin
    context: ssl.SSLContext | None
    proxy: Proxy | None
    timeout: float  # the pool's, which is to end a slow handshake; the loop's own must not come first

    async def dial(self, connection: asyncio.Protocol) -> None:
        """Returns when `connection` has its transport; on any exception, cancellation too, nothing is left open."""
        origin, proxy = self.origin, self.proxy
        if origin.unix is not None:
            await asyncio.get_running_loop().create_unix_connection(lambda: connection, origin.unix)
        elif proxy is None:
            await self._reach(connection, origin.host, origin.port, self._name if origin.tls else None)
        elif origin.tls:
            await self._dial_through(proxy, connection)
        else:
            await self._reach(connection, proxy.host, proxy.port, proxy.host if proxy.tls else None)

    @property
    def _name(self) -> str:
        """For SNI and verification: a name in a certificate has no trailing dot."""
        return (self.origin.server_name or self.origin.host).rstrip(".")

    async def _reach(self, protocol: asyncio.Protocol, host: str, port: int, tls_name: str | None) -> asyncio.Transport:
        transport, _ = await asyncio.get_running_loop().create_connection(
            lambda: protocol,
            host,
            port,
            ssl=None if tls_name is None else self.context,
            server_hostname=tls_name,
            ssl_handshake_timeout=None if tls_name is None else self.timeout + 60.0,
        )
        return transport

    async def _dial_through(self, proxy: Proxy, connection: asyncio.Protocol) -> None:
        loop = asyncio.get_running_loop()
        assert self.context is not None
        tunnel = Tunnel(self.origin, proxy, loop.create_future())
        transport = await self._reach(tunnel, proxy.host, proxy.port, proxy.host if proxy.tls else None)
        try:
            fault = await tunnel.settled
            if fault is not None:
                raise TunnelError(fault)
            secured = await loop.start_tls(
                transport,
                connection,
                self.context,
                server_hostname=self._name,
                ssl_handshake_timeout=self.timeout + 60.0,
            )
        except BaseException:
            transport.abort()
            raise
        if secured is None:
            raise ConnectionResetError
        connection.connection_made(secured)  # start_tls leaves this to us

    def explain(self, error: Exception) -> tuple[Failure, str]:
        label = self.origin.label
        if isinstance(error, ssl.SSLCertVerificationError):
            return Failure.TLS, f"{label}: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return Failure.TLS, f"{label}: {error.reason or 'the handshake failed'}"
        if isinstance(error, TunnelError):
            return Failure.CONNECT, f"{label}: {error}"
        if isinstance(error, ConnectionResetError | ConnectionAbortedError) and self.origin.tls:
            return Failure.TLS, f"{label}: the connection ended in the handshake"
        if isinstance(error, OSError):
            return Failure.CONNECT, f"{label}: {error.strerror or error}"
        return Failure.CONNECT, f"{label}: {type(error).__name__}"
