"""Real client libraries against a running gateway.

Each library runs in an environment of its own (`environments`), as one process for all its cases, against
`antiphon serve` in another process, whose upstream is scripted in this one (`harness`, `cases`). A client script prints
one verdict per case and dialect; what a verdict must be stands in the test. `embedded_*` try the same libraries on the
embedded model, in the dialect that newcomers meet: what the library makes of its answers, not how clever they are.
`safety_*` try what is blocked and annotated. `vendor_*` are the vendors' own SDKs, straight against the scripted
upstream that speaks their protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clients.environments import NODE, OPENAI_2, PYTHON, VENDORS, node_client, python_client
from tests.clients.harness import (
    Ask,
    Run,
    Seen,
    collect,
    collect_plain,
    every_dialect,
    running_gateway,
    scripted_upstream,
    vendor_upstreams,
)
from tests.support.engine import Gateway

# The scripts that try the embedded model, in the order of their test files; the project whose libraries each needs.
EMBEDDED = {
    "embedded_ai_sdk.mjs": NODE,
    "embedded_instructor.py": OPENAI_2,
    "embedded_langchain.py": PYTHON,
    "embedded_litellm.py": OPENAI_2,
    "embedded_openai.py": PYTHON,
    "embedded_pydantic_ai.py": PYTHON,
}


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
def ask_embedded(request: pytest.FixtureRequest, embedded: Gateway) -> Iterator[Ask]:
    """What a library's script saw of the embedded model, by the script's name.

    Two libraries run at a time: the engine has two slots, and computes for one library while another starts.
    """
    files = {item.path.stem for item in request.session.items}
    wanted = [script for script in EMBEDDED if f"test_{Path(script).stem}" in files]
    with ThreadPoolExecutor(2) as threads:
        running = {script: threads.submit(collect_plain, embedded_command(script), embedded.url) for script in wanted}
        yield lambda script: running[script].result()


def embedded_command(script: str) -> list[str]:
    if script.endswith(".mjs"):
        return [str(node_client()), str(NODE / script)]
    return [str(python_client(EMBEDDED[script])), str(PYTHON / script)]


@pytest.fixture(scope="session")
def ask_vendor() -> Iterator[Ask]:
    """Runs the script of a vendor's SDK, by the vendor's name."""
    interpreter = str(python_client(VENDORS))

    def ask(vendor: str) -> Seen:
        verdicts = collect([interpreter, str(PYTHON / f"vendor_{vendor}.py")], {vendor: urls[vendor]})
        return {case: saw for (case, _), saw in verdicts.items()}

    with vendor_upstreams() as urls:
        yield ask
