"""One tree of errors. The class says whose fault it is; the fields are data.

Raised anywhere, rendered only by `server`, in the client's dialect. A message that came from a vendor is redacted where
the vendor's answer is read, never here.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final


class Unset(Enum):
    """Tells "not given" from an explicit null: `code` may be null on the wire."""

    UNSET = 0


UNSET: Final = Unset.UNSET


class AntiphonError(Exception):
    """What a client is told when a turn fails. `status`, `type` and `code` are the class's own unless given."""

    status: int = 500
    type: str = "server_error"
    code: str | None = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str | None = None,
        code: str | Unset | None = UNSET,
        param: str | None = None,
        retry_after: int | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.extra = extra  # what else stands inside the error object, such as Azure's `innererror`
        if status is not None:
            self.status = status
        if type is not None:
            self.type = type
        if code is not UNSET:
            self.code = code


class RequestError(AntiphonError):
    """The client's fault: the request itself is wrong."""

    status = 400
    type = "invalid_request_error"
    code = None


class AuthError(AntiphonError):
    """The client's fault: no key, or not a key of ours."""

    status = 401
    type = "invalid_request_error"
    code = None


class RouteError(AntiphonError):
    """The client's fault: no such model here."""

    status = 404
    type = "invalid_request_error"
    code = "model_not_found"


class BlockedError(AntiphonError):
    """The client's fault by the operator's policy: the prompt is not allowed."""

    status = 400
    type = "invalid_request_error"
    code = "content_filter"


class OverloadError(AntiphonError):
    """Our fault, for now: more was asked than we take on."""

    status = 503
    type = "server_error"
    code = "overloaded"


class UpstreamError(AntiphonError):
    """The upstream's fault: it failed, cut its answer, or said something that is no answer."""

    status = 502
    type = "server_error"
    code = "upstream_error"
