"""Wrong keys are slowed for each address; right keys and questions of health are not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from antiphon.errors import RequestError
from antiphon.server.wrong_keys import FIRST, FREE, LONGEST, MOST_WAITING, WrongKeys
from antiphon.upstreams.scripted import ScriptedUpstream
from tests.support.gateway import gateway, to_one

KEY = '[[key]]\nname = "a"\nsecret = "env:K"'
RIGHT = {"authorization": "Bearer sk-right"}


async def test_wrong_keys_are_slowed(tmp_path: Path) -> None:
    upstream = ScriptedUpstream()
    text = to_one(await upstream.start(), server="auth = true", more=KEY)
    async with gateway(tmp_path, text, {"K": "sk-right"}) as running:
        for number in range(FREE):
            assert (await running.post(headers={"authorization": f"Bearer sk-{number}"})).status == 401
        began = time.monotonic()
        assert (await running.post(headers={"authorization": "Bearer sk-x"})).status == 401
        assert time.monotonic() - began >= FIRST
        assert (await running.post(headers=RIGHT)).status == 200
    await upstream.stop()


def test_an_address_with_many_answers_under_way_is_refused() -> None:
    wrong = WrongKeys(lambda: 0.0)
    for _ in range(MOST_WAITING):
        wrong.check("a")
        wrong.begin_wait("a")
    with pytest.raises(RequestError) as caught:
        wrong.check("a")
    assert (caught.value.status, caught.value.retry_after) == (429, 2)
    wrong.check("b")
    wrong.end_wait("a")
    wrong.check("a")


def test_an_address_is_forgotten_after_a_while() -> None:
    now = 0.0
    wrong = WrongKeys(lambda: now)
    waits = [wrong.note("a") for _ in range(FREE + 9)]
    assert waits[:FREE] == [0.0] * FREE
    assert waits[FREE:] == sorted(waits[FREE:])
    assert waits[-1] == LONGEST
    assert wrong.note("b") == 0.0
    now = 61.0
    assert wrong.note("a") == 0.0
