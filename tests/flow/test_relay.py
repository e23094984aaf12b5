"""An attempt's answer on its way: what the sockets' tests cannot time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial

import pytest

from antiphon.chat.fold import fold
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import AntiphonError, UpstreamError
from antiphon.flow.ports import Document, Flow
from antiphon.flow.relay import Fold, Gather, Ready, Relay, tell
from tests.chat.machine import chunk, machine, request


class GoneClient:
    """Takes everything, as the real one does when the client has left."""

    def follow(self, flow: Flow) -> None: ...

    def answer(self, body: bytes) -> None: ...

    def write(self, frames: bytes) -> None: ...

    @property
    def direct(self) -> Callable[[bytes], None]:
        return self.write

    def finish(self) -> None: ...

    def fail(self, error: AntiphonError, receipt: Document | None) -> None: ...


def relay(ready: Ready) -> Relay:
    options = WriteOptions(strict=False, target="up/m", maritaca_object="", entropy=None)
    writer = DIALECTS["openai"].writer(request(), options)
    return Relay(machine(), writer, GoneClient(), ready, lambda: None)


@pytest.mark.parametrize("fails", [False, True])
async def test_an_upstream_may_speak_between_the_clients_leaving_and_the_tasks_end(fails: bool) -> None:
    ready: Ready = asyncio.get_running_loop().create_future()
    stream = relay(ready)
    ready.cancel()
    if fails:
        stream.fail(UpstreamError("x"), 0)
    else:
        stream.events([json.dumps(chunk({"content": "Hi"})).encode()], 0)
    assert ready.cancelled()


async def test_so_may_one_that_answers_whole() -> None:
    ready: Ready = asyncio.get_running_loop().create_future()
    gather = Gather(1, partial(tell, ready), lambda: Fold(machine(), fold))
    ready.cancel()
    gather.whole(b"{}", 0)
    assert ready.cancelled()
