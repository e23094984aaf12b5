"""A judge that raises when it is asked, by a mistake in our own code: the turn ends with an error, which is logged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from antiphon.flow.ports import Scope
from antiphon.safety.verdict import Stage, Verdict
from antiphon.upstreams.scripted import Script, json_answer, sse
from tests.support.judge import WordJudge
from tests.support.process import until
from tests.support.raw import Answer
from tests.support.shapes import chunk, completion, hello
from tests.turns.conftest import Start

FILTER = '[safety]\nmode = "filter"'
ADAPTIVE = FILTER + '\nhold = { mode = "adaptive" }'
MODES = ["", FILTER]
WHOLE_WAY = {"x-antiphon-receipt": "1"}
PATHS = [
    "/openai/v1/chat/completions",
    "/crazyrouter/v1/chat/completions",
    "/skytells/v1/chat/completions",
    "/maritaca/api/chat/completions",
]


class Raising(WordJudge):
    """Raises at questions of one stage."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(has_early=False)
        self._stage = stage

    def ask_now(
        self, stage: Stage, texts: Sequence[str], scope: Scope, done: Callable[[Verdict], None]
    ) -> Verdict | None:
        self._raise_at(stage)
        return super().ask_now(stage, texts, scope, done)

    def ask(self, stage: Stage, texts: Sequence[str], scope: Scope):  # type: ignore[no-untyped-def]
        self._raise_at(stage)
        return super().ask(stage, texts, scope)

    def _raise_at(self, stage: Stage) -> None:
        if stage is self._stage:
            raise TypeError("Encoding objects of type Text is unsupported")


class RaisingEarly(WordJudge):
    """Raises at early looks."""

    def early(self, text: str, scope: Scope, done: Callable[[bool], None]) -> bool:
        raise TypeError("Encoding objects of type Text is unsupported")


def script(stream: bool) -> Script:
    return sse(*hello()) if stream else json_answer(completion())


async def has_one_entry(access: Path, status: int) -> None:
    def statuses() -> list[int]:
        return [json.loads(line)["status"] for line in access.read_bytes().splitlines()] if access.exists() else []

    await until(lambda: bool(statuses()))
    assert statuses() == [status]


async def says(log: Path, what: str) -> None:
    await until(lambda: log.exists() and what in log.read_text())


def assert_our_fault(answer: Answer) -> None:
    assert answer.status == 500
    assert "Encoding" not in answer.body.decode()
    assert "error" in answer.json or "detail" in answer.json


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stage", Stage)
async def test_in_every_dialect(start: Start, tmp_path: Path, path: str, stage: Stage) -> None:
    logs = {"access_log": str(tmp_path / "access"), "error_log": str(tmp_path / "errors")}
    running, _ = await start(script(False), script(False), judge=Raising(stage), **logs)
    assert_our_fault(await running.post(path))
    await says(tmp_path / "errors", "a turn failed by our own fault")
    await says(tmp_path / "errors", "TypeError")
    await has_one_entry(tmp_path / "access", 500)


@pytest.mark.parametrize("headers", [None, WHOLE_WAY])
@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("mode", MODES)
async def test_a_whole_answer(
    start: Start, tmp_path: Path, stage: Stage, mode: str, headers: dict[str, str] | None
) -> None:
    access = tmp_path / "access"
    running, _ = await start(script(False), judge=Raising(stage), more=mode, access_log=str(access))
    answer = await running.post(headers=headers)
    assert_our_fault(answer)
    assert answer.json["error"]["code"] == "internal_error"
    await has_one_entry(access, 500)


@pytest.mark.parametrize("mode", MODES)
async def test_a_stream_whose_prompt_cannot_be_asked_about(start: Start, mode: str) -> None:
    running, _ = await start(script(True), judge=Raising(Stage.PROMPT), more=mode)
    assert_our_fault(await running.post(stream=True))


STREAMS = [
    ("", Raising(Stage.ANSWER)),
    (FILTER, Raising(Stage.ANSWER)),
    (ADAPTIVE, Raising(Stage.ANSWER)),
    (ADAPTIVE, RaisingEarly()),
]


@pytest.mark.parametrize(("mode", "judge"), STREAMS)
@pytest.mark.parametrize("words", [2, 400])
async def test_a_stream_that_cannot_be_asked_about(
    start: Start, tmp_path: Path, mode: str, judge: WordJudge, words: int
) -> None:
    errors = tmp_path / "errors"
    chunks = [*hello()[:1], *[chunk({"content": "word "})] * words, *hello()[-2:]]
    running, _ = await start(sse(*chunks), judge=judge, more=mode, error_log=str(errors))
    answer = await running.post(stream=True)
    assert answer.status in (200, 500)  # 200: something had left before
    error = answer.json["error"] if answer.status == 500 else answer.chunks[-1]["error"]
    assert error["code"] == "internal_error"
    if mode:
        assert b"word" not in answer.body  # what was not judged never leaves
    await says(errors, "a stream's gate failed by our own fault")


async def test_the_connection_goes_on(start: Start) -> None:
    running, _ = await start(script(False), script(False), judge=Raising(Stage.PROMPT))
    for _ in range(3):
        assert_our_fault(await running.post())
