"""What the flow needs from the edges. Each port has one real implementation in an edge room and is wired in `wiring`.

Calls between the flow and the edges are plain methods, not awaits: on the way from an upstream's socket to the client's
there is no task switch per chunk (a task that waits for one future takes 2 us, more than splicing a chunk does).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import msgspec

from antiphon.apis.api import ApiCall, ApiRequest, ApiStream
from antiphon.chat.outline import JsonPieces, Outline
from antiphon.chat.plain_request import PlainRequest
from antiphon.dialects import Dialect
from antiphon.document import Document
from antiphon.errors import AntiphonError, UpstreamError
from antiphon.safety.verdict import Stage, Verdict


class Texts(Protocol):
    """How the chunks, answers and requests of an endpoint spell what is said: for whoever judges it."""

    def prompt(self, request: Any, tools: bool) -> list[str] | None:
        """The texts of a request, to be judged apart. None: they cannot be read. `tools`: with the descriptions of its
        tools."""

    def whole(self, choice: Document) -> list[str]:
        """The texts of a choice of a whole answer."""

    def blank(self, choice: Document) -> None:
        """Takes away all that a choice of a whole answer says."""

    def words(self, choice: Document) -> Iterable[tuple[str, str]]:
        """What a streamed choice adds: to which of its texts, and the words; "" where a text only begins."""

    def split(self, choice: Document, at: int) -> tuple[Document, Document] | None:
        """A streamed choice with one text as two, the first with `at` characters. None: it cannot be split."""

    def silence(self, index: int) -> Document:
        """A streamed choice that says nothing."""


class Receiver(Protocol):
    """Hears one attempt's answer. `source` tells the calls of a fan-out apart (0 where there is one call)."""

    def spliced(self, read: bytes) -> bool:
        """Takes a read that is one whole event, like the last one but for its text. False: not so, or not here."""

    def events(self, payloads: list[bytes], source: int) -> None:
        """Streamed chunks: JSON in the OpenAI shape, the last one perhaps [DONE]. One call per socket read."""

    def end(self, rest: list[bytes], source: int) -> None:
        """The upstream's stream ended, perhaps inside an event (`rest`). Whether it was cut, the receiver judges."""

    def whole(self, body: bytes, source: int) -> None:
        """A whole answer: JSON in the OpenAI shape."""

    def chunks(self, documents: list[Document], source: int, size: int) -> None:
        """Streamed chunks that were read already: of a foreign protocol. `size`: bytes that they came in."""

    def answered(self, document: Document, source: int) -> None:
        """A whole answer that was read already. Raises UpstreamError: it is none."""

    def fail(self, error: UpstreamError, source: int) -> None:
        """The attempt failed; nothing follows."""

    @property
    def complete(self) -> bool:
        """A stream has said all there was to say: however it ends now, it was answered."""


class Call(Protocol):
    """One request under way at an upstream."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def linger(self) -> None:
        """The answer is complete for us: the connection may come to its end by itself; the receiver hears no more."""

    def cancel(self) -> None:
        """Stop at once and close the connection; the receiver hears nothing more."""


@dataclass(frozen=True, slots=True)
class Change:
    """One parameter that did not travel as it was sent. It stands in the receipt."""

    param: str
    action: str  # "dropped" or "rewritten"
    reason: str


class Prepared(NamedTuple):
    """A request as an upstream takes it."""

    document: Document
    changes: tuple[Change, ...] = ()  # what had to change
    address: Any = None  # what the upstream's own `open` needs to know beside the body


class PlainRules(Protocol):
    """How plain requests (`chat.plain_request`) are sent to one upstream."""

    @property
    def takes_all(self) -> bool:
        """It takes every plain request."""

    def takes(self, asked: PlainRequest) -> bool:
        """Would `prepare` change nothing but what `write` changes?"""

    @property
    def write(self) -> Callable[[PlainRequest, str], bytes]:
        """(request, model) -> the body to send."""


class Upstream(Protocol):
    """A place that answers."""

    name: str
    protocol: str  # its row of the catalog
    think: bool  # split <think> out of the text
    lacks_n: bool  # n > 1 must be fanned out

    @property
    def plain(self) -> PlainRules | None:
        """How plain requests are sent as bytes. None: none can be."""

    def at(self, endpoint: str) -> Upstream | None:
        """The same at another endpoint than chat's, named by the last word of its path; None: it does not offer it."""

    def prepare(self, document: Document, model: str, *, strict: bool, key: str | None = None) -> Prepared:
        """The request as this upstream takes it. `key`: whose request it is. Raises RequestError: it cannot take it."""

    def conceal(self, error: UpstreamError) -> UpstreamError:
        """The error without our credential, wherever the upstream said it."""

    def open(
        self,
        body: bytes | JsonPieces,
        headers: Mapping[bytes, bytes],
        *,
        stream: bool,
        receiver: Receiver,
        source: int,
        address: Any = None,
    ) -> Call:
        """Sends a prepared request, whole or in pieces. `headers` are the client's; some travel on [client-headers].
        `address`: that of the prepared request."""

    def offers(self, endpoint: str) -> bool:
        """Does it have this endpoint?"""

    def relay(
        self,
        asked: Relayed,
        model: str,
        headers: Mapping[bytes, bytes],
        body: bytes | BodySource,
        length: int | None,
        receiver: RelayReceiver,
    ) -> RelayCall:
        """Sends a request as it is. `model`: "" where it names none. `length`: of a body that comes in pieces, where it
        is known. Raises RequestError: it cannot be sent."""


