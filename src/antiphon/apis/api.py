"""What an API towards clients is, beside Chat Completions: a reader of its requests and a writer of its answers.

Inside, there is one language, Chat Completions in OpenAI's shape. An API reads its request into a chat request, and
writes its own answer from a chat completion or from chat chunks. All that lies between is the turn of any other
request: routing, failover, safety, limits, receipts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from antiphon.apis.changes import ApiChange
from antiphon.dialects import Dialect
from antiphon.document import Document
from antiphon.errors import AntiphonError

EVENTS = b"text/event-stream; charset=utf-8"
COMMENT = b": keep-alive\n\n"


def _as_it_is(value: Any) -> Any:
    return value


class ApiStream(Protocol):
    """Writes one streamed answer. Pure; one for each turn."""

    content_type: bytes
    silence: bytes
    """What is sent so that a silent stream stays open; b"" where the API has nothing for it."""

    text_keys: Mapping[str, str]
    """Names, in the API's events, of the texts of a chat delta: {"content": "text"}. While deltas add to one and the
    same text, two of them are written with the same bytes around it. Empty: not so."""

    def take(self, chunk: Document) -> bytes:
        """A chat chunk as the API says it; b"" where it has nothing to say. The chunks are those of the openai dialect,
        n = 1, with `usage` in the last one; one with `antiphon` holds the receipt, one with `moderation` its object."""

    def end(self) -> bytes:
        """All has been said. Called once, after the chunk with the usage."""

    def fail(self, error: AntiphonError, body: Document) -> bytes:
        """The answer breaks off, perhaps before its first chunk. `body`: the error as the API's dialect writes it, and
        `antiphon` where a receipt was asked for. Nothing follows."""


class ApiRequest(Protocol):
    """One request, read."""

    @property
    def document(self) -> Document:
        """The same as a chat request. A stream asks for its usage."""

    @property
    def names(self) -> Mapping[str, str]:
        """The API's own names of what stands in the chat request: {"messages[1]": "input[0]"}. Errors and receipts use
        them. A name stands for all that is inside of it, unless a longer one is there."""

    @property
    def dropped(self) -> Mapping[str, str]:
        """What a chat request cannot say, by the API's own name, and why."""

    def fit(self, document: Document, protocol: str) -> tuple[Document, Sequence[ApiChange]]:
        """The chat request for an upstream of this row of the catalog, and what had to change. Never alters `document`.
        Raises RequestError: it is not for this upstream."""

    def whole(self, completion: Document) -> Document:
        """The answer. `completion` is one of the openai dialect, and may be used up."""

    def stream(self) -> ApiStream: ...


class ApiStored(NamedTuple):
    """An answer that is kept, as its API keeps it."""

    kind: str  # the API's
    id: str
    model: str
    metadata: dict[str, str]
    request: bytes
    answer: bytes


class EventReader(Protocol):
    """Reads the stream of an upstream that speaks the client's API."""

    def feed(self, event: Document) -> list[Document]:
        """Chat chunks. Raises UpstreamError."""


@runtime_checkable
class NativeRequest(Protocol):
    """An ApiRequest that an upstream may take as it is, at an endpoint of its own. Its answer is read into chat."""

    @property
    def native_endpoint(self) -> str: ...

    @property
    def native(self) -> Document: ...

    def read_answer(self, document: Document) -> Document:
        """A whole answer as a chat completion. Raises UpstreamError."""

    def read_events(self) -> EventReader: ...


@runtime_checkable
class StoringRequest(Protocol):
    """An ApiRequest whose answer may be kept."""

    def to_store(self) -> ApiStored | None:
        """After the answer was written. None: it is not to be kept."""

    def was_not_stored(self) -> None:
        """The answer must not say that it is kept. A stream's `end` is asked for again then."""


class CountedRequest(Protocol):
    """A request that asks how many tokens it has."""

    def count(self, tokens: int, tokenizer: str, *, is_exact: bool) -> Document:
        """The answer."""


class ApiCall(NamedTuple):
    """What is known of a request beside its body."""

    api: ClientApi
    headers: Mapping[bytes, bytes]
    strict: bool
    new_id: Callable[[str], str]  # (prefix) -> a new id
    now: Callable[[], float]  # Unix seconds
    model: str = ""  # that the path names
    action: str = ""  # what the path asks for, where an API has several
    query: bytes = b""
    drops_tools: bool = False
    """Built-in tools that a chat request cannot offer are left out and named; else they are refused."""
    stored: Mapping[str, ApiStored] | None = None
    """Kept answers that the request refers to, by id. None: nothing is kept here."""
    restore: Callable[[Any], Any] = _as_it_is
    """Long strings of a large request are left out of the document (`chat.outline`): this puts them back. What is
    only moved into the chat request needs it not; what is told to the client does."""


class ClientApi(Protocol):
    """An API towards clients."""

    @property
    def name(self) -> str: ...

    @property
    def dialect(self) -> Dialect:
        """A row with the API's name, which is openai's but for its errors."""

    @property
    def judges_strict(self) -> bool:
        """`read` refuses what a strict request may not hold, and the chat request may hold what is a vendor's own."""

    def read(self, document: Document, call: ApiCall) -> ApiRequest:
        """Raises RequestError, whose `param` is the API's own name."""


@runtime_checkable
class StoringApi(Protocol):
    """A ClientApi whose answers may be kept."""

    @property
    def kind(self) -> str:
        """Under which its answers are kept."""

    def may_refer(self, body: bytes) -> bool:
        """False: this request refers to no kept answer. Quick."""

    def refers_to(self, document: Document) -> list[str]:
        """The ids of kept answers that a request refers to."""

    def follows(self, stored: ApiStored) -> list[str]:
        """… that a kept answer goes on from."""


def own_name(path: str, names: Mapping[str, str]) -> str:
    """The API's own name of a path in the chat request."""
    best = ""
    for name in names:
        if len(name) > len(best) and path.startswith(name) and path[len(name) : len(name) + 1] in ("", ".", "["):
            best = name
    return names[best] + path[len(best) :] if best else path


def rename(error: AntiphonError, names: Mapping[str, str]) -> None:
    """Lets an error name the API's own parameters."""
    if error.param is None:
        return
    own = own_name(error.param, names)
    if own != error.param:
        error.message = error.message.replace(f"'{error.param}'", f"'{own}'")
        error.param = own
