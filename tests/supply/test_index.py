"""The client of the package index: it reads both forms of a page, and gives each host its own login and no other."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from antiphon.supply.download import download
from antiphon.supply.package_index import Dropped, Index, PackageIndexFault, Unreachable
from tests.supply.fetch_kit import SMALL, WHEEL, WHEEL_NAME, Shop, environment, selling

LOGIN = "Basic " + base64.b64encode(b"user:p:w").decode()


@pytest.mark.parametrize("form", ["html", "json"])
@pytest.mark.parametrize("sha256", [SMALL.wheel_sha256, ""])
def test_a_page_lists_files(form: str, sha256: str, tmp_path: Path) -> None:
    with selling(Shop(form=form, sha256=sha256)) as shop:
        (file,) = Index(f"{shop.url}/simple", environment(tmp_path, shop.url)).files("llm-small")
    assert (file.name, file.url, file.sha256) == (WHEEL_NAME, f"{shop.url}/files/{WHEEL_NAME}", sha256)


@pytest.mark.parametrize(
    ("status", "kind"), [(404, PackageIndexFault), (403, PackageIndexFault), (503, Dropped), (599, PackageIndexFault)]
)
def test_a_refusal_is_one_fault_with_the_status(status: int, kind: type[PackageIndexFault], tmp_path: Path) -> None:
    with (
        selling(Shop(statuses=[status])) as shop,
        pytest.raises(PackageIndexFault, match=f"127.0.0.1 answered {status}") as got,
    ):
        Index(f"{shop.url}/simple", environment(tmp_path, shop.url)).files("llm-small")
    assert type(got.value) is kind


@pytest.mark.parametrize("body", [b"", b"[]", b'{"files": [{}]}', b'{"files": 1}', b"\xff"])
def test_a_page_that_is_none_is_a_fault(body: bytes, tmp_path: Path) -> None:
    class Odd(Shop):
        def page(self) -> tuple[str, bytes]:
            return "application/json", body

    with selling(Odd()) as shop, pytest.raises(PackageIndexFault, match="not an index page"):
        Index(f"{shop.url}/simple", environment(tmp_path, shop.url)).files("llm-small")


def test_nobody_there(tmp_path: Path) -> None:
    with selling(Shop()) as shop:
        pass
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1: Connection refused"):
        Index(f"{shop.url}/simple", environment(tmp_path, shop.url)).files("llm-small")


def test_a_proxy_is_used_and_named_as_the_way(tmp_path: Path) -> None:
    """The shop as the proxy: it is asked for the whole address, of a host that does not exist."""
    with selling(Shop()) as proxy:
        environ = {**environment(tmp_path, ""), "http_proxy": proxy.url.replace("//", "//user:secret@")}
        with pytest.raises(PackageIndexFault, match=r"nowhere\.test answered 404"):
            Index("http://nowhere.test/simple", environ).files("llm-small")
    with pytest.raises(Unreachable, match=r"^nowhere\.test through a proxy: Connection refused$"):
        Index("http://nowhere.test/simple", environ).files("llm-small")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/simple", "file:///etc", "/a/folder"])
def test_only_http_is_spoken(url: str) -> None:
    with pytest.raises(PackageIndexFault, match="not http"):
        Index(url, {}).files("llm-small")


# Logins


def test_the_login_in_the_address_is_shown(tmp_path: Path) -> None:
    with selling(Shop(login=LOGIN)) as shop:
        index = Index(f"{shop.url.replace('//', '//user:p%3Aw@')}/simple", environment(tmp_path, shop.url))
        assert download(index, index.files("llm-small")[0], tmp_path).read_bytes() == WHEEL


def test_the_login_in_netrc_is_shown(tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text(
        "machine other.test login a password b\nmachine 127.0.0.1 login user password p:w\n"
    )
    with selling(Shop(login=LOGIN)) as shop:
        assert Index(f"{shop.url}/simple", environment(tmp_path, shop.url)).files("llm-small")


def test_a_redirection_elsewhere_takes_no_login_along(tmp_path: Path) -> None:
    with selling(Shop()) as store, selling(Shop(login=LOGIN)) as shop:
        shop.redirect = store.url.replace("127.0.0.1", "localhost")
        index = Index(f"{shop.url.replace('//', '//user:p%3Aw@')}/simple", environment(tmp_path, shop.url))
        download(index, index.files("llm-small")[0], tmp_path)
    assert shop.logins == [LOGIN, LOGIN]
    assert store.logins == [""]


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@127.0.0.1:1/simple",
        "http://user:sec/ret@127.0.0.1:1/simple",
        "http://user:secret@127.0.0.1:port/simple",
        "http://user:secret@[::1/simple",
        "ftp://user:secret@127.0.0.1/simple",
    ],
)
def test_no_fault_shows_a_password(url: str) -> None:
    with pytest.raises(PackageIndexFault) as got:
        Index(url, {}).files("llm-small")
    assert "sec" not in str(got.value)
    assert "user" not in str(got.value)
