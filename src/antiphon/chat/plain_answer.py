"""Whole answers that are already exactly what we would write: most of OpenAI's own. They are passed on as they came.

Read here with types, in C, and not as a document: 1 us instead of more than 10 for decoding, conforming, writing
and encoding it again. The types are narrow on purpose: whatever `completion` or the openai dialect's writer would
touch, however slightly, does not fit them and goes the whole way. Unknown keys travel: they are part of the bytes.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from antiphon.chat.spelled import spelled

# A key of this type must not be there: no JSON value is equal to its default but this very string.
Absent = Literal["\x00absent"]
ABSENT: Final = "\x00absent"
Tokens = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]


class PromptDetails(Struct, gc=False, omit_defaults=True):
    cached_tokens: Tokens
    audio_tokens: Tokens


class CompletionDetails(Struct, gc=False, omit_defaults=True):
    reasoning_tokens: Tokens
    audio_tokens: Tokens
    accepted_prediction_tokens: Tokens
    rejected_prediction_tokens: Tokens


class AnswerUsage(Struct, gc=False, omit_defaults=True):
    prompt_tokens: Tokens
    completion_tokens: Tokens
    total_tokens: Tokens
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class AnswerFunction(Struct, gc=False, omit_defaults=True):
    name: Text
    arguments: str
    input: Absent = ABSENT


class AnswerCall(Struct, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """What else a call has is judged as well: then it takes the whole way."""

    id: Text
    type: Literal["function"]
    function: AnswerFunction
    index: int | UnsetType = UNSET


class AnswerMessage(Struct, gc=False, omit_defaults=True):
    role: Literal["assistant"]
    content: Text | None
    refusal: Text | None
    annotations: list[Any]
    tool_calls: Annotated[list[AnswerCall], Meta(min_length=1)] | Absent = ABSENT
    function_call: Absent = ABSENT
    audio: Absent = ABSENT
    reasoning: Absent = ABSENT
    reasoning_content: Absent = ABSENT
    reasoning_details: Absent = ABSENT
    thinking: Absent = ABSENT
    thoughts: Absent = ABSENT
    content_parts: Absent = ABSENT
    finish_reason: Absent = ABSENT


class AnswerChoice(Struct, gc=False, omit_defaults=True):
    index: Literal[0]
    message: AnswerMessage
    finish_reason: Literal["stop", "length", "content_filter", "tool_calls"]
    logprobs: None
    error: Absent = ABSENT
    native_finish_reason: Absent = ABSENT


class PlainAnswer(Struct, gc=False, omit_defaults=True):
    id: Text
    object: Literal["chat.completion"]
    created: Annotated[int, Meta(ge=1, le=100_000_000_000)]
    model: Text
    choices: Annotated[list[AnswerChoice], Meta(min_length=1, max_length=1)]
    usage: AnswerUsage
    system_fingerprint: str = ""
    service_tier: str | UnsetType | None = UNSET
    error: Absent = ABSENT
    type: Absent = ABSENT
    obfuscation: Absent = ABSENT


class AnswerOutline(Struct, gc=False):
    choices: Raw


_read: Final = msgspec.json.Decoder(PlainAnswer).decode
_read_outline: Final = msgspec.json.Decoder(AnswerOutline).decode
_read_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_encode: Final = msgspec.json.Encoder().encode

_format: Final = msgspec.json.format
_is_key: Final = re.compile(rb"\s*:").match
_OWN: Final = b"_filter_results"  # an upstream's own findings: ours are to be merged with them
_needless: Final = re.compile(rb"\\u00[2-7]").search  # an escape of a character that needs none: a key may hide in it


def read_plain(body: bytes, *, named_tool: bool = False) -> PlainAnswer | None:
    """None: not plain. It may still be a good answer, or no JSON at all; that is for others to say.

    `named_tool`: the request said which tool to call; then OpenAI's word for the end of a call is `stop`.
    """
    try:
        answer = _read(body)
        [choice] = answer.choices
        is_text = type(choice.message.content) is str and type(choice.message.tool_calls) is str
        if not (is_text and choice.finish_reason == "stop") and not _is_finished(choice, named_tool):
            return None
    except (ValueError, RecursionError):
        return None
    usage = answer.usage
    if usage.total_tokens != usage.prompt_tokens + usage.completion_tokens:
        return None
    if usage.completion_tokens_details.reasoning_tokens > usage.completion_tokens:
        return None
    return answer if body.isascii() or _is_utf8(body) else None


def _is_finished(choice: AnswerChoice, named_tool: bool) -> bool:
    """As its calls, or the want of any, demand: see `finish.settle_finish`. Raises ValueError where one is broken."""
    message, finish = choice.message, choice.finish_reason
    calls = message.tool_calls
    if type(calls) is not list:
        return finish != "tool_calls" and (message.content is not None or message.refusal is not None)
    if finish != "tool_calls" and not (finish == "stop" and named_tool):
        return False
    for call in calls:
        _read_object(call.function.arguments)
    return len(calls) == 1 or len({call.id for call in calls}) == len(calls)


def _is_utf8(body: bytes) -> bool:
    """msgspec checks the strings it reads, not those it skips."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def judged_texts(answer: PlainAnswer) -> list[str]:
    """All that it says: as `spoken.answer_texts` reads it."""
    message = answer.choices[0].message
    said = [words for words in (message.content, message.refusal) if words]
    if type(message.tool_calls) is list:
        written = [call.function.arguments for call in message.tool_calls if call.function.arguments]
        together = spelled(written)
        said += [*written, together] if together else written
    return said


