"""Files that settings name: secrets, certificates, logs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from antiphon.settings import Settings, SettingsError, load

# A self-signed certificate for tests, its key, and the key of another one.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBeDCCAR+gAwIBAgIUUpy21EelAlLeaUJ1zCAJe6NdMDAwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGdGVzdC1hMCAXDTI2MTExNTE0NTEyM1oYDzIxMjYxMDIyMTQ1
MTIzWjARMQ8wDQYDVQQDDAZ0ZXN0LWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAQgh8Iyt+R7FuFQ0QPyoE+1JwOuJ28SDHRWerkp6/CPWzZ8MYybolER3ri8aESF
8gN3pD/1VDqmPza2F590XQlqo1MwUTAdBgNVHQ4EFgQUYpe1dD2ri97Ncf3Gcz+i
4VuL9KMwHwYDVR0jBBgwFoAUYpe1dD2ri97Ncf3Gcz+i4VuL9KMwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBAFnhdiXTX4iQcoPSGIKJeFZGEuJaj
dp6Hboo2ZJbpNQIgLE7nLn67u+ivoo82c5HKyxfwfcmhvEVpSLuEIu1QOfs=
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTOjT0hJGtLwXg00Z
iUY9tWNC2dEJOzNM2xIq0XLZVJChRANCAAQgh8Iyt+R7FuFQ0QPyoE+1JwOuJ28S
DHRWerkp6/CPWzZ8MYybolER3ri8aESF8gN3pD/1VDqmPza2F590XQlq
-----END PRIVATE KEY-----
"""
OTHER_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnv/X+uhacOCtyj2i
ixBFv7iqkqlYnq5RJcfkGkUloZChRANCAATjfzrQLRPjmKIuEo57Pvr4zFaNxgCi
Fy98T6AkLZ3P6cY1X7I781Qw9oF889HzqFOfB9xlMDkC4RlrC/T35seZ
-----END PRIVATE KEY-----
"""


def load_text(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    (folder / "antiphon.toml").write_text(text)
    return load(str(folder / "antiphon.toml"), environ or {}, ("openai", "scripted", "embedded"))


def fault(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> str:
    """The one fault, without the folder."""
    with pytest.raises(SettingsError) as caught:
        load_text(folder, text, environ)
    assert len(caught.value.faults) == 1, str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


# Secrets.

UPSTREAM = """
[[upstream]]
name = "openai"
protocol = "openai"
url = "https://api.openai.com/v1"
credential = "{credential}"
[[route]]
model = "*"
targets = [{{ upstream = "openai" }}]
"""


@pytest.mark.parametrize(
    ("content", "secret"),
    [
        (b"sk-1", "sk-1"),
        (b"sk-1\n", "sk-1"),
        (b"sk-1\r\n", "sk-1"),
        (b"a b", "a b"),
    ],
)
def test_a_secret_file_loses_one_trailing_newline(tmp_path: Path, content: bytes, secret: str) -> None:
    (tmp_path / "key").write_bytes(content)
    settings = load_text(tmp_path, UPSTREAM.format(credential="file:key"))
    credential = settings.upstreams[0].credential
    assert credential is not None
    assert credential.reveal() == secret


def test_a_secret_file_may_be_named_absolutely_or_from_home(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-1")
    for name in (f"{tmp_path}/key", "~/key"):
        settings = load_text(tmp_path, UPSTREAM.format(credential=f"file:{name}"), {"HOME": str(tmp_path)})
        credential = settings.upstreams[0].credential
        assert credential is not None
        assert credential.reveal() == "sk-1"


@pytest.mark.parametrize(
    ("credential", "message"),
    [
        ("env:NOT_THERE", "refers to the environment variable NOT_THERE, which is not set"),
        ("env:EMPTY", "refers to the environment variable EMPTY, which is empty"),
        ("env:", "says 'env:' without the name of a variable"),
        ("env:BREAK", "holds characters that an HTTP header cannot carry"),
        ("env:SPACE", "holds characters that an HTTP header cannot carry"),
        ("file:", "says 'file:' without a path"),
        ("file:absent", "refers to the file absent: no such file or directory"),
        ("file:.", "refers to the file .: is a directory"),
        ("file:empty", "refers to the file empty, which is empty"),
        ("file:binary", "refers to the file binary, which is not UTF-8 text"),
        ("file:large", "refers to the file large, which is larger than 65536 bytes"),
        ("file:lines", "holds characters that an HTTP header cannot carry"),
        ("sk-live-123", "must be written env:NAME or file:PATH: secrets do not stand in the settings file"),
        ("", "must be written env:NAME or file:PATH: secrets do not stand in the settings file"),
    ],
)
def test_what_is_no_secret(tmp_path: Path, credential: str, message: str) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"sk-live-\xff")
    (tmp_path / "large").write_text("sk-live-" * 10_000)
    (tmp_path / "lines").write_text("sk-live-1\nsk-live-2\n")
    environ = {"EMPTY": "", "BREAK": "sk-live-1\r\nhost: x", "SPACE": " sk-live-1"}
    told = fault(tmp_path, UPSTREAM.format(credential=credential), environ)
    assert told == f"antiphon.toml:6: [[upstream]] \"openai\": 'credential' {message}"
    assert "sk-live" not in told


def test_two_keys_with_one_secret_are_a_fault(tmp_path: Path) -> None:
    text = '[[key]]\nname = "a"\nsecret = "env:A"\n[[key]]\nname = "b"\nsecret = "env:B"\n'
    assert len(load_text(tmp_path, text, {"A": "sk-1", "B": "sk-2"}).keys) == 2
    told = fault(tmp_path, text, {"A": "sk-1", "B": "sk-1"})
    assert told == 'antiphon.toml:6: [[key]] "b": \'secret\' is the same as that of "a"'


# Certificates.

TLS = '[server]\ntls = { cert = "cert.pem", key = "key.pem" }\n'


@pytest.mark.parametrize(
    ("cert", "key", "message"),
    [
        (None, KEY, "'tls.cert' refers to the file cert.pem: no such file or directory"),
        (CERTIFICATE, None, "'tls.key' refers to the file key.pem: no such file or directory"),
        (CERTIFICATE, OTHER_KEY, "'tls' has a key that does not belong to its certificate"),
        (CERTIFICATE, "nonsense", "'tls' needs a PEM certificate and its unencrypted PEM key"),
        ("", KEY, "'tls' needs a PEM certificate and its unencrypted PEM key"),
    ],
)
def test_certificates_that_cannot_be_used(tmp_path: Path, cert: str | None, key: str | None, message: str) -> None:
    for name, content in (("cert.pem", cert), ("key.pem", key)):
        if content is not None:
            (tmp_path / name).write_text(content)
    assert fault(tmp_path, TLS) == f"antiphon.toml:2: [server]: {message}"


def test_a_certificate_and_its_key(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    tls = load_text(tmp_path, TLS).server.tls
    assert tls is not None
    assert (tls.cert, tls.key) == (str(tmp_path / "cert.pem"), str(tmp_path / "key.pem"))


def test_authorities_of_an_upstream(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    text = '[[upstream]]\nname = "a"\nprotocol = "scripted"\nca = "ca.pem"\n'
    text += '[[route]]\nmodel = "*"\ntargets = [{ upstream = "a" }]\n'
    assert load_text(tmp_path, text).upstreams[0].ca == str(tmp_path / "ca.pem")
    (tmp_path / "ca.pem").write_text("nonsense")
    where = "antiphon.toml:4: [[upstream]] \"a\": 'ca' refers to"
    assert fault(tmp_path, text) == f"{where} a file that holds no PEM certificate"
    (tmp_path / "ca.pem").unlink()
    assert fault(tmp_path, text) == f"{where} the file ca.pem: no such file or directory"


# Logs, and the file itself.


@pytest.mark.parametrize("name", ["", "no/such/folder.log", ".", "a\\u0000b"])
def test_logs_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    told = fault(tmp_path, f'[server]\naccess_log = "{name}"\n')
    assert told.startswith("antiphon.toml:2: [server]: 'access_log' refers to '")
    assert re.search(r"', which (is no file in an existing folder|cannot be written: [a-z ]+)$", told)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(str(tmp_path / "absent.toml"), {}, ())
    assert str(caught.value) == f"{tmp_path}/absent.toml: cannot be read: no such file or directory"


def test_a_folder_is_no_settings_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: is a directory"):
        load(str(tmp_path), {}, ())


def test_a_file_that_is_not_text_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "antiphon.toml").write_bytes(b"[server]\n# caf\xe9\n")
    with pytest.raises(SettingsError) as caught:
        load(str(tmp_path / "antiphon.toml"), {}, ())
    assert str(caught.value).endswith("antiphon.toml:2: is not UTF-8 text")


def test_a_file_without_end_is_not_read_to_it(tmp_path: Path) -> None:
    (tmp_path / "antiphon.toml").write_bytes(b"#" * (5 * 1024 * 1024))
    with pytest.raises(SettingsError, match="is larger than 4194304 bytes"):
        load(str(tmp_path / "antiphon.toml"), {}, ())
