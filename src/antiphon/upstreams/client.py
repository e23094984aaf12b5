"""The one client for every upstream that speaks the OpenAI protocol over HTTP.

Foreign failures are mapped here, where the foreign call is made: `ClientError` and error bodies become `UpstreamError`,
with the vendor's words redacted [vendor-words-redacted]. Sockets' details go to the log, never to a client.
"""

from __future__ import annotations

import math
import re
import time
import traceback
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import NamedTuple, cast
from urllib.parse import quote

import msgspec

from antiphon import sse
from antiphon.chat.failure import read_failure
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.flow.ports import Prepared, Receiver, Relayed, RelayReceiver
from antiphon.http.client import BodySource, Call, ClientError, Failure, Pieces, Pool, RelayCall, WholeSink
from antiphon.upstreams.catalog import MODEL, VendorRow
from antiphon.upstreams.models import ask_models
from antiphon.upstreams.prepare import PlainRules, pass_through, plain_rules, prepare
from antiphon.upstreams.relay import BesidePaths, RelayAnswer, asked_lines, without_asked

TIMEOUTS = frozenset({Failure.CONNECT_TIMEOUT, Failure.FIRST_BYTE_TIMEOUT, Failure.IDLE_TIMEOUT, Failure.TOTAL_TIMEOUT})
SECONDS = re.compile(rb"[0-9]{1,9}(\.[0-9]{1,9})?")
FULL = frozenset({Failure.BUSY, Failure.QUEUE_TIMEOUT})
OK = 200
ANSWERED = frozenset({200, 201, 202, 203})
LONGEST_WAIT = 24 * 3600  # seconds
ALWAYS_FORWARDED = (b"traceparent", b"idempotency-key")
STREAMING = frozenset({"completions"})  # of the endpoints beside chat's
CONFORMED = frozenset({"completions", "embeddings", "responses"})  # those whose answers are read; others are relayed
Log = Callable[[str], None]
Sign = Callable[[bytes, bytes], bytes]  # (path, body) -> ready-made lines


class Destination(NamedTuple):
    """Where a request goes, where that is not the same for all."""

    path: bytes
    headers: bytes = b""  # ready-made lines, besides those of every request
    model: str = ""
    key: str | None = None  # whose request it is


@dataclass(frozen=True, slots=True)
class Access:
    """Where an upstream is and how it is reached, whatever it speaks."""

    name: str
    row: VendorRow
    lacks: frozenset[str]
    pool: Pool
    path: bytes  # of chat requests; a {model} in it is the target's
    headers: bytes  # ready-made lines
    think: bool
    forward: tuple[bytes, ...]
    secrets: tuple[str, ...]
    fresh_secrets: Callable[[], Iterable[str]]  # those that change
    log: Log
    models_path: bytes | None
    sign: Sign | None = None  # where each request is signed


