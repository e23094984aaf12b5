"""A vendor's words made fit for a client: no hosts, addresses, keys or control characters (spec decision 13, H7)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

REDACTED: Final = "[redacted]"
LIMIT: Final = 2_000

# Top-level domains a host in an error message plausibly has. Not all: `messages.content` and `main.py` are no hosts.
_DOMAINS: Final = (
    "com|net|org|io|ai|dev|app|cloud|local|localdomain|internal|intranet|lan|corp|home|svc|cluster|test|example|invalid"
    "|info|tech|xyz|gov|edu|mil|co|cn|jp|kr|in|de|fr|uk|eu|br|us|ru|nl|ch|ca|au|sg|hk|tw"
)
# Bounded everywhere, so that no message costs more than linear time.
_SECRETS: Final = (
    r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s\"'<>)\]}]{1,2000}",
    r"\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,2000}",
    r"\b(?-i:Key|Token)\s+(?=[A-Za-z._~+/=-]{0,200}\d)[A-Za-z0-9._~+/=-]{8,2000}",
    r"(?:api[-_ ]?key|authorization|password|secret|token)[\"']?\s{0,3}[=:]\s{0,3}[\"']?[^\s\"',;)\]}]{4,2000}",
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|pplx|nvapi|key|org|proj|sess)[-_][A-Za-z0-9*][A-Za-z0-9_*-]{5,2000}",
    r"\bAIza[A-Za-z0-9_-]{10,100}",
    r"\beyJ[A-Za-z0-9_-]{8,2000}(?:\.[A-Za-z0-9_-]{0,2000}){0,2}",
    r"\bhost(?:name)?[\"']?\s{0,3}[=:]\s{0,3}[\"']?[^\s\"',;)\]}]{2,255}",
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.]\d)",
    r"(?<![\w:])\[?(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4}\]?(?::\d{1,5})?(?![\w:])",
    r"(?<![\w:])\[?(?=[A-Fa-f:]{0,40}\d)(?:[0-9A-Fa-f]{1,4}:){0,6}:(?::?[0-9A-Fa-f]{1,4}){1,6}\]?(?::\d{1,5})?(?![\w:])",
    rf"(?<![\w.-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,8}}(?i:{_DOMAINS})(?::\d{{1,5}})?(?![\w-])(?:/[^\s\"'<>)\]}}]{{0,2000}})?",
    r"(?<![\w.-])(?:localhost|[A-Za-z0-9]{1,63}(?:[.-][A-Za-z0-9]{1,63}){1,8}):\d{2,5}(?![\w.])",
    r"\b(?=[A-Za-z_+=]{0,200}\d)(?=[0-9_+=]{0,200}[A-Za-z])[A-Za-z0-9_+=]{32,2000}",
)
_PATTERN: Final = re.compile("|".join(f"(?:{secret})" for secret in _SECRETS), re.IGNORECASE)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`secrets`: strings that must not appear whatever they look like (the credential that was sent)."""
    text = text[: 4 * LIMIT]
    for secret in secrets:
        if secret:
            text = text.replace(secret, REDACTED)
    text = _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))
    return _PATTERN.sub(REDACTED, text)[:LIMIT].strip()
