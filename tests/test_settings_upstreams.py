"""`[[upstream]]`: what the catalog fills in, and what must hold between its keys."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from antiphon.http.client import parse_url
from antiphon.settings import Settings, SettingsError, load
from antiphon.upstreams.catalog import CATALOG

ENVIRON = {"KEY": "sk-1234567890"}


def read(folder: Path, upstream: str, environ: dict[str, str] | None = None) -> Settings:
    file = folder / "antiphon.toml"
    file.write_text(f'[[route]]\nmodel = "*"\ntargets = [{{ upstream = "UP" }}]\n[[upstream]]\n{upstream}\n')
    name = next((line.split('"')[1] for line in upstream.splitlines() if line.startswith("name")), None)
    protocol = next((line.split('"')[1] for line in upstream.splitlines() if line.startswith("protocol")), "")
    file.write_text(file.read_text().replace("UP", name or protocol))
    return load(str(file), {**ENVIRON, **(environ or {})}, CATALOG)


def refuse(folder: Path, upstream: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        read(folder, upstream)
    return [str(fault).replace(f"{folder}/antiphon.toml:", "") for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("protocol", "url"),
    [
        ("anthropic", "https://api.anthropic.com"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta"),
        ("cohere", "https://api.cohere.com"),
        ("openai", "https://api.openai.com/v1"),
        ("mistral", "https://api.mistral.ai/v1"),
    ],
)
def test_a_known_vendor_needs_a_credential_and_nothing_else(tmp_path: Path, protocol: str, url: str) -> None:
    [upstream] = read(tmp_path, f'protocol = "{protocol}"\ncredential = "env:KEY"').upstreams
    assert (upstream.name, upstream.url) == (protocol, url)


def test_a_variable_finds_an_upstream_by_the_name_that_it_was_given(tmp_path: Path) -> None:
    environ = {"ANTIPHON_UPSTREAM__ANTHROPIC__URL": "https://proxy.test"}
    [upstream] = read(tmp_path, 'protocol = "anthropic"', environ).upstreams
    assert upstream.url == "https://proxy.test"


@pytest.mark.parametrize(
    ("row", "url"),
    [
        ('protocol = "bedrock"\nregion = "eu-west-1"', "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        ('protocol = "bedrock-mantle"\nregion = "us-east-1"', "https://bedrock-mantle.us-east-1.api.aws/v1"),
        (
            'protocol = "vertex"\nregion = "europe-west4"\nproject = "p-1"',
            "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p-1/locations/europe-west4"
            "/publishers/google",
        ),
        (
            'protocol = "anthropic-vertex"\nregion = "global"\nproject = "p-1"',
            "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global",
        ),
        (
            'protocol = "anthropic-vertex"\nregion = "eu"\nproject = "p-1"',
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p-1/locations/eu",
        ),
        ('protocol = "azure"\nresource = "acme"', "https://acme.openai.azure.com/openai/v1"),
        (
            'protocol = "azure-deployments"\nresource = "acme"\napi_version = "2024-10-21"',
            "https://acme.openai.azure.com/openai",
        ),
        ('protocol = "anthropic-azure"\nresource = "acme"', "https://acme.services.ai.azure.com/anthropic"),
    ],
)
def test_regions_projects_and_resources_are_parts_of_the_url(tmp_path: Path, row: str, url: str) -> None:
    assert read(tmp_path, row).upstreams[0].url == url


@pytest.mark.parametrize("engine", ["", "[engine]\n"])
@pytest.mark.parametrize(
    "text",
    [
        'upstream = [{ protocol = "anthropic", credential = "env:KEY" }]\n',
        '[[upstream]]\nprotocol = "anthropic"\ncredential = "env:KEY"\n',
    ],
)
def test_the_only_upstream_needs_no_route(tmp_path: Path, text: str, engine: str) -> None:
    file = tmp_path / "antiphon.toml"
    file.write_text(text + engine)
    settings = load(str(file), {"KEY": "k3y"}, tuple(CATALOG))
    routes = {route.model: [target.upstream for target in route.targets] for route in settings.routes}
    assert routes.pop("*") == ["anthropic"]
    assert list(routes.values()) == ([["embedded"]] if engine else [])


def test_every_vendors_url_can_be_used() -> None:
    for row in CATALOG.values():
        if row.url is not None and "{" not in row.url:
            parse_url(row.url)


FAULTS = [
    ('protocol = "llamacpp"', ["'url' is missing"]),
    ('protocol = "bedrock"', ["'region' is missing"]),
    ('protocol = "vertex"', ["'region' is missing", "'project' is missing"]),
    ('protocol = "azure"', ["'resource' is missing"]),
    ('protocol = "azure-deployments"\nurl = "https://x/openai"', ["'api_version' is missing"]),
    ('protocol = "anthropic"\nregion = "eu"', ["'region' does nothing with protocol = \"anthropic\""]),
    ('protocol = "openai"\napi_version = "1"', ["'api_version' does nothing with protocol = \"openai\""]),
    (
        'protocol = "anthropic"\naccess_key_id = "env:KEY"',
        ["'access_key_id' is for AWS; protocol = \"anthropic\" takes another credential"],
    ),
    ('protocol = "bedrock"\nregion = "eu"\naccess_key_id = "env:KEY"', ["'secret_access_key' is missing"]),
    (
        'protocol = "bedrock"\nurl = "https://x"\naccess_key_id = "env:KEY"\nsecret_access_key = "env:KEY"',
        ["'region' is missing"],
    ),
    (
        'protocol = "bedrock"\nregion = "eu"\naccess_key_id = "env:KEY"\nsecret_access_key = "env:KEY"\n'
        'credential = "env:KEY"',
        ["more than one kind of credential is written; leave all but one out"],
    ),
    (
        'protocol = "bedrock"\nregion = "eu/../x"',
        ["'region' must be letters, digits, '-', '.' and ':', at most 100, not 'eu/../x'"],
    ),
    ('protocol = "anthropic"\nauth = "bearer"', ["'auth' does nothing without a 'credential'"]),
    (
        'protocol = "openai"\nspeaks = "gemini"',
        ["'speaks' is for protocol = \"scripted\"; others speak as the catalog says"],
    ),
    (
        'protocol = "azure"\nresource = "r"\ntenant_id = "t"\nclient_secret = "env:KEY"',
        ["'client_id' is missing"],
    ),
    (
        'protocol = "gemini"\nservice_account = "antiphon.toml"',
        [
            "'service_account' is for Vertex; protocol = \"gemini\" takes another credential",
            "JSON with 'client_email' and 'private_key'",
        ],
    ),
    (
        'protocol = "azure"\nresource = "r"\ntoken_url = "https://x"',
        ["'token_url' does nothing without 'service_account' or 'client_secret'"],
    ),
    (
        'protocol = "anthropic"\noffers = ["embeddings"]',
        ["'offers' is for upstreams that speak the OpenAI protocol"],
    ),
    (
        'protocol = "scripted"\nspeaks = "gemini"\noffers = ["files"]',
        ["'offers' is for upstreams that speak the OpenAI protocol"],
    ),
    (
        'protocol = "bedrock-mantle"\nregion = "eu"\naccess_key_id = "env:KEY"\nsecret_access_key = "env:KEY"\n'
        'offers = ["embeddings", "files"]',
        ["'offers': what is relayed cannot be signed ('files'): use a 'credential'"],
    ),
    ('protocol = "bedrock"\nregion = 5', ["'region' must be a string, not an integer"]),
    ('protocol = "antropic"', ["not 'antropic'; did you mean 'anthropic'?"]),
]


@pytest.mark.parametrize(("row", "expected"), FAULTS)
def test_what_does_not_fit_together_is_refused(tmp_path: Path, row: str, expected: list[str]) -> None:
    told = refuse(tmp_path, row)
    assert len(told) == len(expected), told
    for fault, words in zip(told, expected, strict=True):
        assert fault.endswith(words)
        assert ": [[upstream]] " in fault
        assert "sk-1234567890" not in fault


@pytest.mark.parametrize("text", ["", "[]", '{"client_email": "a"}', '{"client_email": "a", "private_key": 1}', "\xff"])
def test_a_file_that_is_no_service_accounts_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "account.json").write_bytes(text.encode("latin-1"))
    row = 'protocol = "vertex"\nregion = "eu"\nproject = "p"\nservice_account = "account.json"'
    [fault] = refuse(tmp_path, row)
    assert "'service_account' is no key of a Google service account" in fault
    (tmp_path / "account.json").write_text('{"client_email": "a", "private_key": "b"}')
    assert read(tmp_path, row).upstreams[0].expires


def test_a_profile_needs_a_region_and_botocore(tmp_path: Path) -> None:
    told = refuse(tmp_path, 'protocol = "bedrock"\nurl = "http://x"\nprofile = "default"')
    assert told[0].endswith("'region' is missing")
    needs = "'profile' needs a package that is not installed: pip install 'antiphon[aws]'"
    assert [fault.endswith(needs) for fault in told[1:]] == ([] if find_spec("botocore") else [True])
