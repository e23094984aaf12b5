"""The PROXY protocol, versions 1 and 2 (HAProxy's proxy-protocol.txt): before the first byte of a connection stands a
header in which a load balancer names the client.

The header is read from the socket itself, and not one byte more: what follows it, TLS or HTTP, is not ours to read.
"""

from __future__ import annotations

import asyncio
import re
import socket
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from antiphon.http.forwarded import UNIX

V1: Final = b"PROXY "
V1_LONGEST: Final = 107  # bytes, with CRLF (§2.1)
V1_LINE: Final = re.compile(
    r"PROXY (TCP4|TCP6) ([0-9A-Fa-f.:]+) ([0-9A-Fa-f.:]+) (0|[1-9][0-9]{0,4}) (0|[1-9][0-9]{0,4})"
)
V1_UNKNOWN: Final = re.compile(r"PROXY UNKNOWN(?: [ -~]*)?")
V2: Final = b"\r\n\r\n\x00\r\nQUIT\n"
V2_FIXED: Final = 16  # bytes before the addresses
LONGEST: Final = 4096  # bytes of a header, with all its TLVs; as nginx
V2_LOCAL, V2_PROXY = 0x20, 0x21  # version and command
AF_INET, AF_INET6, AF_UNIX = 1, 2, 3
ADDRESS_BYTES: Final = (0, 12, 36, 216)  # of each family, from AF_UNSPEC on
UNSPEC, DATAGRAM = 0, 2  # transports


class ProxyHeaderError(Exception):
    """A connection that does not begin with a header that can be read."""


async def receive_header(sock: socket.socket, seconds: float) -> str | None:
    """Takes the header off a connection. -> the client's address, or None where the connection speaks for itself."""
    header = b""
    try:
        async with asyncio.timeout(seconds):
            while True:
                await _readable(sock)
                try:
                    seen = sock.recv(LONGEST - len(header), socket.MSG_PEEK)
                except BlockingIOError:
                    continue
                if not seen:
                    raise ProxyHeaderError("it ended before the PROXY protocol header was complete")
                size = header_size(header + seen)
                # As long as the header's end is not known, or not here, all that is here belongs to it.
                header += sock.recv(len(seen) if size is None else min(len(seen), size - len(header)))
                if len(header) == size:
                    return read_header(header)
    except TimeoutError:
        raise ProxyHeaderError("the PROXY protocol header did not arrive in time") from None


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)


def header_size(seen: bytes) -> int | None:
    """How long the header is that begins so. None: not to be known yet, and all of `seen` belongs to it."""
    if seen.startswith(V1):
        end = seen.find(b"\r\n", 0, V1_LONGEST)
        if end < 0 and len(seen) >= V1_LONGEST:
            raise ProxyHeaderError(f"its PROXY protocol header is longer than {V1_LONGEST} bytes")
        return None if end < 0 else end + 2
    if seen.startswith(V2):
        if len(seen) < V2_FIXED:
            return None
        size = V2_FIXED + int.from_bytes(seen[14:16])
        if size > LONGEST:
            raise ProxyHeaderError(f"its PROXY protocol header is longer than {LONGEST} bytes")
        return size
    if V1.startswith(seen) or V2.startswith(seen):
        return None
    raise ProxyHeaderError("it does not begin with a PROXY protocol header")


def read_header(header: bytes) -> str | None:
    """A whole header. -> the client's address, or None where it names none (LOCAL, UNKNOWN, UNSPEC)."""
    address = _read_binary(header) if header.startswith(V2) else _read_line(header)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return None if address is None else str(mapped or address)


def _read_line(header: bytes) -> IPv4Address | IPv6Address | None:
    line = header[:-2].decode("latin-1")
    if V1_UNKNOWN.fullmatch(line):
        return None
    found = V1_LINE.fullmatch(line)
    try:
        if found is None or int(found[4]) > 65535 or int(found[5]) > 65535:
            raise ValueError
        family = IPv4Address if found[1] == "TCP4" else IPv6Address
        family(found[3])
        return family(found[2])
    except ValueError:
        raise ProxyHeaderError("its PROXY protocol header is malformed") from None


def _read_binary(header: bytes) -> IPv4Address | IPv6Address | str | None:
    command, family, transport = header[12], header[13] >> 4, header[13] & 15
    if command == V2_LOCAL:  # the proxy's own connection, such as a health check; the rest says nothing (§2.2)
        return None
    if command != V2_PROXY or family > AF_UNIX or transport > DATAGRAM:
        raise ProxyHeaderError("its PROXY protocol header has an unknown version, command or family")
    if len(header) - V2_FIXED < ADDRESS_BYTES[family]:
        raise ProxyHeaderError("its PROXY protocol header is too short for its addresses")
    if transport == UNSPEC:
        return None
    if family == AF_INET:
        return IPv4Address(header[16:20])
    if family == AF_INET6:
        return IPv6Address(header[16:32])
    return UNIX if family == AF_UNIX else None
