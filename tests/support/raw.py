"""An HTTP/1.1 client that hides nothing: status, headers and body bytes as they came."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

PATIENCE = 10.0  # seconds after which a test has failed


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def payloads(self) -> list[str]:
        """The data of each SSE event, each one line of JSON between `data: ` and a blank line."""
        text = self.body.decode()
        assert text.endswith("\n\n"), text[-200:]
        out = []
        for event in text[:-2].split("\n\n"):
            if event.startswith(":"):
                continue
            assert event.startswith("data: "), event
            assert "\n" not in event, event
            assert "\r" not in event, event
            out.append(event[6:])
        return out

    @property
    def chunks(self) -> list[Any]:
        """Every chunk; the stream must end with one [DONE]."""
        payloads = self.payloads
        assert payloads.index("[DONE]") == len(payloads) - 1, payloads
        return [json.loads(payload) for payload in payloads[:-1]]


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: float = PATIENCE) -> None:
        self.reader, self.writer = reader, writer
        self.patience = patience  # seconds for each read

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        raw = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), self.patience)
        first, *lines = raw.decode("latin-1").strip().split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(first.split(" ")[1]), headers

    async def chunk(self) -> bytes:
        """One piece of a chunked body; b"" at its end."""
        size = int(await asyncio.wait_for(self.reader.readline(), self.patience), 16)
        data = await asyncio.wait_for(self.reader.readexactly(size + 2), self.patience)
        return data[:-2]

    async def answer(self, method: str = "POST") -> Answer:
        status, headers = await self.head()
        if method == "HEAD" or status == 204:
            body = b""
        elif "content-length" in headers:
            body = await asyncio.wait_for(self.reader.readexactly(int(headers["content-length"])), self.patience)
        elif headers.get("transfer-encoding") == "chunked":
            body = b""
            while piece := await self.chunk():
                body += piece
        else:
            body = await asyncio.wait_for(self.reader.read(), self.patience)
        return Answer(status, headers, body)

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        self.writer.transport.abort()


async def connect(port: int, patience: float = PATIENCE) -> Wire:
    return Wire(*await asyncio.open_connection("127.0.0.1", port), patience)


def request(method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
    lines = {"host": "gateway.test", "content-type": "application/json", **(headers or {})}
    if body or method == "POST":
        lines.setdefault("content-length", str(len(body)))
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return head.encode("latin-1") + b"\r\n" + body


async def call(
    port: int,
    method: str,
    path: str,
    document: Any = None,
    *,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    patience: float = PATIENCE,
) -> Answer:
    wire = await connect(port, patience)
    try:
        await wire.send(request(method, path, json.dumps(document).encode() if document is not None else body, headers))
        return await wire.answer(method)
    finally:
        wire.close()
