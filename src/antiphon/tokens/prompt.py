"""What of a request is counted as its prompt.

OpenAI's published formula for chats ("How to count tokens with tiktoken", OpenAI Cookbook): three tokens per message,
the tokens of its role and content, one more for a name, and three that open the answer. What the formula leaves open
is counted by a rule: tools, calls and schemas as their compact JSON; pictures by OpenAI's published prices for a
picture of 1024 pixels square, as its size is not known here. Where no chat is asked for, the text itself is all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from antiphon.document import Document

PER_MESSAGE = 3
PER_NAME = 1
PRIMING = 3

LOW_PICTURE = 85
PICTURE = 765
AUDIO_BYTES = 4800  # of a token: 100 ms of 24 kHz PCM; compressed audio is counted too low
FILE_BYTES = 40  # of a token: a PDF of plain text, very roughly


@dataclass(slots=True)
class PromptText:
    """Tokens that are known without a tokenizer, and the texts that need one."""

    fixed: int = 0
    texts: list[str] = field(default_factory=list)


def read_prompt(document: Document, size: Callable[[str], int] = len) -> PromptText:
    """Reads any document: what is not shaped like a request counts as nothing. `size`: of a text, where the document is
    a light one."""
    if "messages" not in document and (text := document.get("prompt", document.get("input"))) is not None:
        return _read_texts(text, PromptText())
    prompt = PromptText(fixed=PRIMING)
    messages = document.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            _read_message(message, prompt, size)
    for key in ("tools", "functions", "response_format"):
        if document.get(key):
            prompt.texts.append(_compact(document[key]))
    return prompt


def _read_texts(value: object, prompt: PromptText) -> PromptText:
    """What is completed or embedded: texts, or tokens, which are counted already."""
    for item in value if isinstance(value, list) else (value,):
        if isinstance(item, list):
            prompt.fixed += len(item)
        elif isinstance(item, int):
            prompt.fixed += 1
        else:
            _read_text(item, prompt)
    return prompt


def _read_message(message: Document, prompt: PromptText, size: Callable[[str], int]) -> None:
    prompt.fixed += PER_MESSAGE
    for key in ("role", "refusal", "reasoning_content", "tool_call_id"):
        _read_text(message.get(key), prompt)
    if isinstance(message.get("name"), str):
        prompt.fixed += PER_NAME
        prompt.texts.append(message["name"])
    for key in ("tool_calls", "function_call"):
        if message.get(key):
            prompt.texts.append(_compact(message[key]))
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            _read_part(part, prompt, size)
    else:
        _read_text(content, prompt)


def _read_part(part: object, prompt: PromptText, size: Callable[[str], int]) -> None:
    if not isinstance(part, dict):
        _read_text(part, prompt)
        return
    for key in ("text", "refusal", "thinking"):
        _read_text(part.get(key), prompt)
    if (picture := part.get("image_url")) is not None:
        low = isinstance(picture, dict) and picture.get("detail") == "low"
        prompt.fixed += LOW_PICTURE if low else PICTURE
    prompt.fixed += _data_length(part.get("input_audio"), "data", size) // AUDIO_BYTES
    prompt.fixed += _data_length(part.get("file"), "file_data", size) // FILE_BYTES


def _data_length(value: object, key: str, size: Callable[[str], int]) -> int:
    """The number of bytes that a base64 text stands for."""
    data = value.get(key) if isinstance(value, dict) else None
    return size(data) * 3 // 4 if isinstance(data, str) else 0


def _read_text(value: object, prompt: PromptText) -> None:
    if isinstance(value, str) and value:
        prompt.texts.append(value)


def _compact(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return ""
