"""Bytes in, requests out: httptools' callbacks, our limits and our rules. Knows no socket and no clock.

`feed` raises a Refusal for the first fault; what came before it has been delivered. After a fault, or after a request
that ends the connection, nothing more is read (`ended`).

Whether a body is wanted is asked at the end of its head: always where it is compressed or announced by Expect, else
only if the read that brought the head did not bring the body. A request whose body is not wanted is delivered without
it, as the last one of its connection. A request with `max_upload` is delivered when its body begins, and the body is
handed on while it arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from types import SimpleNamespace
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from antiphon.http.head_cache import KnownHead, know
from antiphon.http.head_checks import (
    check_expect,
    check_transfer_encoding,
    check_version,
    head_size,
    refusal_for,
)
from antiphon.http.request import Refusal, Request, split_target
from antiphon.http.server_budget import BodyBudget
from antiphon.http.server_inflate import RequestInflater, inflater_for
from antiphon.http.server_limits import Limits
from antiphon.http.server_upload import Upload

MISSES: Final = 8  # heads learnt in vain, one after another, before a connection's are no longer learnt


class Unread(Exception):
    """The body of the present request is not wanted. It ends the parser."""


def _ignore(*_: object) -> None:
    """Stands in for a connection that is gone."""


def _want(_: Request) -> bool:
    return True


class RequestReader:
    """One per connection. `fed` is not 0 while a request is incomplete; `request` is set while its body is read."""

    __slots__ = (
        "_asked",
        "_at",
        "_body",
        "_budget",
        "_charged",
        "_deliver",
        "_detour",
        "_exact",
        "_expect",
        "_fresh",
        "_headers",
        "_host",
        "_keeps",
        "_known",
        "_limits",
        "_misses",
        "_parser",
        "_partial",
        "_piece",
        "_repeats",
        "_target",
        "_upload",
        "_wants_body",
        "_whole",
        "barred",
        "ended",
        "fed",
        "inflater",
        "on_message_begin",
        "request",
        "vital",
    )

    def __init__(
        self,
        limits: Limits,
        deliver: Callable[[Request], None],
        expect: Callable[[], None],
        wants_body: Callable[[Request], bool] | None = None,
        budget: BodyBudget | None = None,
    ) -> None:
        self._limits = limits
        self._deliver = deliver
        self._expect = expect  # the client waits for 100 Continue
        self._wants_body = wants_body or _want
        self._asked = False  # whether the present body is wanted
        self._budget = budget or BodyBudget()
        self._charged = 0  # bytes of the present body that the budget counts
        self._upload: Upload | None = None  # where the present body goes
        self._keeps = True  # whether its request keeps the connection, once it is complete
        # Not empty while the parser stands between two requests. It calls list.clear itself: quicker than one of ours.
        self._fresh = [True]
        self.on_message_begin = self._fresh.clear
        self._parser = HttpRequestParser(self)
        self._known: KnownHead | None = None
        self._misses = 0
        self._whole = b""  # a read that began between two requests: it may show a whole head
        self._piece: bytes | memoryview = b""  # what the parser is being fed
        self._at = 0  # where in it the last request line ended
        self._partial = b""  # what was fed of a head before it
        self._exact = True  # a request begins where these two begin
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._host = b""
        self._repeats = 0
        self._body: bytes | bytearray = b""
        self.inflater: RequestInflater | None = None
        self._detour = False
        self.barred: Refusal | None = None  # the answer to any request, where this connection is one too many
        self.vital: Container[bytes] = ()  # but for these paths
        self.ended = False
        # Bytes read since the last request ended or, in a body, since its last piece: what bounds heads, trailers,
        # chunk extensions and empty lines alike.
        self.fed = 0
        self.request: Request | None = None

    def take(self, data: bytes) -> None:
        """feed(), for what was read at once. A request whose head is known needs no parser: 0.8 us instead of 3."""
        known = self._known
        if known is not None and self._fresh:
            size = len(data) - known.size
            digits = b"%d" % size
            if len(digits) != known.digits:
                size += known.digits - len(digits)
                digits = b"%d" % size
            head = known.before + digits + known.after
            # The right length too: with another number of digits there may be no size that fits.
            if len(head) + size == len(data) and data.startswith(head) and size <= self._limits.max_body:
                self._misses = 1
                headers = known.headers.copy()
                headers[b"content-length"] = digits
                asked = (known.method, known.path, known.query, headers, True, False, data[len(head) :])
                self._deliver(Request(*asked, known.admission, 0, None, known))
                return
        self._whole = data if self._fresh and self._misses < MISSES else b""
        self.feed(data)

    def forget_admission(self) -> None:
        """What a handler found in the known head is not what the next one will [reload-keys]."""
        if self._known is not None:
            self._known.admission = None

    def feed(self, data: bytes | memoryview) -> None:
        self.fed += len(data)
        self._piece = data
        self._at = 0
        if not self._partial:
            self._exact = bool(self._fresh)
        declined: bytes | memoryview | None = None
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            declined = data[upgrade.args[0] :]
        except HttpParserError as error:
            self._end(error, data)
        if declined is not None:  # outside of the handler: an error in it would seem to be one of a callback
            self._decline_upgrade(declined)
        if not self.fed and not self._fresh and not self.ended:
            self.fed = 1  # a head began behind the last request
        if self.fed:
            self._check_partial(data)
        elif self._partial:
            self._partial = b""
        self._piece = b""

    def rest(self) -> int:
        """How many bytes of the body are still to come, where that is known; they can be fed in one piece."""
        request = self.request
        if request is None or self.inflater is not None:
            return 0
        arrived = len(self._body) if self._upload is None else self._upload.size
        return int(request.headers.get(b"content-length", 0)) - arrived

    def so_far(self) -> Request | None:
        """As much of the present request as is known, for the answer to a faulty one."""
        if self.request is not None or not self._target:
            return self.request
        return Request(self._parser.get_method(), *split_target(self._target), self._headers)

    def drop(self) -> None:
        """Nobody needs the body that was being read."""
        self._budget.held -= self._charged
        self._charged = 0
        self._body = self._whole = self._partial = self._piece = b""

    def close(self) -> None:
        """Drop the parser and the connection, which hold us as we hold them, and what was read."""
        self.drop()
        self.ended = True
        self._deliver = _ignore
        self._expect = _ignore
        self._wants_body = _want
        self._upload = None
        self.request = None
        self._known = None
        self._parser = None  # type: ignore[assignment]  # nothing is fed any more

    # httptools' callbacks. What they raise comes out of feed_data.

    def on_url(self, target: bytes) -> None:
        self._target = target = self._target + target
        if len(target) > self._limits.max_target:
            raise Refusal(414, f"The request target is longer than {self._limits.max_target} bytes.")

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        headers = self._headers
        if name in headers:
            self._repeat(name, value)
        else:
            headers[name] = value.rstrip()

    def on_headers_complete(self) -> None:
        parser, limits, target, headers = self._parser, self._limits, self._target, self._headers
        path, _, query = target.partition(b"?")
        method = parser.get_method()
        self.request = request = Request(method, path, query, headers, parser.should_keep_alive())
        self._target = b""
        self._headers = {}  # for trailers, which are read and thrown away
        if path[:1] != b"/":
            request.path, request.query = split_target(target)
        if self.barred is not None:
            self._bar(request)
        if len(headers) + self._repeats > limits.max_header_count:
            raise Refusal(431, f"The request has more than {limits.max_header_count} header fields.")
        if self.fed > limits.max_header_bytes and head_size(target, headers) > limits.max_header_bytes:
            raise Refusal(431, f"The request's header fields are larger than {limits.max_header_bytes} bytes.")
        version = parser.get_http_version()
        host = headers.get(b"host")
        if version != "1.1" or host != self._host:
            request.http10 = check_version(version, host)
            self._host = host or b""  # known to be good: a client names the same one every time
        line = b"%b %b HTTP/1." % (method, target)
        if self._at or self._piece[: len(line)] != line:
            self._find_line(line)
        else:
            self._at = len(line)
        length = headers.get(b"content-length")
        if length is not None and int(length) > limits.max_body:
            self._check_length(request, int(length))
        if b"transfer-encoding" in headers:
            check_transfer_encoding(headers[b"transfer-encoding"], http10=request.http10)
        if b"content-encoding" in headers and has_body(headers):
            self.inflater = inflater_for(headers[b"content-encoding"], limits.max_body)
        if b"upgrade" in headers or request.method == b"CONNECT":
            self._note_upgrade(request)
        expects = b"expect" in headers and not request.http10
        if expects:
            check_expect(headers[b"expect"])
            expects = has_body(headers)
        if expects or self.inflater is not None:
            if not (self._asked or self._is_wanted(request)):
                raise Unread
            if expects:
                self._expect()

    def on_body(self, data: bytes) -> None:
        self.fed = 1
        if self._upload is not None:
            self._upload.feed(data)
            return
        if self.inflater is not None:
            self._inflate(self.inflater, data)
            return
        body = self._body
        if not body:
            self._body = data
        elif isinstance(body, bytearray):
            body += data
        else:
            self._body = bytearray(body)
            self._body += data
        if len(self._body) > self._limits.max_body:
            raise Refusal(413, f"The request body is larger than {self._limits.max_body} bytes.")

    def on_message_complete(self) -> None:
        self._fresh.append(True)
        request = self.request
        if request is None or self._detour:
            return
        if self._upload is not None:
            self._end_upload(self._upload, request)
            return
        if self.inflater is not None:
            self.inflater.close()
            self.inflater = None
        if self._body:
            request.body = bytes(self._body)  # no copy where it came in one piece
            self._body = b""
        if self._asked:
            self._asked = False
            self._budget.held -= self._charged  # whoever takes the request counts it from here on
            self._charged = 0
        if self._headers:
            self._headers = {}
        if self._whole:
            self._learn(request)
        self._repeats = 0
        self.request = None
        self.fed = 0
        self.ended = not request.keep_alive
        self._deliver(request)

    def _inflate(self, inflater: RequestInflater, data: bytes) -> None:
        if not isinstance(self._body, bytearray):
            self._body = bytearray()
        for plain in inflater.feed(data):
            self._body += plain
            self._budget.unpacked += len(plain)
            self._charge()

    def _charge(self) -> None:
        grown = len(self._body) - self._charged
        self._budget.take(grown)
        self._charged += grown

    def _is_wanted(self, request: Request) -> bool:
        """Is the body of this request to be read? If so, there is room for as much of it as is announced."""
        self._asked = True
        if not self._wants_body(request):
            return False
        if not request.max_upload or self.inflater is not None:
            self._budget.check(int(request.headers.get(b"content-length", 0)))
        return True

    def _check_length(self, request: Request, length: int) -> None:
        """A body longer than what is read whole."""
        most = self._limits.max_body
        if b"content-encoding" not in request.headers:
            is_wanted = self._is_wanted(request)
            most = max(most, request.max_upload)
            if request.max_upload and not is_wanted:
                raise Unread
        if length > most:
            raise Refusal(413, f"The request body is larger than {most} bytes.")

    def _begin_upload(self, request: Request) -> None:
        length = request.headers.get(b"content-length")
        limit = max(request.max_upload, self._limits.max_body)
        upload = Upload(self._budget, limit, None if length is None else int(length))
        upload.feed(bytes(self._body))
        self._body = self._whole = b""
        self._upload = request.upload = upload
        self._keeps, request.keep_alive = request.keep_alive, False  # whoever answers before the end, ends it
        self._deliver(request)

    def _end_upload(self, upload: Upload, request: Request) -> None:
        self._upload = self.request = None
        self._headers = {}
        self._repeats = 0
        self._asked = False
        self.fed = 0
        self.ended = not self._keeps
        request.keep_alive = self._keeps
        upload.end()

    def _deliver_unread(self) -> None:
        request = self.request
        assert request is not None
        self._stop()
        self.drop()
        self.request = None
        self.fed = 0
        request.keep_alive = False
        self._deliver(request)

    def _bar(self, request: Request) -> None:
        if request.path not in self.vital:
            assert self.barred is not None
            raise self.barred
        request.keep_alive = False

    def _find_line(self, line: bytes) -> None:
        """The parser also reads RTSP and ICE, and does not say so: the request line must be found as HTTP's among what
        was fed. It is not where the piece begins: a request or a part of one came before, or an empty line."""
        text = self._partial + self._piece
        at = text.find(line, self._at)
        start = line.removesuffix(b"HTTP/1.")
        is_other = any(0 <= text.find(start + other, self._at) < at for other in (b"RTSP/", b"ICE/"))
        if at < 0 or is_other or (self._exact and not self._at and text[:at].strip(b"\r\n")):
            raise Refusal(400, "The request is not valid HTTP/1.1.")
        self._at = at + len(line)

    def _stop(self) -> None:
        self.ended = True
        self._known = None

    def _end(self, error: HttpParserError, data: bytes | memoryview) -> None:
        """The parser complains, or one of our callbacks raised."""
        if isinstance(error.__context__, Unread):
            self._deliver_unread()
        elif not self.ended:  # what follows a last request is nobody's
            self._stop()
            # Only where this piece is the first of its request does it show the request line.
            raised = error.__context__
            cause = None if isinstance(raised, Refusal) else raised
            raise refusal_for(error, data if self.fed == len(data) else b"") from cause

    def _learn(self, request: Request) -> None:
        """Not from a connection's first request, as most have no second; nor from heads that differ every time."""
        data, self._whole = self._whole, b""
        self._misses += 1
        if self._misses == MISSES:
            self._known = None
        elif self._misses > 1:
            self._known = None if self._repeats else know(data, request)

    def _repeat(self, name: bytes, value: bytes) -> None:
        self._repeats += 1
        headers = self._headers
        if len(headers) + self._repeats > self._limits.max_header_count:
            raise Refusal(431, f"The request has more than {self._limits.max_header_count} header fields.")
        if name == b"host":
            raise Refusal(400, "The request has more than one Host header.")
        headers[name] = headers[name] + b", " + value.rstrip()

    def _check_partial(self, data: bytes | memoryview) -> None:
        if self.fed > self._limits.max_header_bytes:
            self._stop()
            raise Refusal(431, f"The request's header fields are larger than {self._limits.max_header_bytes} bytes.")
        if self.request is not None:
            self._partial = b""
            self._check_body(self.request)
            return
        self._exact = self._exact and not self._at
        self._partial = (self._partial + data)[self._at :]
        if not self._target and not bytes(data).strip(b"\r\n"):
            self.fed -= len(data)  # empty lines between requests (RFC 9112 §2.2) begin none
            self._partial = b""
        elif self._target and self._is_simple(data):
            self._stop()
            raise Refusal(400, "HTTP/0.9 is not supported.")

    def _check_body(self, request: Request) -> None:
        """Part of a body is here."""
        if self._upload is not None:
            return
        try:
            if self._asked or self._is_wanted(request):
                if request.max_upload and self.inflater is None:
                    self._begin_upload(request)
                else:
                    self._charge()
            else:
                self._deliver_unread()
        except Refusal:
            self._stop()
            raise

    def _is_simple(self, data: bytes | memoryview) -> bool:
        """HTTP/0.9's request is one line without a version, after which the client only waits; so do not wait too.
        The parser notices it with the next byte, of which there may be none."""
        version = self._parser.get_http_version()
        return version == "0.9" or (version == "0.0" and bytes(data[-2:]) == b"\r\n")

    # Upgrades are not taken up: the request is answered as HTTP/1.1 (RFC 9110 §7.8) and the connection closed. But
    # llhttp takes everything after the head of such a request for the new protocol, and some clients ask for h2c on
    # every POST (Java's HttpClient does). So a second parser reads the body, by the same framing.

    def _note_upgrade(self, request: Request) -> None:
        if self._parser.should_upgrade():
            request.keep_alive = False
            self._detour = request.method != b"CONNECT" and has_body(request.headers)

    def _decline_upgrade(self, rest: bytes | memoryview) -> None:
        request = self.request
        if request is None or not self._detour:
            return
        self._detour = False
        callbacks = SimpleNamespace(on_body=self.on_body, on_message_complete=self.on_message_complete)
        self._parser = HttpRequestParser(callbacks)
        length = request.headers.get(b"content-length")
        framing = b"transfer-encoding: chunked" if length is None else b"content-length: " + length
        self._parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n\r\n" % framing)
        if rest:
            self.feed(rest)


def has_body(headers: dict[bytes, bytes]) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0").strip(b"0") != b""
