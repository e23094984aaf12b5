"""`antiphon import litellm`: what becomes of a LiteLLM configuration, what is told, and what `antiphon check` says."""

from __future__ import annotations

import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from antiphon.cli import main

CONFIGS = Path(__file__).parent / "configs"
VARIABLES = {
    "AZURE_API_BASE_EU": "https://contoso-eu.openai.azure.com",
    **dict.fromkeys(("AZURE_KEY_EU", "AZURE_KEY_US", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "sk-from-the-environment"),
    **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GEMINI_API_KEY"), "sk-from-the-environment"),
    **dict.fromkeys(("OPENROUTER_API_KEY", "LITELLM_MASTER_KEY"), "sk-from-the-environment"),
}


class Importer:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.err = ""
        self.text = ""

    def run(self, config: str, *words: str, status: int = 0) -> dict[str, Any]:
        path = CONFIGS / f"{config}.yaml"
        if not config.isalpha():
            path = self.folder / "config.yaml"
            path.write_text(config)
        output = self.folder / "out" / "antiphon.toml"
        output.parent.mkdir(exist_ok=True)
        assert main(["import", "litellm", str(path), "-o", str(output), *words]) == status
        self.err = self.capsys.readouterr().err
        self.text = output.read_text() if status == 0 else ""
        return tomllib.loads(self.text)

    def check(self) -> None:
        assert main(["check", "-c", str(self.folder / "out" / "antiphon.toml")]) == 0, self.capsys.readouterr().err
        self.capsys.readouterr()


@pytest.fixture
def importer(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Importer:
    monkeypatch.delenv("ANTIPHON_ACCOUNTS__ENABLED", raising=False)  # which tests/conftest.py turns off
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    return Importer(tmp_path, capsys)


def targets(document: dict[str, Any], model: str) -> list[tuple[str, str | None, int, int]]:
    (route,) = [route for route in document["route"] if route["model"] == model]
    return [
        (target["upstream"], target.get("model"), target.get("weight", 1), target.get("priority", 0))
        for target in route["targets"]
    ]


def upstream(document: dict[str, Any], name: str) -> dict[str, Any]:
    (row,) = [row for row in document["upstream"] if row["name"] == name]
    return {key: value for key, value in row.items() if key != "name"}


def test_groups_fallbacks_and_aliases(importer: Importer) -> None:
    document = importer.run("groups")
    importer.check()
    assert targets(document, "gpt-4o") == [
        ("azure-deployments", "gpt-4o-eu", 600, 0),
        ("azure-deployments-2", "gpt-4o-us", 1200, 0),
        ("openai", None, 1, 1),
        ("anthropic", "claude-sonnet-4-5", 1, 2),
        ("bedrock", "anthropic.claude-3-5-sonnet-20240620-v1:0", 1, 3),
    ]
    assert targets(document, "house-llama")[0] == ("vllm", "meta-llama/Llama-3.1-8B-Instruct", 1, 0)
    assert ("openai", "gpt-4o", 1, 2) in targets(document, "house-llama")
    assert targets(document, "gpt-4")[2][:2] == ("openai", "gpt-4o")
    assert targets(document, "hidden-name") == [("anthropic", "claude-sonnet-4-5", 1, 0)]


def test_upstreams_credentials_and_times(importer: Importer) -> None:
    document = importer.run("groups")
    assert upstream(document, "azure-deployments") == {
        "protocol": "azure-deployments",
        "api_version": "2024-10-21",
        "resource": "contoso-eu",
        "credential": "env:AZURE_KEY_EU",
        "timeout": {"total": 120},
    }
    assert upstream(document, "openai") == {
        "protocol": "openai",
        "credential": "env:OPENAI_API_KEY",
        "timeout": {"total": 600},
    }
    assert upstream(document, "bedrock")["region"] == "eu-central-1"
    assert upstream(document, "bedrock")["access_key_id"] == "env:AWS_ACCESS_KEY_ID"
    assert upstream(document, "anthropic")["max_concurrent"] == 20
    assert upstream(document, "vllm")["lacks"] == ["logit_bias"]
    assert "credential" not in upstream(document, "vllm")
    assert document["accounts"] == {"counters": "redis://redis.internal:6379"}
    assert document["key"] == [{"name": "master", "secret": "env:LITELLM_MASTER_KEY"}]
    assert document["server"]["auth"] is True


def test_prices_and_sizes(importer: Importer) -> None:
    models = {row["name"]: row for row in importer.run("groups")["model"]}
    assert models["gpt-4o-eu"] == {"name": "gpt-4o-eu", "like": "gpt-4o"}
    assert models["meta-llama/Llama-3.1-8B-Instruct"] == {
        "name": "meta-llama/Llama-3.1-8B-Instruct",
        "price": {"input": 0.1, "output": 0.25},
        "context": 32768,
        "max_output": 4096,
        "images": False,
    }


@pytest.mark.parametrize(
    "words",
    [
        "model_list[2] (gpt-4o): litellm_params.organization",
        "model_list[5] (house-llama): model_info.team_public_model_name",
        "litellm_settings.context_window_fallbacks",
        "litellm_settings.success_callback",
        "general_settings.alerting",
    ],
)
def test_what_was_not_carried_over_is_told_on_stderr_and_in_the_file(importer: Importer, words: str) -> None:
    importer.run("groups")
    assert f"not carried over: {words}" in importer.err
    assert words in " ".join(importer.text.replace("#", "").split())
    for carried in ("drop_params", "cost_per_token", "model_info.base_model", "rpm", "litellm_params.order"):
        assert carried not in importer.err
    assert "--database" in importer.err


def test_no_secret_of_the_environment_is_written(importer: Importer) -> None:
    importer.run("groups")
    assert "sk-from-the-environment" not in importer.text + importer.err


def test_wildcards(importer: Importer) -> None:
    document = importer.run("wildcards")
    importer.check()
    assert targets(document, "openai/*") == [("openai", "*", 1, 0), ("openai", "gpt-4o-mini", 1, 1)]
    assert targets(document, "anthropic/*")[0] == ("anthropic", "*", 1, 0)
    assert targets(document, "gemini-*")[0] == ("gemini", None, 1, 0)
    assert targets(document, "*")[0] == ("openrouter", None, 1, 0)
    assert upstream(document, "ollama")["url"] == "http://127.0.0.1:11434/v1"
    assert "no provider can be told from '*'" in importer.err


def test_secrets_in_the_file_go_to_files_of_their_own(importer: Importer) -> None:
    document = importer.run("literal", "--secrets", "secrets")
    importer.check()
    for text in ("gsk_written", "sk-written", "sk-ant-written", "sk-1234", "BEGIN"):
        assert text not in importer.text + importer.err
    folder = importer.folder / "out" / "secrets"
    assert (folder / "openai-api-key").read_text() == "sk-written-in-the-file"
    assert upstream(document, "openai")["credential"] == "file:secrets/openai-api-key"
    assert upstream(document, "groq")["credential"].startswith("file:secrets/")
    assert upstream(document, "vertex")["service_account"] == "secrets/vertex-service-account"
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert document["key"][0]["secret"] == "file:secrets/master-key"


def test_without_a_folder_for_secrets_variables_are_named(importer: Importer, monkeypatch: pytest.MonkeyPatch) -> None:
    document = importer.run("literal")
    assert upstream(document, "openai")["credential"] == "env:LITELLM_OPENAI_API_KEY"
    assert "set the environment variable LITELLM_OPENAI_API_KEY to it" in importer.err
    assert "`antiphon check` still says" in importer.err
    assert "sk-written" not in importer.text + importer.err


def test_weights_limits_and_budgets(importer: Importer) -> None:
    document = importer.run("literal", "--secrets", "secrets")
    assert [row[2] for row in targets(document, "smart")] == [333, 1000]
    assert [row[1] for row in targets(document, "smart")] == ["gpt-4o", "claude-sonnet-4-5"]
    limits = {row["name"]: row for row in document["limit"]}
    assert limits["all turns at once"]["concurrent"] == 50
    assert limits["all spending"]["budget"] == {"month": 100.5}
    assert "antiphon key create --name NAME --limit requests_per_minute=60 --budget day=5 --model fast" in importer.err
    assert "routing_strategy 'usage-based-routing-v2'" in importer.err


def test_rates_are_limits_where_litellm_holds_to_them(importer: Importer) -> None:
    rows = "".join(
        f"  - {{model_name: m, litellm_params: {{model: openai/m, api_key: os.environ/K{n}, rpm: 100, tpm: {n}000}}}}\n"
        for n in (1, 2)
    )
    document = importer.run(f"model_list:\n{rows}router_settings: {{routing_strategy: usage-based-routing}}\n")
    assert document["limit"] == [
        {"name": "model m", "models": ["m"], "requests_per_minute": 200, "tokens_per_minute": 3000}
    ]


def test_models_without_a_provider_and_rates_beside_them(importer: Importer) -> None:
    models = (
        "anthropic.claude-3-haiku-20240307-v1:0",
        "us.amazon.nova-pro-v1:0",
        "gpt-4o",
        "azure/",
        "claude-opus-4-1",
    )
    rows = "".join(
        f"  - {{model_name: m{n}, rpm: 5, litellm_params: {{model: '{m}'}}}}\n" for n, m in enumerate(models)
    )
    document = importer.run(f"model_list:\n{rows}")
    found = {route["model"]: route["targets"][0]["upstream"] for route in document["route"]}
    assert found == {"m0": "bedrock", "m1": "bedrock", "m2": "openai", "m4": "anthropic"}
    assert "model_list[3] (m3): 'azure/' names no model" in importer.err
    assert "rpm" not in importer.err


def test_what_is_included(importer: Importer) -> None:
    (importer.folder / "more.yaml").write_text("model_list: [{model_name: b, litellm_params: {model: openai/b}}]\n")
    document = importer.run("include: [more.yaml]\nmodel_list: [{model_name: a, litellm_params: {model: openai/a}}]\n")
    assert [route["model"] for route in document["route"]] == ["a", "b"]


REFUSED = [
    ("model_list: [", "config.yaml:"),
    ("- just\n- a list\n", "no LiteLLM configuration"),
    ("a: !!python/object/apply:os.system [echo]\n", "could not determine a constructor"),
    ("a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(7)
    ), "values"),
    ("a: " + "[" * 5000, "this is no YAML"),
    ("\x00", "this is no YAML"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_files_that_cannot_be_used(importer: Importer, text: str, said: str) -> None:
    importer.run(text, status=1)
    assert said in importer.err
    assert "Traceback" not in importer.err


def test_nothing_is_replaced_unasked(importer: Importer) -> None:
    importer.run("wildcards")
    importer.run("groups", status=1)
    assert "is there already" in importer.err
    importer.run("groups", "--force")


def test_without_the_parser(importer: Importer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    importer.run("groups", status=1)
    assert "pip install 'antiphon[import]'" in importer.err


def test_odd_values_are_no_traceback(importer: Importer) -> None:
    text = """
model_list:
  - 7
  - {model_name: [1], litellm_params: {model: 2}}
  - {model_name: a, litellm_params: nothing}
  - {model_name: b, litellm_params: {model: openai/b, api_base: 5, timeout: x, weight: -1, rpm: .inf, order: []}}
  - {model_name: "c\\u0007", litellm_params: {model: openai/c}}
  - {model_name: d, litellm_params: {model: nobody/d}}
  - {model_name: e, litellm_params: {model: unknown/e, api_base: "http://127.0.0.1:9/v1"}}
router_settings: 5
litellm_settings: {fallbacks: [1, {b: c}, {z: [b]}], max_budget: many, default_fallbacks: x}
general_settings: {master_key: 5}
environment_variables: [1]
"""
    document = importer.run(text)
    assert [route["model"] for route in document["route"]] == ["b", "e"]
    assert "the provider 'nobody' is not known" in importer.err
    assert "\x07" not in importer.err
