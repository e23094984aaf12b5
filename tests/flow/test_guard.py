"""A guarded stream: for any chunking, what is blocked does not leave, and what is not blocked leaves whole."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import AntiphonError, UpstreamError
from antiphon.flow.chat_way import FORM
from antiphon.flow.guard import Terms
from antiphon.flow.guarded import GuardedRelay
from antiphon.flow.ports import Document, Flow, Scope
from antiphon.flow.relay import Ready
from antiphon.safety.policy import Hold, Policy, Results, Side
from antiphon.safety.verdict import SAFE, Stage, Verdict
from tests.chat.machine import chunk, machine, request
from tests.support.judge import WordJudge

SIDE = Side(Stage.ANSWER)
CALM = Side(Stage.PROMPT).decide(Verdict(severities=SAFE)).results


class Hearing:
    """A client that keeps what it is sent."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def follow(self, flow: Flow) -> None: ...

    def answer(self, body: bytes) -> None: ...

    def write(self, frames: bytes) -> None:
        self.frames.append(frames)

    @property
    def direct(self) -> Callable[[bytes], None]:
        return self.write

    def finish(self) -> None: ...

    def fail(self, error: AntiphonError, receipt: Document | None) -> None: ...

    @property
    def chunks(self) -> list[Document]:
        lines = b"".join(self.frames).decode().split("\n\n")
        return [json.loads(line.removeprefix("data: ")) for line in lines if line]

    def text(self, index: int = 0, key: str = "content") -> str:
        choices = [choice for each in self.chunks for choice in each["choices"] if choice["index"] == index]
        return "".join(choice["delta"].get(key) or "" for choice in choices)

    def finishes(self, index: int = 0) -> list[str]:
        choices = [choice for each in self.chunks for choice in each["choices"] if choice["index"] == index]
        return [choice["finish_reason"] for choice in choices if choice["finish_reason"] is not None]


class NoCall:
    """An upstream's call that only remembers whether it was ended."""

    def __init__(self) -> None:
        self.cancelled = self.paused = False

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def linger(self) -> None: ...

    def cancel(self) -> None:
        self.cancelled = True


def guarded(
    client: Hearing,
    judge: WordJudge,
    *,
    n: int = 1,
    dialect: str = "openai",
    prompt: Results | None = CALM,
    **policy: Any,
) -> GuardedRelay:
    asked = request(n=n)
    rules = Policy(Side(Stage.PROMPT), policy.pop("side", SIDE), **{"hold": Hold(16, 60_000), **policy})
    terms = Terms(rules, judge, Scope(), FORM, True, prompt_size=100)
    writer = DIALECTS[dialect].writer(asked, WriteOptions(strict=False, target="up/m", judged=True))
    ready: Ready = asyncio.get_running_loop().create_future()
    relay = GuardedRelay(machine(n=n), writer, client, ready, lambda: None, terms=terms, n=n, prompt=prompt)
    relay.calls.append(NoCall())
    return relay


def feed(relay: GuardedRelay, *deltas: Document, index: int = 0, finish: str | None = None) -> None:
    for delta in deltas:
        relay.events([json.dumps(chunk(delta, index=index)).encode()], 0)
    if finish is not None:
        relay.events([json.dumps(chunk({}, index=index, finish=finish)).encode()], 0)


async def play(pieces: list[str], judge: WordJudge, **how: Any) -> Hearing:
    client = Hearing()
    relay = guarded(client, judge, **how)
    for piece in pieces:
        feed(relay, {"content": piece})
        await asyncio.sleep(0)
    if not relay.finished.done():
        feed(relay, finish="stop")
        relay.events([b"[DONE]"], 0)
    await asyncio.wait_for(asyncio.shield(relay.finished), 5)
    return client


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[a:b] for a, b in itertools.pairwise(edges) if a < b]


