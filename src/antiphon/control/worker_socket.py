"""How processes of the gateway ask a worker, or the control process: a unix socket in its private directory.

A question is a line of JSON, `{"ask": NAME, "size": BYTES}`, with so many bytes behind it; the answer is a line of
JSON. One question for each connection.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

LONGEST_LINE: Final = 32 * 1024 * 1024
LARGEST: Final = 256 * 1024 * 1024  # bytes behind a question
CONTROL: Final = "control"  # the control process; workers are worker-0, worker-1, …
PATIENCE: Final = 10.0  # seconds for an answer

Answer = Callable[[bytes], Awaitable[Any]]


class WorkerQuestion(msgspec.Struct):
    ask: str
    size: int = 0


def worker_name(number: int) -> str:
    return f"worker-{number}"


def socket_path(room: str, name: str) -> str:
    return os.path.join(room, f"{name}.sock")


class NoAnswer(Exception):
    """The process is gone, or does not answer."""

    def __init__(self, name: str, *, was_slow: bool) -> None:
        """`was_slow`: it is there, but did not answer in time."""
        super().__init__(f"{name} does not answer")
        self.was_slow = was_slow


async def listen(room: str, name: str, answers: Mapping[str, Answer]) -> asyncio.Server:
    """In the process that is asked. The socket of its predecessor is replaced."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, msgspec.MsgspecError, ValueError):
            question = msgspec.json.decode(await reader.readline(), type=WorkerQuestion)
            if question.ask in answers and 0 <= question.size <= LARGEST:
                data = await reader.readexactly(question.size)
                writer.write(msgspec.json.encode(await answers[question.ask](data)) + b"\n")
                await writer.drain()
        writer.close()

    path = socket_path(room, name)
    with suppress(FileNotFoundError):
        os.unlink(path)
    return await asyncio.start_unix_server(serve, path)


async def ask(room: str, name: str, what: str, data: bytes = b"", patience: float = PATIENCE) -> Any:
    """Raises NoAnswer."""
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_unix_connection(socket_path(room, name), limit=LONGEST_LINE)
            try:
                writer.write(msgspec.json.encode(WorkerQuestion(what, len(data))) + b"\n" + data)
                await writer.drain()
                line = await reader.readline()
            finally:
                writer.close()
            return msgspec.json.decode(line)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise NoAnswer(name, was_slow=isinstance(error, TimeoutError)) from error
