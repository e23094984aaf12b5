"""Which index, proxy and certificates the settings of uv and pip name."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.supply.index_settings import (
    TIMEOUT,
    ca_file,
    configured_index,
    index_is_off,
    is_foreign,
    login,
    proxies,
    timeout,
    without_logins,
)

NOTHING = {"PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1"}


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
    assert configured_index({**NOTHING, **environ}) == expected


def test_the_index_comes_from_pip_conf_with_install_over_global(tmp_path: Path) -> None:
    conf = tmp_path / "pip.conf"
    conf.write_text("[install]\nindex-url = https://b.test/simple\n[global]\nindex-url = https://a.test/simple\n")
    assert configured_index({**NOTHING, "PIP_CONFIG_FILE": str(conf)}) == "https://b.test/simple"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('index-url = "https://a.test/simple/"', "https://a.test/simple"),
        (
            '[[index]]\nurl = "https://x.test/s"\n[[index]]\nurl = "https://b.test/s"\ndefault = true',
            "https://b.test/s",
        ),
        ('index-url = "https://a.test/s"\n[[index]]\nurl = "https://b.test/s"\ndefault = true', "https://b.test/s"),
        ('[[index]]\nurl = "https://x.test/s"', None),  # beside PyPI, not instead of it
        ("index-url = 7", None),
        ("not toml", None),
    ],
)
def test_the_index_comes_from_uv_toml(text: str, expected: str | None, tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "uv"
    folder.mkdir(parents=True)
    (folder / "uv.toml").write_text(text)
    own = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null", "XDG_CONFIG_DIRS": ""}
    assert configured_index(own) == expected
    assert configured_index({**own, "UV_NO_CONFIG": "1"}) is None
    named = {"UV_CONFIG_FILE": str(folder / "uv.toml"), "PIP_CONFIG_FILE": "/dev/null"}
    assert configured_index(named) == expected


def test_the_users_uv_toml_goes_before_the_systems_and_variables_before_both(tmp_path: Path) -> None:
    for name in ("own", "shared"):
        (tmp_path / name / "uv").mkdir(parents=True)
        (tmp_path / name / "uv" / "uv.toml").write_text(f'index-url = "https://{name}.test/s"')
    system = {"XDG_CONFIG_DIRS": str(tmp_path / "shared"), "PIP_CONFIG_FILE": "/dev/null"}
    both = {**system, "XDG_CONFIG_HOME": str(tmp_path / "own")}
    assert configured_index(system) == "https://shared.test/s"
    assert configured_index(both) == "https://own.test/s"
    assert configured_index({**both, "PIP_INDEX_URL": "https://pip.test/s"}) == "https://pip.test/s"


def test_only_another_host_than_pypi_is_foreign() -> None:
    assert not is_foreign(None)
    assert not is_foreign("https://pypi.org/simple")
    assert is_foreign("https://mirror.test/pypi.org/simple")


def test_an_index_can_be_off(tmp_path: Path) -> None:
    conf = tmp_path / "pip.conf"
    conf.write_text("[global]\nno-index = true\n")
    assert not index_is_off({**NOTHING, "PIP_NO_INDEX": "0"})
    assert index_is_off({**NOTHING, "UV_OFFLINE": "1"})
    assert index_is_off({**NOTHING, "PIP_NO_INDEX": "yes"})
    assert index_is_off({"PIP_CONFIG_FILE": str(conf)})


def test_the_proxy_is_pips_or_everybodys(tmp_path: Path) -> None:
    conf = tmp_path / "pip.conf"
    conf.write_text("[global]\nproxy = http://pip.test:8080\n")
    every = {"https_proxy": "http://a.test:1", "HTTPS_PROXY": "http://b.test:1", "ALL_PROXY": "http://c.test:1"}
    assert proxies(NOTHING) == {}
    assert proxies({**NOTHING, **every}) == {"https": "http://a.test:1", "http": "http://c.test:1"}
    assert proxies({**NOTHING, **every, "https_proxy": ""}) == {"http": "http://c.test:1"}
    assert proxies({**every, "PIP_CONFIG_FILE": str(conf)})["https"] == "http://pip.test:8080"


def test_certificates_are_those_that_are_named(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    assert ca_file({**NOTHING, "SSL_CERT_FILE": "/nonexistent", "PIP_CERT": str(bundle)}) == str(bundle)


@pytest.mark.parametrize(("word", "expected"), [("180", 180.0), ("2.5", 2.5), ("0", TIMEOUT), ("soon", TIMEOUT)])
def test_the_timeout_is_theirs(word: str, expected: float) -> None:
    assert timeout({"PIP_DEFAULT_TIMEOUT": word}) == expected


def test_netrc_gives_a_login_for_its_hosts_alone(tmp_path: Path) -> None:
    named = tmp_path / "logins"
    named.write_text("machine a.test login me password pw\ndefault login x password y\n")
    assert login({"NETRC": str(named)}, "a.test") == ("me", "pw")
    assert login({"NETRC": str(named)}, "b.test") is None
    named.write_text("machine a.test login\x00 ???")
    assert login({"NETRC": str(named)}, "a.test") is None
    assert login({"HOME": str(tmp_path)}, "a.test") is None


def test_logins_are_taken_out_of_text() -> None:
    said = "Failed to fetch: https://me:pw@a.test/simple/x (see http://b.test/@c)"
    assert without_logins(said) == "Failed to fetch: https://a.test/simple/x (see http://b.test/@c)"
