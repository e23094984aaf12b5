"""The package index: which files a project has there, and their bytes, by the standard library alone.

`tools/` brings uv from here where Python has neither venv nor pip; `fetch` brings the model. Both run before, or
without, anything installed.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, urlunsplit

from antiphon.supply.index_settings import ca_file, login, proxies, timeout

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.5, text/html;q=0.1"
LARGEST_PAGE = 64 * 1024 * 1024
PIECE = 64 * 1024
PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses of a moment


class PackageIndexFault(Exception):
    """The index could not be read, or did not give what it promised."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class Unreachable(PackageIndexFault):
    """No connection. At the start this is how a machine without network looks; later it may be a moment's trouble."""


class Dropped(PackageIndexFault):
    """A connection that ended too early, or a server's passing trouble: worth another try."""


@dataclass(frozen=True, slots=True)
class IndexFile:
    name: str
    url: str
    sha256: str  # "": the index does not say
    size: int | None = None


class Index:
    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        try:
            parts = urlsplit(url)
            self.host, _ = parts.hostname or "", parts.port
        except ValueError:  # its text may hold a piece of a password
            raise PackageIndexFault("the address of the package index is not a URL") from None
        self.url = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")
        own = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
        self._proxies = proxies(environ)
        self._opener = _opener(environ, self._proxies, _Logins(environ, self.host, parts.scheme, own))
        self._timeout = timeout(environ)

    def files(self, project: str) -> list[IndexFile]:
        """What the project's page lists, as JSON (PEP 691) or HTML (PEP 503)."""
        with self.open(f"{self.url}/{project}/", {"Accept": ACCEPT}) as answer:
            body = b"".join(pieces(answer, LARGEST_PAGE))
            kind, base = answer.headers.get_content_type(), answer.url
        if "json" in kind:
            return self._rows(body, base)
        links = _Links(base)
        links.feed(body.decode("utf-8", "replace"))
        return links.files

    def _rows(self, body: bytes, base: str) -> list[IndexFile]:
        try:
            rows = json.loads(body)["files"]
            return [
                IndexFile(r["filename"], urljoin(base, r["url"]), r["hashes"].get("sha256", ""), r.get("size"))
                for r in rows
            ]
        except (ValueError, LookupError, TypeError, AttributeError):
            raise PackageIndexFault(f"{self.host} gave a page that is not an index page") from None

    @contextmanager
    def open(self, url: str, headers: dict[str, str]) -> Iterator[HTTPResponse]:
        """An answer with status 200 or 206, its body unread."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise PackageIndexFault(f"{self.host or 'the package index'} names an address that is not http or https")
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 (scheme checked above)
        try:
            answer = self._opener.open(request, timeout=self._timeout)
        except HTTPError as error:
            error.close()
            raise _status_fault(parts.hostname, error.code) from None
        except URLError as error:
            proxied = parts.scheme in self._proxies and not urllib.request.proxy_bypass(parts.hostname or "")
            raise Unreachable(f"{parts.hostname}{' through a proxy' * proxied}: {_reason(error)}") from error
        except (OSError, HTTPException) as error:
            raise Dropped(f"{parts.hostname}: {_reason(error)}") from error
        except ValueError:
            raise PackageIndexFault(f"{parts.hostname}: the address or the proxy's is not a URL") from None
        with answer:
            yield answer


def pieces(answer: HTTPResponse, most: int | None = None) -> Iterator[bytes]:
    """The body as it comes, never more of it in memory than a piece. A short one is the caller's to notice."""
    count = 0
    while True:
        try:
            piece = answer.read1(PIECE)
        except (OSError, HTTPException) as error:
            raise Dropped(f"{urlsplit(answer.url).hostname}: {_reason(error)}") from error
        if not piece:
            return
        count += len(piece)
        if most is not None and count > most:
            raise PackageIndexFault(
                f"{urlsplit(answer.url).hostname} sends more than the {most} bytes that are expected"
            )
        yield piece


def _status_fault(host: str | None, status: int) -> PackageIndexFault:
    try:
        reason = f"{host} answered {status} {HTTPStatus(status).phrase}"
    except ValueError:
        reason = f"{host} answered {status}"
    return Dropped(reason, status) if status in PASSING else PackageIndexFault(reason, status)


def _reason(error: object) -> str:
    if isinstance(error, URLError):
        return _reason(error.reason)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip()


def _opener(
    environ: Mapping[str, str], by_scheme: dict[str, str], logins: urllib.request.BaseHandler
) -> urllib.request.OpenerDirector:
    """http and https only: no other scheme is followed, wherever a redirection leads."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(by_scheme),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=_tls(environ)),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        logins,
    ):
        opener.add_handler(handler)
    return opener


def _tls(environ: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if bundle := ca_file(environ):
        try:
            context.load_verify_locations(cafile=bundle)
        except OSError:
            raise PackageIndexFault(f"the certificates in {bundle} cannot be read") from None
    return context


class _Logins(urllib.request.BaseHandler):
    """Gives each host its own login and no other: a redirection elsewhere does not take the index's along."""

    def __init__(self, environ: Mapping[str, str], host: str, scheme: str, own: tuple[str, str] | None) -> None:
        self._environ = environ
        self._host = host
        self._scheme = scheme
        self._own = own

    def http_request(self, request: urllib.request.Request) -> urllib.request.Request:
        parts = urlsplit(request.full_url)
        found = self._own if parts.hostname == self._host and parts.scheme in (self._scheme, "https") else None
        found = found or login(self._environ, parts.hostname or "")
        if found:
            token = base64.b64encode(":".join(found).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        return request

    https_request = http_request


class _Links(HTMLParser):
    """PEP 503: every anchor is a file; its digest is the fragment of the link."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.files: list[IndexFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        href = dict(attrs).get("href")
        if tag != "a" or not href:
            return
        url, fragment = urldefrag(urljoin(self.base, href))
        digest = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        self.files.append(IndexFile(unquote(url.rsplit("/", 1)[-1]), url, digest))
