"""The one client for every upstream that speaks the OpenAI protocol over HTTP.

Foreign failures are mapped here, where the foreign call is made: `ClientError` and error bodies become `UpstreamError`,
with the vendor's words redacted (decision 13). Sockets' details go to the log, never to a client.
"""

from __future__ import annotations

import math
import re
import time
import traceback
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from copy import copy
from email.utils import parsedate_to_datetime
from functools import partial

import msgspec

from antiphon import sse
from antiphon.chat.failure import read_failure
from antiphon.errors import UpstreamError
from antiphon.flow.ports import Document, Receiver
from antiphon.http.client import Call, ClientError, Failure, Pool
from antiphon.upstreams.catalog import Row
from antiphon.upstreams.models import ask_models
from antiphon.upstreams.prepare import PlainRules, Prepared, pass_through, plain_rules, prepare

TIMEOUTS = frozenset({Failure.CONNECT_TIMEOUT, Failure.FIRST_BYTE_TIMEOUT, Failure.IDLE_TIMEOUT, Failure.TOTAL_TIMEOUT})
SECONDS = re.compile(rb"[0-9]{1,9}(\.[0-9]{1,9})?")
FULL = frozenset({Failure.BUSY, Failure.QUEUE_TIMEOUT})
ANSWERED = frozenset({200, 201, 202, 203})
LONGEST_WAIT = 24 * 3600  # seconds
ALWAYS_FORWARDED = (b"traceparent", b"idempotency-key")
STREAMING = frozenset({"completions"})  # of the endpoints beside chat's
Log = Callable[[str], None]


class HttpUpstream:
    """An upstream of the catalog at one URL."""

    def __init__(
        self,
        name: str,
        row: Row,
        lacks: frozenset[str],
        pool: Pool,
        path: bytes,
        headers: bytes,
        *,
        think: bool,
        forward: tuple[bytes, ...],
        secrets: tuple[str, ...],
        log: Log,
    ) -> None:
        self.name = name
        self.think = think
        self.lacks_n = "n" in lacks
        self.plain: PlainRules | None = plain_rules(row, lacks)
        self._row = row
        self._lacks = lacks
        self._pool = pool
        self._path = path
        self._headers = headers
        self._secrets = secrets  # kept out of what an upstream says, whatever they look like
        self._forward = tuple(dict.fromkeys(ALWAYS_FORWARDED + forward))
        self._log = log
        self._prepare: Callable[..., Prepared] = prepare
        prefix = path.removesuffix(row.path.encode())
        self._models_path = prefix + b"/models"
        self._beside: dict[str, HttpUpstream] = {}
        self._beside = {endpoint: self._move(prefix, endpoint) for endpoint in row.offers}

    def at(self, endpoint: str) -> HttpUpstream | None:
        return self._beside.get(endpoint)

    def _move(self, prefix: bytes, endpoint: str) -> HttpUpstream:
        """The same upstream, with the same pool, at another path."""
        there = copy(self)
        there._path = b"%b/%b" % (prefix, endpoint.encode())
        there._prepare = partial(pass_through, streams=endpoint in STREAMING)
        return there

    def prepare(self, document: Document, model: str, *, strict: bool) -> Prepared:
        return self._prepare(document, model, self._row, self._lacks, strict=strict)

    def open(
        self, body: bytes, headers: Mapping[bytes, bytes], *, stream: bool, receiver: Receiver, source: int
    ) -> Call:
        answer = Answer(self.name, stream, receiver, source, self._secrets, self._log)
        lines = self._headers
        for name in self._forward:
            if name in headers and not (b"connection" in headers and name in connection_options(headers)):
                lines += self._forwarded(name, headers[name], source)
        return self._pool.send(b"POST", self._path, lines, body, answer)

    async def models(self) -> list[Document]:
        """What it says it has. Raises UnknownModels."""
        return await ask_models(self._pool, self._models_path, self._headers)

    def conceal(self, error: UpstreamError) -> UpstreamError:
        for secret in self._secrets:
            error.message = error.message.replace(secret, "[redacted]")
        return error

    async def close(self) -> None:
        await self._pool.close()

    def _forwarded(self, name: bytes, value: bytes, source: int) -> bytes:
        """No other header of a client goes upstream. A fan-out's calls are different requests."""
        if source and name == b"idempotency-key":
            value += b"-%d" % source
        return b"%b: %b\r\n" % (name, value)


def connection_options(headers: Mapping[bytes, bytes]) -> set[bytes]:
    """The headers that are meant for the client's own connection and end here (RFC 9110 §7.6.1)."""
    return {option.strip().lower() for option in headers[b"connection"].split(b",")}


