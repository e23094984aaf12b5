"""The same error as each dialect spells it [error-bodies]."""

from __future__ import annotations

import pytest

from antiphon.dialects import DIALECTS
from antiphon.errors import (
    AntiphonError,
    AuthError,
    OverloadError,
    RequestError,
    RouteError,
    UpstreamError,
)

ID = "req_0123456789abcdef0123456789abcdef"
BAD = RequestError("Invalid 'n'.", code="integer_above_max_value", param="n")


def test_openai_has_all_four_keys() -> None:
    assert DIALECTS["openai"].write_error(BAD, ID) == {
        "error": {
            "message": "Invalid 'n'.",
            "type": "invalid_request_error",
            "param": "n",
            "code": "integer_above_max_value",
        }
    }
    bare = DIALECTS["openai"].write_error(RequestError("We could not parse the JSON body of your request."), ID)
    assert (bare["error"]["param"], bare["error"]["code"]) == (None, None)


def test_crazyrouter_names_the_request() -> None:
    assert DIALECTS["crazyrouter"].write_error(BAD, ID) == {
        "error": {
            "message": f"Invalid 'n'. (request id: {ID})",
            "type": "invalid_request_error",
            "code": "integer_above_max_value",
        }
    }


def test_skytells_has_its_error_id_and_status() -> None:
    assert DIALECTS["skytells"].write_error(BAD, ID) == {
        "error": {
            "message": "Invalid 'n'.",
            "type": "invalid_request_error",
            "code": "integer_above_max_value",
            "error_id": "INVALID_PARAMETER",
            "status": 400,
            "param": "n",
            "request_id": ID,
        }
    }


def test_maritaca_has_detail_and_error() -> None:
    assert DIALECTS["maritaca"].write_error(BAD, ID) == {
        "detail": "Invalid 'n'.",
        **DIALECTS["openai"].write_error(BAD, ID),
    }


THEIRS = ("server_error", "new_api_error", "server_error", "server_error")
UNKNOWN_KEY = ("invalid_request_error", "authentication_error", "authentication_error", "invalid_request_error")
LIMITED = AntiphonError("Slow down.", status=429, type="requests", code="rate_limit_exceeded")
QUOTA = AntiphonError("No quota.", status=429, type="insufficient_quota", code="insufficient_quota")


@pytest.mark.parametrize(
    ("error", "types"),
    [
        (AuthError("x"), UNKNOWN_KEY),
        (LIMITED, ("requests", "rate_limit_error", "requests", "requests")),
        (QUOTA, ("insufficient_quota",) * 4),
        (AntiphonError("x", status=403, code="insufficient_quota"), ("insufficient_quota",) * 4),
        (AntiphonError("x", status=403), ("permission_error",) * 4),
        (UpstreamError("x", status=429), ("requests", "rate_limit_error", "requests", "requests")),
        (UpstreamError("x", status=404), ("invalid_request_error",) * 4),
        (RouteError("x"), ("invalid_request_error",) * 4),
        (UpstreamError("x"), THEIRS),
        (UpstreamError("x", status=504, code="timeout"), THEIRS),
        (OverloadError("x"), THEIRS),
        (AntiphonError("x"), THEIRS),
    ],
)
def test_types(error: AntiphonError, types: tuple[str, ...]) -> None:
    names = ("openai", "crazyrouter", "skytells", "maritaca")
    assert tuple(DIALECTS[name].write_error(error, ID)["error"]["type"] for name in names) == types


@pytest.mark.parametrize(
    ("error", "error_id"),
    [
        (RequestError("bad JSON"), "INVALID_REQUEST"),
        (RequestError("x", code="invalid_type", param="n"), "INVALID_PARAMETER"),
        (RequestError("x", param="top_logprobs"), "INVALID_PARAMETER"),
        (RequestError("x", code="context_length_exceeded", param="messages"), "INVALID_PARAMETER"),
        (RequestError("x", code="content_filter", param="prompt"), "CONTENT_POLICY_VIOLATION"),
        (AuthError("x"), "UNAUTHORIZED"),
        (AuthError("x", code="invalid_api_key"), "UNAUTHORIZED"),
        (AntiphonError("x", status=402, code="insufficient_quota"), "INSUFFICIENT_CREDITS"),
        (AntiphonError("x", status=403), "FORBIDDEN"),
        (RouteError("x"), "MODEL_NOT_FOUND"),
        (RequestError("x", status=404, code="unknown_url"), "ENDPOINT_NOT_FOUND"),
        (RequestError("x", status=405, code="method_not_supported"), "ENDPOINT_NOT_FOUND"),
        (AntiphonError("x", status=504, code="timeout"), "INFERENCE_TIMEOUT"),
        (AntiphonError("x", status=408, code="timeout"), "INFERENCE_TIMEOUT"),
        (RequestError("x", status=413, code="request_too_large"), "INVALID_REQUEST"),
        (LIMITED, "RATE_LIMIT_EXCEEDED"),
        (UpstreamError("x", status=429), "INFERENCE_RATE_LIMITED"),
        (AntiphonError("x"), "INTERNAL_ERROR"),
        (UpstreamError("x"), "INFERENCE_ERROR"),
        (UpstreamError("x", code="upstream_truncated"), "INFERENCE_ERROR"),
        (OverloadError("x"), "SERVICE_UNAVAILABLE"),
        (AntiphonError("x", status=505), "INTERNAL_ERROR"),
        (RequestError("x", status=431), "INVALID_REQUEST"),
    ],
)
def test_error_ids(error: AntiphonError, error_id: str) -> None:
    body = DIALECTS["skytells"].write_error(error, ID)
    assert body["error"]["error_id"] == error_id
    assert body["error"]["status"] == error.status
    assert set(body) == {"error"}


VERDICT = {"hate": {"filtered": True, "severity": "high"}}
INNER = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": VERDICT}


@pytest.mark.parametrize("name", ["openai", "crazyrouter", "skytells", "maritaca"])
def test_what_an_error_carries_besides_stands_inside_it(name: str) -> None:
    error = UpstreamError(
        "filtered",
        status=400,
        type="invalid_request_error",
        code="content_filter",
        param="prompt",
        extra={"innererror": dict(INNER), "code": "never this one"},
    )
    bare = UpstreamError("filtered", status=400, type="invalid_request_error", code="content_filter", param="prompt")
    body = DIALECTS[name].write_error(error, ID)
    inner = body["error"].pop("innererror")
    assert inner == (INNER if name != "skytells" else {**INNER, "content_filter_results": VERDICT})
    assert body == DIALECTS[name].write_error(bare, ID)
    assert error.extra == {"innererror": INNER, "code": "never this one"}


def test_skytells_gives_the_verdict_in_both_spellings() -> None:
    for inner in (INNER, {"code": "x", "content_filter_results": VERDICT}, {"code": "x"}):
        error = UpstreamError("x", status=400, code="content_filter", extra={"innererror": inner})
        written = DIALECTS["skytells"].write_error(error, ID)["error"]
        assert written["error_id"] == "CONTENT_POLICY_VIOLATION"
        verdicts = [written["innererror"].get(f"content_filter_result{s}") for s in ("", "s")]
        assert verdicts == ([VERDICT, VERDICT] if len(inner) == 2 else [None, None])


def test_by_default_an_error_carries_nothing_besides() -> None:
    assert AntiphonError("x").extra is None
    assert set(DIALECTS["openai"].write_error(AntiphonError("x"), ID)["error"]) == {"message", "type", "param", "code"}
