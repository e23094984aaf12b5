"""What this machine's settings say of the package index: where it is, whom to trust, which proxy, which login.

Read are the files and variables of uv and pip, so that who has set up either has set up Antiphon. Standard library
only: `tools/` reads them before anything is installed. Logins are never printed.
"""

from __future__ import annotations

import configparser
import netrc
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PYPI = "https://pypi.org/simple"
INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
OFF_VARIABLES = ("UV_OFFLINE", "UV_NO_INDEX", "PIP_NO_INDEX")
CA_VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
CA_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
TIMEOUT_VARIABLES = ("UV_HTTP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_TIMEOUT")
TIMEOUT = 30.0  # seconds without a byte
LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")


def configured_index(environ: Mapping[str, str]) -> str | None:
    """The index that the settings name: variables before files, uv's before pip's; None when they name none."""
    for variable in INDEX_VARIABLES:
        if value := environ.get(variable, "").strip():
            # uv's form may carry a name: `name=https://…`
            return re.sub(r"^[A-Za-z0-9_.-]+=(?=https?://)", "", value).rstrip("/")
    named = _uv_index(environ) or pip_setting(environ, "index-url")
    return named.rstrip("/") if named else None


def is_foreign(index: str | None) -> bool:
    return index is not None and urlsplit(index).hostname != urlsplit(PYPI).hostname


def index_is_off(environ: Mapping[str, str]) -> bool:
    """The settings say that no index is to be asked: an offline machine, or one with wheels in a folder."""
    words = [environ.get(variable) for variable in OFF_VARIABLES] + [pip_setting(environ, "no-index")]
    return any(_is_true(word) for word in words)


def timeout(environ: Mapping[str, str]) -> float:
    words = [environ.get(variable, "") for variable in TIMEOUT_VARIABLES]
    seconds = [float(word) for word in words if re.fullmatch(r"\d{1,4}(\.\d+)?", word)]
    return next((value for value in seconds if value > 0), TIMEOUT)


def ca_file(environ: Mapping[str, str]) -> str | None:
    """The certificates to trust: what the user names, else the system's own bundle (uv and pip carry others)."""
    named = [environ.get(variable) for variable in CA_VARIABLES] + [pip_setting(environ, "cert")]
    return next((path for path in (*named, *CA_BUNDLES) if path and Path(path).is_file()), None)


def proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """By scheme: what pip is told for itself, else the variables that everybody reads."""
    if own := environ.get("PIP_PROXY") or pip_setting(environ, "proxy"):
        return {"http": own, "https": own}
    found = {}
    for scheme in ("http", "https"):
        names = (f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY")
        if proxy := next((environ[name] for name in names if name in environ), ""):
            found[scheme] = proxy
    return found


def login(environ: Mapping[str, str], host: str) -> tuple[str, str] | None:
    """The name and password that netrc gives for a host, as uv and pip would take them from it."""
    home = environ.get("HOME") or "/nonexistent"
    named = environ.get("NETRC")
    for path in [named] if named else [f"{home}/.netrc", f"{home}/_netrc"]:
        try:
            found = netrc.netrc(path).hosts.get(host)
        except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
            continue
        if found:
            return found[0], found[2] or ""
    return None


def without_logins(text: str) -> str:
    return LOGIN_IN_URL.sub("", text)


# uv's files


def _uv_index(environ: Mapping[str, str]) -> str | None:
    for path in _uv_files(environ):
        try:
            settings = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if index := _uv_default(settings):
            return index
    return None


def _uv_default(settings: dict[str, Any]) -> str | None:
    rows = settings.get("index")
    chosen = [row.get("url") for row in rows if isinstance(row, dict) and row.get("default")] if rows else []
    named = [url for url in (*chosen, settings.get("index-url")) if isinstance(url, str)]
    return named[0] if named else None


def _uv_files(environ: Mapping[str, str]) -> list[Path]:
    """The user's before the system's; a file named by variable stands for both."""
    if _is_true(environ.get("UV_NO_CONFIG")):
        return []
    if named := environ.get("UV_CONFIG_FILE"):
        return [Path(named)]
    folders = [_own_folder(environ), *_shared_folders(environ), Path("/etc")]
    return [folder / "uv" / "uv.toml" for folder in folders]


# pip's files


def pip_setting(environ: Mapping[str, str], key: str) -> str | None:
    """One value of pip's configuration files; later files and `[install]` win, as in pip."""
    found = None
    for path in _pip_files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, configparser.Error, UnicodeDecodeError):
            continue
        for section in ("global", "install"):
            found = parser.get(section, key, fallback=found)
    return found


def _pip_files(environ: Mapping[str, str]) -> list[Path]:
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    home = Path(environ.get("HOME") or "/nonexistent")
    shared = [folder / "pip" / "pip.conf" for folder in _shared_folders(environ)]
    files = [*shared, Path("/etc/pip.conf"), home / ".pip" / "pip.conf", _own_folder(environ) / "pip" / "pip.conf"]
    return [*files, Path(named)] if named else files


def _own_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or "/nonexistent") / ".config")


def _shared_folders(environ: Mapping[str, str]) -> list[Path]:
    return [Path(root) for root in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if root]


def _is_true(word: str | None) -> bool:
    return (word or "").strip().lower() in ("1", "true", "yes", "on", "y", "t")
