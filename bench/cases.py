"""The cases: what is asked, how often, and what must come back. Each varied request differs from every other.

A marker in the last message tells the mock what to send (`src/answers.c`). Its ten zeros become the request's number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

CHUNKS = 200  # events of a stream with one choice
PACE = 5000


class Body(Enum):
    REPEATED = auto()  # one request, always the same, as is its answer
    PLAIN = auto()
    TOOLS = auto()
    HISTORY = auto()  # tools, and 20 KB of conversation


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    body: Body = Body.PLAIN
    stream: bool = False
    pace: int = 0  # microseconds between chunks; 0: as fast as they come
    words: tuple[str, ...] = ()  # for the mock
    two_choices: bool = False  # in half of the requests
    heads: bool = False  # headers differ, too
    chunks: int = CHUNKS
    connections: int = 64
    requests: int = 12000
    seconds: float = 3.0  # no new request is sent after that
    bar: float | None = None  # x nginx, safety off
    safety_bar: float | None = None  # the worker alone, safety on

    @property
    def texts(self) -> int:
        """Words that a whole stream has: the mock sends one in each chunk but the first and the last."""
        return self.chunks - 2 if self.stream else 0

    @property
    def is_short(self) -> bool:
        """A stream whose opening counts, not its chunks."""
        return self.chunks < CHUNKS

    @property
    def marker(self) -> str:
        """What the mock reads; empty where nothing is to be said."""
        number = () if self.body is Body.REPEATED else ("0000000000",)
        pace = (f"pace={self.pace}",) if self.pace else ()
        chunks = (f"chunks={self.chunks}",) if self.chunks != CHUNKS else ()
        words = (*number, *pace, *chunks, *self.words)
        return f"[mock {' '.join(words)}]" if words else ""

    def times(self, share: float) -> Case:
        """The same case with fewer requests; each connection still has one."""
        return replace(self, requests=max(self.connections, int(self.requests * share)))


def _paced(name: str, *words: str, **more: object) -> Case:
    case = Case(name, stream=True, pace=PACE, words=words, connections=32, requests=64)
    return replace(case, **more)  # type: ignore[arg-type]


def _fast(name: str, *words: str, **more: object) -> Case:
    case = Case(name, stream=True, words=words, connections=32, requests=400, seconds=4.0)
    return replace(case, **more)  # type: ignore[arg-type]


JSON = Case("json", bar=2.0, safety_bar=4.0)
PACED = _paced("paced", bar=1.5, safety_bar=2.0)
FAST = _fast("fast", bar=1.0)
JSON_REPEATED = Case("json_repeated", Body.REPEATED)
OPENING = _paced(
    "first_chunk", pace=1000, chunks=4, connections=1, requests=300
)  # short: what counts is the first chunk

ALL = (
    JSON,
    Case("json_heads", heads=True),
    JSON_REPEATED,
    Case("tools", Body.TOOLS, requests=6000, bar=3.2, safety_bar=6.0),
    Case("history", Body.HISTORY, requests=2500, bar=5.0),
    PACED,
    _paced("paced_obfuscation", "obfuscation=always", bar=1.8),
    _paced("paced_shapes", "shapes", two_choices=True, bar=1.8),
    FAST,
    _fast("fast_obfuscation", "obfuscation=always"),
)
# By name only. `optional`: the upstream leaves the field out when it is asked to, as OpenAI does.
MORE = (
    Case("json_bare", words=("bare",)),  # answers without details of usage and without nulls, as vLLM's
    _paced("paced_optional_obfuscation", "obfuscation"),
    _fast("fast_optional_obfuscation", "obfuscation"),
    _fast("fast_shapes", "shapes", two_choices=True),
    _paced("paced_repeated", body=Body.REPEATED),
    _fast("fast_repeated", body=Body.REPEATED),
    _fast("opening", chunks=4, requests=4000),
)
QUICK = ("json", "tools", "history", "paced", "paced_obfuscation", "paced_shapes", "fast")
BY_NAME: Mapping[str, Case] = {case.name: case for case in (*ALL, *MORE)}
