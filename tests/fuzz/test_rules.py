"""The rules can fail: each is shown an answer that breaks it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from fuzz import answer_rules, request_rules
from fuzz.answer_cases import Answer
from fuzz.answer_framing import Framed
from fuzz.bend import bend
from fuzz.findings import Findings
from fuzz.logs import AccessLog
from fuzz.memory import MIB, is_flat
from fuzz.request_upstream import CountingUpstream
from fuzz.requests import Request, Session, make_session
from fuzz.soak import Series
from fuzz.strict_request import Rest, read_requests
from fuzz.strict_response import ResponseReader

OK = {"choices": [{"index": 0, "message": {"content": "a1w0 "}, "finish_reason": "stop"}], "usage": {"total_tokens": 1}}
ERROR = {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": None}}
POST = b"POST /v1/chat/completions HTTP/1.1"
BODY = b'{"model":"scripted","messages":[]}'


def reply(status: int, document: object, lines: bytes = b"x-request-id: r1\r\n") -> bytes:
    body = json.dumps(document).encode()
    head = b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % (status, len(body))
    return head + lines + b"\r\n" + body


def request(marker: str = "fz.1.0", *lines: bytes, body: bytes = BODY) -> Request:
    head = [b"host: a", b"idempotency-key: " + marker.encode(), b"content-length: %d" % len(body), *lines]
    return Request(POST, head, body, marker, "openai")


def broken(said: bytes, turns: dict[str, list[int]], *requests: Request, ended: str = "") -> set[str]:
    session = Session(1, list(requests) or [request()])
    meaning = read_requests(session.render())
    reader = ResponseReader([read.method for read in meaning.requests])
    reader.feed(said)
    if ended:
        reader.end()
    upstream = CountingUpstream()
    upstream.turns = turns
    return {breach.rule for breach in request_rules.judge(session, meaning, reader, ended, True, upstream)}


def test_a_good_answer_breaks_no_rule() -> None:
    assert broken(reply(200, OK), {"fz.1.0": [200]}) == set()
    assert broken(reply(400, ERROR), {}) == set()
    assert broken(reply(502, ERROR), {"fz.1.0": [500]}) == set()


@pytest.mark.parametrize(
    ("said", "turns", "rule"),
    [
        (reply(500, ERROR), {}, "no 5xx by our own fault"),
        (reply(502, ERROR), {"fz.1.0": [200]}, "no 5xx by our own fault"),
        (reply(400, {"detail": "no"}), {}, "errors have the dialect's shape"),
        (reply(200, OK, b""), {"fz.1.0": [200]}, "x-request-id stands once in every answer"),
        (reply(200, OK, b"x-request-id: a\r\nx-request-id: b\r\n"), {}, "answers are strict HTTP"),
        (reply(200, OK), {"fz.1.0": [200, 200]}, "one turn of the upstream for each answer"),
        (reply(200, OK), {}, "one turn of the upstream for each answer"),
        (reply(400, ERROR), {"fz.1.0": [200]}, "one turn of the upstream for each answer"),
        (reply(400, ERROR), {"fz.1.0s": [200]}, "nothing is smuggled"),
        (reply(200, {}), {"fz.1.0": [200]}, "answers are whole"),
        (reply(200, OK) * 2, {"fz.1.0": [200]}, "no more answers than requests"),
        (
            b"HTTP/1.1 100 Continue\r\n\r\n" + reply(200, OK),
            {"fz.1.0": [200]},
            "100 Continue only where it was expected",
        ),
    ],
)
def test_a_broken_rule_is_found(said: bytes, turns: dict[str, list[int]], rule: str) -> None:
    assert rule in broken(said, turns)


def test_an_ambiguous_request_that_is_answered_is_found() -> None:
    both = request("fz.1.0", b"transfer-encoding: chunked", body=b"0\r\n\r\n")
    assert "what is no valid HTTP is refused" in broken(reply(200, OK), {}, both)
    assert "nothing is smuggled" in broken(reply(400, ERROR), {"fz.1.0": [200]}, both)


def test_a_silent_close_is_found() -> None:
    assert "complete requests are answered" in broken(b"", {}, ended="closed")


@pytest.mark.parametrize(
    ("data", "count", "rest"),
    [
        (request().render() * 2, 2, Rest.NOTHING),
        (request().render()[:-1], 0, Rest.PARTIAL),
        (request("m", b"content-length: 3").render(), 0, Rest.BAD),
        (request("m", b"transfer-encoding: chunked").render(), 0, Rest.BAD),
        (request("m", b"x: y\n z").render(), 0, Rest.BAD),
        (request("m", b"connection: close").render() * 2, 1, Rest.UNREAD),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2;x\r\nab\r\n0\r\n\r\n", 1, Rest.NOTHING),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0x2\r\nab\r\n0\r\n\r\n", 0, Rest.BAD),
        (b"POST / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 0, Rest.BAD),
    ],
)
def test_the_strict_reader(data: bytes, count: int, rest: Rest) -> None:
    meaning = read_requests(data)
    assert (len(meaning.requests), meaning.rest) == (count, rest)


# Answers


def stream_of(*events: object, done: bool = True) -> bytes:
    out = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)
    return out + (b"data: [DONE]\n\n" if done else b"")


def chunk(text: str, finish: str | None = None) -> dict[str, object]:
    return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


def told(sent: bytes, body: bytes, status: int = 200, kind: bytes = b"text/event-stream", turns: int = 1) -> set[str]:
    framed = Framed(b"", sent, True, True, 200)
    answer = Answer(1, "/v1", "openai", "chat/completions", True, "plain", "stream", framed)
    reader = ResponseReader([b"POST"])
    head = b"HTTP/1.1 %d X\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (status, kind, len(body))
    reader.feed(head + body)
    return {rule for rule, _ in answer_rules.judge(answer, reader, "", True, turns)}


SENT = stream_of(chunk("a1w0 "), chunk("a1w1 ", "stop"))
CUT = stream_of(chunk("a1w0 "), done=False)


@pytest.mark.parametrize(
    ("sent", "body", "rules"),
    [
        (SENT, SENT, set()),
        (CUT, stream_of(chunk("a1w0 "), ERROR), set()),
        (CUT, stream_of(chunk("a1w0 ", "stop")), {"a cut answer is no success"}),
        (SENT, stream_of(chunk("a1w0 ", "stop")), {"no text is lost"}),
        (
            SENT,
            stream_of(chunk("a1w1 "), chunk("a1w0 ", "stop")),
            {"text is neither invented, repeated nor reordered", "no text is lost"},
        ),
        (SENT, stream_of(chunk("a1w0 a1w1 a2w0 ", "stop")), {"no text of another turn"}),
        (SENT, stream_of(chunk("a1w0 a1w1 ", "stop"), done=False), {"a complete stream says [DONE]"}),
        (SENT, stream_of(chunk("a1w0 a1w1 ")), {"a complete answer has a finish_reason"}),
    ],
)
def test_what_a_client_is_told_of_a_stream(sent: bytes, body: bytes, rules: set[str]) -> None:
    assert told(sent, body) == rules


def test_errors_and_turns_of_answers() -> None:
    kind = b"application/json"
    assert told(SENT, json.dumps(ERROR).encode(), 502, kind) == set()
    assert "never 500" in told(SENT, json.dumps(ERROR).encode(), 500, kind)
    assert "errors have the dialect's shape" in told(SENT, b"oops", 502, kind)
    assert "one turn of the upstream for each request" in told(SENT, SENT, turns=2)


# The rest


def test_the_same_seed_gives_the_same_cases() -> None:
    assert make_session(5, 9) == make_session(5, 9)
    assert make_session(5, 9).render() != make_session(6, 9).render()
    document = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    bent = [bend(document, random.Random(number), 2) for number in range(50)]
    assert bent == [bend(document, random.Random(number), 2) for number in range(50)]
    assert len(set(bent)) > 25
    assert not any(b"@@" in text for text in bent)


def test_memory_that_grows_is_found() -> None:
    assert is_flat([50 * MIB] * 200)
    assert not is_flat([(50 + number) * MIB for number in range(200)])
    steady = Series("worker", [100 * MIB] * 40, [20] * 40)
    assert steady.is_flat()
    assert not Series("worker", [(100 + number) * MIB for number in range(40)], [20] * 40).is_flat()
    assert not Series("worker", [100 * MIB] * 40, [20 + number for number in range(40)]).is_flat()


def test_access_lines_that_do_not_match_are_found(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    entries = [("r1", 200), ("r2", 200), ("r2", 200)]
    path.write_text("".join(json.dumps({"request_id": name, "status": status}) + "\n" for name, status in entries))
    findings = Findings()
    log = AccessLog(path, findings)
    reader = ResponseReader([b"POST"] * 2)
    reader.feed(reply(400, ERROR) + reply(200, OK))
    log.answered("r1", reader.responses[0], 0)
    log.answered("r3", reader.responses[1], 0)
    log.end(left=0, pulses=0)
    found = sorted(group.detail for group in findings.groups.values())
    assert found == [
        "1 lines without an answer",
        "200 for 400, session 0",
        "no line for 200, session 0",
        "two lines, status 200",
    ]