class Upload(Protocol):
    """The body of a request that is handed on while it arrives."""

    data: bytearray
    """What has arrived and was not dropped."""
    room: int
    """Bytes of `data` at which reading pauses."""
    complete: bool
    watch: Callable[[bytes], None]
    """Called with each piece as it arrives."""
    on_change: Callable[[], None]
    """Called when there is more, the end, or a refusal."""

    @property
    def dropped(self) -> int: ...

    @property
    def length(self) -> int | None:
        """As announced."""

    @property
    def refusal(self) -> Refusal | None:
        """Why the rest will not come."""

    def drop(self, size: int) -> None:
        """The first `size` bytes of `data` are no longer needed."""

    def replace(self, start: int, end: int, new: bytes) -> None:
        """Other bytes in the place of some of `data`."""

    def widen(self, room: int) -> None:
        """Changes `room`."""


class Refusal(Protocol):
    """What is wrong with a request on the level of HTTP."""

    status: int
    reason: str


class Relayed(msgspec.Struct):
    """A request whose body nobody here has to understand."""

    endpoint: str  # of `flow.relayed`
    client: RelayClient
    method: bytes
    path: bytes  # behind the API's base: /files/file-1/content
    query: bytes
    body: bytes
    upload: Upload | None = None  # in the place of the body
    most_held: int = 0  # bytes of an upload that may be held to find out where it goes


class BodySource(Protocol):
    """Who gives the body of a request in pieces."""

    def on_writable(self) -> None:
        """The upstream takes bytes."""


class RelayCall(Call, Protocol):
    @property
    def is_full(self) -> bool:
        """The upstream takes no bytes for now. `BodySource.on_writable` is called when it does."""

    def write(self, data: bytes) -> None: ...

    def end_body(self) -> None: ...


class RelayReceiver(Protocol):
    """Takes a relayed answer."""

    def begin(self, status: int, headers: Mapping[bytes, bytes]) -> None:
        """A good answer begins."""

    def data(self, data: bytes) -> None: ...

    def finish(self) -> None: ...

    def fail(self, error: UpstreamError, source: int) -> None:
        """The attempt failed; nothing follows."""


class Flow(Protocol):
    """Something that can be held up."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Remote(Protocol):
    """Who is at the other end of a client's connection."""

    @property
    def is_plain(self) -> bool:
        """There is nothing to say of it but its address."""

    @property
    def address(self) -> str: ...

    @property
    def socket(self) -> str:
        """The address of the connection itself, which may be a proxy's."""

    @property
    def subject(self) -> str | None:
        """Of its certificate."""

    @property
    def names(self) -> str | None:
        """Its certificate's alternative names."""

    def client(self, headers: Mapping[bytes, bytes]) -> str:
        """The address of the client that sent a request with these headers, as trusted proxies say."""


class Client(Protocol):
    """The one who asked. Nothing here raises when the client is gone."""

    @property
    def remote(self) -> Remote: ...

    @property
    def method(self) -> bytes: ...

    @property
    def path(self) -> bytes: ...

    def follow(self, flow: Flow) -> None:
        """Whose reading to stop while this client reads too slowly."""

    def on_lost(self, callback: Callable[[], None]) -> None:
        """What to call when the client goes away before its answer is complete."""

    @property
    def is_closed(self) -> bool:
        """It has its whole answer, or is gone."""

    @property
    def sent(self) -> int:
        """Bytes of the answer so far."""

    def break_silence(self, limit: float, now: float) -> None:
        """Called every now and then while it streams: sends a comment after `limit` seconds without a byte."""

    def answer(self, body: bytes) -> None:
        """The whole answer, as JSON."""

    def write(self, frames: bytes) -> None:
        """SSE frames; the first one commits the 200."""

    def write_with(self, stream: ApiStream) -> None:
        """Who writes a stream in another API: its comments and its errors too."""

    @property
    def direct(self) -> Callable[[bytes], None]:
        """The same, once the 200 is committed, with nothing in between."""

    def finish(self) -> None:
        """The stream is complete."""

    def add_headers(self, lines: bytes) -> None:
        """Header lines for the answer, if its head has not left."""

    def fail(self, error: AntiphonError, receipt: Document | None) -> None:
        """An error: a real status while nothing has left, in-band afterwards."""

    def start_record(self, request: bytes) -> None:
        """What leaves has to be kept: it is recorded from now on. `request`: the body of the request."""

    @property
    def record(self) -> AnswerRecord | None:
        """What left; None: it is not recorded."""


