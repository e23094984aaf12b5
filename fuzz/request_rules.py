"""The rules for answers to mutated requests. Each breach is a finding."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass

from fuzz.error_shapes import error_fault
from fuzz.request_upstream import MARKER, CountingUpstream
from fuzz.requests import Request, Session
from fuzz.strict_request import Meaning, Read, Rest
from fuzz.strict_response import Response, ResponseReader

METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE", b"CONNECT"})
REFUSALS = frozenset({501, 505})  # of HTTP itself: a method, coding or version that we do not have


@dataclass(slots=True)
class Breach:
    rule: str
    detail: str
    place: int  # of the request in its session


def judge(
    session: Session, meaning: Meaning, reader: ResponseReader, ended: str, answered: bool, upstream: CountingUpstream
) -> list[Breach]:
    """All that is wrong with the answers to a session."""
    breaches: list[Breach] = []
    responses = reader.responses
    last = min(len(responses), len(session.requests) - 1)
    if reader.fault:
        breaches.append(Breach("answers are strict HTTP", reader.fault, last))
    if not answered:
        breaches.append(Breach("every request is answered in time", f"{len(responses)} answers, then silence", last))
    if ended == "reset":
        breaches.append(Breach("connections are closed, not reset", f"after {len(responses)} answers", last))
    by_marker = {request.marker: request for request in session.requests}
    markers = [marker_of(read) for read in meaning.requests]
    for place, response in enumerate(responses):
        read = meaning.requests[place] if place < len(meaning.requests) else None
        marker = markers[place] if place < len(markers) else ""
        request = _sender(read, by_marker.get(marker))
        found = _response_breaches(request, read, response, upstream.take(marker))
        breaches += [Breach(rule, detail, min(place, len(session.requests) - 1)) for rule, detail in found]
    breaches += _session_breaches(session, meaning, responses, ended)
    breaches += _leftovers(session, frozenset(markers), upstream)
    return breaches


def marker_of(read: Read) -> str:
    """From the header; from the body where the header was mutated away."""
    found = MARKER.search(_key(read))
    if found is None:
        found = MARKER.search(_plain(read).decode("utf-8", "replace"))
    return found[0] if found is not None else ""


def _key(read: Read) -> str:
    return (read.first(b"idempotency-key") or b"").decode("latin-1")


def _plain(read: Read) -> bytes:
    if b"content-encoding" not in read.headers:
        return read.body
    try:
        return zlib.decompressobj(47).decompress(read.body, 1 << 20)  # gzip or zlib
    except zlib.error:
        return read.body


def _sender(read: Read | None, request: Request | None) -> Request | None:
    """The request whose dialect an error must have; None where the head does not say it for certain. A marker in the
    body does not: the request before it may have swallowed it."""
    known = read is not None and read.method in METHODS and MARKER.fullmatch(_key(read)) is not None
    return request if known and request is not None and request.exact else None


def _response_breaches(
    request: Request | None, read: Read | None, response: Response, turns: list[int]
) -> list[tuple[str, str]]:
    found = []
    if b"x-request-id" not in response.headers:
        found.append(("x-request-id stands once in every answer", f"{response.status} has none"))
    if response.interim and read is not None and b"expect" not in read.headers:
        found.append(("100 Continue only where it was expected", ""))
    is_marked = read is not None and bool(marker_of(read))
    if fault := _status_fault(response, turns, is_marked=is_marked):
        found.append(("no 5xx by our own fault", fault))
    if response.status >= 400 and not (read is not None and read.method == b"HEAD"):
        fault = error_fault(response, request.dialect if request is not None else None)
        if fault:
            found.append(("errors have the dialect's shape", f"{fault}, status {response.status}"))
    if fault := _turns_fault(response, read, turns):
        found.append(("one turn of the upstream for each answer", fault))
    if response.status == 200 and read is not None and read.method == b"POST" and (fault := _answer_fault(response)):
        found.append(("answers are whole", fault))
    return found


def _status_fault(response: Response, turns: list[int], *, is_marked: bool) -> str | None:
    """`is_marked`: what the upstream said to this request is known."""
    status = response.status
    if status in (502, 503, 504) and not is_marked:
        return None
    if status < 500 or (status in REFUSALS):
        return None
    told = any(turn == 0 or turn >= 400 for turn in turns)
    if status in (502, 503, 504) and told:
        return None
    if status == 503 and b"retry-after" in response.headers and not turns:
        return None  # a bound of the gateway's own (bodies in flight, connections), told as one
    return f"{status} {bytes(response.body[:160]).decode('utf-8', 'replace')}"


def _turns_fault(response: Response, read: Read | None, turns: list[int]) -> str | None:
    """What our framing says: one turn for an answer, none for a refusal, unless the upstream itself refused."""
    if len(turns) > 1:
        return f"{len(turns)} turns for one request"
    if read is None:
        return None
    path = read.target.partition(b"?")[0]
    asks = read.method == b"POST" and path.endswith((b"/completions", b"/embeddings"))
    if response.status == 200 and asks and not turns and MARKER.fullmatch(_key(read)):
        return "an answer without a turn"
    if 400 <= response.status < 500 and any(200 <= turn < 400 for turn in turns):
        return f"{response.status} although the upstream was asked and answered {turns[0]}"
    return None


def _answer_fault(response: Response) -> str | None:
    kind = response.headers.get(b"content-type", b"")
    body = bytes(response.body)
    if kind.startswith(b"text/event-stream"):
        return None if body.endswith(b"data: [DONE]\n\n") else f"a stream without [DONE]: …{body[-60:]!r}"
    try:
        document = json.loads(body)
    except ValueError:
        return f"not JSON: {body[:80]!r}"
    if not any(document.get(name) for name in ("choices", "data", "results")):
        return f"neither choices, data nor results: {body[:120]!r}"
    return None


def _session_breaches(session: Session, meaning: Meaning, responses: list[Response], ended: str) -> list[Breach]:
    count = len(meaning.requests)
    last = len(session.requests) - 1
    if len(responses) > count + (meaning.rest in (Rest.BAD, Rest.PARTIAL)):
        return [Breach("no more answers than requests", f"{len(responses)} for {count}", last)]
    # A GET is answered by its head alone, and the connection ends. (A turn would show among the upstream's.)
    is_head_alone = responses and responses[-1].headers.get(b"connection") == b"close"
    if len(responses) == count + 1 and responses[-1].status < 400 and not is_head_alone:
        return [Breach("what is no valid HTTP is refused", f"answered with {responses[-1].status}", last)]
    closed_early = len(responses) < count and ended and not (responses and responses[-1].closes)
    if closed_early:
        return [Breach("complete requests are answered", f"closed silently after {len(responses)}", len(responses))]
    return []


def _leftovers(session: Session, known: frozenset[str], upstream: CountingUpstream) -> list[Breach]:
    """Turns of requests that no answer stands for: smuggled ones, or such as no strict reader would have read."""
    breaches = []
    for place, request in enumerate(session.requests):
        for marker in (request.marker, request.marker + "s"):
            turns = upstream.take(marker)
            if turns and marker not in known:
                breaches.append(Breach("nothing is smuggled", f"{len(turns)} turns of {marker}", place))
            elif len(turns) > 1:
                breaches.append(Breach("one turn of the upstream for each answer", f"{len(turns)} turns", place))
    return breaches
