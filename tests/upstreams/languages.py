"""A scripted upstream in each language, and requests to it as the gateway says them and as bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from antiphon.errors import UpstreamError
from antiphon.protocols.anthropic import Anthropic
from antiphon.protocols.bedrock import Bedrock
from antiphon.protocols.cohere import Cohere
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.gemini import GEMINI
from antiphon.protocols.protocol import Encoded, ForeignProtocol
from antiphon.upstreams.scripted import Credential, ScriptedUpstream

Document = dict[str, Any]

SECONDS = 10
KEY = "sk-scripted"
PROTOCOLS: Mapping[str, ForeignProtocol] = {
    "anthropic": Anthropic(),
    "bedrock": Bedrock(),
    "cohere": Cohere(),
    "gemini": GEMINI,
}
FOREIGN = tuple(PROTOCOLS)
SHOWN: Mapping[str, Mapping[str, str]] = {
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
    "bedrock": {"authorization": f"Bearer {KEY}"},
    "cohere": {"authorization": f"Bearer {KEY}"},
    "gemini": {"x-goog-api-key": KEY},
}
THINKS = ModelFacts(thinking=Thinking.BUDGET, max_output=64_000)


@dataclass
class Answered:
    status: int
    headers: dict[str, str]
    body: bytes
    is_whole: bool  # the body came to its end by the rules of HTTP

    @property
    def document(self) -> Document:
        document: Document = json.loads(self.body)
        return document


@dataclass
class Client:
    """One upstream, and what must be shown to it."""

    speaks: str
    upstream: ScriptedUpstream
    shown: dict[str, str] = field(default_factory=dict)

    async def send(
        self, path: str, body: object, method: str = "POST", headers: Mapping[str, str] | None = None
    ) -> Answered:
        reader, writer = await self.open(path, body, method, headers)
        async with asyncio.timeout(SECONDS):
            answer = await reader.read()
        writer.close()
        return read_answer(answer)

    async def open(
        self, path: str, body: object, method: str = "POST", headers: Mapping[str, str] | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Sends a request and leaves the reading of its answer."""
        port = int(self.upstream.url.split(":")[2].split("/")[0])
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = {"host": "scripted", **(self.shown if headers is None else headers)}
        lines |= {"connection": "close", "content-length": str(len(data))}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + data)
        return reader, writer

    @property
    def base(self) -> str:
        """The path of the base URL."""
        base = self.upstream.url.partition("://")[2].partition("/")[2]
        return f"/{base}" if base else ""

    def encode(self, document: Document, facts: ModelFacts | None = None) -> Encoded:
        return PROTOCOLS[self.speaks].encode(document, document["model"], facts or ModelFacts(), None, strict=False)

    async def post(self, document: Document, facts: ModelFacts | None = None) -> Answered:
        """A Chat Completions request, as the gateway says it in this language."""
        encoded = self.encode(document, facts)
        return await self.send(self.base + encoded.path, encoded.body, headers={**self.shown, **dict(encoded.headers)})

    async def ask(self, document: Document, facts: ModelFacts | None = None) -> Document:
        """The answer, as the gateway reads it: the message of its one choice, with `finish` and `usage`."""
        answered = await self.post(document, facts)
        protocol = PROTOCOLS[self.speaks]
        if answered.status != 200:
            raise protocol.read_failure(answered.status, answered.body)
        if not document.get("stream"):
            return whole(protocol.decode(answered.document, "m"))
        decoder = protocol.open_stream("m")
        chunks = decoder.feed(answered.body)
        if not decoder.is_whole:
            raise UpstreamError("cut", status=502, code="upstream_truncated")
        return gather(chunks)


def whole(completion: Document) -> Document:
    choice = completion["choices"][0]
    return {**choice["message"], "finish": choice["finish_reason"], "usage": completion.get("usage")}


def gather(chunks: list[Document]) -> Document:
    """The deltas of one choice, put together."""
    message: Document = {"finish": None, "usage": None}
    calls: dict[int, Document] = {}
    for chunk in chunks:
        message["usage"] = chunk.get("usage") or message["usage"]
        for choice in chunk["choices"]:
            message["finish"] = choice["finish_reason"] or message["finish"]
            for name, value in choice["delta"].items():
                if name == "tool_calls":
                    take_calls(calls, value)
                elif isinstance(value, str | list) and name != "role":
                    message[name] = message[name] + value if name in message else value
    return {**message, "tool_calls": list(calls.values())} if calls else message


def take_calls(calls: dict[int, Document], deltas: list[Document]) -> None:
    for delta in deltas:
        call = calls.setdefault(delta["index"], {"function": {"name": "", "arguments": ""}})
        call |= {name: value for name, value in delta.items() if name not in ("index", "function")}
        for name, piece in delta.get("function", {}).items():
            call["function"][name] += piece


def read_answer(data: bytes) -> Answered:
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    if headers.get("transfer-encoding") == "chunked":
        body, is_whole = join_chunks(rest)
    else:
        body, is_whole = rest, len(rest) == int(headers.get("content-length", "-1"))
    return Answered(int(first.split(" ")[1]) if first else 0, headers, body, is_whole)


def join_chunks(data: bytes) -> tuple[bytes, bool]:
    body = b""
    while True:
        size, found, rest = data.partition(b"\r\n")
        if not found or not all(letter in b"0123456789abcdef" for letter in size):
            return body, False
        length = int(size, 16)
        if length == 0:
            return body, True
        body += rest[:length]
        data = rest[length + 2 :]


@asynccontextmanager
async def speaking(speaks: str, scripts: Any = None, credential: Credential | None = None) -> AsyncIterator[Client]:
    upstream = ScriptedUpstream(scripts, speaks=speaks, credential=credential or Credential(key=KEY))
    await upstream.start()
    try:
        yield Client(speaks, upstream, dict(SHOWN[speaks]))
    finally:
        await upstream.stop()