WORDS = st.text(alphabet="abc kilthemn.\n", max_size=200)
PLACES = st.lists(st.integers(0, 1000), max_size=40)


@given(WORDS, WORDS, PLACES)
@settings(max_examples=150, deadline=None)
def test_no_character_of_what_is_blocked_leaves_for_any_chunking(before: str, after: str, places: list[int]) -> None:
    text = f"{before} Kill Them {after}"
    start = text.lower().index("kill them")
    client = asyncio.run(play(cut(text, places), WordJudge()))
    said = client.text()
    assert text.startswith(said)
    assert len(said) <= start
    assert client.finishes() == ["content_filter"]
    last = client.chunks[-1]["choices"][0]
    assert last["delta"] == {}
    assert last["content_filter_results"]["violence"] == {"filtered": True, "severity": "high"}


@given(WORDS.filter(lambda text: bool(text) and "kill them" not in text), PLACES)
@settings(max_examples=100, deadline=None)
def test_what_is_not_blocked_leaves_whole_and_in_order(text: str, places: list[int]) -> None:
    client = asyncio.run(play(cut(text, places), WordJudge()))
    assert client.text() == text
    assert client.finishes() == ["stop"]
    for each in client.chunks:
        assert each["choices"][0]["content_filter_results"]["violence"] == {"filtered": False, "severity": "safe"}


@pytest.mark.parametrize("key", ["content", "refusal", "reasoning_content"])
async def test_every_kind_of_text_is_judged(key: str) -> None:
    client = Hearing()
    relay = guarded(client, WordJudge())
    feed(relay, {key: "I will ki"}, {key: "ll them all"}, finish="stop")
    await relay.finished
    assert client.finishes() == ["content_filter"]
    assert client.text(key=key) == ""


async def test_so_are_the_arguments_of_calls() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge())
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "say", "arguments": '{"t":"kill'}}
    feed(relay, {"tool_calls": [call]}, {"tool_calls": [{"index": 0, "function": {"arguments": ' them"}'}}]})
    feed(relay, finish="tool_calls")
    await relay.finished
    assert client.finishes() == ["content_filter"]
    assert not any("tool_calls" in choice["delta"] for each in client.chunks for choice in each["choices"])


async def test_one_choices_block_leaves_the_others_alone() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge(), n=2)
    for piece in ("I will ", "kill them", " all", " now. " * 30):
        feed(relay, {"content": piece})
        feed(relay, {"content": "Peace " + piece.replace("kill", "greet")}, index=1)
        await asyncio.sleep(0.01)
    assert not relay.calls[0].cancelled  # type: ignore[attr-defined]
    feed(relay, finish="stop", index=1)
    await asyncio.wait_for(relay.finished, 5)
    assert client.finishes(0) == ["content_filter"]
    assert client.text(0) == ""
    assert client.finishes(1) == ["stop"]
    assert client.text(1).startswith("Peace I will Peace greet them")
    assert relay.calls[0].cancelled  # type: ignore[attr-defined]  # nobody waits for choice 0's rest


async def test_all_choices_blocked_ends_the_upstream() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge())
    feed(relay, {"content": "kill them " * 20})
    assert await asyncio.wait_for(relay.finished, 5) is None
    assert relay.calls[0].cancelled  # type: ignore[attr-defined]


async def test_text_leaves_after_its_time_though_nothing_follows() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge(), hold=Hold(64, 30))
    feed(relay, {"content": "Hello"})
    assert client.text() == ""
    for _ in range(200):
        await asyncio.sleep(0.01)
        if client.text():
            break
    assert client.text() == "Hello"
    relay.close()


