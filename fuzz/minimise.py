"""Smaller cases that break the same rule: a greedy search, bounded in tries and in time."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from fuzz.answer_cases import Answer
from fuzz.answer_framing import Framed
from fuzz.answer_truth import events
from fuzz.bend import places
from fuzz.requests import Request, Session

T = TypeVar("T")

TRIES = 150
SECONDS = 10.0
LARGEST = 100_000  # bytes; larger bodies are left as they are


async def minimise(case: T, smaller: Callable[[T], Iterator[T]], fails: Callable[[T], Awaitable[bool]]) -> T:
    deadline = time.monotonic() + SECONDS
    tries = 0
    progress = True
    while progress:
        progress = False
        for candidate in smaller(case):
            tries += 1
            if tries > TRIES or time.monotonic() > deadline:
                return case
            if await fails(candidate):
                case, progress = candidate, True
                break
    return case


def smaller_sessions(session: Session) -> Iterator[Session]:
    if len(session.requests) > 1:
        for request in session.requests:
            yield replace(session, requests=[request], cuts=[])
        for place in range(len(session.requests)):
            yield replace(session, requests=session.requests[:place] + session.requests[place + 1 :], cuts=[])
    elif session.cuts:
        yield replace(session, cuts=[])
    for place, request in enumerate(session.requests):
        for candidate in _smaller_requests(request):
            yield replace(session, requests=[*session.requests[:place], candidate, *session.requests[place + 1 :]])


def _smaller_requests(request: Request) -> Iterator[Request]:
    for place, line in enumerate(request.headers):
        if not line.lower().startswith((b"host", b"content-length", b"idempotency-key")):
            yield replace(request, headers=request.headers[:place] + request.headers[place + 1 :])
    length = b"content-length: %d" % len(request.body)
    if length not in request.headers:
        return
    for body in _smaller_documents(request.body):
        headers = [b"content-length: %d" % len(body) if line == length else line for line in request.headers]
        yield replace(request, body=body, headers=headers)


def smaller_answers(answer: Answer) -> Iterator[Answer]:
    framed = answer.framed
    if framed.splits:
        yield replace(answer, framed=replace(framed, splits=[], pause=0.0))
    if not framed.exact or not framed.complete or len(framed.plain) > LARGEST:
        return
    if answer.form == "stream":
        sent = events(framed.plain)
        bodies = (b"".join(b"data: %b\n\n" % data for data in some) for some in _without_one(sent))
        yield from (_reframed(answer, body, b"text/event-stream") for body in bodies)
        for place, data in enumerate(sent):
            for shorter in _smaller_documents(data):
                some = [*sent[:place], shorter, *sent[place + 1 :]]
                yield _reframed(answer, b"".join(b"data: %b\n\n" % one for one in some), b"text/event-stream")
    else:
        yield from (_reframed(answer, body, b"application/json") for body in _smaller_documents(framed.plain))


def _reframed(answer: Answer, body: bytes, kind: bytes) -> Answer:
    head = b"HTTP/1.1 %d Said\r\ncontent-type: %b\r\n\r\n" % (answer.framed.status, kind)
    return replace(answer, framed=Framed(head + body, body, True, True, answer.framed.status, "close"))


def _without_one(items: list[bytes]) -> Iterator[list[bytes]]:
    for place in range(len(items)):
        yield items[:place] + items[place + 1 :]


def _smaller_documents(body: bytes) -> Iterator[bytes]:
    """The document without one member or item of it. A document that `json` would write otherwise is left alone."""
    if len(body) > LARGEST:
        return
    try:
        document: Any = json.loads(body)
        if json.dumps(document).encode() != body:
            return
    except (ValueError, RecursionError):
        return
    for place in range(1, len(places([document]))):
        root = [copy.deepcopy(document)]
        container, key = places(root)[place]
        del container[key]
        yield json.dumps(root[0]).encode()
