"""URLs of upstreams."""

from __future__ import annotations

import pytest

from antiphon.http.client import Origin, parse_url

GOOD = {
    "http://a.test": (Origin("a.test", 80), b"", "a.test"),
    "https://api.openai.com/v1": (Origin("api.openai.com", 443, tls=True), b"/v1", "api.openai.com"),
    "HTTPS://API.test:8443/v1/": (Origin("api.test", 8443, tls=True), b"/v1", "api.test:8443"),
    "http://127.0.0.1:8000/a/b//": (Origin("127.0.0.1", 8000), b"/a/b", "127.0.0.1:8000"),
    "http://[::1]:8000/": (Origin("::1", 8000), b"", "[::1]:8000"),
    "https://[2001:db8::1]": (Origin("2001:db8::1", 443, tls=True), b"", "[2001:db8::1]"),
    "http://bücher.test/ä": (Origin("xn--bcher-kva.test", 80), b"/%C3%A4", "xn--bcher-kva.test"),
    "http://a_b.test/x%20y": (Origin("a_b.test", 80), b"/x%20y", "a_b.test"),
    "http+unix://%2Frun%2Fx.sock/v1": (Origin("localhost", 80, unix="/run/x.sock"), b"/v1", "localhost"),
    "http+unix://%2Frun%2FX.sock": (Origin("localhost", 80, unix="/run/X.sock"), b"", "localhost"),
    "unix:/run/x.sock": (Origin("localhost", 80, unix="/run/x.sock"), b"", "localhost"),
    "unix:///run/x.sock": (Origin("localhost", 80, unix="/run/x.sock"), b"", "localhost"),
    "unix:/run/x.sock:/v1/": (Origin("localhost", 80, unix="/run/x.sock"), b"/v1", "localhost"),
}
BAD = [
    "",
    "a.test",
    "//a.test",
    "ftp://a.test",
    "http://",
    "http:///v1",
    "http://a.test:0",
    "http://a.test:99999",
    "http://a.test:s3cret",
    "http://user:s3cret@a.test",
    "http://s3cret@a.test",
    "http://a.test/?s3cret=1",
    "http://a.test/#s3cret",
    "http://a b.test",
    "http://a.test/\r\nx: s3cret",
    "http://[::s3cret]",
    "http://[s3cret",
    "http://s3cret\u2100.test",
    "http://a..s3cret\u00e4",
    "http://a\\s3cret",
    "http+unix://run",
    "unix:run",
]


@pytest.mark.parametrize("url", GOOD)
def test_good(url: str) -> None:
    origin, prefix, host = GOOD[url]
    assert parse_url(url) == (origin, prefix)
    assert origin.host_header == host


@pytest.mark.parametrize("url", BAD)
def test_bad(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|port 0|socket") as caught:
        parse_url(url)
    assert "s3cret" not in str(caught.value)
