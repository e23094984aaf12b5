"""Trusted proxies: which addresses may say for whom they ask, and how they say it.

Each proxy adds, at the right, the address that it was asked by. So the list is read from the right: the first address
that is not a trusted proxy's is the client's. What stands further left, anyone may have written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, NamedTuple

UNIX: Final = "unix"
X_FORWARDED_FOR: Final = "x-forwarded-for"
FORWARDED: Final = "forwarded"
MOST_HOPS: Final = 32
LONGEST: Final = 4096  # bytes at the end of a header that are looked at
LONGEST_HOP: Final = 64  # characters; no address has more
KNOWN: Final = 4096  # addresses that are remembered

# One element of Forwarded (RFC 7239 §4). Many proxies write addresses without the quotes that it asks for.
WORD: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~:\[\]-]+"
QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
PAIR: Final = rf"([A-Za-z0-9!#$%&'*+.^_`|~-]+)=({WORD}|{QUOTED})"
PAIRS: Final = re.compile(PAIR)
ELEMENT: Final = re.compile(rf"[ \t]*{PAIR}[ \t]*(?:;[ \t]*{PAIR}[ \t]*)*(?:;[ \t]*)?")
PORT: Final = re.compile(r"(?::[0-9]{1,5})?")


class Hop(NamedTuple):
    address: str
    is_trusted: bool


class TrustedProxies:
    def __init__(self, networks: Iterable[str] = (), header: str | None = None) -> None:
        """`networks`: "10.0.0.0/8", "2001:db8::/32", or "unix" for who comes through a unix socket. `header`: the one
        that is believed; None: X-Forwarded-For, or Forwarded where there is no such header."""
        words = list(networks)
        self._unix = UNIX in words
        self._networks = [ip_network(word) for word in words if word != UNIX]
        names = [header] if header is not None else [X_FORWARDED_FOR, FORWARDED]
        self._headers = [name.encode() for name in names]
        # To read an address and look for it in networks takes 10 us and more; a proxy's clients come again and again.
        self._known = lru_cache(KNOWN)(self._judge)

    def holds(self, address: str) -> bool:
        if address == UNIX:
            return self._unix
        if not self._networks:
            return False
        known = self._judge(address.partition("%")[0])  # a link-local address has a zone
        return known is not None and known.is_trusted

    def find_client(self, proxy: str, headers: Mapping[bytes, bytes]) -> str:
        """For whom a trusted proxy asks. What is no address ends the search: nobody can say what stands behind it."""
        client = proxy
        for text in self._hops(headers):
            hop = self._known(text) if len(text) <= LONGEST_HOP else None
            if hop is None:
                break
            client = hop.address
            if not hop.is_trusted:
                break
        return client

    def _judge(self, text: str) -> Hop | None:
        address = read_address(text)
        if address is None:
            return None
        return Hop(str(address), any(address in network for network in self._networks))

    def _hops(self, headers: Mapping[bytes, bytes]) -> Iterator[str]:
        """What the proxies have written, the last one first."""
        for name in self._headers:
            if name in headers:
                value = headers[name][-LONGEST:].decode("latin-1")
                return read_forwarded(value) if name == b"forwarded" else read_list(value)
        return iter(())


def read_list(value: str) -> Iterator[str]:
    """The parts of X-Forwarded-For, from the right."""
    for part in reversed(value.rsplit(",", MOST_HOPS)[-MOST_HOPS:]):
        if part.strip():
            yield part.strip()


def read_forwarded(value: str) -> Iterator[str]:
    """The `for` of each element of Forwarded, from the right; "" where it has none. A malformed element is the end.

    A quoted string may hold a comma. From the right the last proxy's element is always found, whatever a client has
    written before it.
    """
    end = start = len(value)
    for _ in range(MOST_HOPS):
        start = value.rfind(",", 0, start)
        element = value[start + 1 : end]
        if not element.strip():
            end = start
        elif ELEMENT.fullmatch(element):
            end = start
            yield _for(element)
        if start < 0:
            break


def _for(element: str) -> str:
    found: list[str] = [value for name, value in PAIRS.findall(element) if name.lower() == "for"]
    if len(found) != 1:
        return ""
    text = found[0]
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text


def read_address(text: str) -> IPv4Address | IPv6Address | None:
    """An address, perhaps with a port. None: it is none ("unknown", "_hidden", a name)."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
    elif text.count(":") == 1:
        host, colon, port = text.partition(":")
        rest = colon + port
    else:
        host, rest = text, ""
    if "%" in host or not PORT.fullmatch(rest):
        return None
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
