"""Cohere's API: its paths, credential and errors."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from uuid import uuid4

from antiphon.document import Document
from antiphon.upstreams.scripted.cohere.answer import spell_answer, spell_events, sse_event
from antiphon.upstreams.scripted.cohere.request import read_request
from antiphon.upstreams.scripted.language import (
    JSON,
    SSE,
    Credential,
    RefusedError,
    ScriptedAnswer,
    ScriptedEvent,
    Shape,
    as_asked,
)
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.script import Script, json_answer

CHAT = "/v2/chat"
MODELS = "/v1/models"
OVERLOADED = "the model is overloaded, try again later"
BLOCKED = "the prompt was blocked by the safety policy"


class CohereLanguage:
    base = ""

    def route(self, request: Received, credential: Credential | None, models: Mapping[str, str]) -> Script | None:
        is_list = request.path == MODELS or request.path.startswith(MODELS + "/")
        if request.path != CHAT and not is_list:
            raise RefusedError(404, "page not found")
        if request.method != ("GET" if is_list else "POST"):
            raise RefusedError(405, "method not allowed")
        if credential is not None:
            check_credential(request, credential)
        return list_models(request.path.removeprefix(MODELS).strip("/"), models) if is_list else None

    def read(self, request: Received) -> Document:
        return read_request(request.body)

    def whole(self, answer: ScriptedAnswer) -> Document:
        if answer.shape is Shape.BLOCKED:
            raise RefusedError(400, BLOCKED)
        return spell_answer(answer)

    def events(self, answer: ScriptedAnswer) -> list[ScriptedEvent]:
        if answer.shape is Shape.BLOCKED:
            raise RefusedError(400, BLOCKED)
        return spell_events(answer)

    def headers(self, answer: ScriptedAnswer) -> Mapping[str, str]:
        return SSE if answer.stream else JSON

    def refuse(self, refused: RefusedError) -> Script:
        later = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
        message = refused.message or "invalid request: it could not be read"
        return json_answer({"id": str(uuid4()), "message": message}, refused.status, later)

    def failure(self, status: int | None) -> Document:
        return {"id": str(uuid4()), "message": OVERLOADED if status is None else as_asked(status)}

    def failure_event(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        """The stream ends with an error for its finish reason. It names no status."""
        message = self.failure(answer.status)["message"]
        return sse_event({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": message}})

    def garbage(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        return b'event: content-delta\ndata: {"type":"content-del\n\n'

    def bad_frame(self) -> None:
        return None


def check_credential(request: Received, credential: Credential) -> None:
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not shown.strip():
        raise RefusedError(401, "no api key supplied")
    if credential.key is not None and not hmac.compare_digest(shown.strip().encode(), credential.key.encode()):
        raise RefusedError(401, "invalid api token")


def list_models(name: str, models: Mapping[str, str]) -> Script:
    rows = [{"name": model, "endpoints": ["chat"], "context_length": 256000} for model in models]
    if not name:
        return json_answer({"models": rows})
    if name not in models:
        raise RefusedError(404, f"model '{name[:100]}' not found")
    return json_answer(next(row for row in rows if row["name"] == name))
