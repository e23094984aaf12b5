"""Faults by model name: ask the scripted upstream for one of these models to see how the gateway takes it.

Each row works in every language, for streams and for whole answers alike. `scripted-error-<status>` stands for any
status, with `-retry-<seconds>` for a `retry-after` of that length. Faults in mid-answer come after half of it, or, with
`-after-<number>` behind the name, after so many events of a stream. Errors inside a 200 may name a status before that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from antiphon.upstreams.scripted.language import EventPart, RefusedError, ScriptedAnswer, Shape, as_asked
from antiphon.upstreams.scripted.reply import Reply
from antiphon.upstreams.scripted.script import (
    Script,
    Send,
    Step,
    cut,
    hang,
    head,
    json_answer,
    raw,
    reset,
    stream,
    wait,
)

SLOW = 0.2  # seconds between chunks
LONG = 2000  # words
REASONING = "The user wants an answer. An echo will do."
REFUSAL = "I cannot help with that."
SOURCE = "https://example.org/source"
BROKEN_CHUNK = Send(b"no size\r\n")  # of a chunked body (RFC 9112 §7.1)

# A vendor's prefix may stand before the name: `any/`, `us.anthropic.`.
_NAME = re.compile(
    r"(?:.*[/.:])?(?P<name>scripted[a-z-]*?)(?:-(?P<status>[1-5]\d\d))?(?:-after-(?P<after>\d{1,5}))?"
    r"(?:-retry-(?P<retry>\d{1,5}))?"
)
_RETRY_LATER = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    what: str
    play: Callable[[ScriptedAnswer], Script]
    counts: bool = False  # `-after-<number>` may follow its name
    errs: bool = False  # so may a status


def plain(answer: ScriptedAnswer) -> Script:
    return _play(answer, [event.data for event in answer.events()]) if answer.stream else _whole(answer)


def find(model: object) -> Callable[[ScriptedAnswer], Script]:
    """The fault that a model's name asks for. Other names get a plain answer."""
    match = _NAME.fullmatch(model) if isinstance(model, str) else None
    if match is None:
        return plain
    status, after, seconds = (int(match[part]) if match[part] else None for part in ("status", "after", "retry"))
    if match["name"] == "scripted-error" and status is not None and after is None:
        return _refuse(status, seconds)
    fault = FAULTS.get(match["name"])
    if fault is None or seconds is not None:
        return plain
    if (status is not None and not fault.errs) or (after is not None and not fault.counts):
        return plain
    return lambda answer: fault.play(replace(answer, status=status, after=after))


def _refuse(status: int, seconds: int | None) -> Callable[[ScriptedAnswer], Script]:
    if seconds is None and status in _RETRY_LATER:
        seconds = 1

    def play(answer: ScriptedAnswer) -> Script:
        raise RefusedError(status, as_asked(status), retry_after=seconds)

    return play


def _play(answer: ScriptedAnswer, parts: Iterable[bytes | Step]) -> Script:
    return stream(answer.language.headers(answer), *parts)


def _whole(answer: ScriptedAnswer, body: bytes | None = None) -> Script:
    headers = answer.language.headers(answer)
    return json_answer(answer.body() if body is None else body, headers=headers)


