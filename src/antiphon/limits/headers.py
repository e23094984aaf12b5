"""How limits are told in answers: `x-ratelimit-*` as OpenAI writes them, and Skytells' own. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from antiphon.limits.row import Standing

Headers = list[tuple[bytes, bytes]]

OPENAI: Final = (("requests_per_minute", "requests"), ("tokens_per_minute", "tokens"))
LINES: Final = b"x-ratelimit-limit-{}: %d\r\nx-ratelimit-remaining-{}: %d\r\nx-ratelimit-reset-{}: %b\r\n"
REQUESTS: Final = LINES.replace(b"{}", b"requests")
TOKENS: Final = LINES.replace(b"{}", b"tokens")
SKYTELLS: Final = (
    ("requests_per_minute", "requests"),
    ("input_tokens_per_minute", "tokens-in"),
    ("output_tokens_per_minute", "tokens-out"),
)


def rate_headers(standings: Mapping[str, Standing], dialect: str = "openai") -> Headers:
    """`standings`: of `Limiter.standings`. What has no limit has no header; in skytells it is `-`."""
    headers: Headers = []
    for measure, word in OPENAI:
        standing = standings.get(measure)
        if standing is not None:
            values = (
                ("limit", standing.limit),
                ("remaining", standing.remaining),
                ("reset", write_time(standing.reset)),
            )
            headers += [(f"x-ratelimit-{name}-{word}".encode(), str(value).encode()) for name, value in values]
    if dialect == "skytells":
        headers += _skytells(standings)
    return headers


def usual_lines(requests: Standing | None, tokens: Standing | None) -> bytes:
    """As `rate_headers` of these two, as lines."""
    lines = b"" if requests is None else REQUESTS % (*requests[:2], write_time(requests[2]).encode())
    return lines if tokens is None else lines + TOKENS % (*tokens[:2], write_time(tokens[2]).encode())


def _skytells(standings: Mapping[str, Standing]) -> Headers:
    headers = [(b"x-skytells-ratelimit-window", b"60")]
    for measure, word in SKYTELLS:
        standing = standings.get(measure)
        for name in ("limit", "remaining"):
            value = "-" if standing is None else str(getattr(standing, name))
            headers.append((f"x-skytells-ratelimit-{name}-{word}".encode(), value.encode()))
    return headers


def write_time(microseconds: int) -> str:
    """A duration as OpenAI writes it: 0s, 12ms, 1.5s, 6m0s, 1h2m3s. Rounded up."""
    milliseconds = -(-microseconds // 1000)
    if 0 < milliseconds < 1000:
        return f"{milliseconds}ms"
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{seconds}.{rest:03d}".rstrip("0") if rest else str(seconds)
    if hours:
        return f"{hours}h{minutes}m{shown}s"
    return f"{minutes}m{shown}s" if minutes else f"{shown}s"
