"""Writes AWS event-stream messages, as Bedrock sends them."""

from __future__ import annotations

import json
import struct
from typing import Any
from zlib import crc32

PADDING = "abcdefghijklmnopqrstuvwxyz"


def message(headers: dict[str, str], payload: bytes) -> bytes:
    written = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(written) + len(payload), len(written))
    whole = prelude + struct.pack(">I", crc32(prelude)) + written + payload
    return whole + struct.pack(">I", crc32(whole))


def event(name: str, document: dict[str, Any]) -> bytes:
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    padded = {**document, "p": PADDING[: len(str(document)) % 26]}
    return message(headers, json.dumps(padded, ensure_ascii=False).encode())


def exception(name: str, document: dict[str, Any]) -> bytes:
    headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    return message(headers, json.dumps(document).encode())


def error(code: str, text: str) -> bytes:
    return message({":error-code": code, ":error-message": text, ":message-type": "error"}, b"")


def start() -> bytes:
    return event("messageStart", {"role": "assistant"})


def text(words: str, index: int = 0) -> bytes:
    return delta(index, {"text": words})


def delta(index: int, said: dict[str, Any]) -> bytes:
    return event("contentBlockDelta", {"contentBlockIndex": index, "delta": said})


def thought(index: int, **said: str) -> bytes:
    return delta(index, {"reasoningContent": said})


def tool(index: int, identity: str, name: str, **more: str) -> bytes:
    started = {"toolUse": {"toolUseId": identity, "name": name, **more}}
    return event("contentBlockStart", {"contentBlockIndex": index, "start": started})


def arguments(index: int, piece: str) -> bytes:
    return delta(index, {"toolUse": {"input": piece}})


def stop(index: int) -> bytes:
    return event("contentBlockStop", {"contentBlockIndex": index})


def end(reason: str = "end_turn", **more: Any) -> bytes:
    return event("messageStop", {"stopReason": reason, **more})


def metadata(**more: Any) -> bytes:
    usage = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}
    return event("metadata", {"usage": usage, "metrics": {"latencyMs": 5}, **more})
