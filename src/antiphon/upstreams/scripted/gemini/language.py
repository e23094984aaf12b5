"""Gemini's API: its paths, credentials and errors. Vertex's paths are understood too."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote

import msgspec

from antiphon.document import Document
from antiphon.upstreams.scripted.gemini.answer import member, spell_answer, spell_documents
from antiphon.upstreams.scripted.gemini.request import read_request
from antiphon.upstreams.scripted.language import (
    Credential,
    RefusedError,
    ScriptedAnswer,
    ScriptedEvent,
    as_asked,
    count_prompt,
)
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.script import Script, json_answer

TURN = re.compile(r"/v\w+/(?:.+/)?models/([^/:]+):(generateContent|streamGenerateContent|countTokens)")
LIST = re.compile(r"/v\w+/models(?:/([^/:]+))?")
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
TYPE = "type.googleapis.com/google.rpc."
NOBODY = (
    "Method doesn't allow unregistered callers (callers without established identity). "
    "Please use API Key or other form of API consumer identity to call this API."
)
JSON = {"content-type": "application/json; charset=UTF-8"}
OVERLOADED = "The model is overloaded. Please try again later."


class GeminiLanguage:
    base = "/v1beta"

    def route(self, request: Received, credential: Credential | None, models: Mapping[str, str]) -> Script | None:
        turn, listing = TURN.fullmatch(request.path), LIST.fullmatch(request.path)
        if turn is None and listing is None:
            raise RefusedError(404, f"The requested URL {request.path[:200]} was not found on this server.")
        if request.method != ("POST" if turn else "GET"):
            raise RefusedError(404, f"The requested URL {request.path[:200]} was not found on this server.")
        if credential is not None:
            check_credential(request, credential)
        if listing is not None:
            return list_models(unquote(listing[1] or ""), models)
        if turn is not None and turn[2] == "countTokens":
            return json_answer({"totalTokens": count_prompt(self.read(request))}, headers=JSON)
        return None

    def read(self, request: Received) -> Document:
        turn = TURN.fullmatch(request.path)
        assert turn is not None
        document = read_request(request.body, unquote(turn[1]))
        document["stream"] = turn[2] == "streamGenerateContent"
        document["as_array"] = parse_qs(request.query).get("alt") != ["sse"]
        return document

    def whole(self, answer: ScriptedAnswer) -> Document:
        return spell_answer(answer)

    def events(self, answer: ScriptedAnswer) -> list[ScriptedEvent]:
        return spell_documents(answer)

    def headers(self, answer: ScriptedAnswer) -> Mapping[str, str]:
        as_events = answer.stream and not answer.request.get("as_array")
        return {"content-type": "text/event-stream"} if as_events else JSON

    def refuse(self, refused: RefusedError) -> Script:
        status = refused.kind or status_of(refused.status)
        message = refused.message or "Invalid JSON payload received."
        error: Document = {"code": refused.status, "message": message, "status": status}
        details = details_of(refused)
        return json_answer({"error": {**error, "details": details} if details else error}, refused.status, JSON)

    def failure(self, status: int | None) -> Document:
        code, message = (503, OVERLOADED) if status is None else (status, as_asked(status))
        return {"error": {"code": code, "message": message, "status": status_of(code)}}

    def failure_event(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        told = msgspec.json.encode(self.failure(answer.status))
        return member(told, is_first) + b"]" if answer.request.get("as_array") else b"data: " + told + b"\r\n\r\n"

    def garbage(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        broken = b'{"candidates": [{"con'
        return member(broken, is_first) + b"]" if answer.request.get("as_array") else b"data: " + broken + b"\r\n\r\n"

    def bad_frame(self) -> None:
        return None


def status_of(code: int) -> str:
    return STATUSES.get(code, "UNKNOWN" if code >= 500 else "INVALID_ARGUMENT")


def check_credential(request: Received, credential: Credential) -> None:
    """`x-goog-api-key` or `?key=`; a bearer token on Vertex."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    shown = request.headers.get("x-goog-api-key") or parse_qs(request.query).get("key", [""])[0]
    if not shown and scheme.lower() == "bearer":
        shown = token.strip()
    if not shown:
        raise RefusedError(403, NOBODY)
    if credential.key is not None and not hmac.compare_digest(shown.encode(), credential.key.encode()):
        raise RefusedError(400, "API key not valid. Please pass a valid API key.", field="API_KEY_INVALID")


def details_of(refused: RefusedError) -> list[Document]:
    details: list[Document] = []
    if refused.field == "API_KEY_INVALID":
        metadata = {"service": "generativelanguage.googleapis.com"}
        reason = {"reason": "API_KEY_INVALID", "domain": "googleapis.com", "metadata": metadata}
        details.append({"@type": TYPE + "ErrorInfo", **reason})
    elif refused.field:
        violation = {"field": refused.field, "description": refused.message}
        details.append({"@type": TYPE + "BadRequest", "fieldViolations": [violation]})
    if refused.retry_after is not None:
        details.append({"@type": TYPE + "RetryInfo", "retryDelay": f"{refused.retry_after}s"})
    return details


def list_models(name: str, models: Mapping[str, str]) -> Script:
    data = [
        {
            "name": f"models/{model}",
            "displayName": model,
            "description": what,
            "inputTokenLimit": 1048576,
            "outputTokenLimit": 65536,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }
        for model, what in models.items()
    ]
    if not name:
        return json_answer({"models": data}, headers=JSON)
    found = next((row for row in data if row["displayName"] == name), None)
    if found is None:
        raise RefusedError(404, f"models/{name[:100]} is not found for API version v1beta")
    return json_answer(msgspec.json.encode(found), headers=JSON)
