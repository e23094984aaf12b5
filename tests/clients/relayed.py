"""An upstream that says what it was sent: the digest of each file, and the fields of the form or the document."""

from __future__ import annotations

import asyncio
import json
import queue
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.clients.harness import READY
from tests.support.relay import Got, Play, RelayUpstream, sha

SOUND = bytes(range(256)) * 2000


def fields(got: Got) -> dict[str, str]:
    """Of a form; a file is its digest."""
    kind = got.headers.get("content-type", "")
    if not kind.startswith("multipart/"):
        return {name: str(value) for name, value in json.loads(got.body or b"{}").items()}
    delimiter = b"--" + kind.partition("boundary=")[2].strip('"').encode()
    found = {}
    for part in got.body.split(delimiter)[1:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        named = re.search(rb'name="([^"]*)"', head)
        assert named is not None
        value = value.removesuffix(b"\r\n")
        found[named[1].decode()] = sha(value) if b"filename=" in head else value.decode()
    return found


def answer(got: Got) -> Play:
    assert got.headers["authorization"] == "Bearer sk-upstream"
    path = got.target.partition("?")[0].removeprefix("/v1")
    sent = fields(got)
    if sent.get("voice") == "nobody":
        error = {"message": "no such voice", "type": "invalid_request_error", "param": "voice", "code": "bad_voice"}
        return Play(json.dumps({"error": error}).encode(), 400)
    if path == "/audio/speech" or path.endswith("/content"):
        return Play(SOUND, kind="audio/mpeg")
    if path == "/images/generations" and sent.get("stream"):
        event = {"type": "image_generation.completed", "b64_json": "aGk=", "created_at": 1}
        return Play(kind="text/event-stream", pieces=[b"data: " + json.dumps(event).encode() + b"\n\n"])
    if path.startswith("/images/"):
        picture = {"b64_json": sent.get("image", ""), "revised_prompt": f"{sent['model']}: {sent['prompt']}"}
        return Play(json.dumps({"created": 1, "data": [picture]}).encode())
    if path.startswith("/audio/"):
        return Play(json.dumps({"text": f"{sent['model']}: {sent['file']}"}).encode())
    if got.method == "DELETE":
        return Play(b'{"id": "file-1", "object": "file", "deleted": true}')
    file = {"id": "file-1", "object": "file", "bytes": 1, "created_at": 1, "filename": sent.get("file", "f")}
    file |= {"purpose": sent.get("purpose", "batch"), "status": "processed"}
    if path == "/files" and got.method == "GET":
        return Play(json.dumps({"object": "list", "data": [file], "has_more": False}).encode())
    return Play(json.dumps(file).encode())


@contextmanager
def relay_upstream() -> Iterator[str]:
    """In a thread with a loop of its own, as `harness.scripted_upstream`."""
    started: queue.Queue[str] = queue.Queue()
    stopping = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def play() -> None:
        loops.append(asyncio.get_running_loop())
        async with RelayUpstream(answer).running() as upstream:
            started.put(upstream.url)
            await stopping.wait()

    thread = threading.Thread(target=lambda: asyncio.run(play()))
    thread.start()
    try:
        yield started.get(timeout=READY)
    finally:
        loops[0].call_soon_threadsafe(stopping.set)
        thread.join(READY)
