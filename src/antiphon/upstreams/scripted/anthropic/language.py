"""The Messages API: its paths, headers and errors."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from secrets import token_hex

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.anthropic.answer import spell_events, spell_message, sse_event
from antiphon.upstreams.scripted.anthropic.request import check_version, read_request
from antiphon.upstreams.scripted.language import (
    BORN,
    JSON,
    Credential,
    RefusedError,
    ScriptedAnswer,
    ScriptedEvent,
    as_asked,
    count_prompt,
)
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.script import Script, json_answer

MESSAGES = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
MODELS = "/v1/models"
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OVERLOADED = 529
METHODS = {MESSAGES: "POST", COUNT: "POST"}


class AnthropicLanguage:
    base = ""

    def route(self, request: Received, credential: Credential | None, models: Mapping[str, str]) -> Script | None:
        is_list = request.path.startswith(MODELS)
        if request.path not in METHODS and not is_list:
            raise RefusedError(404, "Not found")
        if request.method != METHODS.get(request.path, "GET"):
            raise RefusedError(405, "Method Not Allowed")
        if credential is not None:
            check_credential(request, credential)
        check_version(request)
        if is_list:
            return list_models(request.path.removeprefix(MODELS).strip("/"), models)
        if request.path == COUNT:
            document = read_request(request, counts_only=True)
            return json_answer({"input_tokens": count_prompt(document)}, headers=_identity())
        return None

    def read(self, request: Received) -> Document:
        return read_request(request)

    def whole(self, answer: ScriptedAnswer) -> Document:
        return spell_message(answer)

    def events(self, answer: ScriptedAnswer) -> list[ScriptedEvent]:
        return spell_events(answer)

    def headers(self, answer: ScriptedAnswer) -> Mapping[str, str]:
        kind = {"content-type": "text/event-stream; charset=utf-8"} if answer.stream else JSON
        return {**kind, **_identity()}

    def refuse(self, refused: RefusedError) -> Script:
        identity = _identity()
        kind = refused.kind or kind_of(refused.status)
        error = {"type": kind, "message": refused.message or "The request could not be read."}
        body = {"type": "error", "error": error, "request_id": identity["request-id"]}
        later = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
        return json_answer(body, refused.status, {**identity, **later})

    def failure(self, status: int | None) -> Document:
        message = "Overloaded" if status is None else as_asked(status)
        return {"type": "error", "error": {"type": kind_of(status or OVERLOADED), "message": message}}

    def failure_event(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        return sse_event(self.failure(answer.status))

    def garbage(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        return b'event: content_block_delta\ndata: {"type":"content_block_delta","ind\n\n'

    def bad_frame(self) -> None:
        return None


def kind_of(status: int) -> str:
    return KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")


def check_credential(request: Received, credential: Credential) -> None:
    """`x-api-key`, or a bearer key; where both are there, the first counts."""
    shown = request.headers.get("x-api-key")
    if not shown:
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not shown.strip():
            raise RefusedError(401, "x-api-key header is required")
    if credential.key is not None and not hmac.compare_digest(shown.strip().encode(), credential.key.encode()):
        raise RefusedError(401, "invalid x-api-key")


def list_models(name: str, models: Mapping[str, str]) -> Script:
    since = f"{datetime.fromtimestamp(BORN, UTC):%Y-%m-%dT%H:%M:%SZ}"
    data = [{"type": "model", "id": model, "display_name": what, "created_at": since} for model, what in models.items()]
    if not name:
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]}
        return json_answer({"data": data, "has_more": False, **ends}, headers=_identity())
    found = next((row for row in data if row["id"] == name), None)
    if found is None:
        raise RefusedError(404, f"model: {name}")
    return json_answer(msgspec.json.encode(found), headers=_identity())


def _identity() -> dict[str, str]:
    return {"request-id": f"req_{token_hex(12)}"}
