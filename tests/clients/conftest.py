"""Real client libraries against a running gateway.

Each library runs in an environment of its own (`environments`), as one process for all its cases, against
`antiphon serve` in another process, whose upstream is scripted in this one (`harness`, `cases`). A client script prints
one verdict per case and dialect; what a verdict must be stands in the test.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.environments import NODE, PYTHON, node_client, python_client
from tests.clients.harness import Run, collect, running_gateway, scripted_upstream


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
