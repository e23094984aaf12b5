"""Faults by model name: ask the scripted upstream for one of these models to see how the gateway takes it.

Each row works for streams and for whole answers alike. `scripted-error-<status>` stands for any status.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import msgspec

from antiphon.upstreams.scripted.script import Script, Send, cut, error, hang, head, json_answer, raw, reset, sse, wait
from antiphon.upstreams.scripted.spelling import Answer

Document = dict[str, Any]

SLOW = 0.2  # seconds between chunks
LONG = 2000  # words
OVERLOADED: Document = {
    "error": {"message": "The model is overloaded.", "type": "server_error", "param": None, "code": "overloaded"}
}

_ERROR = re.compile(r"scripted-error-([1-5][0-9][0-9])")
_RETRY_LATER = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Fault:
    what: str
    play: Callable[[Answer], Script]


def plain(answer: Answer) -> Script:
    return sse(*answer.chunks()) if answer.stream else json_answer(answer.completion())


def find(model: object) -> Callable[[Answer], Script]:
    """The fault that a model's name asks for; a vendor prefix before it is allowed. Other names get a plain answer."""
    name = model.rsplit("/", 1)[-1] if isinstance(model, str) else ""
    if status := _ERROR.fullmatch(name):
        return _status(int(status[1]))
    fault = FAULTS.get(name)
    return fault.play if fault else plain


def _status(status: int) -> Callable[[Answer], Script]:
    headers = {"retry-after": "1"} if status in _RETRY_LATER else {}
    return lambda answer: error(status, headers=headers)


