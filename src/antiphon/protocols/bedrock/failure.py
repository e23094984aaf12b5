"""Bedrock's errors: answers with an error's status, and exceptions in a stream."""

from __future__ import annotations

from typing import Final

from antiphon.chat.event import decode
from antiphon.chat.failure import read_failure
from antiphon.errors import UpstreamError

# An exception's name, in small letters and without its ending -> the status that Bedrock gives it.
STATUSES: Final = {
    "accessdenied": 403,
    "expiredtoken": 403,
    "unrecognizedclient": 403,
    "internalserver": 500,
    "modelerror": 424,
    "modelnotready": 429,
    "modelstreamerror": 424,
    "modeltimeout": 408,
    "resourcenotfound": 404,
    "servicequotaexceeded": 429,  # Bedrock says 400, but the request is not at fault
    "serviceunavailable": 503,
    "throttling": 429,
    "validation": 400,
}
NO_MODEL: Final = "model identifier is invalid"


def read_answer(status: int, body: bytes) -> UpstreamError:
    """An answer with an error's status."""
    try:
        document: object = decode(body)
    except UpstreamError:
        document = body.decode("utf-8", "replace")[:2000]
    return read_document(document, status)


def read_exception(name: str, payload: bytes, message: str | None = None) -> UpstreamError:
    """An exception in a stream. One that no row knows is Bedrock's own fault."""
    try:
        document = decode(payload) if payload else {}
    except UpstreamError:
        document = {}
    said = document.get("message") or document.get("Message") or message
    return _read({"message": said} if isinstance(said, str) else {}, _status_of(name) or 502)


def read_document(document: object, status: int | None) -> UpstreamError:
    """`__type` says more than the status, where it is there."""
    if not isinstance(document, dict):
        return _read(document, status or 502)
    kind = document.get("__type")
    told = _status_of(kind) if isinstance(kind, str) else None
    said = document.get("message") or document.get("Message")
    return _read({"message": said} if isinstance(said, str) else {}, told or status or 502)


def _status_of(name: str) -> int | None:
    """Names come as `throttlingException`, `ThrottlingException:http://…` and `com.amazon#ThrottlingException`."""
    word = name.rpartition("#")[2].partition(":")[0].lower().removesuffix("exception")
    return STATUSES.get(word, STATUSES.get(word.removesuffix("error")))


def _read(error: object, status: int) -> UpstreamError:
    failure = read_failure(error, status)
    if status == 408:  # the model took too long: another one may not
        return UpstreamError(failure.message, status=504, code="timeout")
    if status == 424:  # the model failed
        return UpstreamError(failure.message, status=502)
    if status == 400 and NO_MODEL in failure.message:
        return UpstreamError(failure.message, status=404, type="invalid_request_error", code="model_not_found")
    return failure
