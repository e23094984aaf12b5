"""Kinds of values that say how connections are taken: trusted networks, the mode and group of a unix socket, TLS."""

from __future__ import annotations

import grp
import re
import ssl
from ipaddress import ip_interface

from antiphon.settings.faults import Wrong, quoted
from antiphon.settings.model import TlsSettings
from antiphon.settings.secret import reason
from antiphon.settings.value_types import Site, ValueType, name_type, need_text

OCTAL = re.compile(r"(0o?)?[0-7]{3}")
MODE_FORM = "must be written as chmod takes it, such as '0660'"


def _read_network(value: object, site: Site) -> str:
    """A network, an address, or "unix" for those who come through a unix socket."""
    text = need_text(value)
    if text == "unix":
        return text
    try:
        interface = ip_interface(text)
    except ValueError:
        raise Wrong(f"must hold networks such as '10.0.0.0/8', addresses or 'unix', not {quoted(text)}") from None
    if "%" in text:
        raise Wrong(f"has {quoted(text)}; a network has no zone")
    if "/" in text and interface.ip != interface.network.network_address:
        raise Wrong(f"has {quoted(text)}, which is an address inside a network; did you mean '{interface.network}'?")
    return str(interface.network)


def _read_mode(value: object, site: Site) -> int:
    """TOML has octal integers (0o660). In decimal every usual mode is larger than 0o777: 660 is refused."""
    if isinstance(value, str):
        if not OCTAL.fullmatch(value):
            raise Wrong(f"{MODE_FORM}, not {quoted(value)}")
        return int(value.lstrip("0o") or "0", 8)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"{MODE_FORM}, not {name_type(value)}")
    if not 0 <= value <= 0o777:
        raise Wrong(f"{MODE_FORM} (or 0o660), not {value}")
    return value


def _read_group(value: object, site: Site) -> int:
    """A group's name or number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Wrong(f"must be the name or number of a group, not {name_type(value)}")
    text = str(value)
    try:
        return grp.getgrgid(int(text)).gr_gid if text.isascii() and text.isdigit() else grp.getgrnam(text).gr_gid
    except (KeyError, ValueError, OverflowError):
        raise Wrong(f"names the group {quoted(text)}, which this machine does not have") from None


def check_tls(tls: TlsSettings) -> None:
    """The certificate and the key exist; do they belong together?"""
    if tls.client_auth is not None and tls.client_ca is None:
        raise Wrong("has 'client_auth' without 'client_ca', by which clients are known")
    try:
        # A password would be asked for on the terminal; we say that there is none.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.cert, tls.key, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise Wrong("has a key that does not belong to its certificate") from None
        raise Wrong("needs a PEM certificate and its unencrypted PEM key") from None
    except (OSError, ValueError) as error:
        raise Wrong(f"cannot be used: {reason(error)}") from None


NETWORK = ValueType(_read_network)
FILE_MODE = ValueType(_read_mode)
GROUP = ValueType(_read_group)