@pytest.mark.parametrize("before", range(12))
async def test_time_does_not_cut_what_is_said_within_half_of_it(before: int) -> None:
    """An upstream that is slow enough for the time to be over again and again, wherever in the phrase that happens."""
    client = Hearing()
    relay = guarded(client, WordJudge(), hold=Hold(64, 400))
    loop = asyncio.get_running_loop()
    begin = loop.time()
    for place, piece in enumerate(["so "] * before + ["ki", "ll", " th", "em"] + [" all"] * 12):
        feed(relay, {"content": piece})
        await asyncio.sleep(max(0.0, begin + (place + 1) * 0.04 - loop.time()))
    feed(relay, finish="stop")
    relay.events([b"[DONE]"], 0)
    await asyncio.wait_for(asyncio.shield(relay.finished), 5)
    assert client.finishes() == ["content_filter"]
    assert client.text() in [("so " * count) for count in range(before + 1)]


async def test_no_text_waits_for_longer_than_it_may() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge(), hold=Hold(64, 1000))
    loop = asyncio.get_running_loop()
    sent: list[float] = []
    waited: list[float] = []

    def write(frames: bytes) -> None:
        first, new = len(waited), frames.count(b'"content":"x"')
        waited.extend([loop.time() - began for began in sent[first : first + new]])

    relay._write = client.write = write  # type: ignore[method-assign]
    for _ in range(80):
        sent.append(loop.time())
        feed(relay, {"content": "x"})
        await asyncio.sleep(0.02)
    feed(relay, finish="stop")
    relay.events([b"[DONE]"], 0)
    await relay.finished
    assert len(waited) == 80
    assert max(waited) < 1.0 + 0.5  # and what a busy machine adds


async def test_a_client_that_leaves_was_not_blocked() -> None:
    relay = guarded(Hearing(), WordJudge())
    feed(relay, {"content": "Hello"})
    relay.close()
    assert not relay.guard.blocked
    await asyncio.sleep(0.01)
    assert not relay.guard.blocked


async def test_a_failure_of_the_upstream_comes_after_what_was_held() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge())
    feed(relay, {"content": "Hello"})
    relay.fail(UpstreamError("cut"), 0)
    failure = await asyncio.wait_for(relay.finished, 5)
    assert failure is not None
    assert client.text() == "Hello"


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_an_evaluator_that_fails_at_some_window(at: int, closed: bool) -> None:
    client = Hearing()
    judge = WordJudge(fails_at={at})
    relay = guarded(client, judge, side=Side(Stage.ANSWER, closed=closed), hold=Hold(8, 60_000))
    for _ in range(12):
        feed(relay, {"content": "quite peaceful words "})
        await asyncio.sleep(0.001)
    if not relay.finished.done():
        feed(relay, finish="stop")
        relay.events([b"[DONE]"], 0)
    assert await asyncio.wait_for(relay.finished, 5) is None
    last = client.chunks[-1]["choices"][0]
    assert last["content_filter_results"]["error"]["code"] == "content_filter_error"
    if closed:
        assert client.finishes() == ["content_filter"]
        assert len(client.text()) < 12 * len("quite peaceful words ")
    else:
        assert client.finishes() == ["stop"]
        assert client.text() == "quite peaceful words " * 12
        told = ["error" in each["choices"][0]["content_filter_results"] for each in client.chunks]
        assert True in told
        assert False in told


async def test_a_hung_evaluator_stalls_the_upstream_rather_than_our_memory() -> None:
    client = Hearing()
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    relay = guarded(client, WordJudge(waits={0: waiting}), hold=Hold(8, 60_000))
    for _ in range(40):
        feed(relay, {"content": "peaceful " * 1000})
    assert relay.calls[0].paused  # type: ignore[attr-defined]
    waiting.set_result(None)
    await asyncio.sleep(0.01)
    assert not relay.calls[0].paused  # type: ignore[attr-defined]
    feed(relay, finish="stop")
    relay.events([b"[DONE]"], 0)
    await relay.finished
    assert client.text() == "peaceful " * 40_000


# The gate of a race


