"""What was written under a grammar is looked at once more before it is said to be whole."""

from __future__ import annotations

import pytest

from antiphon.engine.choice import CallChoice, TextChoice
from antiphon.engine.generation import End, GeneratedText
from antiphon.engine.tools.calls import CallReader
from antiphon.errors import AntiphonError

WHOLE = End(cut=False, prompt=1, cached=0, completion=1)
CUT = End(cut=True, prompt=1, cached=0, completion=1)
STOPPED = End(cut=False, prompt=1, cached=0, completion=1, word=True)


async def only_ones(text: str) -> None:
    if text != '{"a": 1}':
        raise AntiphonError("no", code="engine_error")


async def test_a_text_that_fits_ends() -> None:
    choice = TextChoice(0, only_ones)
    for piece in ('{"a"', ": 1}"):
        await choice.say(GeneratedText(piece))
    assert [entry["finish_reason"] for entry in await choice.end(WHOLE)] == ["stop"]


async def test_a_text_that_is_json_and_does_not_fit_is_a_fault() -> None:
    choice = TextChoice(0, only_ones)
    await choice.say(GeneratedText('{"a": 2}'))
    with pytest.raises(AntiphonError):
        await choice.end(WHOLE)


@pytest.mark.parametrize(("end", "reason"), [(CUT, "length"), (STOPPED, "stop")])
async def test_a_text_that_was_cut_need_not_fit(end: End, reason: str) -> None:
    choice = TextChoice(0, only_ones)
    await choice.say(GeneratedText('{"a"'))
    assert [entry["finish_reason"] for entry in await choice.end(end)] == [reason]


async def test_a_call_that_does_not_fit_is_never_ended() -> None:
    choice = CallChoice(0, CallReader("f"), only_ones, legacy=False, named=False)
    await choice.say(GeneratedText('{"a": 1}'))
    with pytest.raises(AntiphonError):
        await choice.say(GeneratedText(', {"a": 2}'))


async def test_logprobs_of_no_character_are_an_empty_list() -> None:
    (_, last) = await TextChoice(0, None, weighs=True).end(CUT)
    assert last["logprobs"] == {"content": [], "refusal": None}
    (_, last) = await TextChoice(0, None).end(CUT)
    assert last["logprobs"] is None
