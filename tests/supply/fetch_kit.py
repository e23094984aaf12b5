"""A package index on the loopback, and a wheel to fetch from it. It can be slow, forgetful, wrong or cut off."""

from __future__ import annotations

import hashlib
import io
import json
import random
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from antiphon.supply.files import Packaged

CONTENT = random.Random(7).randbytes(300_000)
MEMBER = "llm_small/small.gguf"
WHEEL_NAME = "llm_small-1.0-py3-none-any.whl"
JSON = "application/vnd.pypi.simple.v1+json"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def build_wheel(content: bytes = CONTENT) -> bytes:
    """The same bytes at every call."""
    about = "llm_small-1.0.dist-info"
    files = {
        MEMBER: content,
        f"{about}/METADATA": b"Metadata-Version: 2.1\nName: llm-small\nVersion: 1.0\n",
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        f"{about}/RECORD": b"",
    }
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return body.getvalue()


WHEEL = build_wheel()
SMALL = Packaged(
    title="the model Small",
    project="llm-small",
    version="1.0",
    wheel=WHEEL_NAME,
    wheel_size=len(WHEEL),
    wheel_sha256=digest(WHEEL),
    member=MEMBER,
    size=len(CONTENT),
    sha256=digest(CONTENT),
    instead="name another file",
)


@dataclass
class Shop:
    """What the index has, how it behaves, and what it was asked."""

    wheel: bytes = WHEEL
    sha256: str = SMALL.wheel_sha256  # as its page says; "": it does not
    form: str = "json"
    ranges: bool = True
    lengths: bool = True
    cuts: list[int] = field(default_factory=list)  # after how many bytes each answer with the wheel breaks off
    statuses: list[int] = field(default_factory=list)  # what the next answers are instead
    login: str = ""  # what must be shown: `Basic …`
    redirect: str = ""  # where the wheel is sent from instead
    gate: threading.Event | None = None  # what the wheel waits for
    url: str = ""
    asked: list[str] = field(default_factory=list)  # the ranges of each request for the wheel
    logins: list[str] = field(default_factory=list)
    served: int = 0  # bytes of the wheel

    def page(self) -> tuple[str, bytes]:
        if self.form == "html":
            mark = f"#sha256={self.sha256}" if self.sha256 else ""
            return "text/html", f'<a href="../../files/{WHEEL_NAME}{mark}">it</a><a>no link</a>'.encode()
        hashes = {"sha256": self.sha256} if self.sha256 else {}
        row = {"filename": WHEEL_NAME, "url": f"../../files/{WHEEL_NAME}", "hashes": hashes}
        return JSON, json.dumps({"files": [row]}).encode()


class _Server(ThreadingHTTPServer):
    shop: Shop

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle is part of the tests."""


class _Counter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        shop = cast(_Server, self.server).shop
        self.close_connection = True
        shop.logins.append(self.headers.get("Authorization", ""))
        if shop.login and shop.logins[-1] != shop.login:
            self._send(401, b"")
        elif shop.statuses:
            self._send(shop.statuses.pop(0), b"")
        elif self.path == "/simple/llm-small/":
            kind, body = shop.page()
            self._send(200, body, {"Content-Type": kind})
        elif self.path == f"/files/{WHEEL_NAME}":
            self._wheel(shop)
        else:
            self._send(404, b"")

    def _wheel(self, shop: Shop) -> None:
        shop.asked.append(self.headers.get("Range", ""))
        if shop.redirect:
            self._send(302, b"", {"Location": f"{shop.redirect}/files/{WHEEL_NAME}"})
            return
        if shop.gate:
            shop.gate.wait(30)
        start = int(shop.asked[-1][len("bytes=") : -1]) if shop.ranges and shop.asked[-1] else 0
        whole = len(shop.wheel)
        if start and start >= whole:
            self._send(416, b"", {"Content-Range": f"bytes */{whole}"})
            return
        extra = {"Content-Range": f"bytes {start}-{whole - 1}/{whole}"} if start else {}
        end = start + shop.cuts.pop(0) if shop.cuts else whole
        shop.served += end - start
        self._send(206 if start else 200, shop.wheel[start:], extra, cut=end - start, lengths=shop.lengths)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        *,
        cut: int | None = None,
        lengths: bool = True,
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if lengths:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(memoryview(body)[:cut])

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def selling(shop: Shop) -> Iterator[Shop]:
    with _Server(("127.0.0.1", 0), _Counter) as server:
        server.shop = shop
        shop.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield shop
        finally:
            server.shutdown()
            thread.join()


def environment(home: Path, index: str) -> dict[str, str]:
    """Settings of no other index, and no uv or pip to ask."""
    nothing = {"PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1", "PATH": "/nonexistent"}
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "UV_DEFAULT_INDEX": f"{index}/simple", **nothing}


class Heard:
    """What a person would have seen."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.moves: list[tuple[int, int | None]] = []

    def say(self, text: str) -> None:
        self.lines.append(text)

    def moved(self, here: int, whole: int | None) -> None:
        self.moves.append((here, whole))
