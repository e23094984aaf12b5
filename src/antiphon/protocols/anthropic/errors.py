"""Errors by the vendor's own taxonomy: as a body with a status, in a stream, and in place of an answer."""

from __future__ import annotations

import re
from typing import Final

from antiphon.chat.event import decode
from antiphon.chat.failure import read_failure
from antiphon.chat.redact import redact
from antiphon.errors import UpstreamError

_OVERLOADED: Final = 529
_BILLING: Final = 402
# A 400 for what the operator's account lacks: no other request would fare better.
_SPENT: Final = re.compile(
    r"credit balance is too low|spend(?:ing)? limit|usage limits?\b.{0,80}reached|reached.{0,80}usage limit"
)
_UNPAID: Final = "The gateway's account with the upstream is used up."
_FILTERED: Final = re.compile(r"blocked by (?:our )?content filtering policy", re.IGNORECASE)
# "temperature: Extra inputs are not permitted", "messages.0.content: …": the field, and what clients call it.
_FIELD: Final = re.compile(r"([a-z_]{1,40})(?:\.[\w.-]{1,200})?: ")
_NAMES: Final = {
    "output_config": "response_format",
    "output_format": "response_format",
    "stop_sequences": "stop",
    "system": "messages",
    "thinking": "reasoning_effort",
}


def read_body(status: int, body: bytes) -> UpstreamError:
    try:
        document: object = decode(body)
    except UpstreamError:  # of a proxy on the way
        document = body.decode("utf-8", "replace")
    return read_error(document, status)


def read_error(document: object, status: int | None = None) -> UpstreamError:
    """`status`: None where a 200 came before it; then the error's type tells."""
    error = document.get("error") if isinstance(document, dict) else None
    kind, said = (error.get("type"), error.get("message")) if isinstance(error, dict) else (None, None)
    words = said[:4000] if isinstance(said, str) else ""
    if status == _OVERLOADED or kind == "overloaded_error":
        return UpstreamError(redact(words) or "The upstream is overloaded.", status=503, code="overloaded")
    if status == _BILLING or kind == "billing_error" or (kind == "invalid_request_error" and _SPENT.search(words)):
        return UpstreamError(_UNPAID, status=429, type="insufficient_quota", code="insufficient_quota")
    failure = read_failure(document, status)
    if failure.status == 404 and words.startswith("model:"):
        failure.type, failure.code, failure.param = "invalid_request_error", "model_not_found", "model"
    elif failure.status == 400 and _FILTERED.search(words):
        failure.code = "content_filter"
    elif failure.status == 400 and failure.param is None and (field := _FIELD.match(words)):
        failure.param = _NAMES.get(field[1], field[1])
    return failure
