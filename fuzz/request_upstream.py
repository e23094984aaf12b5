"""The upstream behind the request fuzzer: the shipped scripted one, which also counts the turns of each marker."""

from __future__ import annotations

import re
from typing import Any

from antiphon.upstreams.scripted import Received, Script, ScriptedUpstream, Send, error, json_answer
from antiphon.upstreams.scripted.answers import answer
from antiphon.upstreams.scripted.faults import FAULTS

MARKER = re.compile(r"fz\.\d+\.\d+s?")
ERROR_MODEL = re.compile(r"scripted-error-(\d{3})")
HARMLESS = ("scripted-no-usage", "scripted-azure")  # faults that give a whole answer

LARGE = 256 * 1024  # bytes; a larger request is not read here, as that would stop the fuzzer's own loop
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1767225600,
    "model": "scripted",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Much."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
}


class CountingUpstream:
    def __init__(self) -> None:
        self._server = ScriptedUpstream(self._play)
        self.turns: dict[str, list[int]] = {}  # marker → statuses that were answered; 0: no whole answer
        self.unmarked = 0

    async def start(self) -> str:
        return await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

    def take(self, marker: str) -> list[int]:
        return self.turns.pop(marker, [])

    def _play(self, received: Received) -> Script:
        self._server.requests.clear()  # a night's run must not keep them
        found = MARKER.search(received.headers.get("idempotency-key", "")) or MARKER.search(
            received.body.decode("utf-8", "replace")
        )
        is_large = len(received.body) > LARGE
        script = json_answer(ANSWER) if is_large else _script(received)
        if found is None:
            self.unmarked += 1
        else:
            self.turns.setdefault(found[0], []).append(200 if is_large else _status(script, received))
        return script


def _script(received: Received) -> Script:
    if received.path.endswith("/chat/completions"):
        return answer(received)
    document = received.document
    model = document.get("model")
    if isinstance(model, str) and (failing := ERROR_MODEL.fullmatch(model)):
        return error(int(failing[1]))
    if received.path.endswith("/embeddings"):
        return json_answer(_embeddings(document))
    return json_answer(_completion(document))


def _status(script: Script, received: Received) -> int:
    """What a client may be told of this turn: the upstream's status, or 0 where it failed in another way."""
    model = received.document.get("model")
    if received.path.endswith("/chat/completions") and model in FAULTS and model not in HARMLESS:
        return 0
    first = script.steps[0]
    return int(first.data[9:12]) if isinstance(first, Send) else 0


def _embeddings(document: dict[str, Any]) -> dict[str, Any]:
    vector = "AACAPwAAAEA=" if document.get("encoding_format") == "base64" else [0.5, -1.25]
    row = {"object": "embedding", "index": 0, "embedding": vector}
    usage = {"prompt_tokens": 2, "total_tokens": 2}
    return {"object": "list", "data": [row], "model": document.get("model"), "usage": usage}


def _completion(document: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
    choice = {"index": 0, "text": "an end", "logprobs": None, "finish_reason": "stop"}
    top = {"id": "cmpl-1", "object": "text_completion", "created": 1767225600, "model": document.get("model")}
    return {**top, "choices": [choice], "usage": usage}
