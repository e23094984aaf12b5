"""What holds for every test, and the embedded engine, which more than one room tries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from antiphon.runtime_dir import runtime_dir_for_sockets, sweep
from tests.support.engine import Gateway, running

# In CI the same examples every time: a change is judged by what it changed. Elsewhere new ones, to find the unforeseen.
# No example has a deadline: how fast a machine is, is no matter of right or wrong.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("elsewhere", deadline=None)
# Gateways that tests start have no control plane, unless they say so: many run at a time, and each would want its port.
os.environ.setdefault("ANTIPHON_SERVER__CONTROL", "off")

settings.load_profile("ci" if os.environ.get("CI") else "elsewhere")

# Gateways that tests start keep no accounts, unless a test is about them: nothing of this user's is touched, and there
# is one process less to start each time.
os.environ["ANTIPHON_ACCOUNTS__ENABLED"] = "false"


# What `make test-fast` runs: rooms that are tried in this process, and turns over sockets.
FAST = (
    *("chat/", "dialects/", "flow/", "models/", "protocols/", "routing/", "safety/", "server/", "tools/", "turns/"),
    *("test_banner", "test_lines", "test_names", "test_settings", "test_spec", "test_sse", "upstreams/"),
)
FEW = 20  # arbitrary examples of one test there
USED_SETTINGS = "_hypothesis_internal_use_settings"  # where @settings leaves them; profiles cannot lower these


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """`make test` runs several processes. Tests of one file stay together; so do all that share the embedded engine."""

    def _split_scope(self, nodeid: str) -> str:
        return "embedded" if shares_engine(nodeid) else nodeid.partition("::")[0]


def shares_engine(nodeid: str) -> bool:
    return nodeid.startswith(("tests/engine/", "tests/clients/test_embedded"))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="the daily loop: no child processes, few arbitrary examples")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --fast, what is not of the daily loop is not even imported."""
    if not config.getoption("--fast") or collection_path.suffix != ".py":
        return None
    place = collection_path.relative_to(config.rootpath / "tests").as_posix()
    return None if place == "conftest.py" or place.startswith(FAST) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes longest begins first."""
    items.sort(key=lambda item: not shares_engine(item.nodeid))
    if config.getoption("--fast"):
        for item in items:
            limit_examples(item)


def limit_examples(item: pytest.Item) -> None:
    test = getattr(item, "obj", None)
    function = getattr(test, "__func__", test)
    if getattr(function, "hypothesis", None) is not None:
        own = getattr(function, USED_SETTINGS, None) or settings.default
        assert own is not None
        setattr(function, USED_SETTINGS, settings(own, max_examples=min(own.max_examples, FEW)))


@pytest.fixture(scope="session", autouse=True)
def swept() -> Iterator[None]:
    """Gateways that tests kill leave their rooms behind."""
    yield
    sweep(runtime_dir_for_sockets())


@pytest.fixture(scope="session")
def model_file() -> Path:
    """From the cache that users have too; where it is missing, it is fetched (93 MB, once)."""
    command = [sys.executable, "-m", "antiphon", "model", "fetch"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, env=os.environ)
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def embedded(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """The real engine with the real model, behind a real gateway: `antiphon serve` without settings."""
    with running(tmp_path_factory.mktemp("embedded")) as gateway:
        yield gateway
