"""Errors by Google's taxonomy: `{"error": {code, message, status, details}}`, at times in a list."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from antiphon.chat.failure import malformed
from antiphon.chat.failure import read_failure as read_any
from antiphon.document import Document
from antiphon.errors import UpstreamError

_STATUSES: Final = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INTERNAL": 500,
    "DATA_LOSS": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
# A wrong key is a 400 at Google's: the reason tells it from a wrong request.
_OUR_KEY: Final = frozenset({"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "API_KEY_EXPIRED", "ACCESS_TOKEN_EXPIRED"})
_KEY_WORDS: Final = re.compile(r"API key (?:not valid|expired|not found)", re.IGNORECASE)
_SIGNATURE: Final = re.compile(r"thought[_ ]signature", re.IGNORECASE)
_SECONDS: Final = re.compile(r"(\d{1,6})(?:\.(\d+))?s")
_RETRY_IN: Final = re.compile(r"[Rr]etry in (\d{1,6}(?:\.\d+)?s)")


def read_failure(status: int, body: bytes) -> UpstreamError:
    try:
        document = msgspec.json.decode(body) if body.strip() else {}
    except (ValueError, RecursionError):
        document = body[:2000].decode(errors="replace")
    return read_error(document, status)


def read_error(document: Any, status: int | None = None) -> UpstreamError:
    """`status`: the answer's own. Inside a 200 the document tells."""
    if isinstance(document, list):
        document = next((item for item in document if isinstance(item, dict)), {})
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        return read_any(document, status) if status or (document and isinstance(document, dict)) else malformed()
    if status is None or status < 400:
        status = _status_of(error)
    details = [detail for detail in _list(error.get("details")) if isinstance(detail, dict)]
    message = str(error.get("message") or "")
    if status == 400 and (any(str(d.get("reason")) in _OUR_KEY for d in details) or _KEY_WORDS.search(message)):
        status = 401
    failure = read_any({"error": {key: error[key] for key in ("code", "message", "status") if key in error}}, status)
    if failure.status in (429, 503):
        failure.retry_after = _retry_after(details, message)
    elif failure.status == 404 and failure.code is None:
        failure.code = "model_not_found"
    elif failure.status == 400 and failure.code is None and _SIGNATURE.search(message):
        failure.code = "invalid_thought_signature"
    return failure


def _status_of(error: Document) -> int | None:
    code = error.get("code")
    if type(code) is int and 400 <= code <= 599:
        return code
    return _STATUSES.get(str(error.get("status")))


def _retry_after(details: list[Document], message: str) -> int | None:
    """Seconds, rounded up: RetryInfo's `retryDelay` is "34.4s"."""
    delays = [detail.get("retryDelay") for detail in details if "RetryInfo" in str(detail.get("@type"))]
    said = _RETRY_IN.search(message)
    for delay in (*delays, said[1] if said else None):
        match = _SECONDS.fullmatch(delay) if isinstance(delay, str) else None
        if match is not None:
            return max(1, int(match[1]) + bool((match[2] or "").strip("0")))
    return None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
