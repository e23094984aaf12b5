"""The application: every request comes in here, every answer leaves in a dialect.

It admits a request (path, method, key) and hands it to `flow.answer`; health and lists of models it answers itself.
A request is admitted by its head: where the body is still to come, nothing of it is read before (`wants_body`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs

from msgspec import Struct

from antiphon.apis import APIS
from antiphon.apis.api import ApiCall
from antiphon.apis.listings import LISTINGS, OLLAMA_VERSION
from antiphon.dialects import Dialect
from antiphon.document import Document
from antiphon.errors import AntiphonError, AuthError, RequestError
from antiphon.flow.answer import Turns
from antiphon.flow.gateway import Gateway
from antiphon.flow.ports import Incoming, Relayed
from antiphon.flow.relay_body import is_form
from antiphon.flow.turn import OUR_FAULT, empty_receipt, other_entry
from antiphon.http.remote import Remote
from antiphon.http.server import Exchange, Request, client_address
from antiphon.routing.route import unknown_model
from antiphon.server.bodies import addressed, asked_model, shown_model
from antiphon.server.callers import Callers
from antiphon.server.client import JSON, ChatClient, RelayClient, encode, error_headers
from antiphon.server.cors import Cors
from antiphon.server.keys import ClientKey, KeyRing, with_query_key
from antiphon.server.models import Models
from antiphon.server.near_misses import unknown_path, wrong_method
from antiphon.server.paths import (
    CHAT,
    EXACT,
    HEALTH,
    STORED,
    STORED_LISTS,
    EndpointName,
    PathMatch,
    dialect_of,
    find,
    listed_by,
)
from antiphon.server.stored import StoredAnswers
from antiphon.server.stored_responses import StoredResponses
from antiphon.server.wrong_keys import WrongKeys

TRUE = frozenset({b"1", b"true", b"yes", b"on"})
# The end of the line of x-request-id, and the lines behind it.
FIXED = b"\r\nopenai-version: 2020-10-01\r\nopenai-organization: antiphon\r\n"
FAULT_CODES = {
    408: "timeout",
    413: "request_too_large",
    414: "uri_too_long",
    429: "rate_limit_exceeded",
    431: "headers_too_large",
    503: "overloaded",
}


@dataclass(frozen=True, slots=True)
class AppOptions:
    dialect: str
    strict: bool
    silence: float  # seconds of silence before a comment [keep-alive]
    receipts: bool = True  # clients may ask for them
    max_client_requests: int = 0  # of one address at a time; 0: no limit
    max_upload: int = 512 * 1024 * 1024  # bytes of a body that is relayed while it arrives
    drops_tools: bool = False  # built-in ones that an upstream does not have
    max_form: int = 20 * 1024 * 1024  # bytes of one that are held until its fields are found


class Admission(Struct):
    """What the head of a request says of it."""

    place: PathMatch
    dialect: str
    key: ClientKey | None  # None: none is needed


class App:
    def __init__(
        self,
        gateway: Gateway,
        keys: KeyRing,
        cors: Cors,
        models: Models,
        options: AppOptions,
        ready: Callable[[], Document],
    ) -> None:
        self._gateway = gateway
        self._keys = keys
        self._cors = cors
        self._options = options
        self._ready = ready  # what /readyz says besides its status; with a reason, requests would not be answered
        self._callers = Callers(options.max_client_requests, keys_are_limited=keys.are_limited)
        self._wrong_keys = WrongKeys(gateway.clock)
        self._models = models
        self._turns = Turns(gateway, options.silence)
        stored = gateway.completions
        self._stored = None if stored is None else StoredAnswers(stored, gateway.bounds)
        self._stored_responses = StoredResponses(stored)
        self._tasks: set[asyncio.Task[None]] = set()  # questions to the store

    def handle(self, exchange: Exchange) -> None:
        """One request. Whatever goes wrong becomes an answer."""
        request = exchange.request
        request_id = "req_" + self._gateway.entropy(16).hex()
        try:
            admission = request.admission or self._admit(request)
            if self._wrong_keys.waiting:
                self._check_address(exchange, admission)
            if isinstance(admission, AntiphonError):  # found at the end of the head
                raise admission
            place = admission.place
            if place.endpoint is STORED and request.method != b"OPTIONS":
                self._begin_stored(exchange, request_id, admission)
            elif (request.method == b"POST" and place.endpoint is not EndpointName.SHOW) or (
                place.relay and request.method != b"OPTIONS"
            ):
                self._begin_turn(exchange, request_id, admission)
            else:
                self._answer(exchange, request_id, admission)
        except AuthError as error:
            self._refuse_key(exchange, request_id, error)
        except AntiphonError as error:
            self._refuse(exchange, request_id, self._dialect_of(request), error)

    def _check_address(self, exchange: Exchange, admission: Admission | AntiphonError) -> None:
        if isinstance(admission, AntiphonError) or admission.place.endpoint not in HEALTH:
            self._wrong_keys.check(client_address(exchange))

    def _refuse_key(self, exchange: Exchange, request_id: str, error: AuthError) -> None:
        """Wrong keys wait for their answer; a missing one does not."""
        dialect, address = self._dialect_of(exchange.request), client_address(exchange)
        wait = self._wrong_keys.note(address) if error.code == "invalid_api_key" else 0.0
        if not wait:
            self._refuse(exchange, request_id, dialect, error)
            return
        self._wrong_keys.begin_wait(address)
        exchange.on_end = lambda: self._wrong_keys.end_wait(address)
        asyncio.get_running_loop().call_later(wait, self._refuse, exchange, request_id, dialect, error)

    def wants_body(self, request: Request) -> bool:
        """Is the body of this request to be read? What was found is kept: `handle` goes on from there."""
        place = find(request.path)
        if (
            place is not None
            and place.endpoint is EndpointName.RELAY
            and is_form(request.headers.get(b"content-type", b""))
        ):
            request.max_upload = self._options.max_upload
        try:
            request.admission = self._admit(request)
        except AntiphonError as error:
            request.admission = error.with_traceback(None)
            return False
        return request.method == b"POST"

    def _admit(self, request: Request) -> Admission:
        """Path, method and key: all that is judged by the head. Methods fit their paths then: POST begins a turn, as
        does whatever is relayed."""
        place = EXACT.get(request.path) or find(request.path)
        if self._stored is not None and place is not None and request.method == b"GET":
            place = STORED_LISTS.get(request.path, place)
        if place is None or (self._stored is None and place.endpoint is STORED and not place.api):
            raise unknown_path(request)
        if place.several:
            place = listed_by(place, request.headers)
        dialect = place.dialect or self._options.dialect
        if (place.endpoint is not CHAT or request.method != b"POST") and self._needs_no_key(request, place):
            return Admission(place, dialect, None)
        headers: Mapping[bytes, bytes] = request.headers
        if request.query and place.api == "gemini":
            headers = with_query_key(headers, request.query)
        key = None if self._keys.is_empty else self._keys.admit(headers, dialect=dialect)
        if place.dialect is None and key is not None and key.dialect is not None:
            dialect = key.dialect
        admission = Admission(place, dialect, key)
        if request.known_head is not None and self._keys.is_static(key):
            request.known_head.admission = admission
        return admission

    def _dialect_of(self, request: Request | None) -> Dialect:
        """For errors: the path's dialect, else that of a key we know, else the server's. [dialect-by-path]"""
        name = key = None
        if request is not None:
            place = find(request.path)
            if place is not None and place.several:
                place = listed_by(place, request.headers)
            name = place.dialect if place is not None and place.api else dialect_of(request.path)
            key = None if name else self._keys.find(request.headers, dialect=self._options.dialect)
        return self._gateway.dialects[name or (key.dialect if key else None) or self._options.dialect]

    def render_fault(self, status: int, reason: str, request: Request | None, remote: Remote) -> tuple[bytes, bytes]:
        """A fault of HTTP itself, before there is a request to handle."""
        request_id = "req_" + self._gateway.entropy(16).hex()
        if status in (500, 503):
            error: AntiphonError = AntiphonError(reason, status=status, code=FAULT_CODES.get(status, "internal_error"))
        else:
            error = RequestError(reason, status=status, code=FAULT_CODES.get(status))
        asked = None if request is None else (request.method, request.path, request.headers)
        self._gateway.ledger.post(other_entry(request_id, status, self._gateway.wall(), remote, asked, error=reason))
        headers = JSON + self._common(request_id, request) + error_headers(error) + b"openai-processing-ms: 0\r\n"
        return headers, encode(self._dialect_of(request).write_error(error, request_id))

    @property
    def turns(self) -> Turns:
        return self._turns

    def take_over(self, old: App) -> None:
        """What is counted of callers goes on, from settings to the next."""
        self._wrong_keys = old._wrong_keys
        self._callers.take_over(old._callers)

    def give_up(self) -> None:
        """The drain's time is over: what still runs is told so, rather than cut."""
        self._turns.give_up()

    async def close(self) -> None:
        """Ends what is still running, after the server has drained."""
        await self._models.close()
        await self._turns.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin_turn(self, exchange: Exchange, request_id: str, admission: Admission) -> None:
        request = exchange.request
        headers = request.headers
        place, key = admission.place, admission.key
        dialect = self._gateway.dialects[admission.dialect]
        if self._callers.is_limited:
            self._callers.enter(exchange, key)
        strict = self._options.strict if key is None or key.strict is None else key.strict
        is_relayed = place.relay and (
            place.endpoint is EndpointName.RELAY or self._is_routed(request.body, place.relay)
        )
        kind = RelayClient if is_relayed else ChatClient
        client = kind(exchange, dialect, request_id, self._common(request_id, request), self._gateway.clock)
        incoming = Incoming(
            request_id,
            place.word,
            dialect,
            client,
            strict or (b"x-antiphon-strict" in headers and headers[b"x-antiphon-strict"].lower() in TRUE),
            b"x-antiphon-receipt" in headers and self._gives_receipt(request, key),
            None if key is None else key.name,
            headers,
            request.body,
            exchange.received,
            account=None if key is None else key.account,
        )
        if place.model and not place.api:
            incoming.body = addressed(request.body, place.model)
        if place.api:
            incoming.api = self._api_call(place, request, strict=incoming.strict)
        if request.query and dialect.name == "skytells" and place.endpoint is EndpointName.CHAT:
            incoming.stream_asked = _streams_by_query(request.query)
        if isinstance(client, RelayClient):
            asked = Relayed(place.relay, client, request.method, place.path, request.query, request.body)
            asked.upload, asked.most_held = request.upload, self._options.max_form
            self._turns.relay(incoming, asked)
        else:
            self._turns.begin(incoming)

    def _api_call(self, place: PathMatch, request: Request, *, strict: bool) -> ApiCall:
        entropy = self._gateway.entropy
        return ApiCall(
            APIS[place.api],
            request.headers,
            strict,
            lambda prefix: prefix + entropy(24).hex(),
            self._gateway.wall,
            place.model,
            place.action,
            request.query,
            drops_tools=self._options.drops_tools,
            stored=None if self._gateway.completions is None else {},
        )

    def _is_routed(self, body: bytes, relay: str) -> bool:
        """Does a route name the model of this body, and lead to an upstream that offers the endpoint?"""
        model = asked_model(body)
        if not model:  # for the endpoint to say
            return False
        route = self._gateway.routes.named(model)
        upstreams = self._gateway.upstreams
        return route is not None and any(upstreams[target.upstream].offers(relay) for target in route.targets)

    # Stored completions

    def _begin_stored(self, exchange: Exchange, request_id: str, admission: Admission) -> None:
        task = asyncio.get_running_loop().create_task(self._answer_stored(exchange, request_id, admission))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_stored(self, exchange: Exchange, request_id: str, admission: Admission) -> None:
        request, key = exchange.request, admission.key
        owner = "" if key is None else key.name if key.account is None else key.account.id
        place = admission.place
        try:
            if place.api:
                body = await self._stored_responses.answer(place, request.method, request.query, owner)
            else:
                assert self._stored is not None
                body = await self._stored.answer(place, request.method, request.query, request.body, owner)
            self._send(exchange, request_id, 200, JSON, body)
        except AntiphonError as error:
            self._refuse(exchange, request_id, self._gateway.dialects[admission.dialect], error)
        except Exception as error:
            self._gateway.ledger.error("a stored completion could not be read, by our own fault", error, request_id)
            self._refuse(exchange, request_id, self._gateway.dialects[admission.dialect], AntiphonError(OUR_FAULT))

    # Everything else

    def _needs_no_key(self, request: Request, place: PathMatch) -> bool:
        """Preflights, wrong methods and questions of health come before the key."""
        if self._cors.preflight(request.method, request.headers) is not None:
            return True
        if request.method not in place.methods and not (request.method == b"HEAD" and b"GET" in place.methods):
            raise wrong_method(request)
        return place.endpoint in HEALTH

    def _answer(self, exchange: Exchange, request_id: str, admission: Admission) -> None:
        endpoint = admission.place.endpoint
        preflight = self._cors.preflight(exchange.request.method, exchange.request.headers)
        if preflight is not None:
            self._send(exchange, request_id, 204, preflight, b"")
        elif endpoint is EndpointName.HEALTH:
            self._json(exchange, request_id, 200, {"status": "ok"})
        elif endpoint is EndpointName.READY:
            said = self._ready()
            status, word = (503, "not ready") if "reason" in said else (200, "ready")
            self._json(exchange, request_id, status, {"status": word, **said})
        elif endpoint is EndpointName.VERSION:
            self._json(exchange, request_id, 200, {"version": OLLAMA_VERSION})
        else:
            if endpoint is EndpointName.SHOW:
                shown = replace(admission.place, endpoint=EndpointName.MODEL, model=shown_model(exchange.request.body))
                admission = Admission(shown, admission.dialect, admission.key)
            self._list(exchange, request_id, admission)

    def _list(self, exchange: Exchange, request_id: str, admission: Admission) -> None:
        """Upstreams may have to be asked first."""
        place, dialect = admission.place, self._gateway.dialects[admission.dialect]
        name = place.model if place.endpoint is EndpointName.MODEL else None
        asked = self._models.refresh(name, sized=dialect.tells_sizes)
        if asked is None:
            self._answer_list(exchange, request_id, dialect, admission)
        else:
            asked.add_done_callback(lambda _: self._answer_list(exchange, request_id, dialect, admission))

    def _answer_list(self, exchange: Exchange, request_id: str, dialect: Dialect, admission: Admission) -> None:
        """A key sees the models that it may use [own-models]."""
        place, account = admission.place, None if admission.key is None else admission.key.account
        listing = LISTINGS.get(place.api)
        if place.endpoint is EndpointName.MODELS:
            shown = [model for model in self._models.list_all() if account is None or account.may_use(model["id"])]
            written = dialect.write_models(shown) if listing is None else listing.all(shown)
            self._json(exchange, request_id, 200, written)
            return
        is_allowed = account is None or account.may_use(place.model)
        model = self._models.find(place.model, sized=dialect.tells_sizes) if is_allowed else None
        if model is None:
            self._refuse(exchange, request_id, dialect, unknown_model(place.model))
        else:
            self._json(exchange, request_id, 200, dialect.write_model(model) if listing is None else listing.one(model))

    def _json(self, exchange: Exchange, request_id: str, status: int, document: Document) -> None:
        self._send(exchange, request_id, status, JSON, encode(document))

    def _refuse(self, exchange: Exchange, request_id: str, dialect: Dialect, error: AntiphonError) -> None:
        headers = JSON + error_headers(error)
        if error.status == 405:
            place = find(exchange.request.path)
            assert place is not None
            headers += b"allow: %b\r\n" % b", ".join(place.methods)
        body = dialect.write_error(error, request_id)
        key = self._keys.find(exchange.request.headers, dialect=dialect.name)
        if self._gives_receipt(exchange.request, key):
            body["antiphon"] = empty_receipt(request_id, dialect)
        self._send(exchange, request_id, error.status, headers, encode(body), error.code or error.type)

    def _send(
        self, exchange: Exchange, request_id: str, status: int, headers: bytes, body: bytes, error: str | None = None
    ) -> None:
        request = exchange.request
        spent = (self._gateway.clock() - exchange.received) * 1000
        headers += self._common(request_id, request) + b"openai-processing-ms: %d\r\n" % spent
        exchange.respond(status, headers, body)
        wall, asked = self._gateway.wall(), (request.method, request.path, request.headers)
        self._gateway.ledger.post(other_entry(request_id, status, wall, exchange.remote, asked, ms=spent, error=error))

    def _gives_receipt(self, request: Request, key: ClientKey | None) -> bool:
        """It was asked for, and may be: a receipt names upstreams."""
        allowed = self._options.receipts if key is None or key.receipts is None else key.receipts
        return allowed and request.headers.get(b"x-antiphon-receipt", b"").lower() in TRUE

    def _common(self, request_id: str, request: Request | None) -> bytes:
        lines = b"x-request-id: " + request_id.encode() + FIXED
        if request is not None and b"anthropic-version" in request.headers:
            lines = b"request-id: %b\r\n%b" % (request_id.encode(), lines)
        if request is not None and self._cors.on and b"origin" in request.headers:
            lines += self._cors.headers(request.headers)
        return lines


def _streams_by_query(query: bytes) -> bool:
    """Skytells takes `?stream=true` as well [stream-by-query]."""
    return parse_qs(query.decode("latin-1")).get("stream", [""])[-1].lower() in ("true", "1")
