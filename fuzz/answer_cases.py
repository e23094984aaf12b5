"""One mutated answer: what is asked, and what the upstream sends. It follows from seed and number alone."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

from fuzz import answer_documents
from fuzz.answer_framing import Framed, frame_body
from fuzz.bend import bend, damage_text, flip_bytes
from fuzz.sse_mutations import spell_stream

BASES = {
    "/v1": "openai",
    "/openai/v1": "openai",
    "/crazyrouter/v1": "crazyrouter",
    "/skytells/v1": "skytells",
    "/maritaca/api": "maritaca",
}
ENDPOINTS = ("chat/completions", "completions", "embeddings")
JSON_TYPE = b"application/json"
SSE_TYPE = b"text/event-stream"
STATUSES = (
    200,
    201,
    204,
    301,
    304,
    400,
    401,
    402,
    403,
    404,
    408,
    409,
    413,
    422,
    429,
    500,
    502,
    503,
    504,
    529,
    599,
    100,
)


@dataclass(slots=True)
class Answer:
    number: int
    base: str
    dialect: str
    endpoint: str
    stream: bool  # what the client asks for
    model: str
    form: str  # "stream" or "whole": what the upstream sends
    framed: Framed
    labels: list[str] = field(default_factory=list)  # the mutations

    def ask(self) -> bytes:
        document: dict[str, object] = {"model": self.model}
        if self.endpoint == "chat/completions":
            document["messages"] = [{"role": "user", "content": "Hello"}]
        else:
            document["prompt" if self.endpoint == "completions" else "input"] = "Hello"
        if self.stream:
            document["stream"] = True
            if self.number % 2:
                document["stream_options"] = {"include_usage": True}
        body = json.dumps(document).encode()
        head = (
            f"POST {self.base}/{self.endpoint} HTTP/1.1\r\nhost: gateway.test\r\nidempotency-key: fa.{self.number}\r\n"
        )
        return head.encode() + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def make_answer(seed: int, number: int) -> Answer:
    chance = random.Random(f"{seed}/{number}")
    base = chance.choice(tuple(BASES))
    endpoint = chance.choices(ENDPOINTS, (80, 15, 5))[0]
    stream = endpoint != "embeddings" and chance.random() < 0.6
    form = "stream" if stream == (chance.random() < 0.8) and endpoint != "embeddings" else "whole"
    model = "judged" if chance.random() < 0.15 else "plain"
    labels: list[str] = []
    body = _stream(number, chance, endpoint, labels) if form == "stream" else _whole(number, chance, endpoint, labels)
    if chance.random() < 0.06:
        labels.append("flipped")
        body = flip_bytes(body, chance)
    kind = SSE_TYPE if form == "stream" else JSON_TYPE
    status = 200
    if chance.random() < 0.06:
        status = chance.choice(STATUSES)
        labels.append(f"status {status}")
    if chance.random() < 0.06:
        kind = chance.choice(
            (b"", JSON_TYPE, SSE_TYPE, b"text/html", b"text/plain", b"application/octet-stream", b"\xff")
        )
        labels.append(f"type {kind!r}")
    framed = frame_body(body, status, kind, chance, labels)
    return Answer(number, base, BASES[base], endpoint, stream, model, form, framed, labels)


def _whole(number: int, chance: random.Random, endpoint: str, labels: list[str]) -> bytes:
    document = answer_documents.whole(number, chance, endpoint)
    draw = chance.random()
    if draw < 0.06:
        labels.append("error")
        return json.dumps(chance.choice(answer_documents.ERRORS)).encode()
    if draw < 0.5:
        labels.append("bent")
        return bend(document, chance, chance.randint(1, 4))
    body = json.dumps(document).encode()
    if draw < 0.62:
        labels.append("damaged")
        return damage_text(body, chance)
    return body


def _stream(number: int, chance: random.Random, endpoint: str, labels: list[str]) -> bytes:
    documents = answer_documents.chunks(number, chance, endpoint)
    events = [json.dumps(document).encode() for document in documents]
    draw = chance.random()
    if draw < 0.15:
        labels.append("all bent alike")
        times = chance.randint(1, 2)
        seed = chance.random()
        events = [bend(document, random.Random(seed), times) for document in documents]
    elif draw < 0.5:
        labels.append("bent")
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(events))
            events[place] = bend(documents[place], chance, chance.randint(1, 3))
    if chance.random() < 0.1:
        labels.append("error event")
        events.insert(chance.randrange(len(events) + 1), json.dumps(chance.choice(answer_documents.ERRORS)).encode())
    if chance.random() < 0.12:
        _reorder(events, chance, labels)
    events.append(b"[DONE]")
    return spell_stream(events, chance, labels)


def _reorder(events: list[bytes], chance: random.Random, labels: list[str]) -> None:
    """Events lost, repeated or swapped."""
    labels.append("reordered")
    place, other = chance.randrange(len(events)), chance.randrange(len(events))
    match chance.randrange(4):
        case 0:
            del events[place]
        case 1:
            events.insert(other, events[place])
        case 2:
            events[place], events[other] = events[other], events[place]
        case _:
            del events[place:]
