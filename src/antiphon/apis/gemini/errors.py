"""Errors in Google's shape: `{"error": {"code", "message", "status", "details"}}`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from antiphon.document import Document
from antiphon.errors import AntiphonError

_STATUS: Final[Mapping[int, str]] = MappingProxyType(
    {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        402: "FAILED_PRECONDITION",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        405: "INVALID_ARGUMENT",
        408: "DEADLINE_EXCEEDED",
        409: "ABORTED",
        413: "INVALID_ARGUMENT",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
        502: "INTERNAL",
        503: "UNAVAILABLE",
        504: "DEADLINE_EXCEEDED",
    }
)
_INFO: Final = "type.googleapis.com/google.rpc."


def write_error(error: AntiphonError, type: str, request_id: str) -> Document:
    usual = "INVALID_ARGUMENT" if error.status < 500 else "INTERNAL"
    told: Document = {
        "code": error.status,
        "message": error.message,
        "status": _STATUS.get(error.status, usual),
        "details": _details(error, request_id),
    }
    return {"error": told}


def _details(error: AntiphonError, request_id: str) -> list[Document]:
    details: list[Document] = [{"@type": _INFO + "RequestInfo", "requestId": request_id}]
    if error.code is not None:
        details.append({"@type": _INFO + "ErrorInfo", "reason": error.code.upper(), "metadata": error.extra or {}})
    if error.param is not None:
        violation = {"field": error.param, "description": error.message}
        details.append({"@type": _INFO + "BadRequest", "fieldViolations": [violation]})
    if error.retry_after is not None:
        details.append({"@type": _INFO + "RetryInfo", "retryDelay": f"{error.retry_after}s"})
    return details
