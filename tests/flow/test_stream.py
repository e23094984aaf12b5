"""An attempt's answer on its way: what the sockets' tests cannot time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial

import pytest

from antiphon.apis.api import ApiStream
from antiphon.chat.fold import fold
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.document import Document
from antiphon.errors import AntiphonError, UpstreamError
from antiphon.flow.endpoints.chat import ChatTexts
from antiphon.flow.gate import Gate, GateRules
from antiphon.flow.gate_choice import EarlyLook, Look
from antiphon.flow.gather import Fold, Gather
from antiphon.flow.ports import Flow
from antiphon.flow.stream import Ready, Stream, resolve
from antiphon.flow.stream_parts import GateKeeper
from antiphon.http.remote import Remote
from antiphon.safety.policy import Annotations, HoldPolicy, Policy, Results, Side
from antiphon.safety.verdict import Stage, Verdict
from tests.chat.machine import chunk, machine, request
from tests.support.judge import WordJudge

SAFE = {"filtered": False, "severity": "safe"}
CLEAN: Results = {
    **dict.fromkeys(("hate", "self_harm", "sexual", "violence"), SAFE),
    "jailbreak": {"detected": False, "filtered": False},
}


class ListeningClient:
    """Takes everything, also what comes after the client has left, as the real one does."""

    remote = Remote("127.0.0.1", "127.0.0.1")
    method = b"POST"
    path = b"/v1/chat/completions"

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.faults: list[Exception] = []

    @property
    def chunks(self) -> list[Document]:
        lines = b"".join(self.frames).decode().split("\n\n")
        return [json.loads(line.removeprefix("data: ")) for line in lines if line]

    @property
    def text(self) -> str:
        return "".join(each["choices"][0]["delta"].get("content") or "" for each in self.chunks)

    def follow(self, flow: Flow) -> None: ...

    record = None

    def start_record(self, request: bytes) -> None: ...

    def write_with(self, stream: ApiStream) -> None: ...

    def on_lost(self, callback: Callable[[], None]) -> None: ...

    @property
    def is_closed(self) -> bool:
        return True

    @property
    def sent(self) -> int:
        return 0

    def on_fault(self, fault: Exception) -> UpstreamError:
        self.faults.append(fault)
        return UpstreamError("our fault")

    def break_silence(self, limit: float, now: float) -> None: ...

    def answer(self, body: bytes) -> None: ...

    def write(self, frames: bytes) -> None:
        self.frames.append(frames)

    @property
    def direct(self) -> Callable[[bytes], None]:
        return self.write

    def add_headers(self, lines: bytes) -> None: ...

    def finish(self) -> None: ...

    def fail(self, error: AntiphonError, receipt: Document | None) -> None: ...


def new_stream(ready: Ready) -> Stream:
    options = WriteOptions(strict=False, target="up/m", maritaca_object="", entropy=None)
    writer = DIALECTS["openai"].writer(request(), options)
    return Stream(machine(), writer, ListeningClient(), ready, lambda: None)


@pytest.mark.parametrize("fails", [False, True])
async def test_an_upstream_may_speak_between_the_clients_leaving_and_the_tasks_end(fails: bool) -> None:
    ready: Ready = asyncio.get_running_loop().create_future()
    stream = new_stream(ready)
    ready.cancel()
    if fails:
        stream.fail(UpstreamError("x"), 0)
    else:
        stream.events([json.dumps(chunk({"content": "Hi"})).encode()], 0)
    assert ready.cancelled()


async def test_so_may_one_that_answers_whole() -> None:
    ready: Ready = asyncio.get_running_loop().create_future()
    gather = Gather(1, partial(resolve, ready), lambda: Fold(machine(), fold))
    ready.cancel()
    gather.whole(b"{}", 0)
    assert ready.cancelled()


class Calls:
    """An upstream's call that remembers what was done to it."""

    def __init__(self) -> None:
        self.is_cancelled = self.is_paused = False

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def linger(self) -> None: ...

    def cancel(self) -> None:
        self.is_cancelled = True


