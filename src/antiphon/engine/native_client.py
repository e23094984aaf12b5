"""The host's side of the native engine: questions and work over its unix socket, and whether it makes progress.

Work (generations, embeddings) is done by one thread of the engine, questions are answered by others: each kind has a
clock of its own. Whatever comes back for one of its calls is progress, also a processed batch of a prompt; a kind that
waits and hears nothing at all waits for an engine that hangs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

import msgspec

from antiphon import sse
from antiphon.document import Document
from antiphon.errors import AntiphonError, OverloadError, RequestError
from antiphon.http.client import Call, ClientError, Failure, Pool, Timeouts, parse_url

FOREVER: Final = 1e9  # seconds: the watchdog decides, not the pool
LOST: Final = "The embedded engine stopped while it answered, and is being restarted. Please try again."


class AsksEngine(Protocol):
    """The part of a client that asks one question and awaits the answer."""

    async def ask(self, path: str, question: Document) -> Document: ...


class EngineLost(OverloadError):
    """The engine went away. `unreached`: before it had heard of the request, which may well be asked again."""

    def __init__(self, *, unreached: bool = False) -> None:
        super().__init__(LOST, code="engine_restarted", retry_after=2)
        self.unreached = unreached


class NativeClient:
    def __init__(self, socket: str, key: str) -> None:
        origin, _ = parse_url(f"unix:{socket}")
        # A connection for each call: the engine closes kept ones when it likes, and no call may be sent twice.
        timeouts = Timeouts(connect=FOREVER, first_byte=FOREVER, idle=FOREVER, total=FOREVER)
        self._pool = Pool(origin, timeouts, max_idle=0)
        self._headers = b"authorization: Bearer %b\r\ncontent-type: application/json\r\n" % key.encode()
        self._work = _Clock()
        self._questions = _Clock()

    async def ask(self, path: str, question: Document) -> Document:
        """One question, one answer. Raises AntiphonError."""
        async with self._call(b"POST", path, question, self._questions) as events:
            return await events.whole()

    async def embed(self, tokens: list[int]) -> list[float]:
        async with self._call(b"POST", "/v1/embeddings", {"input": tokens}, self._work) as events:
            answer = await events.whole()
        return list(answer["data"][0]["embedding"])

    async def context(self) -> int:
        """Tokens of one conversation."""
        answer = await self._look("/props")
        return int(answer["default_generation_settings"]["n_ctx"])

    async def vocabulary(self) -> int:
        """How many tokens there are: their ids are less."""
        answer = await self._look("/v1/models")
        return int(answer["data"][0]["meta"]["n_vocab"])

    async def generate(self, order: Document) -> AsyncGenerator[Document, None]:
        """The events of one generation; the last one has `stop` set. Leaving the loop early frees the slot."""
        async with self._call(b"POST", "/completion", order, self._work) as events:
            async for event in events:
                yield event
                if event.get("stop"):
                    return
            raise EngineLost(unreached=events.unreached)

    def silence(self) -> float:
        """For how long calls have waited without hearing anything; 0 where none waits."""
        return max(self._work.silence(), self._questions.silence())

    def reset_clock(self) -> None:
        """Counts silence from now on."""
        self._work.hear()
        self._questions.hear()

    async def close(self) -> None:
        await self._pool.close()

    async def _look(self, path: str) -> Document:
        async with self._call(b"GET", path, {}, self._questions) as events:
            return await events.whole()

    @asynccontextmanager
    async def _call(self, method: bytes, path: str, document: Document, clock: _Clock) -> AsyncIterator[_CallEvents]:
        events = _CallEvents(clock.hear)
        body = msgspec.json.encode(document) if method == b"POST" else b""
        with clock:
            events.call = self._pool.send(method, path.encode(), self._headers, body, events)
            try:
                yield events
            finally:
                if not events.over:
                    events.call.cancel()


class _Clock:
    """How long calls of one kind have waited for anything."""

    def __init__(self) -> None:
        self._waiting = 0
        self._heard = 0.0

    def __enter__(self) -> None:
        if not self._waiting:
            self.hear()
        self._waiting += 1

    def __exit__(self, *failure: object) -> None:
        self._waiting -= 1

    def hear(self) -> None:
        self._heard = asyncio.get_running_loop().time()

    def silence(self) -> float:
        return asyncio.get_running_loop().time() - self._heard if self._waiting else 0.0


class _CallEvents:
    """What one call hears: a whole document, or events one by one."""

    def __init__(self, progress: Callable[[], None]) -> None:
        self.call: Call
        self.over = False
        self._progress = progress
        self._status = 0
        self._decoder: sse.Decoder | None = None
        self._body: list[bytes] = []
        self._payloads: deque[bytes] = deque()
        self.unreached = False
        self._failed = False
        self._news = asyncio.Event()

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        self._progress()
        self._status = status
        if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
            self._decoder = sse.Decoder()

    def on_data(self, data: bytes) -> None:
        self._progress()
        if self._decoder is None:
            self._body.append(data)
            return
        self._payloads.extend(self._decoder.feed(data))
        self._news.set()

    def on_end(self) -> None:
        self._progress()
        self.over = True
        self._news.set()

    def on_fail(self, error: ClientError) -> None:
        self.over = self._failed = True
        self.unreached = error.failure is Failure.CONNECT
        self._news.set()

    async def whole(self) -> Document:
        while not self.over:
            await self._hear()
        if self._failed:
            raise EngineLost(unreached=self.unreached)
        document = self._decode(b"".join(self._body))
        if self._status != 200:
            raise refusal(document, self._status)
        return document

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        while not self._payloads:
            if self.over:
                if self._failed or self._status == 200:
                    raise StopAsyncIteration
                raise refusal(self._decode(b"".join(self._body)), self._status)
            await self._hear()
        document = self._decode(self._payloads.popleft())
        if "error" in document:
            raise refusal(document, 500)
        return document

    async def _hear(self) -> None:
        await self._news.wait()
        self._news.clear()

    def _decode(self, body: bytes) -> Document:
        try:
            document = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise AntiphonError("The embedded engine sent something that is no answer.", code="engine_error")
        return document


def refusal(document: Document, status: int) -> AntiphonError:
    """llama.cpp's own words: what is the request's fault stays the client's, all else is ours."""
    error = document.get("error")
    error = error if isinstance(error, dict) else {}
    message = str(error.get("message") or "The embedded engine refused the request.")[:500]
    code = error.get("code")
    status = code if isinstance(code, int) else status
    if 400 <= status < 500 and status not in (401, 403):
        return RequestError(message)
    return AntiphonError(f"The embedded engine failed: {message}", code="engine_error")
