"""SigV4 against vectors that botocore 1.44 signed (tests/protocols/judges/bedrock.py asks it anew)."""

from __future__ import annotations

import pytest

from antiphon.protocols.sigv4 import Signer, escape

HOST = "bedrock-runtime.eu-west-1.amazonaws.com"
HEADERS = [("content-type", "application/json"), ("x-amzn-note", "  two   words ")]
SECRET = "wJalr/own+EXAMPLE"

# Model, session token, Unix seconds, signature. The body is `{"messages":[]}` and the model's name.
VECTORS = [
    (
        "anthropic.claude-opus-5-5-v1:0",
        None,
        1794744000,
        "8c2be500448531627c9ca1d94ec3305f67ad48cd08e74f3046d191fbed906c41",
    ),
    (
        "anthropic.claude-opus-5-5-v1:0",
        None,
        1794787199,
        "0cd194028497416054724747de5e47cf8f188fc0bd6623f622bde8c3c179b182",
    ),
    (
        "anthropic.claude-opus-5-5-v1:0",
        None,
        1794787200,
        "ae65def55a146318afb1fc779ff6318bab6fc4c158105ea52f4dfac39569ad0f",
    ),
    (
        "anthropic.claude-opus-5-5-v1:0",
        "SESSION/token+x==",
        1794744000,
        "33dd8d57a8cca00edb30864f6dfe3a4966865c0ecb14af853d4ca34a78e1b5a5",
    ),
    (
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5",
        None,
        1794744000,
        "6af0b35196aca354eeae746ae0fed02f6f8518cfaf5efaba221d8e164797ab8c",
    ),
    (
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5",
        "SESSION/token+x==",
        1794744000,
        "ec05e634000d0501b8bb38557850efc60292440a611ebc6c19216765777255d8",
    ),
    ("amazon.nova-pro-v1:0", None, 1794787200, "a0ebb66a8f2ebd64540afad3fabb61229cefd88373800427d4aa4d8009aece62"),
    ("naïve model/ü", None, 1794744000, "b923ad95a8128c951192cee2e84500fb9f9691a4194db375259da9044c198eb0"),
    (
        "naïve model/ü",
        "SESSION/token+x==",
        1794787200,
        "0b3a270bbb9a559cc1e811451ee8d04c448663f88bd5e8d498b78c8cdd83a365",
    ),
]


def signer(token: str | None = None) -> Signer:
    return Signer("AKIDEXAMPLE", SECRET, region="eu-west-1", service="bedrock", token=token)


def sign(own: Signer, model: str, now: int) -> dict[str, str]:
    path = f"/model/{escape(model)}/converse-stream"
    return dict(own.sign("POST", HOST, path, b'{"messages":[]}' + model.encode(), now, HEADERS))


@pytest.mark.parametrize(("model", "token", "now", "signature"), VECTORS)
def test_signatures_are_botocores(model: str, token: str | None, now: int, signature: str) -> None:
    headers = sign(signer(token), model, now)
    names = "content-type;host;x-amz-date;" + ("x-amz-security-token;" if token else "") + "x-amzn-note"
    day = headers["x-amz-date"][:8]
    scope = f"AKIDEXAMPLE/{day}/eu-west-1/bedrock/aws4_request"
    assert headers["authorization"] == (
        f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={names}, Signature={signature}"
    )
    assert headers.get("x-amz-security-token") == token


def test_one_signer_signs_on_both_sides_of_midnight() -> None:
    own = signer()
    for model, token, now, signature in VECTORS * 2:
        if token is None:
            assert sign(own, model, now)["authorization"].endswith(signature)


def test_a_path_segment_escapes_all_but_the_unreserved() -> None:
    assert escape("a-Z_0.~") == "a-Z_0.~"
    assert escape("arn:aws:bedrock:x/y") == "arn%3Aaws%3Abedrock%3Ax%2Fy"
    assert escape("ü% ?") == "%C3%BC%25%20%3F"


def test_a_signer_shows_no_secret() -> None:
    shown = repr(signer("SESSION-TOKEN"))
    assert SECRET not in shown
    assert "SESSION" not in shown
    assert "AKID" not in shown
