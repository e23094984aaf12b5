"""Real client libraries against a running gateway.

Each library runs in an environment of its own (`environments`), as one process for all its cases, against
`antiphon serve` in another process, whose upstream is scripted in this one (`harness`, `cases`). A client script prints
one verdict per case and dialect; what a verdict must be stands in the test. `embedded_*` try the same libraries on the
embedded model, in the dialect that newcomers meet: what the library makes of its answers, not how clever they are.
`safety_*` try what is blocked and annotated.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.environments import NODE, OPENAI_2, PYTHON, node_client, python_client
from tests.clients.harness import Ask, Run, collect, collect_plain, every_dialect, running_gateway, scripted_upstream
from tests.support.engine import Gateway


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with scripted_upstream() as upstream, running_gateway(upstream, tmp_path_factory.mktemp("gateway")) as address:
        yield address


@pytest.fixture(scope="session")
def run_python(gateway: str) -> Run:
    interpreter = str(python_client())
    return lambda script: collect([interpreter, str(PYTHON / script)], every_dialect(gateway))


@pytest.fixture(scope="session")
def run_python_openai_2(gateway: str) -> Run:
    interpreter = str(python_client(OPENAI_2))
    return lambda script: collect([interpreter, str(PYTHON / script)], every_dialect(gateway))


@pytest.fixture(scope="session")
def run_node(gateway: str) -> Run:
    node = str(node_client())
    return lambda script: collect([node, str(NODE / script)], every_dialect(gateway))


@pytest.fixture(scope="session")
def ask_python(embedded: Gateway) -> Ask:
    interpreter = str(python_client())
    return lambda script: collect_plain([interpreter, str(PYTHON / script)], embedded.url)


@pytest.fixture(scope="session")
def ask_python_openai_2(embedded: Gateway) -> Ask:
    interpreter = str(python_client(OPENAI_2))
    return lambda script: collect_plain([interpreter, str(PYTHON / script)], embedded.url)


@pytest.fixture(scope="session")
def ask_node(embedded: Gateway) -> Ask:
    node = str(node_client())
    return lambda script: collect_plain([node, str(NODE / script)], embedded.url)