class AnswerRecord(Protocol):
    """An answer as it left, for whoever keeps it (`flow.stored`)."""

    request: bytes
    is_stream: bool

    def whole(self) -> bytes | None:
        """The body, or all frames. None: it was too large to be recorded."""


class RelayClient(Client, Protocol):
    def begin(self, status: int, headers: Mapping[bytes, bytes]) -> None:
        """The head of an answer that is relayed. `write` and `finish` follow."""


@dataclass(frozen=True, slots=True)
class Count:
    prompt: int
    completion: int
    tokenizer: str


class Counter(Protocol):
    """Counts tokens where an upstream did not."""

    async def count(self, model: str, prompt: Document, answer: list[str], outline: Outline | None = None) -> Count:
        """`outline`: where `prompt` is a light document."""


class Account(msgspec.Struct, frozen=True, eq=False, gc=False):
    """Whose turns they are, as the ledger, the limits and the policies know it."""

    id: str  # of an issued key; the name of a static one
    team: str | None = None
    allows: Callable[[str], bool] | None = None  # which models; None: every one
    caller: Any = None  # who it is for the limits

    def may_use(self, model: str) -> bool:
        return self.allows is None or self.allows(model)


class Incoming(msgspec.Struct):
    """One request of a client as the server hands it over: admitted, its body unread."""

    id: str
    endpoint: str  # "chat", "completions", "embeddings" or "moderations"
    dialect: Dialect
    client: Client
    strict: bool
    wants_receipt: bool
    key: str | None
    headers: Mapping[bytes, bytes]
    body: bytes
    received: float
    stream_asked: bool = False  # outside the body, which wins if it says so itself
    outline: Outline | None = None  # of a large body
    document: Document | None = None  # … that was decoded already
    account: Account | None = None  # None: no key was needed, and none was known
    api: ApiCall | None = None  # where the client speaks another API
    api_request: ApiRequest | None = None  # … as it was read


class Scope(NamedTuple):
    """Whose text it is: some evaluators look at some routes and keys only."""

    route: str | None = None
    key: str | None = None


class Judge(Protocol):
    """All evaluators as one."""

    def ask(self, stage: Stage, texts: Sequence[str], scope: Scope) -> asyncio.Future[Verdict]:
        """One verdict over all the texts: worst wins. The future never fails and never waits longer than the
        evaluators' time limits: what could not be judged says so in the verdict's `error`."""

    def ask_now(
        self, stage: Stage, texts: Sequence[str], scope: Scope, done: Callable[[Verdict], None]
    ) -> Verdict | None:
        """The same without a future. Returns the verdict where it is known, else None; then `done` is called later."""

    def early(self, text: str, scope: Scope, done: Callable[[bool], None]) -> bool:
        """Asks the cheap first stage whether the end of `text` may begin something harmful. `done(risky)` is called
        once, later. Returns False, and never calls it, where there can be no such question."""

    def reach(self, scope: Scope) -> int:
        """How many characters a finding may span that must not be cut in two (the longest word of a list)."""


class Entry(msgspec.Struct, tag_field="log", tag="access", omit_defaults=True, kw_only=True, gc=False):
    """What is kept of a request: one line of the access log. What does not apply is left out."""

    time: float
    request_id: str
    status: int
    ms: float = 0.0
    client: str | None = None  # its address
    proxy: str | None = None  # the address of the connection, where the client is behind a proxy
    subject: str | None = None  # of the client's certificate
    names: str | None = None  # … and its alternative names
    method: str | None = None
    path: str | None = None
    dialect: str | None = None
    key: str | None = None
    model: str | None = None
    route: str | None = None
    upstream: str | None = None
    protocol: str | None = None  # the upstream's
    attempts: int = 0
    stream: bool | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    usage: str | None = None
    first_ms: float | None = None
    error: str | None = None
    blocked: str | None = None  # the stage at which something was: "prompt" or "answer"


class ChunkLag(NamedTuple):
    """Takes the time that some chunks need from the upstream's bytes to the client's socket."""

    clock: Callable[[], float]
    note: Callable[[float], None]  # seconds


class Ledger(Protocol):
    """Takes one entry per turn."""

    def post(self, entry: Entry) -> None: ...

    def error(self, message: str, error: BaseException | None, request_id: str | None) -> None: ...
