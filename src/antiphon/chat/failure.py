"""What an upstream says when it fails, in any vendor's shape, read into one error [upstream-status].

Shapes seen: {"error": {…}} and {"error": "text"} (most), {"object": "error", …} (vLLM), {"type": "error", "error": …}
(Anthropic), {"detail": …} (FastAPI, Maritaca), {"message": …}, {"error_code", "error_msg"} (Baidu), {"code", "msg"},
{"base_resp": {"status_code", "status_msg"}} (MiniMax), {"status": false, "response": …} (Skytells), [{"error": …}]
(Gemini). The same shapes come as a body with a status, as a 200 body, and inside a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from antiphon.chat.redact import redact
from antiphon.document import Document
from antiphon.errors import UpstreamError

__all__ = ["is_error", "is_failure", "malformed", "read_failure", "redact"]

# Words in a code, type or status -> the HTTP status they stand for. First match wins.
_STATUS_OF_WORD: Final = (
    (("invalid_api_key", "authentication", "unauthenticated", "unauthorized", "api key"), 401),
    (("permission", "forbidden", "access_denied", "accessdenied"), 403),
    (("rate_limit", "ratelimit", "too_many_requests", "toomanyrequests", "resource_exhausted", "throttl"), 429),
    (("insufficient_quota", "quota", "insufficient_balance", "insufficient_credits"), 429),
    (("overloaded", "unavailable", "capacity", "engine_overloaded", "server_busy"), 503),
    (("timeout", "timed_out", "deadline"), 504),
    (("context_length", "context_size", "content_filter", "content_policy", "responsibleaipolicy"), 400),
    (("not_found", "notfound"), 404),
    (("too_large", "toolarge"), 413),
    (("invalid_request", "invalidrequest", "invalid_argument", "bad_request", "badrequest", "validation"), 400),
    (("invalid_parameter", "invalidparameter", "unsupported_", "unknown_parameter", "missing_required"), 400),
    (("unprocessable",), 422),
)
_MESSAGE_KEYS: Final = ("message", "msg", "detail", "details", "error_msg", "error_message", "error_description")
_CODE_KEYS: Final = ("code", "error_code", "errorCode")
_STATUS_KEYS: Final = ("status", "status_code", "statusCode", "http_code", "http_status", "httpStatus")

# Too long a prompt. By code or type, whatever the status: OpenAI and most, llama.cpp, LiteLLM, GitHub.
_OVERFLOW_WORDS: Final = (
    *("context_length", "context_size", "context_window", "contextlength", "contextwindow", "context_limit"),
    *("prompt_too_long", "input_too_long", "max_prompt_tokens", "tokens_limit_reached"),
)
# By phrase, where a status blames the request or there is none. Whose: tests/chat/test_failure.py quotes them.
_OVERFLOW: Final = re.compile(
    r"(?:max(?:imum)?|available|model(?:'s)?) context (?:length|size|window)|maximum (?:prompt|model) length"
    r"|(?:exceed(?:s|ed)?|longer than|greater than|reached)\b[^.]{0,60}\bcontext (?:length|size|window|limit)"
    r"|context (?:length|size|window)[^.]{0,30}\b(?:exceed|overflow)|context length of only"
    r"|(?:prompt|input)(?: tokens)?(?: is)? too long\b|n_keep \(\d+\) >= n_ctx"
    r"|exceeds? the maximum number of tokens|prompt token count of|prompt exceeds max length|model token limit"
    r"|reduce the length of the (?:messages|prompt|input)|too many tokens|range of input length should be"
    r"|tokens \+ `?max_new_tokens`? must be",
    re.IGNORECASE,
)
_BLAMES_REQUEST: Final = frozenset({400, 413, 422})

# What Azure tells of its filter's verdict beside the message; old and new spellings both occur [blocked-prompt].
_VERDICT_KEYS: Final = ("innererror", "inner_error", "content_filter_result", "content_filter_results")
_FILTER_WORDS: Final = ("content_filter", "responsibleaipolicy")
_DEEPEST: Final = 8
_WIDEST: Final = 64

# These mean that *our* credential is refused: the client cannot mend it, and the vendor's words may quote the key.
_OURS: Final = frozenset({401, 403, 407})
_REFUSED: Final = "The upstream refused the gateway's credential."
_UNSAID: Final = "The upstream reported an error."


def malformed() -> UpstreamError:
    """What an upstream sent is JSON of no shape we can read, or none at all."""
    return UpstreamError("The upstream sent a malformed answer.", code="upstream_malformed")


def is_error(value: object) -> bool:
    """Is this value of an `error` key an error? Empty ones ({}, {"code": "", "message": ""}) are not."""
    if isinstance(value, dict):
        return any(is_error(item) if isinstance(item, dict) else bool(item) for item in value.values())
    return bool(value)


def is_failure(document: Document) -> bool:
    """Does this document, a body or a streamed chunk, say that the upstream failed?"""
    if is_error(document.get("error")) or document.get("object") == "error" or document.get("type") == "error":
        return True
    if document.get("choices") or document.get("usage"):
        return False
    answer = document.get("base_resp")
    if isinstance(answer, dict) and answer.get("status_code"):
        return True
    if document.get("status") is False or document.get("success") is False or document.get("error_code"):
        return True
    return "choices" not in document and any(
        isinstance(document.get(key), str | list) and document[key] for key in ("detail", "message", "msg", "errors")
    )


def read_failure(document: object, status: int | None = None, secrets: Iterable[str] = ()) -> UpstreamError:
    """`status` is the HTTP status where it told of the failure; a 2xx tells nothing, then the document does.

    `secrets` are kept out of the message whatever they look like.
    """
    error = _find_error(document)
    code, kind = _first(error, _CODE_KEYS), error.get("type")
    told = status if status is not None and status >= 300 else _status_of(error, code, kind)
    if told in _OURS:
        return UpstreamError(_REFUSED)
    said = _message_of(error)
    message = redact(said, secrets) or _UNSAID
    if _is_overflow(f"{code} {kind}".lower(), said, told):
        kind, code, param = "invalid_request_error", "context_length_exceeded", "messages"
        kept = status if status is not None and 400 <= status < 500 else 400  # a 413 or 422 stays [upstream-status]
        return UpstreamError(message, status=kept, type=kind, code=code, param=param)
    outward = _outward(told or 502, from_http=told == status)
    if outward >= 500:
        return UpstreamError(message, status=outward, code=_code_of_failure(outward, code))
    return _upstream_error(error, message, outward, secrets)


def _code_of_failure(status: int, code: Any) -> str:
    """Ours, but for what the embedded engine's host says of its engine."""
    if isinstance(code, str) and code.startswith("engine_"):
        return code[:64]
    return "timeout" if status == 504 else "upstream_error"


