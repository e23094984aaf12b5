"""Requests that need no second look: those that `request.parse` would take as they are, of OpenAI's own fields alone.

Read here with types, in C (`plain_fields`), instead of decoding, checking, rewriting and encoding a document. What was
read is what is sent: it is written again from the same types. So of a key that stands twice the upstream gets the one
that was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from antiphon.chat.checks import RequestFault
from antiphon.chat.messages import check_answers
from antiphon.chat.moderated_text import file_words
from antiphon.chat.plain_fields import (
    FIELDS,
    AnyMessage,
    AssistantMessage,
    Fields,
    FilePart,
    FunctionTool,
    NamedChoice,
    ObjectFormat,
    RefusalPart,
    SchemaFormat,
    SimpleFields,
    SimpleMessage,
    StreamOptions,
    TextFormat,
    ToolMessage,
)
from antiphon.chat.spelled import spelled
from antiphon.document import Document

_encode: Final = msgspec.json.Encoder().encode
_read_any: Final = msgspec.json.Decoder(Fields).decode
_read_simple: Final = msgspec.json.Decoder(SimpleFields).decode
_is_name: Final = re.compile("[a-zA-Z0-9_-]+").fullmatch
_NO_OPTIONS: Final = StreamOptions()
_USAGE_ONLY: Final = StreamOptions(include_usage=True)
_USAGE_AND_QUIET: Final = StreamOptions(include_usage=True, include_obfuscation=False)


class PlainRequest(Struct, frozen=True, gc=False):
    """Answers what `request.ChatRequest` answers, but for the document."""

    fields: Fields | SimpleFields
    messages: Sequence[AnyMessage | SimpleMessage]
    model: str  # that the client named: `fields` may have the target's by now
    stream: bool
    stream_options: StreamOptions | UnsetType | None  # likewise
    logprobs: bool
    named_tool: bool

    n = 1
    legacy_functions = False

    @property
    def include_usage(self) -> bool:
        return isinstance(self.stream_options, StreamOptions) and self.stream_options.include_usage is True

    @property
    def include_obfuscation(self) -> bool:
        return isinstance(self.stream_options, StreamOptions) and self.stream_options.include_obfuscation is True

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.function.name for tool in self.fields.tools or ())

    @property
    def present(self) -> frozenset[str]:
        """The fields that were sent, nulls included."""
        return frozenset(name for name in FIELDS if getattr(self.fields, name) is not UNSET)


def read_plain(body: bytes) -> PlainRequest | None:
    """None: not plain. It may still be a good request; that is for `request` to say."""
    fields: Fields | SimpleFields
    try:
        fields = _read_any(body) if b'"tools"' in body else _read_simple(body)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        try:
            fields = _read_any(body)
        except (ValueError, RecursionError):
            return None
    stream, options = fields.stream is True, fields.stream_options
    if options and not stream:
        return None
    if isinstance(fields, SimpleFields):
        return PlainRequest(fields, fields.messages, fields.model, stream, options, False, False)
    logprobs = fields.logprobs is True
    if type(fields.top_logprobs) is int and not logprobs:
        return None
    if (fields.tools and not _are_tools(fields.tools)) or not _are_answered(fields.messages):
        return None
    if fields.response_format and not _is_format(fields.response_format, fields.messages):
        return None
    is_named = type(fields.tool_choice) is NamedChoice
    return PlainRequest(fields, fields.messages, fields.model, stream, options, logprobs, is_named)


def write_plain(asked: PlainRequest, model: str, *, usage: bool, quiet: bool) -> bytes:
    """The body as an upstream gets it. `usage`: that of a stream is asked for. `quiet`: … and its obfuscation is not,
    unless the client asked for it."""
    fields = asked.fields
    fields.model = model
    if asked.stream:
        fields.stream_options = _stream_options(asked.stream_options, quiet) if usage else asked.stream_options
    return _encode(fields)


def _stream_options(own: StreamOptions | UnsetType | None, quiet: bool) -> StreamOptions:
    obfuscation = (own or _NO_OPTIONS).include_obfuscation
    if obfuscation is UNSET:
        return _USAGE_AND_QUIET if quiet else _USAGE_ONLY
    return StreamOptions(True, False if quiet and obfuscation is not True else obfuscation)


# What the types cannot say


def _are_answered(messages: list[AnyMessage]) -> bool:
    """Usually each call is answered in its turn; anything else is for the rule to say."""
    waiting: list[str] = []
    for message in messages:
        if type(message) is ToolMessage:
            if not waiting or waiting.pop() != message.tool_call_id:
                break
        elif waiting:
            break
        elif type(message) is AssistantMessage and message.tool_calls:
            waiting = [call.id for call in message.tool_calls]
            waiting.reverse()
    else:
        if not waiting:
            return True
    try:
        check_answers([_outline(message) for message in messages])
    except RequestFault:
        return False
    return True


def _outline(message: AnyMessage) -> Document:
    """As much of a message as the rule reads."""
    if type(message) is ToolMessage:
        return {"role": "tool", "tool_call_id": message.tool_call_id}
    if type(message) is AssistantMessage and message.tool_calls:
        return {"role": "assistant", "tool_calls": [{"id": call.id} for call in message.tool_calls]}
    return {"role": message.role}


def _are_tools(tools: list[FunctionTool]) -> bool:
    names = ""
    for tool in tools:
        function = tool.function
        names += function.name
        parameters = function.parameters
        if parameters and (kind := parameters.get("type")) != "object" and type(kind) is str:
            return False
    return _is_name(names) is not None


def _is_format(wanted: TextFormat | ObjectFormat | SchemaFormat, messages: list[AnyMessage]) -> bool:
    if type(wanted) is SchemaFormat:
        return _is_name(wanted.json_schema.name) is not None
    if type(wanted) is ObjectFormat:
        return any(type(message.content) is str and "json" in message.content for message in messages)
    return True


# What is said in it


def judged_texts(asked: PlainRequest) -> tuple[list[str], list[str], list[str]]:
    """(the words of each message, as `spoken.message_words` reads them; its role; what calls spell, of all messages)"""
    fields = asked.fields
    roles = [message.role for message in asked.messages]
    if isinstance(fields, SimpleFields):
        return [message.content for message in fields.messages], roles, []
    texts: list[str] = []
    calls: list[str] = []
    for message in fields.messages:
        content: Any = message.content
        if type(content) is not str:
            content = "\n".join(_part_words(content)) if content else ""
        if message.name or (type(message) is AssistantMessage and (message.tool_calls or message.refusal)):
            said = _other_words(message)
            if type(message) is AssistantMessage and message.tool_calls:
                calls.append(spelled(call.function.arguments or "" for call in message.tool_calls))
            content = "\n".join([content, *said] if content else said)
        texts.append(content)
    return texts, roles, calls


def _other_words(message: AnyMessage) -> list[str]:
    said: list[str] = []
    if type(message) is AssistantMessage:
        said += [message.refusal] if message.refusal else []
        said += [call.function.arguments for call in message.tool_calls or () if call.function.arguments]
        said += [call.function.name for call in message.tool_calls or ()]
    return [*said, message.name] if message.name else said


def _part_words(content: list[Any]) -> list[str]:
    return [words for part in content for words in _words_of_part(part) if words]


def _words_of_part(part: Any) -> Iterable[str]:
    if type(part) is RefusalPart:
        return (part.refusal,)
    if type(part) is FilePart:
        return file_words(part.file.filename, part.file.file_data)
    return (getattr(part, "text", ""),)
