"""Every field of a chat request other than `model`: what it may hold, and what it asks of other fields.

Types always hold, and so do the limits that all vendors share or the gateway itself acts on. Words, limits and rules
that differ between vendors are the upstream's to judge: they travel, and only `strict` holds to OpenAI's.
Rows stand in alphabetical order, which is the order faults are named in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from antiphon.chat.checks import (
    Check,
    RequestFault,
    array,
    boolean,
    decimal,
    echo,
    either,
    integer,
    mapping,
    missing,
    out_of_range,
    record,
    string,
    tagged,
    text,
    too_long,
    word,
    wrong_type,
)
from antiphon.chat.messages import PARTS, check_messages, texts
from antiphon.chat.tools import FUNCTION_CALL, FUNCTIONS, NAME, TOOL_CHOICE, TOOLS
from antiphon.document import Document

Need = Callable[[Document, bool], None]

INT64: Final = 2**63 - 1
MOST_PAIRS: Final = 16
MOST_KEY: Final = 64
MOST_VALUE: Final = 512
BIAS: Final = integer(-100, 100)


def check_bias(value: Any, strict: bool) -> None:
    if type(value) is not dict:
        raise wrong_type("an object", value)
    for token, bias in value.items():
        if strict and not (
            token.isascii() and token.isdigit()
        ):  # llama.cpp takes words for keys, OpenAI token ids only
            head = f"Invalid key in 'logit_bias': {echo(token)}. You should only be submitting non-negative integers."
            raise RequestFault(head, None, None)
        try:
            BIAS(bias, strict)
        except RequestFault as fault:
            fault.under("." + echo(token))
            raise


def check_metadata(value: Any, strict: bool, size: Callable[[str], int] = len) -> None:
    """`size`: of a text, where it is a light one."""
    if type(value) is not dict:
        raise wrong_type("an object", value)
    if len(value) > MOST_PAIRS:
        tail = f": too many properties. Expected an object with at most {MOST_PAIRS} properties, "
        tail += f"but got an object with {len(value)} properties instead."
        raise RequestFault("Invalid ", tail, "object_above_max_properties")
    for key, item in value.items():
        if len(key) > MOST_KEY:
            tail = f": property name too long. Expected a property name with maximum length {MOST_KEY}, "
            tail += f"but got a property name with length {len(key)} instead."
            raise RequestFault("Invalid ", tail, "property_name_above_max_length")
        if type(item) is str and size(item) <= MOST_VALUE:
            continue
        fault = too_long("a string", MOST_VALUE, size(item)) if type(item) is str else wrong_type("a string", item)
        fault.under("." + key)
        raise fault


def check_top_logprobs(value: Any, strict: bool) -> None:
    if type(value) is not int:
        raise wrong_type("an integer", value)
    if value < 0:
        raise out_of_range("integer", value, "below", 0)
    if value > 20:  # OpenAI's own sentence for this field, which has no code
        raise RequestFault("Invalid value for ", ": must be less than or equal to 20.", None)


RESPONSE_FORMAT: Final = tagged(
    {
        "text": record({"type": string}),
        "json_object": record({"type": string}),
        "json_schema": record(
            {
                "json_schema": record(
                    {"description": string, "name": NAME, "schema": mapping, "strict": boolean},
                    "name",
                ),
                "type": string,
            },
            "json_schema",
        ),
    },
)

MODERATION_MODE: Final = record({"mode": word("score", "block", travels=False)})

FIELDS: Final[Mapping[str, Check]] = {
    "audio": record(
        {
            "format": word("wav", "aac", "mp3", "flac", "opus", "pcm16"),
            "voice": either(string, record({"id": string}, "id"), "one of a string or object"),
        },
        "format",
        "voice",
    ),
    "frequency_penalty": decimal(-2, 2),
    "function_call": FUNCTION_CALL,
    "functions": FUNCTIONS,
    "logit_bias": check_bias,
    "logprobs": boolean,
    "max_completion_tokens": integer(1, INT64),
    "max_tokens": integer(0, INT64),  # 0 is a value [upstream-knows]: some upstreams read it as "score the prompt only"
    "messages": check_messages,
    "metadata": check_metadata,
    "modalities": array(word("text", "audio"), "an array of strings"),
    "moderation": record(
        {"model": string, "policy": record({"input": MODERATION_MODE, "output": MODERATION_MODE})},
    ),
    "n": integer(1, 128),
    "parallel_tool_calls": boolean,
    "prediction": record(
        {
            "content": either(
                string,
                array(tagged({"text": PARTS["text"]}), "an array of objects", least=1),
                "one of a string or array of objects",
            ),
            "type": word("content"),
        },
        "type",
        "content",
    ),
    "presence_penalty": decimal(-2, 2),
    "prompt_cache_key": string,
    "prompt_cache_options": record(
        {"mode": word("implicit", "explicit"), "ttl": word("30m")},
    ),
    "prompt_cache_retention": word("in_memory", "24h"),
    "reasoning_effort": word("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "response_format": RESPONSE_FORMAT,
    "safety_identifier": text(most=64, travels=True),
    "seed": integer(-INT64 - 1, INT64),
    "service_tier": word("auto", "default", "flex", "scale", "priority", "fast"),
    "stop": either(string, array(string, "an array", most=4), "one of a string or array of strings"),
    "store": boolean,
    "stream": boolean,
    "stream_options": record({"include_obfuscation": boolean, "include_usage": boolean}),
    "temperature": decimal(0, 2),
    "tool_choice": TOOL_CHOICE,
    "tools": TOOLS,
    "top_logprobs": check_top_logprobs,
    "top_p": decimal(0, 1),
    "user": string,
    "verbosity": word("low", "medium", "high"),
    "web_search_options": record(
        {
            "search_context_size": word("low", "medium", "high"),
            "user_location": record(  # Perplexity has its own shape here
                {
                    "approximate": record({"city": string, "country": string, "region": string, "timezone": string}),
                    "type": word("approximate"),
                },
                "type",
                "approximate",
                shape_travels=True,
            ),
        },
    ),
}


# What a field asks of the others: run right after the field's own check, on fields that came before it in the alphabet.


def needs_audio(document: Document, strict: bool) -> None:
    """Some vendors have a voice of their own."""
    if strict and "audio" in document["modalities"] and document.get("audio") is None:
        raise missing("audio")


def needs_json(document: Document, strict: bool) -> None:
    """A rule of OpenAI's and Qwen's; others take `json_object` without the word."""
    if not strict or document["response_format"]["type"] != "json_object":
        return
    if not any("json" in said.lower() for said in texts(document["messages"])):
        head = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise RequestFault(head, None, None, "messages")


def needs_stream(document: Document, strict: bool) -> None:
    if document.get("stream") is not True:
        head = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise RequestFault(head, None, None, "stream_options")


def needs_logprobs(document: Document, strict: bool) -> None:
    if document.get("logprobs") is not True:
        head = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
        raise RequestFault(head, None, None, "top_logprobs")


NEEDS: Final[Mapping[str, Need]] = {
    "modalities": needs_audio,
    "response_format": needs_json,
    "stream_options": needs_stream,
    "top_logprobs": needs_logprobs,
}