class Answer:
    """One call's answer as it arrives: bytes in, documents out."""

    __slots__ = (
        "_body",
        "_decoder",
        "_log",
        "_name",
        "_receiver",
        "_retry_after",
        "_secrets",
        "_source",
        "_status",
        "_stream",
    )

    def __init__(
        self, name: str, stream: bool, receiver: Receiver, source: int, secrets: tuple[str, ...], log: Log
    ) -> None:
        self._name = name
        self._stream = stream
        self._receiver = receiver
        self._source = source
        self._secrets = secrets
        self._log = log
        self._decoder: sse.Decoder | None = None
        self._body: list[bytes] = []
        self._status = 0
        self._retry_after: int | None = None

    def on_head(self, status: int, headers: dict[bytes, bytes]) -> None:
        self._status = status
        kind = headers.get(b"content-type", b"").lower()
        if status in ANSWERED and (kind.startswith(b"text/event-stream") or (self._stream and b"json" not in kind)):
            self._decoder = sse.Decoder()
        elif status in (429, 503):
            self._retry_after = _retry_after(headers)

    def on_data(self, data: bytes) -> None:
        decoder = self._decoder
        if decoder is None:
            self._body.append(data)
            return
        try:
            if decoder.clean and self._receiver.spliced(data):
                return
            payloads = decoder.feed(data)
            if payloads:
                self._receiver.events(payloads, self._source)
        except sse.SseError:
            self._malformed("an event is too long")
        except Exception as error:
            self._broken(error)

    def on_end(self) -> None:
        try:
            if self._decoder is not None:
                self._receiver.end(self._decoder.close(), self._source)
            elif self._status in ANSWERED:
                body = self._body
                self._receiver.whole(body[0] if len(body) == 1 else b"".join(body), self._source)
            else:
                error = read_failure(_lenient(b"".join(self._body)), self._status, self._secrets)
                if self._retry_after is not None:
                    error.retry_after = self._retry_after
                self._fail(error, f"HTTP {self._status}")
        except Exception as error:
            self._broken(error)

    def _broken(self, error: Exception) -> None:
        """By our own fault an answer was not read: whoever waits for it must hear so."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {where.name}, line {where.lineno}"
        self._fail(UpstreamError("The gateway could not read the upstream's answer."), f"our own fault, {place}")

    def on_fail(self, error: ClientError) -> None:
        try:
            self._take_failure(error)
        except Exception as fault:
            self._broken(fault)

    def _take_failure(self, error: ClientError) -> None:
        if self._decoder is not None and (error.failure is Failure.RESET or self._receiver.complete):
            # Cut without the closing chunk, or silent after its last word: the stream judges whether that was all (F5).
            self._log(f"upstream {self._name}: {error}")
            self._receiver.end(self._decoder.close(), self._source)
        elif error.failure in FULL:
            words = "The upstream has as many requests as it may have at a time. Please try again."
            self._fail(UpstreamError(words, status=503, code="overloaded", retry_after=1), str(error))
        elif error.failure in TIMEOUTS:
            self._fail(UpstreamError("The upstream did not answer in time.", status=504, code="timeout"), str(error))
        elif error.failure is Failure.RESET and self._status:
            self._fail(UpstreamError("The upstream cut its answer.", code="upstream_truncated"), str(error))
        elif error.failure is Failure.TOO_LARGE:
            too_large = UpstreamError("The upstream's answer is too large.", code="upstream_malformed")
            self._fail(too_large, str(error))
        else:
            self._fail(UpstreamError("The upstream could not be reached or broke off."), str(error))

    def _malformed(self, what: str) -> None:
        self._fail(UpstreamError("The upstream sent a malformed answer.", code="upstream_malformed"), what)

    def _fail(self, error: UpstreamError, detail: str) -> None:
        self._log(f"upstream {self._name}: {detail} ({error.code or error.type})")
        self._receiver.fail(error, self._source)


def _lenient(body: bytes) -> object:
    body = body.removeprefix(BOM_UTF8)
    try:
        document = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        document = None
    if isinstance(document, dict | list):  # Gemini wraps its errors in a list
        return document
    text = body[:500].decode("utf-8", "replace").strip()
    return {"message": "The upstream answered with an error." if not text or text.startswith("<") else text}


def _retry_after(headers: Mapping[bytes, bytes]) -> int | None:
    """In whole seconds, at least one: `retry-after-ms`, which SDKs read first, or `retry-after` in either form."""
    if SECONDS.fullmatch(milliseconds := headers.get(b"retry-after-ms", b"").strip()):
        return _bounded(float(milliseconds) / 1000)
    value = headers.get(b"retry-after", b"").strip()
    if SECONDS.fullmatch(value):
        return _bounded(float(value))
    try:
        return _bounded(parsedate_to_datetime(value.decode("latin-1")).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _bounded(seconds: float) -> int:
    return max(1, min(math.ceil(seconds), LONGEST_WAIT))
