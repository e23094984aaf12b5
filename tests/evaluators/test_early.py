"""The early look as a worker asks for it: what is told, what is risky because nobody told, and where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.evaluators import client as room
from antiphon.evaluators import process
from antiphon.evaluators.backends import Backend
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.composite import Composite, Coverage, LocalMember, RemoteMember
from antiphon.evaluators.scheduler import Scheduler
from antiphon.evaluators.wire import LENGTH, LONGEST_EARLY, EarlyAsk, EarlyTold, Hello, ask_decoder, pack, told_decoder
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import Stage
from tests.evaluators.test_composite import SHIELD, Told
from tests.support.evaluators import Plain, evaluating
from tests.support.process import until

SCOPE = Scope("m", "k")


def begins(text: str) -> bool:
    return text.endswith("vio")


class Heard:
    """What `done` was called with."""

    def __init__(self) -> None:
        self.all: list[bool] = []

    def __call__(self, risky: bool) -> None:
        self.all.append(risky)

    async def one(self) -> bool:
        await until(lambda: bool(self.all))
        assert len(self.all) == 1
        return self.all[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "e.sock"


@pytest.fixture
async def client(path: Path) -> AsyncIterator[EvaluatorClient]:
    client = EvaluatorClient([str(path)], 10.0, lambda line: None)
    client.start()
    yield client
    await client.close()


def panel_of(client: EvaluatorClient, *names: str) -> Composite:
    return Composite(client, [LocalMember(name, Coverage()) for name in names or ("plain",)])


async def test_the_end_of_a_text_is_risky_or_not_and_told_later(client: EvaluatorClient, path: Path) -> None:
    async with evaluating(path, {"plain": Backend(Plain(), early=begins)}):
        await until(lambda: client.state == "ready")
        panel = panel_of(client)
        for text, risky in (("there was vio", True), ("there was a violin", False), ("half \ud83d vio", True)):
            heard = Heard()
            assert panel.early(text, SCOPE, heard)
            assert not heard.all  # never within the call
            assert await heard.one() is risky


async def test_many_at_once_get_their_own_answers(client: EvaluatorClient, path: Path) -> None:
    async with evaluating(path, {"plain": Backend(Plain(), early=begins)}):
        await until(lambda: client.state == "ready")
        heard = [Heard() for _ in range(process.MOST_EARLY)]
        for number, each in enumerate(heard):
            assert panel_of(client).early("a vio" if number % 3 else "a", SCOPE, each)
        assert [await each.one() for each in heard] == [bool(number % 3) for number in range(len(heard))]


async def test_while_long_questions_are_judged_an_early_look_is_answered(client: EvaluatorClient, path: Path) -> None:
    plain, heard = Plain(), Heard()
    plain.hold()
    async with evaluating(path, {"plain": Backend(plain, early=begins)}):
        asked = client.ask(Stage.ANSWER, ["long"], ["plain"])
        assert await asyncio.to_thread(plain.began.acquire, timeout=10)
        assert panel_of(client).early("calm", SCOPE, heard)
        assert await heard.one() is False
        assert not asked.done()
        plain.release()
        await asked


async def test_there_is_none_before_the_process_is_ready_or_after_it_went(client: EvaluatorClient, path: Path) -> None:
    heard = Heard()
    assert not panel_of(client).early("x", SCOPE, heard)
    async with evaluating(path, {"plain": Backend(Plain(), early=begins)}):
        await until(lambda: client.state == "ready")
        assert panel_of(client).early("x", SCOPE, Heard())
    await until(lambda: client.state == "starting")
    assert not panel_of(client).early("x", SCOPE, heard)
    assert not heard.all


async def test_there_is_none_where_a_part_cannot_give_one(client: EvaluatorClient, path: Path) -> None:
    heard = Heard()
    async with evaluating(path, {"plain": Backend(Plain(), early=begins), "patterns": Backend(Plain())}):
        await until(lambda: client.state == "ready")
        assert panel_of(client, "plain").early("x", SCOPE, Heard())
        assert not panel_of(client, "plain", "patterns").early("x", SCOPE, heard)
        assert not panel_of(client, "plain", "missing").early("x", SCOPE, heard)
        only_prompts = LocalMember("patterns", Coverage(frozenset({Stage.PROMPT})))
        assert Composite(client, [LocalMember("plain", Coverage()), only_prompts]).early("x", SCOPE, Heard())
    assert not heard.all


async def test_there_is_none_where_somebody_outside_judges_answers(client: EvaluatorClient, path: Path) -> None:
    heard = Heard()
    inside = [LocalMember("plain", Coverage())]
    async with evaluating(path, {"plain": Backend(Plain(), early=begins)}):
        await until(lambda: client.state == "ready")
        elsewhere = Coverage(routes=frozenset({"other"}))
        assert Composite(client, inside, [RemoteMember(Told(SHIELD), elsewhere)]).early("x", SCOPE, Heard())
        prompts = Coverage(frozenset({Stage.PROMPT}))
        assert Composite(client, inside, [RemoteMember(Told(SHIELD), prompts)]).early("x", SCOPE, Heard())
        assert not Composite(client, inside, [RemoteMember(Told(SHIELD), Coverage())]).early("x", SCOPE, heard)
        assert not Composite(client, []).early("x", SCOPE, heard)
    assert not Composite(None, [], [RemoteMember(Told(SHIELD), Coverage())]).early("x", SCOPE, heard)
    assert not heard.all


class Mute:
    """A process that says hello and reads; it answers when told to."""

    def __init__(self) -> None:
        self.asked: list[EarlyAsk] = []
        self.writer: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        writer.write(pack(Hello(None, ["plain"])))
        try:
            while True:
                (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
                ask = ask_decoder.decode(await reader.readexactly(length))
                assert isinstance(ask, EarlyAsk)
                self.asked.append(ask)
        except asyncio.IncompleteReadError:
            writer.close()


@pytest.fixture
async def mute(client: EvaluatorClient, path: Path) -> AsyncIterator[Mute]:
    mute = Mute()
    server = await asyncio.start_unix_server(mute.serve, path)
    await until(lambda: client.state == "ready")
    yield mute
    await client.close()
    server.close()


async def test_silence_is_risky_within_the_time_limit(client: EvaluatorClient, mute: Mute) -> None:
    loop, heard = asyncio.get_running_loop(), Heard()
    began = loop.time()
    assert panel_of(client).early("x", SCOPE, heard)
    assert await heard.one() is True
    assert loop.time() - began < room.EARLY + 2 * room.TICK
    assert mute.writer is not None
    await until(lambda: len(mute.asked) == 1)
    mute.writer.write(pack(EarlyTold(mute.asked[0].id, False)))  # too late: nobody hears it
    assert panel_of(client).early("y", SCOPE, other := Heard())
    await until(lambda: len(mute.asked) == 2)
    mute.writer.write(pack(EarlyTold(mute.asked[1].id, False)))
    assert await other.one() is False
    assert heard.all == [True]


async def test_a_process_that_dies_makes_what_waits_risky(client: EvaluatorClient, mute: Mute) -> None:
    heard = [Heard() for _ in range(3)]
    for each in heard:
        assert panel_of(client).early("x", SCOPE, each)
    await until(lambda: len(mute.asked) == 3)
    assert mute.writer is not None
    mute.writer.transport.abort()
    assert [await each.one() for each in heard] == [True] * 3


async def test_closed_it_makes_what_waits_risky(client: EvaluatorClient, mute: Mute) -> None:
    heard = Heard()
    assert panel_of(client).early("x", SCOPE, heard)
    await client.close()
    assert heard.all == [True]
    assert not panel_of(client).early("x", SCOPE, heard)


async def test_one_too_many_is_risky(client: EvaluatorClient, mute: Mute) -> None:
    for _ in range(room.MOST_EARLY):
        assert panel_of(client).early("x", SCOPE, lambda risky: None)
    assert panel_of(client).early("x", SCOPE, heard := Heard())
    assert not heard.all
    assert await heard.one() is True
    await until(lambda: len(mute.asked) == room.MOST_EARLY)


async def test_a_text_that_is_too_long_is_risky(client: EvaluatorClient, mute: Mute) -> None:
    assert panel_of(client).early("x" * (LONGEST_EARLY + 1), SCOPE, heard := Heard())
    assert not heard.all
    assert await heard.one() is True
    assert not mute.asked


async def test_too_many_of_one_read_are_risky() -> None:
    """The process does not compute for so long that others wait for it."""
    written: list[bytes] = []

    class Wire(asyncio.Transport):
        def write(self, data: bytes | bytearray | memoryview) -> None:
            written.append(bytes(data))

    docket = Scheduler({"plain": Backend(Plain(), early=begins)}, lambda line: None)
    connection = process.WorkerConnection(docket, Hello())
    connection.connection_made(Wire())
    count = process.MOST_EARLY + 3
    connection.data_received(b"".join(pack(EarlyAsk(number, "calm", ["plain"])) for number in range(count)))
    told = [told_decoder.decode(frame[LENGTH.size :]) for frame in written[1:]]
    assert told == [EarlyTold(number, number >= process.MOST_EARLY) for number in range(count)]
    docket.close()


async def test_one_that_fails_when_it_is_told_leaves_the_others_alone(client: EvaluatorClient, path: Path) -> None:
    def fails(risky: bool) -> None:
        raise RuntimeError("as asked")

    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context["exception"]))
    async with evaluating(path, {"plain": Backend(Plain(), early=begins)}):
        await until(lambda: client.state == "ready")
        assert panel_of(client).early("x", SCOPE, fails)
        assert panel_of(client).early("x", SCOPE, heard := Heard())
        assert await heard.one() is False
    assert [type(fault) for fault in faults] == [RuntimeError]
