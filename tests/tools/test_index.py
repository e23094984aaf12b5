"""The index of last resort: which address the user's settings name, and that only verified files are kept."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools.index import Index, IndexFault, IndexFile, configured_index, is_foreign

WHEEL = b"not really a wheel"
DIGEST = hashlib.sha256(WHEEL).hexdigest()
PAGES = {
    "/html/uv/": ("text/html", f'<a href="../../files/uv-1.whl#sha256={DIGEST}">uv</a><a>none</a>'.encode()),
    "/json/uv/": (
        "application/vnd.pypi.simple.v1+json",
        b'{"files":[{"filename":"uv-1.whl","url":"/files/uv-1.whl","hashes":{"sha256":"%s"}}]}' % DIGEST.encode(),
    ),
    "/files/uv-1.whl": ("application/octet-stream", WHEEL),
}


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, body = PAGES.get(self.path, ("text/plain", b""))
        if self.headers.get("Authorization") != "Basic dXNlcjpwOnc=":
            kind, body = "text/plain", b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://user:p%3Aw@127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_file_is_found_and_verified(origin: str, form: str) -> None:
    index = Index(f"{origin}/{form}", {})
    (file,) = index.files("uv")
    assert (file.name, file.sha256) == ("uv-1.whl", DIGEST)
    assert index.fetch(file) == WHEEL


@pytest.mark.parametrize("digest", ["", "0" * 64])
def test_a_file_that_cannot_be_verified_is_refused(origin: str, digest: str) -> None:
    index = Index(f"{origin}/json", {})
    url = index.files("uv")[0].url
    with pytest.raises(IndexFault, match="sha256"):
        index.fetch(IndexFile("uv-1.whl", url, digest))


def test_an_index_that_does_not_answer_is_one_fault(origin: str) -> None:
    with pytest.raises(IndexFault, match="404"):
        Index(f"{origin}/none", {}).files("uv")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"PIP_INDEX_URL": "https://pip.test/simple/"}, "https://pip.test/simple"),
        ({"UV_INDEX_URL": "https://uv.test/s", "PIP_INDEX_URL": "https://pip.test/s"}, "https://uv.test/s"),
        ({"UV_DEFAULT_INDEX": "mine=https://uv.test/s"}, "https://uv.test/s"),
        ({"UV_DEFAULT_INDEX": "", "PIP_INDEX_URL": "https://pip.test/s"}, "https://pip.test/s"),
    ],
)
def test_the_index_comes_from_the_environment(environ: dict[str, str], expected: str | None) -> None:
    assert configured_index({"PIP_CONFIG_FILE": "/dev/null", **environ}) == expected


def test_the_index_comes_from_pip_conf_with_install_over_global(tmp_path: Path) -> None:
    conf = tmp_path / "pip.conf"
    conf.write_text("[install]\nindex-url = https://b.test/simple\n[global]\nindex-url = https://a.test/simple\n")
    assert configured_index({"PIP_CONFIG_FILE": str(conf)}) == "https://b.test/simple"


def test_only_another_host_than_pypi_is_foreign() -> None:
    assert not is_foreign(None)
    assert not is_foreign("https://pypi.org/simple")
    assert is_foreign("https://mirror.test/pypi.org/simple")
