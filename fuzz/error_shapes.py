"""Error bodies as each dialect spells them: what a client must find in every 4xx and 5xx."""

from __future__ import annotations

import json
from typing import Any

from fuzz.strict_response import Response

DIALECTS = ("openai", "crazyrouter", "skytells", "maritaca")
MEMBERS = {
    "openai": {"message", "type", "param", "code"},
    "crazyrouter": {"message", "type", "code"},
    "skytells": {"message", "type", "param", "code", "error_id", "status", "request_id"},
    "maritaca": {"message", "type", "param", "code"},
}


def error_fault(response: Response, dialect: str | None) -> str | None:
    """What is wrong with an error answer; None: nothing. Without a dialect, any one will do."""
    if response.headers.get(b"content-type", b"").split(b";")[0].strip() != b"application/json":
        return f"content-type of an error is {response.headers.get(b'content-type')!r}"
    try:
        body = json.loads(bytes(response.body))
    except ValueError:
        return f"an error's body is not JSON: {bytes(response.body[:100])!r}"
    if dialect is None:
        faults = [shape_fault(body, one) for one in DIALECTS]
        return None if None in faults else faults[0]
    request_id = response.headers.get(b"x-request-id", b"").decode("latin-1")
    return shape_fault(body, dialect) or _own_fault(body, dialect, response.status, request_id)


def shape_fault(body: Any, dialect: str) -> str | None:
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "no error object"
    if missing := MEMBERS[dialect] - set(error):
        return f"an error of {dialect} lacks {sorted(missing)}"
    if not isinstance(error["message"], str) or not error["message"].strip():
        return f"an error's message is {error['message']!r}"
    if not isinstance(error["type"], str) or not error["type"]:
        return f"an error's type is {error['type']!r}"
    for member in ("code", "param"):
        if not isinstance(error.get(member), str | None):
            return f"an error's {member} is {error[member]!r}"
    if "Traceback" in error["message"] or 'File "' in error["message"]:
        return "an error's message shows a traceback"
    if dialect == "maritaca" and body.get("detail") != error["message"]:
        return "maritaca's detail is not the message"
    return None


def _own_fault(body: Any, dialect: str, status: int, request_id: str) -> str | None:
    error = body["error"]
    if dialect == "crazyrouter" and not error["message"].endswith(f"(request id: {request_id})"):
        return "crazyrouter's message does not end with the request id"
    if dialect == "skytells" and (error["status"], error["request_id"]) != (status, request_id):
        return "skytells' status or request_id differs from the answer's"
    return None
