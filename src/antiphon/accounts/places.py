"""Where accounts are kept: the URL of a store, and the folders of this user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit

FORMS: Final = "'sqlite:///PATH', 'postgresql://USER@HOST/DATABASE' or 'memory:'"
MEMORY: Final = "memory:"
SQLITE: Final = "sqlite:///"


def check_url(url: str) -> None:
    """ValueError says what is wrong and quotes nothing: a URL may hold a password."""
    scheme, colon, rest = url.partition(":")
    if url == MEMORY:
        return
    if scheme == "sqlite" and colon:
        if not rest.startswith("///") or len(rest) <= 3 or "?" in rest or "#" in rest or "\0" in rest:
            raise ValueError("must name a file as 'sqlite:///PATH': three slashes, then the path")
        return
    if scheme not in ("postgres", "postgresql"):
        raise ValueError(f"must be {FORMS}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("has a port that is none") from None
    if not rest.startswith("//") or (parts.netloc and not parts.hostname) or port == 0:
        raise ValueError("must be written 'postgresql://USER@HOST/DATABASE'")
    if len(parts.path) < 2:
        raise ValueError("must name a database: 'postgresql://USER@HOST/DATABASE'")


def sqlite_path(url: str) -> str:
    """As SQLAlchemy has it: behind the third slash. `sqlite:///a.db` is relative, `sqlite:////a.db` is not."""
    return url.removeprefix(SQLITE)


def default_url(environ: Mapping[str, str]) -> str:
    """Where nothing is set: a file of this user. ValueError: there is no home directory."""
    return SQLITE + os.path.join(data_folder(environ), "accounts.db")


def data_folder(environ: Mapping[str, str]) -> str:
    """$XDG_DATA_HOME/antiphon; a relative value is ignored, as the XDG Base Directory Specification says."""
    return _xdg(environ, "XDG_DATA_HOME", ".local/share")


def state_folder(environ: Mapping[str, str]) -> str:
    """$XDG_STATE_HOME/antiphon: where the journal lies."""
    return _xdg(environ, "XDG_STATE_HOME", ".local/state")


def state_name(url: str) -> str:
    """Tells the files of different stores apart. Of a server its password does not count: it may change."""
    if url.startswith(SQLITE) or url == MEMORY:
        named = url
    else:
        parts = urlsplit(url)
        named = f"{parts.hostname}:{parts.port or 5432}{parts.path}?{parts.query}"
    return blake2b(named.encode(), digest_size=6).hexdigest()


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> str:
    named = environ.get(variable, "")
    if named.startswith("/"):
        return os.path.join(named, "antiphon")
    home = environ.get("HOME") or os.path.expanduser("~")
    if not home.startswith("/"):
        raise ValueError(f"there is no home directory to keep accounts in: set {variable}, or [accounts] store")
    return os.path.join(home, default, "antiphon")