async def test_nothing_leaves_before_the_prompts_verdict() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge(), dialect="skytells", prompt=None)
    feed(relay, {"content": "Hello"}, finish="stop")
    relay.events([b"[DONE]"], 0)
    await asyncio.sleep(0.01)
    assert relay.ready.done()
    assert not client.frames
    assert not relay.finished.done()
    relay.open_gate(CALM)
    assert await relay.finished is None
    assert client.text() == "Hello"
    assert client.chunks[0]["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": CALM}]


# The asynchronous mode


async def watch(pieces: list[str], **how: Any) -> Hearing:
    return await play(pieces, WordJudge(), asynchronous=True, **how)


async def test_text_leaves_at_once_and_its_verdict_follows() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge(), asynchronous=True)
    said = "Peaceful words, again and again. " * 20
    for at in range(0, len(said), 10):
        feed(relay, {"content": said[at : at + 10]})
        assert client.text() == said[: at + 10]
        await asyncio.sleep(0.001)
    feed(relay, finish="stop")
    relay.events([b"[DONE]"], 0)
    await relay.finished
    told = [each["choices"][0] for each in client.chunks if "content_filter_offsets" in each["choices"][0]]
    ends = [choice["content_filter_offsets"]["end_offset"] - 100 for choice in told]
    assert ends == sorted(ends)
    assert ends[-1] == len(said)
    assert max(b - a for a, b in zip([0, *ends], ends, strict=False)) <= 256
    assert all(choice["delta"] == {} and choice["finish_reason"] is None for choice in told)
    starts = [choice["content_filter_offsets"]["start_offset"] - 100 for choice in told]
    assert starts == [0, *ends[:-1]]


@pytest.mark.parametrize("piece", [1, 7, 50, 300])
async def test_text_is_never_far_ahead_of_its_verdict(piece: int) -> None:
    """However fast the upstream is, and however slow the judge."""
    client = Hearing()
    relay = guarded(client, WordJudge(delay=0.001), asynchronous=True)
    said = "Peaceful words, again and again. " * 60
    for at in range(0, len(said), piece):
        feed(relay, {"content": said[at : at + piece]})
        if at % 500 == 0:
            await asyncio.sleep(0.002)
    feed(relay, finish="stop")
    relay.events([b"[DONE]"], 0)
    await asyncio.wait_for(relay.finished, 5)
    assert client.text() == said
    assert client.finishes() == ["stop"]
    sent = judged = 0
    for each in client.chunks:
        choice = each["choices"][0]
        sent += len(choice["delta"].get("content") or "")
        if "content_filter_offsets" in choice:
            assert choice["content_filter_offsets"]["end_offset"] - 100 >= judged
            judged = choice["content_filter_offsets"]["end_offset"] - 100
        assert sent - judged <= 256
    assert judged == len(said)


async def test_a_fast_upstream_does_not_outrun_a_late_block() -> None:
    client = Hearing()
    relay = guarded(client, WordJudge(delay=0.01), asynchronous=True)
    for _ in range(200):
        feed(relay, {"content": "I will kill them all. "})
    feed(relay, finish="stop")
    relay.events([b"[DONE]"], 0)
    await asyncio.wait_for(relay.finished, 5)
    assert len(client.text()) <= 256
    assert client.finishes() == ["content_filter"]


async def test_a_late_block_ends_the_choice() -> None:
    client = await watch(["I will ", "kill them ", "all. " * 60, "And ", "more. " * 60])
    assert client.finishes() == ["content_filter"]
    last = client.chunks[-1]["choices"][0]
    assert last["content_filter_results"]["violence"]["filtered"] is True
    assert last["content_filter_offsets"]["start_offset"] == 100


async def test_a_block_after_the_models_finish_is_told_without_a_second_one() -> None:
    client = await watch(["I will kill them"])
    assert client.finishes() == ["stop"]
    last = client.chunks[-1]["choices"][0]
    assert last["finish_reason"] is None
    assert last["content_filter_results"]["violence"]["filtered"] is True
