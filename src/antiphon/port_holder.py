"""Who listens on an address that is in use, as far as this user may know (proc(5)): Linux only, never raises."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

from antiphon.settings.model import Address

LISTENING: Final = "0A"  # of /proc/net/tcp
ACCEPTS: Final = 0x10000  # a flag of /proc/net/unix
IpAddress = IPv4Address | IPv6Address


def find_holder(address: Address) -> str | None:
    """As "antiphon, process 1234"."""
    try:
        inodes = set(_unix(address.unix) if address.unix is not None else _tcp(address.host, address.port))
        return _describe(inodes) if inodes else None
    except (OSError, ValueError, IndexError):
        return None


def _tcp(host: str, port: int) -> Iterator[str]:
    """The inodes of sockets that listen there."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    wanted = ip_address(str(found[0][4][0]).partition("%")[0])
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in _rows(table):
            place, _, number = row[1].partition(":")
            if row[3] == LISTENING and int(number, 16) == port and _overlap(wanted, _parse(place)):
                yield row[9]


def _unix(path: str) -> Iterator[str]:
    for row in _rows("/proc/net/unix"):
        if len(row) >= 8 and int(row[3], 16) & ACCEPTS and " ".join(row[7:]) == path:
            yield row[6]


def _rows(table: str) -> list[list[str]]:
    try:
        lines = Path(table).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # no IPv6 here, for instance
        return []
    return [line.split() for line in lines[1:]]


def _parse(place: str) -> IpAddress:
    """Words of 32 bits, as this machine's memory holds them: little-endian wherever we run."""
    data = bytes.fromhex(place)
    return ip_address(b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4)))


def _overlap(one: IpAddress, other: IpAddress) -> bool:
    one, other = _plain(one), _plain(other)
    if one == other:
        return True
    same = one.version == other.version
    return any(each.is_unspecified and (same or each.version == 6) for each in (one, other))


def _plain(address: IpAddress) -> IpAddress:
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _describe(inodes: set[str]) -> str | None:
    """Of a process and its children that share the socket, the first one."""
    holders = [pid for pid in _processes() if _holds(pid, inodes)]
    for pid in holders:
        if _parent(pid) not in holders:
            return f"{_name(pid)}, process {pid}"
    return None


def _processes() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def _holds(pid: int, inodes: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:  # another user's, or just ended
        return False
    return any(_target(f"{folder}/{each}") in inodes for each in descriptors)


def _target(link: str) -> str | None:
    """The inode of a socket."""
    try:
        target = os.readlink(link)
    except OSError:
        return None
    return target[len("socket:[") : -1] if target.startswith("socket:[") else None


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _name(pid: int) -> str:
    """The program's name alone: its arguments may hold secrets. Of a Python program, the script or module."""
    name = Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    if name.startswith("python"):
        words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")
        script = next((word for word in words[1:] if word and not word.startswith("-")), "")
        name = os.path.basename(script) or name
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name[:40])
