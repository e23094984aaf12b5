"""Who sends a request: AWS Signature Version 4, verified where the secret is known, or a bearer key."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from urllib.parse import quote

from antiphon.upstreams.scripted.language import Credential, RefusedError
from antiphon.upstreams.scripted.received import Received

ALGORITHM = "AWS4-HMAC-SHA256"
PROOF = re.compile(
    ALGORITHM + r"\s+Credential=([^/,\s]+)/(\d{8})/([^/,\s]+)/([^/,\s]+)/aws4_request"
    r",\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})"
)
SERVICE = "bedrock"
SKEW = 300  # seconds
MUST_SIGN = ("host", "x-amz-date")
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)


def check_credential(request: Received, credential: Credential, now: float) -> None:
    shown = request.headers.get("authorization", "")
    if not shown:
        raise RefusedError(403, "Missing Authentication Token", "MissingAuthenticationTokenException")
    scheme, _, key = shown.partition(" ")
    if scheme.lower() == "bearer":
        if not key.strip() or (credential.key is not None and not _same(key.strip(), credential.key)):
            raise RefusedError(403, "Authentication failed: Please make sure your API Key is valid.")
        return
    proof = PROOF.fullmatch(shown)
    if proof is None:
        message = "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters."
        raise RefusedError(403, message, "IncompleteSignatureException")
    if proof[4] != SERVICE:
        message = f"Credential should be scoped to correct service: '{SERVICE}'."
        raise RefusedError(403, message, "InvalidSignatureException")
    if credential.secret is not None:
        verify(request, proof, credential, now)


def verify(request: Received, proof: re.Match[str], credential: Credential, now: float) -> None:
    access_key, day, region, service, names, signature = proof.groups()
    if credential.access_key is not None and not _same(access_key, credential.access_key):
        message = "The security token included in the request is invalid."
        raise RefusedError(403, message, "UnrecognizedClientException")
    moment = request.headers.get("x-amz-date", "")
    check_moment(moment, day, now)
    signed = names.split(";")
    if signed != sorted(signed) or not all(name in signed for name in MUST_SIGN):
        raise RefusedError(403, "'Host' or 'X-Amz-Date' must be a 'SignedHeader'.", "InvalidSignatureException")
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join((ALGORITHM, moment, scope, hashlib.sha256(canonical(request, signed).encode()).hexdigest()))
    key = b"AWS4" + (credential.secret or "").encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    if not _same(hmac.digest(key, text.encode(), "sha256").hex(), signature):
        raise RefusedError(403, MISMATCH, "InvalidSignatureException")


def check_moment(moment: str, day: str, now: float) -> None:
    try:
        then = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise RefusedError(403, "Date must be in ISO-8601 'basic format'.", "IncompleteSignatureException") from None
    if not moment.startswith(day):
        raise RefusedError(403, "Date in Credential scope does not match X-Amz-Date.", "InvalidSignatureException")
    if abs(now - then) > SKEW:
        raise RefusedError(403, f"Signature expired: {moment} is not within {SKEW} s.", "InvalidSignatureException")


def canonical(request: Received, signed: list[str]) -> str:
    """The path is escaped once more: `%3A` is signed as `%253A`."""
    lines = [request.method, quote(request.path, safe="/-_.~"), query(request.query)]
    lines += [f"{name}:{' '.join(request.headers.get(name, '').split())}" for name in signed]
    return "\n".join([*lines, "", ";".join(signed), hashlib.sha256(request.body).hexdigest()])


def query(text: str) -> str:
    pairs = sorted(pair.partition("=")[::2] for pair in text.split("&") if pair)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
