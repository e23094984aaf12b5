"""A filter before upstreams that speak foreign protocols: what is blocked leaves in no field, thinking included."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.upstreams.scripted import Reply, ScriptedCall, ScriptedUpstream
from tests.support.foreign import row, settings
from tests.support.gateway import gateway
from tests.support.judge import WordJudge
from tests.upstreams.languages import FOREIGN

FILTER = '[safety]\nmode = "filter"\n'
HARM = "First a calm sentence. Then kill them with poison. After that a longer end that says more of it."
REPLIES = {
    "text": Reply(HARM),
    "reasoning": Reply("Fine.", reasoning=HARM),
    "call": Reply(calls=(ScriptedCall("c1", "look", '{"q":"' + HARM + '"}'),), finish="tool_calls"),
    "reasoning before a call": Reply(
        calls=(ScriptedCall("c1", "look", "{}"),), finish="tool_calls", reasoning="Now kill them with poison."
    ),
}
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("speaks", FOREIGN)
async def test_what_is_blocked_leaves_in_no_field(tmp_path: Path, speaks: str, reply: Reply, stream: bool) -> None:
    fake = ScriptedUpstream([reply], speaks=speaks)
    url = await fake.start()
    try:
        text = settings(row(speaks, url), targets='[{ upstream = "up", model = "scripted" }]', more=FILTER)
        async with gateway(tmp_path, text, judge=WordJudge()) as running:
            answer = await running.post(stream=stream, tools=[LOOK], reasoning_effort="low")
            assert answer.status == 200, answer.body
            assert b"content_filter" in answer.body
            assert b"kill" not in answer.body
            assert b"poison" not in answer.body
            ends = (
                [choice["finish_reason"] for chunk in answer.chunks for choice in chunk["choices"]]
                if stream
                else [choice["finish_reason"] for choice in answer.json["choices"]]
            )
            assert [end for end in ends if end] == ["content_filter"]
    finally:
        await fake.stop()
