"""A Turn: one request with its answer, end to end, and the record of what happened to it.

The only place that makes a receipt, and an entry of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from antiphon.apis.api import ApiRequest, ApiStream, own_name
from antiphon.chat.outline import Outline
from antiphon.chat.request import ChatRequest
from antiphon.dialects import Dialect
from antiphon.document import Document
from antiphon.errors import AntiphonError, RequestError
from antiphon.flow.ports import Account, Change, ChunkLag, Client, Entry, Remote, Scope
from antiphon.routing.route import Route, Target
from antiphon.safety.policy import Policy, Results
from antiphon.safety.verdict import Verdict

CLIENT_CLOSED: Final = 499  # nginx's word for it; only ever logged
OUR_FAULT: Final = "The server had an error while processing your request. Sorry about that!"
NAMES_NO_MODEL: Final = "This API key has access to some models only, and this request names none."
MODEL_SHOWN: Final = 200  # characters of a client's own word for a model that are logged


class TurnRequest(Protocol):
    """What is known of a request, whatever it asks for."""

    @property
    def document(self) -> Document: ...

    @property
    def light(self) -> Document:
        """The document; of a large one, the light one."""

    @property
    def outline(self) -> Outline | None:
        """Of a large one."""

    @property
    def model(self) -> str: ...

    @property
    def stream(self) -> bool: ...

    @property
    def include_usage(self) -> bool: ...

    @property
    def moderation(self) -> object:
        """What it asks for by OpenAI's `moderation`."""


R = TypeVar("R", bound=TurnRequest)

# In the place of a request that could not be read.
UNREAD: Final = ChatRequest({}, "", False, 1, False, False, False, False, False)


class Attempt(msgspec.Struct):
    """One try at one target."""

    target: Target
    model: str
    began: float
    protocol: str  # of the upstream
    outcome: str = "running"
    status: int | None = None
    ended: float = 0.0
    is_unsent: bool = False  # the target cannot take this request

    def close(self, outcome: str, now: float, status: int | None = None) -> None:
        self.outcome, self.ended, self.status = outcome, now, status

    def record(self) -> Document:
        out: Document = {
            "upstream": self.target.upstream,
            "protocol": self.protocol,
            "model": self.model,
            "outcome": self.outcome,
        }
        if self.status is not None:
            out["status"] = self.status
        out["ms"] = round((self.ended - self.began) * 1000, 1) if self.ended else None
        return out


class Turn(msgspec.Struct, Generic[R]):
    """A Struct because it is made for every request: a slotted dataclass takes 0.8 us to build, this 0.2."""

    id: str
    request: R
    dialect: Dialect
    client: Client
    strict: bool
    wants_receipt: bool
    key: str | None
    headers: Mapping[bytes, bytes]  # the client's own
    began: float
    route: Route | None = None
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    changes: tuple[Change, ...] = ()
    usage: Document | None = None
    usage_source: str | None = None  # "reported" or "estimated"
    tokenizer: str | None = None
    texts: list[str] = msgspec.field(default_factory=list)  # what the answer said so far, while it streams
    unparsed: list[str] = msgspec.field(default_factory=list)  # calls whose arguments are not JSON
    upstream_id: str | None = None
    first: float = 0.0  # when the first chunk came
    held: float = 0.0  # seconds that it was held by the gate
    error: AntiphonError | None = None
    failure: AntiphonError | None = None  # of the last attempt
    policy: Policy | None = None  # None: nobody judges it
    prompt_verdict: Verdict | None = None
    answer_verdicts: list[Verdict] = msgspec.field(default_factory=list)  # one for each choice
    prompt_results: Results | None = None  # what was found in the prompt
    answer_results: dict[int, Results] = msgspec.field(default_factory=dict)  # … and in each choice, the worst
    blocked: str | None = None  # the stage at which something was
    account: Account | None = None  # whose turn it is; None: nobody's that we know
    endpoint: str = "chat"
    finish: str | None = None  # why the choices ended, with commas
    price: Document | None = None  # for the receipt
    held_back: object | None = None  # what billing holds for it
    cut_short: Callable[[], None] | None = None  # ends its stream with `length`
    api_request: ApiRequest | None = None  # where the client speaks another API
    api_stream: ApiStream | None = None  # … and asked for a stream
    is_native: bool = False  # … and so does the upstream of the last attempt

    @property
    def payer(self) -> str | None:
        """Whose turn it is: the id of an issued key, the name of a static one."""
        return self.key if self.account is None else self.account.id

    def check_model(self) -> None:
        """Raises RequestError: its key may not use this model, whether it exists or not [own-models]. A request that
        names none might use any."""
        if self.account is not None and not self.account.may_use(self.request.model):
            model = self.request.model[:MODEL_SHOWN]
            text = f"This API key does not have access to the model `{model}`." if model else NAMES_NO_MODEL
            raise RequestError(text, status=403, type="permission_error", code="model_not_allowed", param="model")

    @property
    def scope(self) -> Scope:
        return Scope(self.route.model if self.route else None, self.key)

    def receipt(self) -> Document:
        """What happened to the request."""
        out = empty_receipt(self.id, self.dialect)
        out["route"] = self.route.model if self.route else None
        out["attempts"] = [attempt.record() for attempt in self.attempts]
        for change in self.changes:
            out[change.action].append({"param": change.param, "reason": change.reason})
        if self.api_request is not None:
            self._use_own_names(out, self.api_request)
        out["usage"]["source"] = self.usage_source
        out["price"] = self.price
        if self.tokenizer is not None:
            out["usage"]["tokenizer"] = self.tokenizer
        if self.upstream_id is not None:
            out["upstream_id"] = self.upstream_id
        if self.unparsed:
            out["unparsed_arguments"] = list(self.unparsed)
        if self.prompt_results is not None:
            answers = [{"index": index, **results} for index, results in sorted(self.answer_results.items())]
            out["safety"] = {"blocked": self.blocked, "prompt": self.prompt_results, "answer": answers}
        return out

    def _use_own_names(self, out: Document, asked: ApiRequest) -> None:
        """The receipt of another API's request names that API's parameters."""
        if self.is_native:
            return
        for change in (*out["dropped"], *out["rewritten"]):
            change["param"] = own_name(change["param"], asked.names)
        out["dropped"] += [{"param": param, "reason": reason} for param, reason in asked.dropped.items()]

    def speak_api(self, asked: ApiRequest | None) -> None:
        """The client speaks another API, in which the answer is written."""
        if asked is None:
            return
        self.api_request = asked
        if self.request.stream:
            self.api_stream = asked.stream()
            self.client.write_with(self.api_stream)

    def entry(self, status: int, now: float, wall: float) -> Entry:
        """What the ledger keeps of it."""
        request, route, attempts, usage = self.request, self.route, self.attempts, self.usage
        is_read = request is not UNREAD
        client = self.client
        remote, path = client.remote, client.path
        entry = Entry(
            time=wall,
            request_id=self.id,
            status=status,
            ms=int((now - self.began) * 10_000) / 10,
            client=remote.address,
            method=client.method.decode("latin-1"),
            path=(path if len(path) <= MODEL_SHOWN else path[:MODEL_SHOWN]).decode("latin-1"),
            dialect=self.dialect.name,
            key=self.key,
            model=request.model[:MODEL_SHOWN] or None,
            route=None if route is None else route.model,
            upstream=attempts[-1].target.upstream if attempts else None,
            attempts=len(attempts),
            stream=request.stream if is_read else None,
            usage=self.usage_source,
        )  # with more than 15 names Python makes a dictionary for the call first
        if attempts:
            entry.protocol = attempts[-1].protocol
        if usage is not None:
            entry.prompt_tokens, entry.completion_tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if not remote.is_plain:
            note_remote(entry, remote, self.headers)
        if self.first:
            entry.first_ms = int((self.first - self.began) * 10_000) / 10
        if self.error is not None:
            entry.error = self.error.code or self.error.type
        if self.blocked is not None:
            entry.blocked = self.blocked
        return entry


