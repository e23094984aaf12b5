"""The files under deploy/ fit the product: their settings load, their variables exist, their paths are right."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "antiphon"
SECRETS = {"APP_KEY": "sk-app-0123456789", "OPENAI_API_KEY": "sk-0123456789"}


def chart_settings() -> str:
    values = (CHART / "values.yaml").read_text()
    found = re.search(r"^settings: \|\n((?:  .*\n|\n)+)", values, re.MULTILINE)
    assert found is not None
    return textwrap.dedent(found[1])


def test_the_settings_of_the_compose_file_load() -> None:
    settings = load(str(DEPLOY / "antiphon.toml"), SECRETS, CATALOG)
    assert settings.server.auth
    named = set(re.findall(r"\benv:(\w+)", (DEPLOY / "antiphon.toml").read_text()))
    given = set(re.findall(r"^      (\w+):", (DEPLOY / "compose.yaml").read_text(), re.MULTILINE))
    assert named <= given


def test_the_settings_and_variables_of_the_chart_load(tmp_path: Path) -> None:
    path = tmp_path / "antiphon.toml"
    path.write_text(chart_settings())
    template = (CHART / "templates" / "deployment.yaml").read_text()
    named = re.findall(r"name: (ANTIPHON_\w+)", template)
    assert {"ANTIPHON_SERVER__WORKERS", "ANTIPHON_SERVER__DRAIN", "ANTIPHON_SERVER__LAME_DUCK"} <= set(named)
    environ = {name: "0.0.0.0:8081" if name.endswith("CONTROL") else "3" for name in named}
    environ |= {"ANTIPHON_ACCOUNTS__STORE": "env:STORE_URL", "STORE_URL": "postgresql://a:b@c/d"}
    environ |= {"ANTIPHON_ACCOUNTS__COUNTERS": "env:COUNTERS_URL", "COUNTERS_URL": "redis://:b@c/0"}
    settings = load(str(path), SECRETS | environ, CATALOG, listen="0.0.0.0:8080")
    assert (settings.server.workers, settings.server.drain, settings.server.lame_duck) == (3, 3.0, 3.0)


def test_every_value_of_the_chart_has_a_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert schema["additionalProperties"] is False
    values = re.findall(r"^(\w+):", (CHART / "values.yaml").read_text(), re.MULTILINE)
    assert set(values) == set(schema["properties"]) - {"global"}
    used = set()
    for template in (CHART / "templates").iterdir():
        used |= set(re.findall(r"\.Values\.(\w+)", template.read_text()))
    assert used == set(values)


def test_the_service_writes_where_it_may() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "systemd" / "antiphon.service")
    service = unit["Service"]
    assert service["Type"] == "notify"
    assert "antiphon serve -c" in service["ExecStart"]
    assert service["Environment"] == "XDG_STATE_HOME=%S XDG_DATA_HOME=%S XDG_CACHE_HOME=%C"
    server = load(None, {}, CATALOG).server
    assert float(service["TimeoutStopSec"]) > server.lame_duck + server.drain


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    sources = [word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()]
    kept = {line[1:] for line in (ROOT / ".containerignore").read_text().splitlines() if line.startswith("!")}
    assert set(sources) == kept
    assert all((ROOT / source).exists() for source in sources)


@pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")
def test_helm_renders_it() -> None:
    for flags in ([], ["--set", "autoscaling.enabled=true,networkPolicy.enabled=true,serviceMonitor.enabled=true"]):
        command = ["helm", "template", "x", str(CHART), "--kube-version", "1.31", *flags]
        subprocess.run(command, check=True, capture_output=True)
