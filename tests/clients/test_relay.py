"""The openai packages for Python and Node on the relayed paths, in all four dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.environments import NODE, PYTHON, node_client, python_client
from tests.clients.harness import DIALECTS, Verdicts, collect, every_dialect, plain, running_gateway
from tests.clients.relayed import SOUND, relay_upstream
from tests.support.relay import sha

SAW: dict[str, Any] = {
    "generate": "picture: a cat",
    "generate_stream": ["aGk="],
    "edit": ["picture: a hat", True],
    "speech": sha(SOUND),
    "transcribe": True,
    "translate": True,
    "files": [True, "file-1", sha(SOUND), ["file-1"], True],
}


@pytest.fixture(scope="module")
def relaying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with relay_upstream() as upstream, running_gateway(upstream, tmp_path_factory.mktemp("relay")) as address:
        yield address


@pytest.fixture(scope="module", params=["python", "node"])
def verdicts(relaying: str, request: pytest.FixtureRequest) -> Verdicts:
    if request.param == "python":
        command = [str(python_client()), str(PYTHON / "relay_openai.py")]
    else:
        command = [str(node_client()), str(NODE / "relay_openai.mjs")]
    return collect(command, every_dialect(relaying))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", SAW)
def test_answers(verdicts: Verdicts, case: str, dialect: str) -> None:
    assert verdicts[case, dialect] == SAW[case]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_errors(verdicts: Verdicts, dialect: str) -> None:
    saw = plain(verdicts["speech_error", dialect], dialect)
    assert saw["raised"] == "BadRequestError"
    assert "no such voice" in saw["message"]
    assert saw["code"] == "bad_voice"
