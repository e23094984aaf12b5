"""The package index that this machine is told to use, and files from it, by the standard library alone.

Needed only where Python has neither venv nor pip. It reads what pip and uv read: their index variables, pip.conf,
the proxy variables (urllib does that by itself) and SSL_CERT_FILE. A file is kept only if its sha256 is the index's.
"""

from __future__ import annotations

import base64
import configparser
import hashlib
import json
import os
import re
import ssl
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

PYPI = "https://pypi.org/simple"
INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
CA_VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
CA_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.5, text/html;q=0.1"
TIMEOUT = 60.0


class IndexFault(Exception):
    """The index could not be read, or did not give what it promised."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    name: str
    url: str
    sha256: str


# Where the index is


def configured_index(environ: Mapping[str, str]) -> str | None:
    """The index that the user's settings name, in the order in which uv and pip would; None when they name none."""
    for variable in INDEX_VARIABLES:
        if value := environ.get(variable):
            # uv's form may carry a name: `name=https://…`
            return re.sub(r"^[A-Za-z0-9_.-]+=(?=https?://)", "", value.strip()).rstrip("/")
    value = pip_setting(environ, "index-url")
    return value.rstrip("/") if value else None


def is_foreign(index: str | None) -> bool:
    return index is not None and urlsplit(index).hostname != urlsplit(PYPI).hostname


def pip_setting(environ: Mapping[str, str], key: str) -> str | None:
    """One value of pip's configuration files; later files and `[install]` win, as in pip."""
    found = None
    for path in pip_files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (OSError, configparser.Error, UnicodeDecodeError):
            continue
        for section in ("global", "install"):
            found = parser.get(section, key, fallback=found)
    return found


def pip_files(environ: Mapping[str, str]) -> list[Path]:
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    home = Path(environ.get("HOME") or "/nonexistent")
    own = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = [Path(root) / "pip" / "pip.conf" for root in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if root]
    files = [*shared, Path("/etc/pip.conf"), home / ".pip" / "pip.conf", own / "pip" / "pip.conf"]
    return [*files, Path(named)] if named else files


# Reading it


class _Links(HTMLParser):
    """PEP 503: every anchor is a file; its digest is the fragment of the link."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.files: list[IndexFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag != "a" or not href:
            return
        url, fragment = urldefrag(urljoin(self.base, href))
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        self.files.append(IndexFile(unquote(url.rsplit("/", 1)[-1]), url, digest))


class Index:
    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname
        self._credentials = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username else None
        self.url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        self._tls = _tls(environ)

    def files(self, project: str) -> list[IndexFile]:
        page = f"{self.url}/{project}/"
        body, kind, base = self._get(page)
        if "json" in kind:
            rows = json.loads(body)["files"]
            return [IndexFile(r["filename"], urljoin(base, r["url"]), r["hashes"].get("sha256", "")) for r in rows]
        links = _Links(base)
        links.feed(body.decode("utf-8", "replace"))
        return links.files

    def fetch(self, file: IndexFile) -> bytes:
        if not file.sha256:
            raise IndexFault(f"the index gives no sha256 for {file.name}")
        body, _, _ = self._get(file.url)
        if hashlib.sha256(body).hexdigest() != file.sha256:
            raise IndexFault(f"{file.name} does not have the sha256 that the index gives")
        return body

    def _get(self, url: str) -> tuple[bytes, str, str]:
        if urlsplit(url).scheme not in ("http", "https"):
            raise IndexFault(f"not an http address: {url}")
        request = urllib.request.Request(url, headers={"Accept": ACCEPT})
        if self._credentials and urlsplit(url).hostname == self.host:
            token = base64.b64encode(":".join(self._credentials).encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT, context=self._tls) as answer:
                return answer.read(), answer.headers.get_content_type(), answer.url
        except OSError as error:
            raise IndexFault(f"{urlsplit(url).hostname}: {error}") from error


def ca_file(environ: Mapping[str, str]) -> str | None:
    """The certificates to trust: what the user names, else the system's own bundle (uv and pip carry others)."""
    named = [environ.get(variable) for variable in CA_VARIABLES] + [pip_setting(environ, "cert")]
    return next((path for path in (*named, *CA_BUNDLES) if path and Path(path).is_file()), None)


def _tls(environ: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if bundle := ca_file(environ):
        context.load_verify_locations(cafile=bundle)
    return context