AnyTurn: TypeAlias = Turn[Any]


class Billing(Protocol):
    """Admits turns, and charges them when they end."""

    def admit(self, turn: AnyTurn) -> bool:
        """Holds what the turn may take [reserved-first]. False: that has to be waited for. Raises AntiphonError: a
        limit is reached."""

    async def admit_later(self, turn: AnyTurn) -> None:
        """As `admit`, and waits."""

    def look(self, turn: AnyTurn) -> None:
        """Every now and then while the turn streams: holds more, or ends it."""

    def price(self, turn: AnyTurn) -> Document | None:
        """What it costs so far, for the receipt. None: nobody knows."""

    def end(self, turn: AnyTurn, status: int, now: float, wall: float) -> None:
        """The turn has ended; called once. Its entry, then settlement [one-entry]."""


class Meter(Protocol):
    """Counts what turns do."""

    chunk_lag: ChunkLag

    def count_turn(self, turn: AnyTurn, status: int, now: float) -> None:
        """A turn has ended."""

    def count_cost(self, upstream: str, micros: int) -> None:
        """… and cost so much, in millionths of the currency."""


def empty_receipt(request_id: str, dialect: Dialect) -> Document:
    """The receipt of a request to which nothing has happened yet."""
    return {
        "request_id": request_id,
        "dialect": dialect.name,
        "route": None,
        "attempts": [],
        "dropped": [],
        "rewritten": [],
        "usage": {"source": None},
        "price": None,
    }


def other_entry(
    request_id: str,
    status: int,
    wall: float,
    remote: Remote,
    asked: tuple[bytes, bytes, Mapping[bytes, bytes]] | None,
    *,
    ms: float = 0.0,
    error: str | None = None,
) -> Entry:
    """What the ledger keeps of a request that is no turn: a list of models, a question of health, a refusal.
    `asked`: its method, path and headers, as far as they were read."""
    entry = Entry(time=wall, request_id=request_id, status=status, ms=round(ms, 1), client=remote.address, error=error)
    if asked is not None:
        entry.method, entry.path = asked[0].decode("latin-1"), asked[1][:MODEL_SHOWN].decode("latin-1")
    if not remote.is_plain:
        note_remote(entry, remote, asked[2] if asked is not None else {})
    return entry


def note_remote(entry: Entry, remote: Remote, headers: Mapping[bytes, bytes]) -> None:
    """A client behind a proxy, or with a certificate."""
    entry.client = remote.client(headers)
    if entry.client != remote.socket:
        entry.proxy = remote.socket
    entry.subject, entry.names = remote.subject, remote.names or None