class Asker:
    """Answers looks when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Look, Callable[[Verdict], None]]] = []
        self.judge_by_words = WordJudge().judge

    def judge(self, look: Look, done: Callable[[Verdict], None]) -> None:
        self.waiting.append((look, done))

    def judge_early(self, look: EarlyLook, done: Callable[[bool], None]) -> bool:
        return False

    def answer(self) -> None:
        while self.waiting:
            look, done = self.waiting.pop(0)
            done(self.judge_by_words("\n".join(look.texts)))


Watched = tuple[Stream, ListeningClient, Asker, Calls]


def watched(
    prompt: Results | None = CLEAN, *, dialect: str = "openai", adaptive: bool = False, asker: Asker | None = None
) -> Watched:
    """A stream with a gate that filters."""
    client, asker, call = ListeningClient(), asker or Asker(), Calls()
    policy = Policy(Side(Stage.PROMPT), Side(Stage.ANSWER), hold=HoldPolicy(8, 60_000, adaptive))
    chat = machine()
    annotations = Annotations.EVERY if dialect == "skytells" else Annotations.CHANGES
    gate = Gate(GateRules(policy, ChatTexts(), annotations), chat.envelope)
    keeper = GateKeeper(gate, asker, client.on_fault, choices=1, prompt=prompt, shows_prompt=True)
    writer = DIALECTS[dialect].writer(request(), WriteOptions(strict=False, target="up/m", judged=True))
    ready: Ready = asyncio.get_running_loop().create_future()
    stream = Stream(chat, writer, client, ready, lambda: None, keeper)
    stream.calls.append(call)
    return stream, client, asker, call


def feed(stream: Stream, *deltas: Document, finish: str | None = None) -> None:
    for delta in deltas:
        stream.events([json.dumps(chunk(delta)).encode()], 0)
    if finish is not None:
        stream.events([json.dumps(chunk({}, finish)).encode(), b"[DONE]"], 0)


async def test_a_block_ends_the_upstream_and_the_stream() -> None:
    stream, client, asker, call = watched()
    feed(stream, {"content": "kill them " * 20})
    asker.answer()
    assert await stream.finished is None
    assert call.is_cancelled
    assert client.text == ""
    assert client.chunks[-1]["choices"][0]["finish_reason"] == "content_filter"


async def test_a_hung_judge_stalls_the_upstream_rather_than_our_memory() -> None:
    stream, client, asker, call = watched()
    for _ in range(40):
        feed(stream, {"content": "peaceful " * 1000})
    assert call.is_paused
    asker.answer()
    assert not call.is_paused
    feed(stream, finish="stop")
    asker.answer()
    assert await stream.finished is None
    assert client.text == "peaceful " * 40_000


async def test_a_client_that_reads_on_does_not_resume_an_upstream_that_the_judge_stalls() -> None:
    stream, _, asker, call = watched()
    feed(stream, *[{"content": "peaceful " * 1000}] * 40)
    stream.pause()
    stream.resume()
    assert call.is_paused
    stream.pause()
    asker.answer()
    assert call.is_paused
    stream.resume()
    assert not call.is_paused


async def test_a_failure_of_the_upstream_comes_after_what_was_held() -> None:
    stream, client, asker, _ = watched()
    feed(stream, {"content": "Hello"})
    stream.fail(UpstreamError("cut"), 0)
    assert not stream.finished.done()
    asker.answer()
    assert isinstance(await stream.finished, UpstreamError)
    assert client.text == "Hello"


async def test_a_client_that_leaves_was_not_blocked_and_is_sent_nothing() -> None:
    stream, client, asker, call = watched()
    feed(stream, {"content": "kill them " * 20})
    stream.close()
    asker.answer()
    assert call.is_cancelled
    assert stream.gate is not None
    assert not stream.gate.blocked
    assert client.text == ""


async def test_nothing_leaves_before_the_prompts_verdict() -> None:
    stream, client, asker, _ = watched(None, dialect="skytells")
    feed(stream, {"content": "Hello"}, finish="stop")
    asker.answer()
    assert stream.ready.done()
    assert not client.frames
    assert not stream.finished.done()
    stream.open_gate(CLEAN)
    assert await stream.finished is None
    assert client.text == "Hello"
    assert client.chunks[0]["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": CLEAN}]


async def test_where_there_is_no_early_look_adaptive_holds_in_full() -> None:
    stream, client, asker, _ = watched(adaptive=True)
    feed(stream, {"content": "Hello"})
    assert stream.gate is not None
    assert not stream.gate.adaptive
    assert client.text == ""
    feed(stream, finish="stop")
    asker.answer()
    assert client.text == "Hello"


async def test_an_upstreams_own_findings_are_merged_on_every_delta() -> None:
    """Also on deltas that are like the one before."""
    stream, client, asker, _ = watched(dialect="skytells")
    own = {"hate": {"filtered": False, "severity": "high"}}
    for word in ("One. ", "Two. ", "Three. "):
        document = chunk({"content": word}, choice={"content_filter_results": dict(own)})
        stream.events([json.dumps(document).encode()], 0)
    feed(stream, finish="stop")
    asker.answer()
    told = [each["choices"][0] for each in client.chunks if each["choices"][0]["delta"].get("content")]
    assert [choice["content_filter_results"]["hate"]["severity"] for choice in told] == ["high"] * 3


async def test_a_fault_of_our_own_in_a_verdicts_callback_ends_the_stream() -> None:
    class Broken(Asker):
        def judge(self, look: Look, done: Callable[[Verdict], None]) -> None:
            if look.start:
                raise RuntimeError("a fault of our own")
            super().judge(look, done)

    stream, client, asker, call = watched(asker=Broken())
    feed(stream, {"content": "peaceful. " * 20})
    asker.answer()
    assert isinstance(await stream.finished, UpstreamError)
    assert call.is_cancelled
    assert [str(fault) for fault in client.faults] == ["a fault of our own"]