def _break_off(answer: ScriptedAnswer, *ending: Step | bytes) -> Script:
    """The first part of the answer, then what is given. A whole answer breaks off though its length was promised."""
    if answer.stream:
        return _play(answer, [*answer.first_events(), *ending])
    body = answer.body()
    lines = {**answer.language.headers(answer), "content-length": str(len(body))}
    steps = [step for step in ending if not isinstance(step, bytes)]
    return raw(head(200, lines) + body[: len(body) // 2], *(steps or [cut()]))


def _truncated(answer: ScriptedAnswer) -> Script:
    return _break_off(answer)


def _cut(answer: ScriptedAnswer) -> Script:
    return _break_off(answer, cut())


def _reset(answer: ScriptedAnswer) -> Script:
    return _break_off(answer, wait(0.1), reset())  # a reset throws away what is still under way: so the pause


def _stall(answer: ScriptedAnswer) -> Script:
    return _break_off(answer, hang())


def _error_late(answer: ScriptedAnswer) -> Script:
    if not answer.stream:
        return _whole_failure(answer)
    return _break_off(answer, answer.language.failure_event(answer, is_first=not answer.first_events()))


def _error_first(answer: ScriptedAnswer) -> Script:
    if not answer.stream:
        return _whole_failure(answer)
    return _play(answer, [answer.language.failure_event(answer, is_first=True)])


def _whole_failure(answer: ScriptedAnswer) -> Script:
    return json_answer(answer.language.failure(answer.status), headers=answer.language.headers(answer))


def _malformed(answer: ScriptedAnswer) -> Script:
    if answer.stream:
        return _break_off(answer, answer.language.garbage(answer, is_first=not answer.first_events()))
    body = answer.body()
    return _whole(answer, body[: len(body) // 2])


def _bad_frame(answer: ScriptedAnswer) -> Script:
    frame = answer.language.bad_frame() if answer.stream else None
    return _break_off(answer, BROKEN_CHUNK, cut()) if frame is None else _break_off(answer, frame)


def _slow(answer: ScriptedAnswer) -> Script:
    if not answer.stream:
        return Script((wait(5 * SLOW), *_whole(answer).steps))
    return _play(answer, [step for event in answer.events() for step in (event.data, wait(SLOW))])


def _no_done(answer: ScriptedAnswer) -> Script:
    if not answer.stream:
        return _whole(answer)
    return _play(answer, [event.data for event in answer.events() if event.part is not EventPart.CLOSE])


def _twice_done(answer: ScriptedAnswer) -> Script:
    if not answer.stream:
        return _whole(answer)
    events = answer.events()
    again = [*events[:2], *(event for event in events if event.part is EventPart.CLOSE)]
    return _play(answer, [event.data for event in (*events, *again)])


def _bytes(answer: ScriptedAnswer) -> Script:
    """Every byte on its own: events cut anywhere."""
    data = b"".join(step.data for step in plain(answer).steps if isinstance(step, Send))
    return Script(tuple(Send(data[i : i + 1]) for i in range(len(data))))


def _closed(_: ScriptedAnswer) -> Script:
    return raw(cut())


def _hang(_: ScriptedAnswer) -> Script:
    return raw(hang())


def _nonsense(_: ScriptedAnswer) -> Script:
    return raw(b"this is not HTTP\r\n\r\n", cut())


def _answer(**changes: Any) -> Callable[[ScriptedAnswer], Script]:
    """A plain answer of another kind."""
    return lambda answer: plain(replace(answer, **changes))


def _said(**changes: Any) -> Callable[[ScriptedAnswer], Script]:
    """A plain answer with other replies."""
    return lambda answer: plain(replace(answer, replies=tuple(replace(reply, **changes) for reply in answer.replies)))


def _think(answer: ScriptedAnswer) -> Script:
    def marked(reply: Reply) -> Reply:
        return replace(reply, text=f"<think>An echo will do.</think>{reply.text}")

    return plain(replace(answer, replies=tuple(marked(reply) for reply in answer.replies)))


_LONG_TEXT = " ".join(f"word{number}" for number in range(LONG))

FAULTS: Mapping[str, ScriptedFault] = MappingProxyType(
    {
        "scripted-truncated": ScriptedFault("ends in mid-answer, without a finish reason", _truncated, counts=True),
        "scripted-cut": ScriptedFault("closes the connection in mid-answer", _cut, counts=True),
        "scripted-reset": ScriptedFault("resets the connection in mid-answer", _reset, counts=True),
        "scripted-stall": ScriptedFault("falls silent in mid-answer", _stall, counts=True),
        "scripted-hang": ScriptedFault("never answers", _hang),
        "scripted-close": ScriptedFault("closes the connection without an answer", _closed),
        "scripted-nonsense": ScriptedFault("answers with something that is not HTTP", _nonsense),
        "scripted-slow": ScriptedFault("waits 0.2 s between chunks", _slow),
        "scripted-long": ScriptedFault("answers with 2,000 words", _said(text=_LONG_TEXT)),
        "scripted-bytes": ScriptedFault("sends every byte on its own", _bytes),
        "scripted-error-first": ScriptedFault(
            "answers 200 with an error in place of the answer", _error_first, errs=True
        ),
        "scripted-error-late": ScriptedFault("sends an error event in mid-stream", _error_late, counts=True, errs=True),
        "scripted-malformed": ScriptedFault("sends broken JSON in mid-answer", _malformed, counts=True),
        "scripted-bad-frame": ScriptedFault(
            "sends a frame with a wrong CRC, or a wrong chunk size", _bad_frame, counts=True
        ),
        "scripted-no-done": ScriptedFault("finishes, but never says [DONE], `message_stop` or its like", _no_done),
        "scripted-twice-done": ScriptedFault("comes to its end and goes on talking", _twice_done),
        "scripted-no-usage": ScriptedFault("reports no usage", _answer(tells_usage=False)),
        "scripted-no-choices": ScriptedFault("answers with `choices: null` or its like", _answer(shape=Shape.EMPTY)),
        "scripted-azure": ScriptedFault("answers in Azure's shapes, with filter results", _answer(shape=Shape.AZURE)),
        "scripted-cached": ScriptedFault("counts half of the prompt as cached", _answer(cached=True)),
        "scripted-reasoning": ScriptedFault("reasons before it answers", _said(reasoning=REASONING)),
        "scripted-redacted": ScriptedFault(
            "reasons, and shows it encrypted only", _said(reasoning=REASONING, redacted=True)
        ),
        "scripted-think": ScriptedFault("reasons inside <think> marks in its text", _think),
        "scripted-citations": ScriptedFault("names a source", _said(citation=SOURCE)),
        "scripted-refusal": ScriptedFault("refuses", _said(text="", calls=(), refusal=REFUSAL)),
        "scripted-filtered": ScriptedFault("finishes with `content_filter`", _said(finish="content_filter")),
        "scripted-blocked": ScriptedFault("blocks the prompt", _answer(shape=Shape.BLOCKED)),
    }
)
