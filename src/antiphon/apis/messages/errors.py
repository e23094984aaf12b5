"""Errors in Anthropic's shape: `{"type": "error", "error": {"type", "message"}, "request_id"}`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from antiphon.document import Document
from antiphon.errors import AntiphonError

ERROR_TYPES: Final[Mapping[int, str]] = MappingProxyType(
    {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        405: "invalid_request_error",
        408: "timeout_error",
        409: "conflict_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        502: "api_error",
        503: "overloaded_error",
        504: "timeout_error",
    }
)
_QUOTA: Final = "insufficient_quota"


def write_error(error: AntiphonError, type: str, request_id: str) -> Document:
    """`details` holds what Anthropic has no name for: our code, the parameter, what else the error carries."""
    usual = "invalid_request_error" if error.status < 500 else "api_error"
    kind = "billing_error" if error.code == _QUOTA else ERROR_TYPES.get(error.status, usual)
    told: Document = {"type": kind, "message": error.message}
    details = {"error_code": error.code, "param": error.param, **(error.extra or {})}
    known = {key: value for key, value in details.items() if value is not None}
    if known:
        told["details"] = known
    return {"type": "error", "error": told, "request_id": request_id}
