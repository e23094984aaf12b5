"""Error bodies [error-bodies]: the same error as each dialect spells it, as JSON and in-band.

The message is already fit for the client: vendors' words were redacted where they were read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from antiphon.document import Document
from antiphon.errors import AntiphonError, UpstreamError

QUOTA: Final = "insufficient_quota"

# For an error that says "server_error" although its status blames the request: a vendor that gave no type.
_CLIENT_TYPES: Final = MappingProxyType({403: "permission_error", 408: "server_error", 429: "requests"})

# skytells' `error_id`: by code where the code says more than the status, else by status.
_ERROR_ID_BY_CODE: Final = MappingProxyType(
    {
        "content_filter": "CONTENT_POLICY_VIOLATION",
        "context_length_exceeded": "INVALID_PARAMETER",
        "model_not_found": "MODEL_NOT_FOUND",
        "unknown_url": "ENDPOINT_NOT_FOUND",
        "method_not_supported": "ENDPOINT_NOT_FOUND",
        QUOTA: "INSUFFICIENT_CREDITS",
    }
)
_ERROR_ID_BY_STATUS: Final = MappingProxyType(
    {
        401: "UNAUTHORIZED",
        402: "INSUFFICIENT_CREDITS",
        403: "FORBIDDEN",
        404: "ENDPOINT_NOT_FOUND",
        405: "ENDPOINT_NOT_FOUND",
        408: "INFERENCE_TIMEOUT",
        429: "RATE_LIMIT_EXCEEDED",
        451: "CONTENT_POLICY_VIOLATION",
        500: "INTERNAL_ERROR",
        502: "INFERENCE_ERROR",
        503: "SERVICE_UNAVAILABLE",
        504: "INFERENCE_TIMEOUT",
    }
)


def error_type(error: AntiphonError, types: Mapping[int, str], server_type: str) -> str:
    """The `type`, in the dialect's words: `types` by status, `server_type` for everything that is not the client's."""
    if QUOTA in (error.type, error.code):
        return QUOTA
    if error.status in types:
        return types[error.status]
    if error.status >= 500:
        return server_type if error.type == "server_error" else error.type
    if error.type == "server_error":
        return _CLIENT_TYPES.get(error.status, "invalid_request_error")
    return error.type


def openai_body(error: AntiphonError, type: str, request_id: str) -> Document:
    own = {"message": error.message, "type": type, "param": error.param, "code": error.code}
    return {"error": with_extra(own, error.extra)}


def crazyrouter_body(error: AntiphonError, type: str, request_id: str) -> Document:
    own = {"message": f"{error.message} (request id: {request_id})", "type": type, "code": error.code}
    return {"error": with_extra(own, error.extra)}


def skytells_body(error: AntiphonError, type: str, request_id: str) -> Document:
    own = {
        "message": error.message,
        "type": type,
        "code": error.code,
        "error_id": error_id(error),
        "status": error.status,
        "param": error.param,
        "request_id": request_id,
    }
    return {"error": with_extra(own, both_spellings(error.extra))}


def with_extra(own: Document, extra: Document | None) -> Document:
    """What an error carries besides stands after the dialect's own keys, and never in their place."""
    if extra is None:
        return own
    return own | {key: value for key, value in extra.items() if key not in own}


def both_spellings(extra: Document | None) -> Document | None:
    """skytells gives a filter's verdict in both spellings that Azure has had [blocked-prompt]."""
    inner = extra.get("innererror") if extra is not None else None
    if extra is None or not isinstance(inner, dict):
        return extra
    verdict = inner.get("content_filter_result", inner.get("content_filter_results"))
    if verdict is None:
        return extra
    return {**extra, "innererror": {**inner, "content_filter_result": verdict, "content_filter_results": verdict}}


def maritaca_body(error: AntiphonError, type: str, request_id: str) -> Document:
    """Maritaca's own client reads `detail`; OpenAI's clients lose the text without `error`."""
    return {"detail": error.message, **openai_body(error, type, request_id)}


def error_id(error: AntiphonError) -> str:
    known = _ERROR_ID_BY_CODE.get(error.code or "")
    if known is not None:
        return known
    if error.status == 429 and isinstance(error, UpstreamError):
        return "INFERENCE_RATE_LIMITED"
    if error.status == 400 and (error.code is not None or error.param is not None):
        return "INVALID_PARAMETER"
    return _ERROR_ID_BY_STATUS.get(error.status, "INTERNAL_ERROR" if error.status >= 500 else "INVALID_REQUEST")
