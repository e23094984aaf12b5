"""An upstream's answer with a wrong type anywhere is read, or refused as the upstream's fault: never a fault of ours.

Values of rich answers are replaced by odd ones, and odd keys are added to objects; each document then goes all the
way: read, folded, judged, written in every dialect, encoded.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

from antiphon.chat import embedding_answer, text_answer
from antiphon.chat.completion import conform, merge
from antiphon.chat.event import decode
from antiphon.chat.failure import read_failure
from antiphon.chat.fold import fold
from antiphon.chat.moderated_text import answer_texts, delta_words
from antiphon.chat.plain_answer import read_plain
from antiphon.chat.prompt_request import COMPLETIONS, PromptRequest
from antiphon.chat.stream import ChatStream
from antiphon.chat.text_stream import TextStream
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.dialects.text_writer import TextWriter
from antiphon.errors import UpstreamError
from tests.chat.machine import request, stamp

ROUNDS = 150
encode = msgspec.json.encode
Document = dict[str, Any]
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 2**63, 0.5, 1e300, "", "x", "null", "0", [], {}, [[]], [{}], [None], ["x"]),
    *({"a": None}, {"content": None}, {"content": "x", "role": 1}, [{"index": 0}], [{"index": "x", "type": []}]),
    *({"index": 1, "function": "x"}, [{"text": 1}], {"error": {"message": 7}}, {"message": "x"}),
)
ODD_KEYS = (
    *("message", "delta", "content", "content_parts", "audio", "tool_calls", "function_call", "logprobs", "refusal"),
    *(
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "thinking",
        "text",
        "index",
        "error",
        "usage",
        "moderation",
    ),
    *("content_filter_results", "prompt_filter_results", "prompt_annotations", "annotations", "function", "custom"),
    *("finish_reason", "native_finish_reason", "obfuscation", "system_fingerprint", "choices", "id", "type", "name"),
)
USAGE = {
    **{"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    "prompt_tokens_details": {"cached_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
TOKEN = {"token": "H", "logprob": -0.1, "bytes": [72], "top_logprobs": [{"token": "H", "logprob": -0.1, "bytes": [72]}]}
LOGPROBS = {"content": [TOKEN], "refusal": None}
HEAD = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "m", "system_fingerprint": "fp"}
RESULTS = {"hate": {"filtered": False, "severity": "safe"}}
PROMPT = [{"prompt_index": 0, "content_filter_results": RESULTS}]
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
CUSTOM = {"index": 1, "id": "call_2", "type": "custom", "custom": {"name": "g", "input": "i"}}
PARTS = [{"type": "text", "text": "Hello"}, {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]


def whole(message: Document, finish: str = "stop", **more: Any) -> Document:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **more}
    return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}


def piece(delta: Document, finish: str | None = None, **more: Any) -> Document:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish, **more}
    return {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}


WHOLE = [
    whole({"content": "Hello", "refusal": None, "annotations": []}, logprobs=LOGPROBS),
    {**whole({"content": PARTS, "reasoning": "hm"}, content_filter_results=RESULTS), "prompt_filter_results": PROMPT},
    whole({"content": None, "tool_calls": [CALL, CUSTOM]}, "tool_calls"),
    whole({"content": None, "function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
    whole({"content": "a", "audio": {"id": "a", "data": "AA==", "transcript": "hi", "expires_at": 9}}),
    {**whole({"content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "t"}]}), "moderation": {"a": 1}},
    {"error": {"message": "m", "type": "t", "param": None, "code": "c", "metadata": {"raw": "{}"}}},
]
STREAMS = [
    [
        piece({"role": "assistant", "content": ""}),
        piece({"content": "Hel"}, logprobs=LOGPROBS),
        piece({"content": "lo"}, logprobs=LOGPROBS),
        piece({}, "stop", content_filter_results=RESULTS),
        {**HEAD, "choices": [], "usage": USAGE},
    ],
    [
        piece({"role": "assistant", "content": None, "tool_calls": [CALL]}),
        piece({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}, CUSTOM]}),
        piece({"tool_calls": [{"index": 1, "custom": {"input": "i"}}]}),
        piece({}, "tool_calls"),
    ],
    [
        {**HEAD, "choices": [], "prompt_filter_results": PROMPT},
        piece({"role": "assistant", "content": PARTS}),
        piece({"content": [{"type": "text", "text": "o"}], "content_parts": [{"index": 0, "type": "t", "text": "x"}]}),
        piece({"content_parts": [{"index": 0, "type": "t", "text": "y"}], "reasoning_details": [{"text": "t"}]}),
        piece({"audio": {"id": "a", "transcript": "hi"}}),
        piece({"audio": {"data": "AA==", "transcript": "hi", "expires_at": 9}}),
        piece({"function_call": {"name": "f", "arguments": "{"}}),
        piece({"function_call": {"arguments": "}"}}),
        {**piece({}, "stop"), "usage": USAGE, "moderation": {"input": {}}},
    ],
]
TEXT_LOGPROBS = {"tokens": ["a"], "token_logprobs": [-0.1], "top_logprobs": [{"a": -0.1}], "text_offset": [0]}
TEXT_CHOICE = {"index": 0, "text": "a", "logprobs": TEXT_LOGPROBS, "finish_reason": None}
TEXT_STREAM = [
    {**HEAD, "object": "text_completion", "choices": [TEXT_CHOICE]},
    {**HEAD, "object": "text_completion", "choices": [TEXT_CHOICE]},
    {**HEAD, "object": "text_completion", "choices": [{**TEXT_CHOICE, "finish_reason": "stop"}], "usage": USAGE},
]
EMBEDDINGS = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.1]}], "usage": USAGE}


# Damage


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return copy.deepcopy(odd)
    out = copy.deepcopy(value)
    target = out
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = copy.deepcopy(odd)
    return out


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def some_damage(value: Any) -> Iterator[Any]:
    random = Random(8)
    for _ in range(ROUNDS):
        out = value
        for _ in range(random.randint(1, 4)):
            path = random.choice(list(places(out)))
            if isinstance(at(out, path), dict) and random.random() < 0.5:
                path = (*path, random.choice(ODD_KEYS))
            out = replaced(out, path, random.choice(ODD))
        yield out


# The ways of an answer


def write_whole(document: Document, spelled: str, strict: bool) -> None:
    for choice in document["choices"]:
        answer_texts(choice["message"])
    writer = DIALECTS[spelled].writer(request(stream=False), WriteOptions(strict=strict, judged=False, target="up/m"))
    encode(writer.completion(document, dict(USAGE)))


def go_whole(body: bytes, spelled: str, strict: bool) -> None:
    read_plain(body, named_tool=False)
    write_whole(conform(decode(body), request(stream=False), stamp(), think=strict).document, spelled, strict)


def go_fan_out(body: bytes, spelled: str, strict: bool) -> None:
    merged = merge([decode(body), decode(encode(WHOLE[0]))])
    write_whole(conform(merged, request(stream=False, n=2), stamp()).document, spelled, strict)


def go_stream(bodies: list[bytes], spelled: str, strict: bool) -> None:
    asked = request(include_usage=True)
    machine = ChatStream(asked, stamp(), think=strict)
    writer = DIALECTS[spelled].writer(asked, WriteOptions(strict=strict, judged=False, target="up/m"))
    for chunk in chunks_of(machine, bodies):
        for choice in chunk["choices"]:
            list(delta_words(choice["delta"]))
        encode(writer.chunk(chunk))
    machine.usage_envelope()
    _ = machine.usage


def go_fold(bodies: list[bytes], spelled: str, strict: bool) -> None:
    asked = request(stream=False)
    machine = ChatStream(asked, stamp(), think=strict)
    document = fold(chunks_of(machine, bodies), machine.usage)
    write_whole(conform(document, asked, stamp(), think=strict).document, spelled, strict)


def go_replay(body: bytes, spelled: str, strict: bool) -> None:
    machine = ChatStream(request(), stamp())
    go_stream([encode(document) for document in machine.replay(decode(body))], spelled, strict)


def chunks_of(machine: Any, bodies: list[bytes]) -> list[Document]:
    out: list[Document] = []
    for body in bodies:
        out += machine.feed(decode(body))
    return out + list(machine.done())


def go_text(bodies: list[bytes], spelled: str, strict: bool) -> None:
    asked = PromptRequest(COMPLETIONS, {"prompt": "a"}, "m")
    writer = TextWriter(usage_asked=True, strict=strict)
    for body in bodies:
        try:
            document = text_answer.conform(decode(body), asked, stamp()).document
        except UpstreamError:
            continue
        encode(writer.completion(document, dict(USAGE)))
    for chunk in chunks_of(TextStream(asked, stamp()), bodies):
        encode(writer.chunk(chunk))
    machine = TextStream(asked, stamp())
    folded = text_answer.fold(chunks_of(machine, bodies), machine.usage)
    encode(writer.completion(text_answer.conform(folded, asked, stamp()).document, dict(USAGE)))


def go_embeddings(body: bytes, spelled: str, strict: bool) -> None:
    document = embedding_answer.conform(embedding_answer.read(body), stamp()).document
    encode(embedding_answer.write(document, dict(USAGE), strict=strict))


def go_failure(body: bytes, spelled: str, strict: bool) -> None:
    encode(DIALECTS[spelled].write_error(read_failure(msgspec.json.decode(body), 400), "req_1"))


def survive(go: Any, sent: Any, turn: int) -> None:
    spelled = list(DIALECTS)[turn % len(DIALECTS)]
    bodies = [encode(each) for each in sent] if isinstance(sent, list) else encode(sent)
    try:
        go(bodies, spelled, turn % 3 == 0)
    except UpstreamError:
        return
    except Exception as error:
        pytest.fail(f"{go.__name__}, {spelled}: {type(error).__name__}: {error}\n{sent}"[:3000])


@pytest.mark.parametrize("go", [go_whole, go_fan_out, go_replay])
@pytest.mark.parametrize("document", WHOLE)
def test_whole_answers(go: Any, document: Document) -> None:
    for turn, sent in enumerate(some_damage(document)):
        survive(go, {} if isinstance(sent, list) else sent, turn)


@pytest.mark.parametrize("go", [go_stream, go_fold])
@pytest.mark.parametrize("stream", STREAMS)
def test_streams(go: Any, stream: list[Document]) -> None:
    for turn, sent in enumerate(some_damage(stream)):
        survive(go, sent if isinstance(sent, list) else [sent], turn)


def test_text_completions() -> None:
    for turn, sent in enumerate(some_damage(TEXT_STREAM)):
        survive(go_text, sent if isinstance(sent, list) else [sent], turn)


def test_embeddings() -> None:
    for turn, sent in enumerate(some_damage(EMBEDDINGS)):
        survive(go_embeddings, {} if isinstance(sent, list) else sent, turn)


def test_failures() -> None:
    for document in (WHOLE[-1], {"detail": [{"loc": ["a"], "msg": "m"}]}, {"error": "m"}, {"code": 1, "msg": "m"}):
        for turn, sent in enumerate(some_damage(document)):
            survive(go_failure, {} if isinstance(sent, list) else sent, turn)
