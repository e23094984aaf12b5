"""One event's payload -> a chunk document; and what to do with text that was cut inside a character.

msgspec reads nearly everything. What it refuses for its characters alone, a lone surrogate escape (half of an emoji) or
bytes that are not UTF-8, is read by a lenient fallback and marked `Lenient`: only such documents are looked at twice.
In them a lone half is a surrogate code point, and a byte that is not UTF-8 one of U+DC80..U+DCFF (PEP 383).
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any, Final, NoReturn

import msgspec

from antiphon.chat.failure import malformed, read_failure
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.sse import Named

_decode: Final = msgspec.json.Decoder().decode
_PINGS: Final = frozenset({b"ping", b"heartbeat", b"keepalive", b"keep-alive"})

_HIGH_THEN_LOW: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_BYTES: Final = re.compile("[\udc80-\udcff]+")
_LONE: Final = re.compile("[\ud800-\udfff]")

# Where a cut character may be completed by the next chunk: left for `heal`, not scrubbed.
TEXT_KEYS: Final = frozenset({"content", "refusal", "reasoning", "reasoning_content", "arguments", "input"})


# No answer nests this deep; what does would exhaust the stack of whoever walks or writes it.
MAX_DEPTH: Final = 200


class Lenient(dict[str, Any]):
    """A chunk whose strings may contain surrogates."""


def decode(payload: bytes, *, last: bool = False) -> Document:
    """The chunk in an event, or a whole body. `last`: the stream ended in this event, so what is not whole is cut, not
    malformed."""
    try:
        value = _decode(payload)
    except ValueError:
        value = _decode_again(payload, last)
    except RecursionError:
        raise too_deep() from None
    if len(payload) > 2 * MAX_DEPTH and payload.count(b"[") + payload.count(b"{") > MAX_DEPTH and _is_deep(value):
        raise too_deep()
    document: Document = value if isinstance(value, dict) else _unwrap(value)
    if isinstance(payload, Named):
        if payload.name == b"error":
            raise read_failure(document)
        if payload.name in _PINGS:
            return {}
    return document


def is_done(payload: bytes) -> bool:
    return payload[:1] != b"{" and payload.strip() == b"[DONE]"


def _decode_again(payload: bytes, last: bool) -> object:
    """What msgspec refused: a byte order mark stands before it, or its characters are cut."""
    if payload.startswith(codecs.BOM_UTF8):
        payload = payload[len(codecs.BOM_UTF8) :]
        try:
            return _decode(payload)
        except ValueError:
            pass
        except RecursionError:
            raise too_deep() from None
    return _decode_leniently(payload, last)


def _decode_leniently(payload: bytes, last: bool) -> object:
    try:
        document = json.loads(payload.decode("utf-8", "surrogateescape"), parse_constant=_refuse, strict=False)
    except ValueError:
        raise truncated() if last else malformed() from None
    except RecursionError:
        raise too_deep() from None
    return Lenient(document) if isinstance(document, dict) else document


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and Infinity are not JSON


def _unwrap(document: object) -> Document:
    """Gemini wraps an error in a list of one."""
    if isinstance(document, list) and len(document) == 1 and isinstance(document[0], dict):
        return Lenient(document[0])
    raise malformed()


def _is_deep(value: object) -> bool:
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def too_deep() -> UpstreamError:
    return UpstreamError("The upstream's answer is nested too deeply.", code="upstream_malformed")


def truncated() -> UpstreamError:
    return UpstreamError("The upstream ended its answer before it was complete.", code="upstream_truncated")


def heal(text: str) -> tuple[str, str]:
    """(text without surrogates, the tail that the next piece may complete)."""
    if text.isascii() or not _LONE.search(text):
        return text, ""
    text = _HIGH_THEN_LOW.sub(_pair, text)
    tail = ""
    if "\ud800" <= text[-1] <= "\udbff":
        text, tail = text[:-1], text[-1]
    else:
        text, tail = _cut_bytes(text)
    text = _BYTES.sub(lambda run: _raw(run[0]).decode("utf-8", "replace"), text)
    return _LONE.sub("\ufffd", text), tail


def _pair(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _raw(run: str) -> bytes:
    return run.encode("utf-8", "surrogateescape")


def _cut_bytes(text: str) -> tuple[str, str]:
    """Bytes at the very end that begin a character and lack its rest."""
    for size in range(min(3, len(text)), 0, -1):
        tail = text[-size:]
        if not _BYTES.fullmatch(tail):
            continue
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            if decoder.decode(_raw(tail)) == "":
                return text[:-size], tail
        except UnicodeDecodeError:
            continue
    return text, ""


def settle_tail(tail: str) -> str:
    """What is given for a tail that nothing completed."""
    return "\ufffd" if tail else ""


def scrub(value: Any, *, keep: frozenset[str] = frozenset()) -> Any:
    """The same JSON value with no surrogate in any string but those under the keys in `keep`."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [scrub(item, keep=keep) for item in value]
    if isinstance(value, dict):
        return {
            scrub(key): item if key in keep and isinstance(item, str) else scrub(item, keep=keep)
            for key, item in value.items()
        }
    return value
