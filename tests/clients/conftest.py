"""One upstream and one gateway for all client libraries; one process per library, started by the first test that asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from clients.environments import NODE, PYTHON, node_client, python_client
from clients.harness import Verdicts, collect, running_gateway, scripted_upstream

Run = Callable[[str], Verdicts]


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with scripted_upstream() as upstream, running_gateway(upstream, tmp_path_factory.mktemp("gateway")) as address:
        yield address


@pytest.fixture(scope="session")
def run_python(gateway: str) -> Run:
    interpreter = str(python_client())
    return lambda script: collect([interpreter, str(PYTHON / script)], gateway)


@pytest.fixture(scope="session")
def run_node(gateway: str) -> Run:
    node = str(node_client())
    return lambda script: collect([node, str(NODE / script)], gateway)
