"""The conversation: message and part shapes per role, and which tool message answers which call.

Part types of vendors (`video_url`, `thinking`, …) travel, as do unknown keys; `strict` refuses both. Content may be
absent or null on any role: live OpenAI accepts that, though its schema does not say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from antiphon.chat.checks import (
    Check,
    RequestFault,
    array,
    either,
    empty,
    mapping,
    missing,
    record,
    string,
    tagged,
    text,
    word,
    wrong_type,
    wrong_value,
)
from antiphon.chat.moderated_text import TEXTS, THOUGHTS
from antiphon.document import Document

# OpenAI's own order in the "Supported values" sentence.
ROLES: Final = ("system", "assistant", "user", "function", "tool", "developer")

# Roles whose message is complete with a role and a string.
PLAIN_ROLES: Final = frozenset({"system", "assistant", "user", "developer"})

UNANSWERED: Final = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
)
ORPHAN: Final = (
    # "preceeding" is OpenAI's spelling; clients match on the sentence.
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)

# Parts

PARTS: Final[Mapping[str, Check]] = {
    "text": record({"prompt_cache_breakpoint": mapping, "text": string, "type": string}, "text"),
    "image_url": record(
        {
            "image_url": record({"detail": word("auto", "low", "high"), "url": string}, "url"),
            "prompt_cache_breakpoint": mapping,
            "type": string,
        },
        "image_url",
    ),
    "input_audio": record(
        {
            "input_audio": record(
                {"data": string, "format": word("wav", "mp3")},
                "data",
                "format",
            ),
            "prompt_cache_breakpoint": mapping,
            "type": string,
        },
        "input_audio",
    ),
    "file": record(
        {
            "file": record({"file_data": string, "file_id": string, "filename": string}),
            "prompt_cache_breakpoint": mapping,
            "type": string,
        },
        "file",
    ),
    "refusal": record({"refusal": string, "type": string}, "refusal"),
}


def content(*kinds: str) -> Check:
    part = tagged({kind: PARTS[kind] for kind in kinds})
    parts = array(part, "an array of objects", least=1)
    return either(string, parts, "one of a string or array of objects")


TEXT_CONTENT: Final = content("text")
USER_CONTENT: Final = content("text", "image_url", "input_audio", "file")
ASSISTANT_CONTENT: Final = content("text", "refusal")

# Calls in the history

CALL: Final = tagged(
    {
        "function": record(
            {
                "function": record({"arguments": string, "name": text(least=1)}, "name", "arguments"),
                "id": string,
                "type": string,
            },
            "id",
            "function",
        ),
        "custom": record(
            {"custom": record({"input": string, "name": text(least=1)}, "name", "input"), "id": string, "type": string},
            "id",
            "custom",
        ),
    },
)

# Messages

# What is read in a message of any role.
OTHERS: Final = ("audio", "function_call", "name", "tool_call_id", "tool_calls", *TEXTS, *THOUGHTS)

MESSAGES: Final[Mapping[str, Check]] = {
    "system": record({"content": TEXT_CONTENT, "name": string, "role": string}, also=OTHERS),
    "developer": record({"content": TEXT_CONTENT, "name": string, "role": string}, also=OTHERS),
    "user": record({"content": USER_CONTENT, "name": string, "role": string}, also=OTHERS),
    "assistant": record(
        {
            "annotations": array(mapping, "an array of objects"),  # clients send our own answers back as they came
            "audio": record({"id": string}, shape_travels=True),
            "content": ASSISTANT_CONTENT,
            "function_call": record({"arguments": string, "name": string}, "name", "arguments"),
            "name": string,
            "refusal": string,
            "role": string,
            "tool_calls": array(CALL, "an array of objects"),
        },
        also=OTHERS,
    ),
    "tool": record(
        {"content": TEXT_CONTENT, "name": string, "role": string, "tool_call_id": string},
        "tool_call_id",
        also=OTHERS,
    ),
    "function": record({"content": TEXT_CONTENT, "name": string, "role": string}, "name", also=OTHERS),
}


def check_present(document: Document) -> None:
    """That there are messages at all: asked before any other field is looked at."""
    if "messages" not in document:
        raise missing("messages")
    messages = document["messages"]
    if type(messages) is not list:
        fault = wrong_type("an array of objects", messages)
    elif not messages:
        fault = empty("an array")
    else:
        return
    fault.under("messages")
    raise fault


def check_messages(messages: list[Any], strict: bool) -> None:
    index = -1
    called = False
    try:
        for message in messages:
            index += 1
            if type(message) is not dict:
                raise wrong_type("an object", message)
            role = message.get("role")
            if len(message) == 2 and type(message.get("content")) is str and type(role) is str and role in PLAIN_ROLES:
                continue  # nearly every message of nearly every request
            called = check_message(message, role, strict) or called
    except RequestFault as fault:
        fault.under(f"[{index}]")
        raise
    if called:
        check_answers(messages)


def check_message(message: Document, role: Any, strict: bool) -> bool:
    """True where calls or their answers stand in this message."""
    if role is None and "role" not in message:
        raise missing(".role")
    shape = MESSAGES.get(role) if type(role) is str else None
    if shape is None:
        fault = wrong_value(role, ROLES) if type(role) is str else wrong_type("a string", role)
        fault.under(".role")
        raise fault
    if message.get("tool_calls") == []:
        # Some clients echo an empty list, which OpenAI, DeepSeek and Qwen refuse [empty-calls].
        del message["tool_calls"]
    shape(message, strict)
    return role == "tool" or (role == "assistant" and bool(message.get("tool_calls")))


def check_answers(messages: list[Document]) -> None:
    """Each call is answered before anything else is said, and nothing is answered that was not called."""
    asked: set[Any] | None = None
    waiting: set[Any] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if asked is None:
                raise RequestFault(ORPHAN, None, None, f"[{index}].role")
            if message["tool_call_id"] not in asked:
                raise stray(message["tool_call_id"], index)
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            raise RequestFault(UNANSWERED, None, None)
        calls = message.get("tool_calls") if message["role"] == "assistant" else None
        asked = {call["id"] for call in calls if type(call.get("id")) is str} if calls else None
        waiting = set(asked or ())
    if waiting:
        raise RequestFault(UNANSWERED, None, None)


def stray(call_id: str, index: int) -> RequestFault:
    head = f"Invalid parameter: 'tool_call_id' of '{call_id[:64]}' not found in 'tool_calls' of previous message."
    return RequestFault(head, None, None, f"[{index}].tool_call_id")


def texts(messages: list[Document]) -> Iterator[str]:
    """All text of a checked conversation's contents."""
    for message in messages:
        said = message.get("content")
        if type(said) is str:
            yield said
        elif type(said) is list:
            yield from (part["text"] for part in said if type(part.get("text")) is str)
