"""Which models an upstream says it has: `GET {base}/models`, bounded in time, size and number."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec

from antiphon.document import Document
from antiphon.http.client import ClientError, Failure, Pool

SECONDS: Final = 5.0  # for the whole answer
MOST_BYTES: Final = 4 * 1024 * 1024
MOST_MODELS: Final = 5000
LONGEST_ID: Final = 256


class UnknownModels(Exception):
    """The upstream did not say. The message is for the log."""


async def ask_models(pool: Pool, path: bytes, headers: bytes) -> list[Document]:
    listing = Listing(asyncio.get_running_loop().create_future())
    call = pool.send(b"GET", path, headers, b"", listing)
    try:
        async with asyncio.timeout(SECONDS):
            return read_models(await listing.body)
    except TimeoutError:
        raise UnknownModels(f"no answer within {SECONDS:g} s") from None
    finally:
        call.cancel()


def read_models(body: bytes) -> list[Document]:
    """The usable ones: an id fit for a client to send, told once. Ollama and others leave members out."""
    try:
        document: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnknownModels("its list is not JSON") from None
    rows = document.get("data", document.get("models")) if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise UnknownModels("it sent no list")
    found: dict[str, Document] = {}
    for row in rows:
        name = _name_of(row) if isinstance(row, dict) else None
        if isinstance(name, str) and 0 < len(name) <= LONGEST_ID and name.isprintable() and len(found) < MOST_MODELS:
            found.setdefault(name, row if "id" in row else _read_named(name, row))
    return list(found.values())


def _read_named(name: str, row: Document) -> Document:
    """In OpenAI's words: Gemini and Cohere tell the size of a context each in their own."""
    size = row.get("inputTokenLimit", row.get("context_length"))
    return {"id": name} if type(size) is not int else {"id": name, "context_length": size}


def _name_of(row: Document) -> object:
    """Gemini and Cohere call it `name`; Gemini's begin with a folder."""
    name = row.get("id", row.get("name"))
    return name.removeprefix("models/") if isinstance(name, str) and "id" not in row else name


class Listing:
    """The answer as it arrives."""

    def __init__(self, body: asyncio.Future[bytes]) -> None:
        self.body = body
        self._status = 0
        self._pieces: list[bytes] = []
        self._size = 0

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        self._status = status

    def on_data(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MOST_BYTES:
            self._fail(f"its list has more than {MOST_BYTES} bytes")
        else:
            self._pieces.append(data)

    def on_end(self) -> None:
        if self._status != 200:
            self._fail(f"HTTP {self._status}")
        elif not self.body.done():
            self.body.set_result(b"".join(self._pieces))

    def on_fail(self, error: ClientError) -> None:
        self._fail("cut" if error.failure is Failure.RESET else str(error))

    def _fail(self, why: str) -> None:
        self._pieces.clear()
        if not self.body.done():
            self.body.set_exception(UnknownModels(why))
