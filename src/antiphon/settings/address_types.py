"""Kinds of values that name a place: addresses to listen on, URLs, origins, header names, files."""

from __future__ import annotations

import os
import re
import ssl
import stat
from urllib.parse import urlsplit

from antiphon.http.origin import parse_url
from antiphon.settings.faults import Wrong, printable, quoted
from antiphon.settings.model import Address
from antiphon.settings.secret import reason, resolve
from antiphon.settings.value_types import Site, ValueType, need_text

HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
ADDRESS_6 = re.compile(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?")
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 §5.6.2
GGUF = b"GGUF"  # how a model file begins (ggml's docs/gguf.md, "File Structure")
LONGEST_SOCKET = 107  # sun_path of Linux holds 108 bytes, the last one is NUL (unix(7))
# Not a client's to set upstream: the connection's own (RFC 9110 §7.6.1), what the gateway writes itself, and what would
# carry the client's key away [client-headers].
KEPT_HEADERS = frozenset(
    {
        *("connection", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "proxy-authenticate", "proxy-authorization"),
        *("accept", "accept-encoding", "content-encoding", "content-length", "content-type", "expect", "host"),
        *("api-key", "authorization", "x-api-key"),
    }
)


def _read_address(value: object, site: Site) -> Address:
    text = need_text(value, "a string such as '127.0.0.1:8080' or 'unix:/run/antiphon.sock'")
    if text.startswith("unix:"):
        return Address(unix=_socket_path(text.removeprefix("unix:"), site))
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        raise Wrong(f"must be host:port or unix:/path, not {quoted(text)}")
    if len(port) > 5 or int(port) > 65535:
        raise Wrong(f"has the port {printable(port, 20)}; ports go from 0 to 65535")
    return Address(_host(host, port), int(port))


def _read_control(value: object, site: Site) -> Address | None:
    return None if value == "off" else _read_address(value, site)


def _socket_path(name: str, site: Site) -> str:
    path = resolve(name, site.environ, site.folder)
    if not name or "\0" in name:
        raise Wrong("says 'unix:' without a usable path")
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        raise Wrong(f"has a socket path longer than {LONGEST_SOCKET} bytes, the system's limit")
    return path


def _host(host: str, port: str) -> str:
    if not host or host == "*":
        raise Wrong(f"needs a host; write '0.0.0.0:{port}' for every IPv4 address of this machine")
    if host.startswith("[") and host.endswith("]") and ADDRESS_6.fullmatch(host[1:-1]) and ":" in host:
        return host[1:-1]
    if ":" in host and ADDRESS_6.fullmatch(host):
        raise Wrong(f"must write an IPv6 address in brackets: '[{host}]:{port}'")
    if not HOST.fullmatch(host):
        raise Wrong(f"has {quoted(host)}, which is no host name or address")
    return host


def _read_url(value: object, site: Site) -> str:
    """The base URL of an upstream. No message quotes it: it may hold what its writer should have hidden."""
    text = need_text(value)
    if not text.isprintable() or " " in text:
        raise Wrong("must not hold spaces or control characters")
    if not text.lower().startswith(("http://", "https://", "http+unix://", "unix:/")):
        raise Wrong("must begin with http:// or https:// (or unix:/path, for a socket)")
    try:
        parts = urlsplit(text)
        origin, prefix = parse_url(text)
    except ValueError:
        raise Wrong(_what_is_wrong(text)) from None
    if origin.unix and len(os.fsencode(origin.unix)) > LONGEST_SOCKET:
        raise Wrong(f"has a socket path longer than {LONGEST_SOCKET} bytes, the system's limit")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise Wrong(_what_is_wrong(text))
    if prefix.endswith(b"/chat/completions"):
        raise Wrong("must be the base URL, without /chat/completions")
    return text.rstrip("/")


def _what_is_wrong(text: str) -> str:
    authority, _, _ = text.partition("//")[2].partition("/")
    if "@" in authority:
        return "must not hold a user or password; use 'credential'"
    if "?" in text or "#" in text:
        return "must end with its path, without '?' or '#'"
    return "is not a URL with a usable host and port"


def _read_origin(value: object, site: Site) -> str:
    """What a browser sends as Origin (RFC 6454 §6.1)."""
    text = need_text(value)
    if text in ("*", "null"):
        return text
    scheme, separator, host = text.rpartition("://")
    if not separator or not TOKEN.fullmatch(scheme) or not re.fullmatch(r"[\x21-\x7e]+", host) or "/" in host:
        raise Wrong(f"must hold '*' or origins such as 'https://app.example', without a path, not {quoted(text)}")
    return text.lower()


def _read_header(value: object, site: Site) -> str:
    name = need_text(value).lower()
    if not TOKEN.fullmatch(name):
        raise Wrong(f"has {quoted(name)}, which is no header name")
    if name in KEPT_HEADERS:
        raise Wrong(f"must not name '{name}', which is not the client's to set upstream")
    return name


def _read_file(value: object, site: Site) -> str:
    name = need_text(value, "the path of a file")
    path = resolve(name, site.environ, site.folder)
    try:
        with open(path, "rb"):
            return path
    except (OSError, ValueError) as error:
        raise Wrong(f"refers to the file {printable(name)}: {reason(error)}") from None


def _read_model_file(value: object, site: Site) -> str:
    """Absolute, because another process opens it. Its first bytes are looked at; the engine finds any other fault."""
    name = need_text(value, "the path of a GGUF file")
    path = os.path.abspath(resolve(name, site.environ, site.folder))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would be to wait
            raise Wrong(f"refers to {quoted(name)}, which is not a file")
        with open(path, "rb") as file:
            magic = file.read(len(GGUF))
    except (OSError, ValueError) as error:
        raise Wrong(f"refers to the file {printable(name)}: {reason(error)}") from None
    if magic != GGUF:
        raise Wrong(f"refers to the file {printable(name)}, which is not a GGUF model")
    return path


def _read_folder(value: object, site: Site) -> str:
    """One that is there, or can be made when it is needed."""
    name = need_text(value)
    if not name or "\0" in name:
        raise Wrong("must be the path of a folder")
    path = os.path.abspath(resolve(name, site.environ, site.folder))
    if os.path.exists(path) and not os.path.isdir(path):
        raise Wrong(f"refers to {quoted(name)}, which is not a folder")
    return path


def _read_authorities(value: object, site: Site) -> str:
    path = _read_file(value, site)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        raise Wrong("refers to a file that holds no PEM certificate") from None
    return path


def _read_log(value: object, site: Site) -> str:
    text = need_text(value, "'-', 'off' or the path of a file")
    if text in ("-", "off"):
        return text
    path = resolve(text, site.environ, site.folder)
    if not text or "\0" in text:
        raise Wrong(f"refers to {quoted(text)}, which is no file in an existing folder")
    new = not os.path.lexists(path)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o640))
        if new:
            os.unlink(path)
    except (OSError, ValueError) as error:
        raise Wrong(f"refers to {quoted(text)}, which cannot be written: {reason(error)}") from None
    return path


ADDRESS = ValueType(_read_address)
CONTROL = ValueType(_read_control)
URL = ValueType(_read_url)
ORIGIN = ValueType(_read_origin)
HEADER = ValueType(_read_header)
FILE = ValueType(_read_file)
MODEL_FILE = ValueType(_read_model_file)
FOLDER = ValueType(_read_folder)
AUTHORITIES = ValueType(_read_authorities)
LOG = ValueType(_read_log)