def _half(answer: Answer) -> list[Document]:
    """The chunks up to the middle of the text: no finish, no usage."""
    spoken = [c for c in answer.chunks() if c["choices"] and c["choices"][0]["finish_reason"] is None]
    return spoken[: len(spoken) // 2 + 1]


def _half_body(answer: Answer) -> bytes:
    """A whole answer that breaks off in the middle, though its length was promised."""
    body = msgspec.json.encode(answer.completion())
    lines = {"content-type": "application/json", "content-length": str(len(body))}
    return head(200, lines) + body[: len(body) // 2]


def _truncated(answer: Answer) -> Script:
    return sse(*_half(answer), done=False) if answer.stream else raw(_half_body(answer), cut())


def _cut(answer: Answer) -> Script:
    return sse(*_half(answer), cut()) if answer.stream else raw(_half_body(answer), cut())


def _reset(answer: Answer) -> Script:
    # The pause lets what was sent arrive: a reset throws away what is still under way.
    return sse(*_half(answer), wait(0.1), reset()) if answer.stream else raw(_half_body(answer), wait(0.1), reset())


def _stall(answer: Answer) -> Script:
    return sse(*_half(answer), hang()) if answer.stream else raw(_half_body(answer), hang())


def _slow(answer: Answer) -> Script:
    if not answer.stream:
        return Script((wait(5 * SLOW), *json_answer(answer.completion()).steps))
    return sse(*(step for chunk in answer.chunks() for step in (chunk, wait(SLOW))))


def _long(answer: Answer) -> Script:
    text = " ".join(f"word{number}" for number in range(LONG))
    return plain(_said(answer, text=text))


def _error_late(answer: Answer) -> Script:
    return sse(*_half(answer), OVERLOADED) if answer.stream else json_answer(OVERLOADED)


def _error_first(answer: Answer) -> Script:
    return sse(OVERLOADED) if answer.stream else json_answer(OVERLOADED)


def _malformed(answer: Answer) -> Script:
    return sse(*_half(answer), b'data: {"choices": [{"ind\n\n') if answer.stream else json_answer(b'{"choices": [')


def _no_done(answer: Answer) -> Script:
    return sse(*answer.chunks(), done=False) if answer.stream else plain(answer)


def _twice_done(answer: Answer) -> Script:
    if not answer.stream:
        return plain(answer)
    return sse(*answer.chunks(), b"data: [DONE]\n\n", *answer.chunks()[:2])


def _no_usage(answer: Answer) -> Script:
    if answer.stream:
        return sse(*({k: v for k, v in c.items() if k != "usage"} for c in answer.chunks() if c["choices"]))
    return json_answer({k: v for k, v in answer.completion().items() if k != "usage"})


def _no_choices(answer: Answer) -> Script:
    empty = {**answer.envelope("chat.completion"), "choices": None}
    return sse(empty) if answer.stream else json_answer(empty)


def _azure(answer: Answer) -> Script:
    """Azure's shapes: an empty first chunk with the prompt's results, annotations without a delta [azure-chunks]."""
    safe = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}
    prompt = [
        {"prompt_index": 0, "content_filter_results": {**safe, "jailbreak": {"detected": False, "filtered": False}}}
    ]
    if not answer.stream:
        whole = answer.completion()
        for choice in whole["choices"]:
            choice["content_filter_results"] = safe
        return json_answer({**whole, "prompt_filter_results": prompt})
    blank: Document = {"id": "", "object": "", "created": 0, "model": ""}
    note: Document = {"index": 0, "finish_reason": None, "content_filter_results": safe}
    note["content_filter_offsets"] = {"check_offset": 10, "start_offset": 10, "end_offset": 20}
    first = {**blank, "choices": [], "prompt_filter_results": prompt}
    return sse(first, *answer.chunks()[:-1], {**blank, "choices": [note]}, *answer.chunks()[-1:])


def _said(answer: Answer, **changes: Any) -> Answer:
    return replace(answer, replies=tuple(replace(reply, **changes) for reply in answer.replies))


def _reasoning(answer: Answer) -> Script:
    return plain(_said(answer, reasoning="The user wants an answer. An echo will do."))


def _think(answer: Answer) -> Script:
    return plain(
        replace(
            answer, replies=tuple(replace(r, text=f"<think>An echo will do.</think>{r.text}") for r in answer.replies)
        )
    )


def _refusal(answer: Answer) -> Script:
    return plain(_said(answer, text="", calls=(), refusal="I cannot help with that."))


def _filtered(answer: Answer) -> Script:
    return plain(_said(answer, finish="content_filter"))


def _http_nonsense(_: Answer) -> Script:
    return raw(b"this is not HTTP\r\n\r\n", cut())


def _closed(_: Answer) -> Script:
    return raw(cut())


def _hang(_: Answer) -> Script:
    return raw(hang())


def _slow_sends(script: Script) -> Script:
    """Every byte on its own: events cut anywhere."""
    data = b"".join(step.data for step in script.steps if isinstance(step, Send))
    return Script(tuple(Send(data[i : i + 1]) for i in range(len(data))))


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "scripted-truncated": Fault("ends in mid-answer, without a finish reason", _truncated),
        "scripted-cut": Fault("closes the connection in mid-answer", _cut),
        "scripted-reset": Fault("resets the connection in mid-answer", _reset),
        "scripted-stall": Fault("falls silent in mid-answer", _stall),
        "scripted-hang": Fault("never answers", _hang),
        "scripted-close": Fault("closes the connection without an answer", _closed),
        "scripted-nonsense": Fault("answers with something that is not HTTP", _http_nonsense),
        "scripted-slow": Fault("waits 0.2 s between chunks", _slow),
        "scripted-long": Fault("answers with 2,000 words", _long),
        "scripted-bytes": Fault("sends every byte on its own", lambda answer: _slow_sends(plain(answer))),
        "scripted-error-first": Fault("answers 200 with an error object in place of the answer", _error_first),
        "scripted-error-late": Fault("sends an error event in mid-stream", _error_late),
        "scripted-malformed": Fault("sends broken JSON in mid-answer", _malformed),
        "scripted-no-done": Fault("finishes, but never says [DONE]", _no_done),
        "scripted-twice-done": Fault("says [DONE] and goes on talking", _twice_done),
        "scripted-no-usage": Fault("reports no usage", _no_usage),
        "scripted-no-choices": Fault("answers with `choices: null`", _no_choices),
        "scripted-azure": Fault("answers in Azure's shapes, with filter results", _azure),
        "scripted-reasoning": Fault("reasons before it answers", _reasoning),
        "scripted-think": Fault("reasons inside <think> marks in its text", _think),
        "scripted-refusal": Fault("refuses", _refusal),
        "scripted-filtered": Fault("finishes with `content_filter`", _filtered),
    }
)
