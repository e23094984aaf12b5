"""Who is at the other end of a client's connection: its address, the proxy before it, its certificate.

Made once per connection. Whom a request comes from is read from its headers only where this address is a trusted proxy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from antiphon.http.forwarded import UNIX, TrustedProxies

SHOWN: Final = 256  # characters of a certificate's names
MAPPED: Final = "::ffff:"  # an IPv4 address as a socket for both families shows it
# RFC 4514 §3; any other attribute keeps OpenSSL's name.
SHORT_NAMES: Final = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}


class Remote(Struct, eq=False):
    address: str  # "192.0.2.1", "2001:db8::1" or "unix"; as the PROXY header says, where there is one
    socket: str  # of the socket's other end; differs behind a proxy that sends the PROXY header
    subject: str | None = None  # of the client's certificate, which was verified
    names: str | None = None  # its subject alternative names
    trusted: TrustedProxies | None = None  # None: this address speaks for itself only
    is_plain: bool = True  # there is nothing to say of it but its address

    def client(self, headers: Mapping[bytes, bytes]) -> str:
        """The address of the client that sent a request with these headers."""
        return self.address if self.trusted is None else self.trusted.find_client(self.address, headers)


def remote_of(transport: asyncio.BaseTransport, declared: str | None, trusted: TrustedProxies) -> Remote:
    """`declared`: the address in the PROXY header."""
    socket = bare_address(transport.get_extra_info("peername"))
    remote = Remote(declared or socket, socket)
    if trusted.holds(remote.address):
        remote.trusted = trusted
    certificate = transport.get_extra_info("peercert")
    if certificate:
        remote.subject = distinguished_name(certificate.get("subject", ()))[:SHOWN]
        remote.names = ", ".join(f"{kind}:{name}" for kind, name in certificate.get("subjectAltName", ()))[:SHOWN]
    remote.is_plain = remote.trusted is None and remote.address == socket and not certificate
    return remote


def bare_address(address: object) -> str:
    """Of a socket's address, without the port."""
    if not isinstance(address, tuple):
        return UNIX
    host = str(address[0])
    return host[len(MAPPED) :] if host.startswith(MAPPED) and "." in host else host


def distinguished_name(subject: Sequence[Sequence[tuple[str, Any]]]) -> str:
    """A subject as ssl gives it -> "CN=app,O=Example" (RFC 4514: the most specific first)."""
    parts = ["+".join(f"{SHORT_NAMES.get(name, name)}={escaped(str(value))}" for name, value in row) for row in subject]
    return ",".join(reversed(parts))


def escaped(value: str) -> str:
    """RFC 4514 §2.4."""
    text = "".join(f"\\{letter}" if letter in '\\"+,;<>' else letter for letter in value)
    if text[-1:] == " ":
        text = text[:-1] + "\\ "
    return f"\\{text}" if text[:1] in (" ", "#") else text
