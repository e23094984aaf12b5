"""An upstream and a client for one turn at a time, in threads of their own; the upstream notes when each event left."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from random import Random
from typing import Any

from bench.load import is_whole
from bench.material import answer

PACE = 0.01  # seconds between events: each is read alone
WORDS = 120
HEAD = "HTTP/1.1 200 OK\r\ncontent-type: {}\r\n"
END = b"data: [DONE]\n\n"
PROMPT_DETAILS = {"cached_tokens": 0, "audio_tokens": 0}
COMPLETION_DETAILS = {
    "reasoning_tokens": 0,
    "audio_tokens": 0,
    "accepted_prediction_tokens": 0,
    "rejected_prediction_tokens": 0,
}


class Client:
    """One connection, kept."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), 10)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def call(self, request: bytes) -> bytes:
        """-> the whole answer, head and body."""
        self._connection.sendall(request)
        answer = b""
        while not is_whole(answer) and (data := self._connection.recv(65536)):
            answer += data
        return answer


class Upstream:
    """`sent`: the times of the stream under way, or of the last one."""

    def __init__(self) -> None:
        self.sent: list[float] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Upstream:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            while body := _read(connection):
                document = json.loads(body)
                if document.get("stream"):
                    self._stream(connection, body, document)
                else:
                    connection.sendall(_whole(body))

    def _stream(self, connection: socket.socket, body: bytes, document: dict[str, Any]) -> None:
        head = HEAD.format("text/event-stream") + "transfer-encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        usage = bool((document.get("stream_options") or {}).get("include_usage"))
        for event in _events(usage, b"obfuscation=always" in body):
            self.sent.append(time.perf_counter())
            connection.sendall(b"%x\r\n%b\r\n" % (len(event), event))
            time.sleep(PACE)
        connection.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(END), END))


def _read(connection: socket.socket) -> bytes:
    """The body of the next request; empty when the connection has ended."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    declared = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    while declared and len(body) < int(declared[1]):
        body += connection.recv(65536)
    return body


def _events(usage: bool, obfuscation: bool) -> list[bytes]:
    """The first chunk, words, the end and, if asked for, the usage."""
    random = Random(WORDS)
    words = " ".join(answer(random) for _ in range(WORDS)).split(" ")[:WORDS]
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}, *({"content": f" {word}"} for word in words)]
    events = [_event(random, delta, None, obfuscation) for delta in deltas]
    events.append(_event(random, {}, "stop", obfuscation))
    counts = {"prompt_tokens": 80, "completion_tokens": WORDS, "total_tokens": 80 + WORDS}
    return [*events, _chunk({"choices": [], "usage": counts})] if usage else events


def _event(random: Random, delta: dict[str, str], finish: str | None, obfuscation: bool) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    more = {"obfuscation": "x" * random.randrange(1, 17)} if obfuscation else {}
    return _chunk({"choices": [choice], **more})


def _chunk(fields: dict[str, Any]) -> bytes:
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": "mock-model"}
    text = json.dumps({**envelope, **fields}, separators=(",", ":"), ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def _whole(body: bytes) -> bytes:
    """As OpenAI writes it, or as vLLM does where the request's marker says "bare": a text, or the call it asks for."""
    name, bare = re.search(rb" call=(\w+)", body), b" bare" in body
    message: dict[str, Any] = {"role": "assistant", "content": None if name else "A good answer, in plain words."}
    if name:
        function = {"name": name[1].decode(), "arguments": '{"query":"books","limit":3}'}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    usage: dict[str, Any] = {"prompt_tokens": 80, "completion_tokens": 8, "total_tokens": 88}
    if not bare:
        message |= {"refusal": None, "annotations": []}
        usage |= {"prompt_tokens_details": PROMPT_DETAILS, "completion_tokens_details": COMPLETION_DETAILS}
    finish = "tool_calls" if name else "stop"
    document = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "mock-model",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": usage,
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    return (HEAD.format("application/json") + f"content-length: {len(text)}\r\n\r\n").encode() + text
