"""Settings of the listener: trusted proxies, PROXY protocol, client certificates, a unix socket's access, receipts."""

from __future__ import annotations

import grp
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from antiphon.settings import Settings, SettingsError, load
from antiphon.upstreams.catalog import CATALOG

CERTS = Path(__file__).parent / "http"
TLS = f"""cert = "{CERTS}/certs_client/server.pem", key = "{CERTS}/certs_client/server.key\""""
CLIENT_CA = f'client_ca = "{CERTS}/certs_mtls/client_ca.pem"'


def load_text(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    (folder / "antiphon.toml").write_text(text)
    return load(str(folder / "antiphon.toml"), environ or {}, CATALOG)


def refuse(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_text(folder, text, environ)
    return [str(fault).replace(f"{folder}/antiphon.toml:", "") for fault in caught.value.faults]


def test_nobody_is_trusted_unless_named(tmp_path: Path) -> None:
    server = load_text(tmp_path, "").server
    assert (server.trusted_proxies, server.forwarded_header, server.proxy_protocol) == ((), None, False)
    assert (server.socket_mode, server.socket_group, server.receipts) == (None, None, True)


def test_networks(tmp_path: Path) -> None:
    text = '[server]\ntrusted_proxies = ["10.0.0.0/8", "192.0.2.1", "2001:DB8::/32", "::1", "unix"]\n'
    server = load_text(tmp_path, text).server
    assert server.trusted_proxies == ("10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32", "::1/128", "unix")
    environ = {"ANTIPHON_SERVER__TRUSTED_PROXIES": "127.0.0.1, unix", "ANTIPHON_SERVER__PROXY_PROTOCOL": "on"}
    server = load_text(tmp_path, "", environ).server
    assert (server.trusted_proxies, server.proxy_protocol) == (("127.0.0.1/32", "unix"), True)


FORM = "must hold networks such as '10.0.0.0/8', addresses or 'unix', not"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('trusted_proxies = ["*"]', f"'trusted_proxies[0]' {FORM} '*'"),
        ('trusted_proxies = ["unix", "proxy.example"]', f"'trusted_proxies[1]' {FORM} 'proxy.example'"),
        ('trusted_proxies = ["10.0.0.0/33"]', f"'trusted_proxies[0]' {FORM} '10.0.0.0/33'"),
        ('trusted_proxies = [""]', f"'trusted_proxies[0]' {FORM} ''"),
        ('trusted_proxies = ["10.0.0.1:80"]', f"'trusted_proxies[0]' {FORM} '10.0.0.1:80'"),
        (
            'trusted_proxies = ["10.1.2.3/8"]',
            "'trusted_proxies[0]' has '10.1.2.3/8', which is an address inside a network; did you mean '10.0.0.0/8'?",
        ),
        ('trusted_proxies = ["fe80::1%eth0"]', "'trusted_proxies[0]' has 'fe80::1%eth0'; a network has no zone"),
        ('trusted_proxies = "10.0.0.0/8"', "'trusted_proxies' must be an array of strings, not a string"),
        ("trusted_proxies = [10]", "'trusted_proxies[0]' must be a string, not an integer"),
        (
            'forwarded_header = "x-real-ip"',
            "'forwarded_header' must be one of x-forwarded-for, forwarded, not 'x-real-ip'",
        ),
        ('proxy_protocol = "v2"', "'proxy_protocol' must be true or false, not a string"),
        ('receipts = "no"', "'receipts' must be true or false, not a string"),
        ("socket_mode = 660", "'socket_mode' must be written as chmod takes it, such as '0660' (or 0o660), not 660"),
        ("socket_mode = -1", "'socket_mode' must be written as chmod takes it, such as '0660' (or 0o660), not -1"),
        ('socket_mode = "rw"', "'socket_mode' must be written as chmod takes it, such as '0660', not 'rw'"),
        ('socket_mode = "0888"', "'socket_mode' must be written as chmod takes it, such as '0660', not '0888'"),
        ('socket_mode = "4755"', "'socket_mode' must be written as chmod takes it, such as '0660', not '4755'"),
        ("socket_mode = true", "'socket_mode' must be written as chmod takes it, such as '0660', not a boolean"),
        (
            'socket_group = "no-such-group"',
            "'socket_group' names the group 'no-such-group', which this machine does not have",
        ),
        ("socket_group = 3999999999", "'socket_group' names the group '3999999999', which this machine does not have"),
        ("socket_group = -1", "'socket_group' names the group '-1', which this machine does not have"),
        ('socket_group = ""', "'socket_group' names the group '', which this machine does not have"),
        ("socket_group = []", "'socket_group' must be the name or number of a group, not an array"),
    ],
)
def test_faults(tmp_path: Path, line: str, message: str) -> None:
    assert refuse(tmp_path, f"[server]\n{line}\n") == [f"2: [server]: {message}"]


@pytest.mark.parametrize("written", ['"0660"', '"660"', '"0o660"', "0o660"])
def test_modes(tmp_path: Path, written: str) -> None:
    text = f'[server]\nlisten = "unix:/run/a.sock"\nsocket_mode = {written}\n'
    assert load_text(tmp_path, text).server.socket_mode == 0o660


@pytest.mark.parametrize("written", ["0600", "600", "0o600"])
def test_a_mode_from_the_environment(tmp_path: Path, written: str) -> None:
    assert load_text(tmp_path, "", {"ANTIPHON_SERVER__SOCKET_MODE": written}).server.socket_mode == 0o600


def test_groups(tmp_path: Path) -> None:
    group = grp.getgrgid(os.getgid())
    for written in (f'"{group.gr_name}"', f'"{group.gr_gid}"', str(group.gr_gid)):
        assert load_text(tmp_path, f"[server]\nsocket_group = {written}\n").server.socket_group == group.gr_gid


def test_client_certificates(tmp_path: Path) -> None:
    tls = load_text(tmp_path, f'[server]\ntls = {{ {TLS}, {CLIENT_CA}, client_auth = "optional" }}\n').server.tls
    assert tls is not None
    assert (tls.client_ca, tls.client_auth) == (str(CERTS / "certs_mtls" / "client_ca.pem"), "optional")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('client_auth = "optional"', "'tls' has 'client_auth' without 'client_ca', by which clients are known"),
        ('client_ca = "none.pem"', "'tls.client_ca' refers to the file none.pem: no such file or directory"),
        ('client_ca = "antiphon.toml"', "'tls.client_ca' refers to a file that holds no PEM certificate"),
        (
            f'{CLIENT_CA}, client_auth = "maybe"',
            "'tls.client_auth' must be one of required, optional, not 'maybe'",
        ),
    ],
)
def test_client_certificates_that_cannot_be_asked_for(tmp_path: Path, more: str, message: str) -> None:
    assert refuse(tmp_path, f"[server]\ntls = {{ {TLS}, {more} }}\n") == [f"2: [server]: {message}"]


@pytest.mark.parametrize(
    ("lines", "warning"),
    [
        ('socket_mode = "0660"', "socket_mode and socket_group do nothing: 127.0.0.1:8080 is no unix socket."),
        (
            'trusted_proxies = ["0.0.0.0/0"]',
            "trusted_proxies holds 0.0.0.0/0: every client may claim to have any address.",
        ),
        ('forwarded_header = "forwarded"', "forwarded_header does nothing: there are no trusted_proxies."),
    ],
)
def test_warnings(tmp_path: Path, lines: str, warning: str) -> None:
    assert load_text(tmp_path, f"[server]\n{lines}\n").warnings == (warning,)
