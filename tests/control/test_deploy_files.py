"""The dashboard and the alert rules ask for metrics that exist."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from antiphon.control.options import ControlOptions
from antiphon.control.samples import gather
from antiphon.control.state import SupervisorState, write_state
from antiphon.metrics.families import FAMILIES
from antiphon.settings import load
from antiphon.upstreams.catalog import CATALOG

ROOT = Path(__file__).parents[2]
RULES, DASHBOARD = ROOT / "deploy" / "alerts.yml", ROOT / "deploy" / "grafana-dashboard.json"
SUFFIX = re.compile(r"_(total|bucket|count|sum)$")


def known(tmp_path: Path) -> set[str]:
    write_state(str(tmp_path), SupervisorState(os.getpid(), 1.0))
    options = ControlOptions(load(None, {}, CATALOG), str(tmp_path), None, True)
    return {family.name for family in FAMILIES} | {sample.name for sample in gather(options)}


@pytest.mark.parametrize("file", [RULES, DASHBOARD, ROOT / "docs" / "control.md"], ids=lambda file: file.name)
def test_every_metric_that_is_named_exists(file: Path, tmp_path: Path) -> None:
    used = {SUFFIX.sub("", name) for name in re.findall(r"\bantiphon_[a-z_]+\b", file.read_text())}
    assert used
    assert used - known(tmp_path) <= {"antiphon_engine_state", "antiphon_journal_bytes"}


def test_every_metric_is_documented(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "control.md").read_text().replace("`…_last_failure_…`", "upstream_last_failure_timestamp")
    missing = {name for name in known(tmp_path) if name not in text}
    assert missing <= {"antiphon_upstream_last_failure_timestamp_seconds"}


def test_the_dashboard_is_json() -> None:
    assert {panel["type"] for panel in json.loads(DASHBOARD.read_text())["panels"]} == {"timeseries"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
def test_promtool_takes_the_rules() -> None:
    subprocess.run(["promtool", "check", "rules", RULES], check=True, capture_output=True, timeout=20)