def _upstream_error(error: Document, message: str, status: int, secrets: Iterable[str]) -> UpstreamError:
    """The request's own fault: the vendor's type, code and param are for the client."""
    code, param = _first(error, _CODE_KEYS), error.get("param")
    filtered = any(word in f"{code} {_inner_code(error)}".lower() for word in _FILTER_WORDS)
    usual = {"type": "invalid_request_error", "code": "content_filter" if filtered else None}
    if status == 429:
        usual = {"type": "requests", "code": "rate_limit_exceeded"}
    return UpstreamError(
        message,
        status=status,
        type=_word(error.get("type")) or usual["type"],
        code=_word(code) or usual["code"],
        param=redact(param, secrets) if isinstance(param, str) and param else None,
        retry_after=_retry_after(error),
        extra=_verdict(error, secrets) if filtered else None,
    )


def _is_overflow(words: str, said: str, status: int | None) -> bool:
    if any(word in words for word in _OVERFLOW_WORDS):
        return True
    blames = (status is None or status in _BLAMES_REQUEST) and "rate_limit" not in words
    return blames and _OVERFLOW.search(said[:4000]) is not None


def _verdict(error: Document, secrets: Iterable[str]) -> Document | None:
    return {key: _clean(error[key], secrets) for key in _VERDICT_KEYS if error.get(key)} or None


