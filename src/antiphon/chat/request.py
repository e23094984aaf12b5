"""What was asked: a chat request, read from its JSON document and refused in OpenAI's words and order.

Order (spec §2): the body is JSON; `model`; there are messages; unknown top-level keys (strict only, as they stand in
the document); then each field by name. A null optional field counts as omitted. The document stays as it was sent,
nulls and unknown keys included; the one edit is spec D9 (an empty `tool_calls` in the history is removed).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from antiphon.chat.checks import Check, Fault, refuse_unknown, wrong_type
from antiphon.chat.fields import FIELDS, NEEDS, Need
from antiphon.chat.messages import check_present
from antiphon.chat.stamp import Document
from antiphon.chat.tools import names_one_tool
from antiphon.errors import RequestError

NOT_JSON: Final = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library "
    "correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
)
NO_MODEL: Final = "you must provide a model parameter"

KNOWN: Final = {**FIELDS, "model": FIELDS["user"]}
DECODER: Final = msgspec.json.Decoder()


class ChatRequest(msgspec.Struct, frozen=True):
    """A frozen value. As a frozen dataclass it took 0.95 us to make, a third of the whole parse; as a Struct 0.2 us."""

    document: Document  # as sent; unknown keys stay
    model: str
    stream: bool
    n: int  # 1 when absent or null
    include_usage: bool
    include_obfuscation: bool
    logprobs: bool  # asked for
    named_tool: bool  # tool_choice (or function_call) names one tool
    legacy_functions: bool  # `functions` used, not `tools`


def decode(body: bytes) -> Document:
    """Of a key that is given twice, the last one counts. NaN, lone surrogates and bottomless nesting are not JSON."""
    try:
        document = DECODER.decode(body)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        raise RequestError(NOT_JSON) from None
    if type(document) is not dict:
        raise RequestError(NOT_JSON)
    return document


def parse(document: Document, *, strict: bool) -> ChatRequest:
    """Raises RequestError for the first fault in OpenAI's order."""
    model = document.get("model")
    if type(model) is not str or not model:
        raise refuse_model(model)
    try:
        check_present(document)
        if strict:
            refuse_unknown(document, KNOWN)
        check_fields(document, strict)
    except Fault as fault:
        raise refusal(fault) from None
    return read(document, model)


def refuse_model(model: object) -> RequestError:
    if model is None or model == "":
        return RequestError(NO_MODEL)
    fault = wrong_type("a string", model)
    fault.under("model")
    return refusal(fault)


def refusal(fault: Fault) -> RequestError:
    return RequestError(fault.message, param=fault.path, code=fault.code)


def check_fields(
    document: Document, strict: bool, fields: Mapping[str, Check] = FIELDS, needs: Mapping[str, Need] = NEEDS
) -> None:
    for name in sorted(document):
        value = document[name]
        if value is None or name not in fields:
            continue
        try:
            fields[name](value, strict)
        except Fault as fault:
            fault.under(name)
            raise
        if name in needs:
            needs[name](document)


def read(document: Document, model: str) -> ChatRequest:
    """A checked document's answers to what the rest of the gateway asks."""
    get = document.get
    options = get("stream_options")
    return ChatRequest(
        document,
        model,
        get("stream") is True,
        get("n") or 1,
        options is not None and options.get("include_usage") is True,
        options is not None and options.get("include_obfuscation") is True,
        get("logprobs") is True,
        names_one_tool(document),
        get("functions") is not None and not get("tools"),
    )