def says_once(body: bytes, answer: PlainAnswer) -> bool:
    """Can a client read nothing in the body but what was read here, and so was judged?"""
    return _is_all(body, answer) or _has_each_key_once(body, answer)


def _is_all(body: bytes, answer: PlainAnswer) -> bool:
    """Was the whole body read? Then, written again without white space, it has the same size: nobody can say the same
    in fewer bytes."""
    size = len(_encode(answer))
    return not answer.choices[0].message.annotations and (len(body) == size or len(_format(body, indent=-1)) == size)


def _has_each_key_once(body: bytes, answer: PlainAnswer) -> bool:
    calls = answer.choices[0].message.tool_calls
    count = len(calls) if type(calls) is list else 0
    return (
        body.count(b'"choices"') == 1
        and body.count(b'"message"') == 1
        and body.count(b'"content"') == 1
        and body.count(b'"refusal"') == 1
        and body.count(b'"tool_calls"') <= 1 + (count > 0)  # the key, and the finish reason
        and body.count(b'"arguments"') == count
        and (b"\\u00" not in body or _needless(body) is None)
    )


def annotated(
    body: bytes, answer: PlainAnswer, prompt_results: list[Any], choice_results: dict[str, Any]
) -> bytes | None:
    """The body with our findings: the prompt's before the usage, the answer's as the last of its choice.

    None: it is not plain where they stand, or the upstream has findings of its own.
    """
    known = _is_all(body, answer)
    if not known and (_OWN in body or body.count(b'"usage"') != 1 or not _has_each_key_once(body, answer)):
        return None
    choices = bytes(_read_outline(body).choices)
    start = body.find(b"[", body.find(b'"choices"'))
    last = start + choices.rindex(b"}")
    usage = _find_usage(body, start, last)
    if usage < 0 or not body.startswith(choices, start):
        return None
    prompt = b'"prompt_filter_results":%b,' % _encode(prompt_results)
    choice = b',"content_filter_results":%b' % _encode(choice_results)
    if usage < start:
        return b"".join((body[:usage], prompt, body[usage:last], choice, body[last:]))
    return b"".join((body[:last], choice, body[last:usage], prompt, body[usage:]))


def _find_usage(body: bytes, start: int, end: int) -> int:
    """Where the key stands, outside the choices; -1: there is a string of that name in its way."""
    at = body.find(b'"usage"', end)
    if at < 0:
        at = body.find(b'"usage"', 0, start)
    return at if _is_key(body, at + 7) else -1