def _clean(value: Any, secrets: Iterable[str], depth: int = 0) -> Any:
    """Redacted at every depth; what is deeper than any verdict is left out."""
    if isinstance(value, str):
        return redact(value, secrets)
    if depth == _DEEPEST:
        return None if isinstance(value, dict | list) else value
    if isinstance(value, dict):
        return {key: _clean(item, secrets, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, secrets, depth + 1) for item in value[:_WIDEST]]
    return value


def _inner_code(error: Document) -> object:
    inner = error.get("innererror") or error.get("inner_error")
    return inner.get("code") if isinstance(inner, dict) else None


def _find_error(document: object) -> Document:
    """The object that holds message, type and code, whatever it is wrapped in."""
    if isinstance(document, list):
        document = next((item for item in document if item), None)
    if not isinstance(document, dict):
        # An HTML page of some proxy tells a client nothing, and names the proxy.
        return {"message": document} if isinstance(document, str) and not document.lstrip().startswith("<") else {}
    for key in ("error", "base_resp", "response", "errors"):
        inner = document.get(key)
        if isinstance(inner, list):
            inner = next((item for item in inner if item), None)
        if isinstance(inner, dict) and is_error(inner):
            return {**inner, **_nested(inner)}
        if isinstance(inner, str) and inner and key != "response":
            return {**document, "message": inner}
    return document


def _nested(error: Document) -> Document:
    """{"error": {"error": {…}}}: a gateway that wrapped another's."""
    inner = error.get("error")
    return inner if isinstance(inner, dict) and not isinstance(error.get("message"), str) else {}


def _first(document: Document, keys: tuple[str, ...]) -> object:
    return next((document[key] for key in keys if document.get(key) not in (None, "")), None)


def _message_of(error: Document) -> str:
    for key in (*_MESSAGE_KEYS, "status_msg", "text", "title", "response"):
        value = error.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list):  # FastAPI: [{"loc": […], "msg": "field required"}]
            said = [item.get("msg") if isinstance(item, dict) else item for item in value[:8]]
            if words := "; ".join(item for item in said if isinstance(item, str) and item):
                return words
        if isinstance(value, dict) and isinstance(inner := value.get("message", value.get("msg")), str) and inner:
            return inner
    return ""


def _status_of(error: Document, code: object, kind: object) -> int | None:
    """None: the document does not say."""
    for value in (code, *(error.get(key) for key in _STATUS_KEYS)):
        if (status := _http_status(value)) is not None:
            return status
    words = f"{code} {kind} {error.get('status')} {error.get('error_id')} {_inner_code(error)}".lower()
    return next((status for row, status in _STATUS_OF_WORD if any(word in words for word in row)), None)


def _http_status(value: object) -> int | None:
    if isinstance(value, str) and len(value) == 3 and value.isascii() and value.isdigit():
        value = int(value)
    return value if type(value) is int and 400 <= value <= 599 else None


def _outward(status: int, *, from_http: bool) -> int:
    """Decision 13. A timeout the upstream tells of in words is a timeout; its own 504 is one of the other 5xx."""
    if status in _OURS or status < 400 or status > 599:
        return 502
    if status < 500 or status == 503 or (status == 504 and not from_http):
        return status
    return 502


def _word(value: object) -> str | None:
    """A type or code that is a word; numbers are statuses, and were read as such."""
    if isinstance(value, str) and value and not value.isdigit():
        return redact(value)[:200] or None
    return None


def _retry_after(error: Document) -> int | None:
    value = error.get("retry_after")
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 86_400:
        return max(1, int(value))
    return None