class HttpUpstream:
    """An upstream of the catalog at one URL."""

    def __init__(self, access: Access) -> None:
        row, lacks, path = access.row, access.lacks, access.path
        self.name = access.name
        self.protocol = row.protocol
        self.think = access.think
        self.lacks_n = "n" in lacks
        self._has_address = access.sign is not None or MODEL in path
        self.plain: PlainRules | None = None if self._has_address else plain_rules(row, lacks)
        self._row = row
        self._lacks = lacks
        self._pool = access.pool
        self._path = path
        self._headers = access.headers
        self._secrets = access.secrets  # kept out of what an upstream says, whatever they look like
        self._fresh_secrets = access.fresh_secrets
        self._forward = tuple(dict.fromkeys(ALWAYS_FORWARDED + access.forward))
        self._log = access.log
        self._sign = access.sign
        self._prepare: Callable[..., Prepared] = prepare
        self._models_path = access.models_path
        self._beside: dict[str, HttpUpstream] = {}
        self._paths = BesidePaths(path)
        self._beside = {endpoint: self._move(endpoint) for endpoint in row.offers & CONFORMED}

    def at(self, endpoint: str) -> HttpUpstream | None:
        return self._beside.get(endpoint)

    def _move(self, endpoint: str) -> HttpUpstream:
        """The same upstream, with the same pool, at another path."""
        there = copy(self)
        there._path = self._paths.of_model(endpoint.encode())
        there._prepare = partial(pass_through, streams=endpoint in STREAMING)
        return there

    def prepare(self, document: Document, model: str, *, strict: bool, key: str | None = None) -> Prepared:
        prepared = self._prepare(document, model, self._row, self._lacks, strict=strict)
        if self._has_address:
            return prepared._replace(
                address=Destination(self._path.replace(MODEL, segment(model)), model=model, key=key)
            )
        return prepared

    def open(
        self,
        body: bytes | Pieces,
        headers: Mapping[bytes, bytes],
        *,
        stream: bool,
        receiver: Receiver,
        source: int,
        address: Destination | None = None,
    ) -> Call:
        lines, path = self._headers, self._path
        if address is None:
            answer = UpstreamAnswer(self.name, stream, receiver, source, self._secrets, self._log)
        else:
            answer = self._answer(address, stream, receiver, source)
            path = address.path
            lines += address.headers
            if self._sign is not None:
                assert isinstance(body, bytes)  # only bodies of plain upstreams come in pieces
                lines += self._sign(path, body)
        for name in self._forward:
            if name in headers and not (b"connection" in headers and name in connection_options(headers)):
                lines += self._forwarded(name, headers[name], source)
        return self._pool.send(b"POST", path, lines, body, answer)

    def _answer(self, address: Destination, stream: bool, receiver: Receiver, source: int) -> UpstreamAnswer:
        """Who reads the answer to an addressed request."""
        return UpstreamAnswer(self.name, stream, receiver, source, self._secrets, self._log)

    def offers(self, endpoint: str) -> bool:
        return endpoint in self._row.offers

    def relay(
        self,
        asked: Relayed,
        model: str,
        headers: Mapping[bytes, bytes],
        body: bytes | BodySource,
        length: int | None,
        receiver: RelayReceiver,
    ) -> RelayCall:
        # It does nothing but fail the receiver.
        errors = UpstreamAnswer(self.name, False, cast(Receiver, receiver), 0, self._secrets, self._log)
        lines = without_asked(self._headers) + asked_lines(headers)
        for name in self._forward:
            if name in headers and not (b"connection" in headers and name in connection_options(headers)):
                lines += self._forwarded(name, headers[name], 0)
        path = self._paths.find(asked, segment(model))
        if self._sign is not None:
            lines += self._sign(path, b"")  # a token: the settings let no signed upstream offer what is relayed
        return self._pool.relay(asked.method, path, lines, body, RelayAnswer(receiver, errors), length)

    async def models(self) -> list[Document]:
        """What it says it has. Raises UnknownModels."""
        if self._models_path is None:
            return []
        return await ask_models(self._pool, self._models_path, self._headers + self._row.models_headers)

    def conceal(self, error: UpstreamError) -> UpstreamError:
        for secret in (*self._secrets, *self._fresh_secrets()):
            error.message = error.message.replace(secret, "[redacted]")
        return error

    async def close(self) -> None:
        await self._pool.close()

    def _forwarded(self, name: bytes, value: bytes, source: int) -> bytes:
        """No other header of a client goes upstream. A fan-out's calls are different requests."""
        if source and name == b"idempotency-key":
            value += b"-%d" % source
        return b"%b: %b\r\n" % (name, value)


def segment(model: str) -> bytes:
    """A model's name as one segment of a path."""
    return quote(model, safe="").encode()


def connection_options(headers: Mapping[bytes, bytes]) -> set[bytes]:
    """The headers that are meant for the client's own connection and end here (RFC 9110 §7.6.1)."""
    return {option.strip().lower() for option in headers[b"connection"].split(b",")}


class UpstreamAnswer(WholeSink):
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
            self._retry_after = read_retry_after(headers)

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

    def on_whole(self, body: bytes) -> None:
        try:
            self._receiver.whole(body, self._source)
        except Exception as error:
            self._broken(error)

    def _broken(self, error: Exception) -> None:
        """By our own fault an answer was not read: whoever waits for it must hear so."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {where.name}, line {where.lineno}"
        self._fail(UpstreamError("The gateway could not read the upstream's answer."), f"our own fault, {place}")

    @property
    def _is_stream(self) -> bool:
        return self._decoder is not None

    def _end_stream(self) -> None:
        assert self._decoder is not None
        self._receiver.end(self._decoder.close(), self._source)

    def on_fail(self, error: ClientError) -> None:
        try:
            self._take_failure(error)
        except Exception as fault:
            self._broken(fault)

    def _take_failure(self, error: ClientError) -> None:
        if self._is_stream and (error.failure is Failure.RESET or self._receiver.complete):
            # Cut without the closing chunk, or silent after its last word: is that all? [done-optional]
            self._log(f"upstream {self._name}: {error}")
            self._end_stream()
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


def read_retry_after(headers: Mapping[bytes, bytes]) -> int | None:
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
