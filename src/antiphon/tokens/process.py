"""One tokenizer process, seen from the worker: jobs go in, tallies come back in the same order.

Rules: `ask` either returns or raises TokenizerError; when the process dies, all that wait hear it at once; what waits
is bounded, so a slow tokenizer costs exactness, never memory.
"""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

from antiphon.tokens.wire import LENGTH, Job, Tally, pack

MAX_WAITING = 1024
MAX_WAITING_BYTES = 64 * 1024 * 1024
MAX_REPLY = 1024


class TokenizerError(Exception):
    """The tokenizer cannot answer: dead, too busy, or too slow."""


class Tokenizer:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.alive = True
        self.answered = 0
        self.warm: set[str] = set()  # encodings that have answered once: these are loaded
        self._process = process
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._waiting: deque[tuple[asyncio.Future[Tally], int]] = deque()
        self._waiting_bytes = 0
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: tuple[str, ...]) -> Tokenizer:
        # A session of its own: Ctrl-C in a terminal must not end it while the worker drains.
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    async def ask(self, job: Job, seconds: float) -> Tally:
        frame = pack(job)
        if not self.alive:
            raise TokenizerError("the tokenizer is gone")
        if len(self._waiting) >= MAX_WAITING or self._waiting_bytes + len(frame) > MAX_WAITING_BYTES:
            raise TokenizerError("the tokenizer is busy")
        reply: asyncio.Future[Tally] = asyncio.get_running_loop().create_future()
        self._waiting.append((reply, len(frame)))
        self._waiting_bytes += len(frame)
        self._stdin.write(frame)
        answered = self.answered
        try:
            async with asyncio.timeout(seconds):
                tally = await reply
        except TimeoutError:
            if self.answered == answered:  # nothing came back for anyone: it hangs
                self.kill()
            raise TokenizerError("the tokenizer is too slow") from None
        self.warm.add(job.encoding)
        return tally

    async def _read(self) -> None:
        decoder = msgspec.json.Decoder(Tally)
        try:
            while True:
                (length,) = LENGTH.unpack(await self._stdout.readexactly(LENGTH.size))
                if length > MAX_REPLY:
                    break
                self._answer(decoder.decode(await self._stdout.readexactly(length)))
        except asyncio.IncompleteReadError:
            pass  # it ended
        except (OSError, msgspec.MsgspecError, IndexError):
            pass  # it does not speak our language
        finally:
            self._fail_waiting()

    def _answer(self, tally: Tally) -> None:
        reply, size = self._waiting.popleft()
        self._waiting_bytes -= size
        self.answered += 1
        if not reply.done():
            reply.set_result(tally)

    def _fail_waiting(self) -> None:
        self.alive = False
        for reply, _ in self._waiting:
            if not reply.done():
                reply.set_exception(TokenizerError("the tokenizer is gone"))
        self._waiting.clear()

    def kill(self) -> None:
        self._fail_waiting()
        if self._process.returncode is None:
            try:
                self._process.kill()
            except ProcessLookupError:
                pass

    async def close(self, seconds: float = 1.0) -> None:
        """EOF on its input ends it; one that does not hear is killed."""
        self.alive = False
        self._stdin.close()
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await self._reading
