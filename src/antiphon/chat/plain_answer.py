"""Whole answers that are already exactly what we would write: most of OpenAI's own. They are passed on as they came.

Read here with types, in C, and not as a document: 1 us instead of more than 10 for decoding, conforming, writing
and encoding it again. The types are narrow on purpose: whatever `completion` or the openai dialect's writer would
touch, however slightly, does not fit them and goes the whole way. Unknown keys travel: they are part of the bytes.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

# A key of this type must not be there: no JSON value is equal to its default but this very string.
Absent = Literal["\x00absent"]
ABSENT: Final = "\x00absent"
Tokens = Annotated[int, Meta(ge=0)]


class PromptDetails(Struct, gc=False):
    cached_tokens: Tokens
    audio_tokens: Tokens


class CompletionDetails(Struct, gc=False):
    reasoning_tokens: Tokens
    audio_tokens: Tokens
    accepted_prediction_tokens: Tokens
    rejected_prediction_tokens: Tokens


class Usage(Struct, gc=False):
    prompt_tokens: Tokens
    completion_tokens: Tokens
    total_tokens: Tokens
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class Message(Struct, gc=False):
    role: Literal["assistant"]
    content: Annotated[str, Meta(min_length=1)]
    refusal: None
    annotations: list[Any]
    tool_calls: Absent = ABSENT
    function_call: Absent = ABSENT
    audio: Absent = ABSENT
    reasoning: Absent = ABSENT
    reasoning_content: Absent = ABSENT
    finish_reason: Absent = ABSENT


class Choice(Struct, gc=False):
    index: Literal[0]
    message: Message
    finish_reason: Literal["stop", "length", "content_filter"]
    logprobs: None
    error: Absent = ABSENT
    native_finish_reason: Absent = ABSENT


class PlainAnswer(Struct, gc=False):
    id: Annotated[str, Meta(min_length=1)]
    object: Literal["chat.completion"]
    created: Annotated[int, Meta(ge=1, le=100_000_000_000)]
    model: Annotated[str, Meta(min_length=1)]
    choices: Annotated[list[Choice], Meta(min_length=1, max_length=1)]
    usage: Usage
    system_fingerprint: str = ""
    error: Absent = ABSENT
    type: Absent = ABSENT
    obfuscation: Absent = ABSENT


_decoder: Final = msgspec.json.Decoder(PlainAnswer)


def read_plain(body: bytes) -> PlainAnswer | None:
    """None: not plain. It may still be a good answer, or no JSON at all; that is for others to say."""
    try:
        answer = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    usage = answer.usage
    if usage.total_tokens != usage.prompt_tokens + usage.completion_tokens:
        return None
    if usage.completion_tokens_details.reasoning_tokens > usage.completion_tokens:
        return None
    return answer if _is_utf8(body) else None


def _is_utf8(body: bytes) -> bool:
    """msgspec checks the strings it reads, not those it skips."""
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
