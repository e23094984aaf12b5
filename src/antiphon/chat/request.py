"""What was asked: a chat request, read from its JSON document and refused in OpenAI's words and order.

Order [fault-order]: the body is JSON; `model`; there are messages; unknown top-level keys (strict only, as they
stand in the document); then each field by name. A null optional field counts as omitted. The document stays as it was
sent, nulls and unknown keys included; the one edit is [empty-calls].
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from antiphon.chat.bounds import NOT_JSON, JsonBounds, check_depth, too_deep
from antiphon.chat.checks import ECHO_LIMIT, Check, KnownNames, RequestFault, echo, refuse_unknown, wrong_type
from antiphon.chat.fields import FIELDS, NEEDS, Need, check_metadata
from antiphon.chat.messages import check_present
from antiphon.chat.outline import Outline
from antiphon.chat.plain_request import PlainRequest
from antiphon.chat.tools import names_one_tool, tool_names
from antiphon.document import Document
from antiphon.errors import RequestError

STEP: Final = re.compile(r"[^.\[\]]+")  # of the path of a fault
NO_MODEL: Final = "you must provide a model parameter"

KNOWN: Final = {**FIELDS, "model": FIELDS["user"]}
NAMES: Final = KnownNames(KNOWN)
DECODER: Final = msgspec.json.Decoder()


class ChatRequest(msgspec.Struct, frozen=True):
    """A frozen value. As a frozen dataclass it took 0.95 us to make, a third of the whole parse; as a Struct 0.2 us."""

    source: Document | bytes  # the document, or the body of a plain request, which few ever need as a document;
    # with an outline, the light document
    model: str
    stream: bool
    n: int  # 1 when absent or null
    include_usage: bool
    include_obfuscation: bool
    logprobs: bool  # asked for
    named_tool: bool  # tool_choice (or function_call) names one tool
    legacy_functions: bool  # `functions` used, not `tools`
    plain: PlainRequest | None = None  # how it was read, where it is plain
    outline: Outline | None = None  # of a large request

    @property
    def document(self) -> Document:
        """As sent; unknown keys stay. That of a large request is made each time."""
        return self.light if self.outline is None else self.outline.restore(self.light)

    @property
    def light(self) -> Document:
        """The document; of a large request, the light one."""
        source = self.source
        if type(source) is bytes:
            source = decode(source)
            msgspec.structs.force_setattr(self, "source", source)
        assert type(source) is dict
        return source

    @property
    def tool_names(self) -> frozenset[str]:
        return tool_names(self.light.get("tools")) if self.plain is None else self.plain.tool_names

    @property
    def moderation(self) -> object:
        return self.light.get("moderation") if self.plain is None else None


def decode(body: bytes, bounds: JsonBounds | None = None) -> Document:
    """Of a key that is given twice, the last one counts. A byte order mark before the JSON is skipped. NaN and lone
    surrogates are not JSON. `bounds`: None where the body was measured before."""
    if bounds is not None:
        check_depth(body, bounds)
    if body[:3] == BOM_UTF8:
        body = body[3:]
    try:
        document = DECODER.decode(body)
    except ValueError:  # msgspec's errors and UnicodeDecodeError are ValueErrors
        raise RequestError(NOT_JSON) from None
    except RecursionError:
        raise too_deep(bounds or JsonBounds()) from None
    if type(document) is not dict:
        raise RequestError(NOT_JSON)
    return document


def parse(document: Document, *, strict: bool, outline: Outline | None = None) -> ChatRequest:
    """Raises RequestError for the first fault in OpenAI's order. `outline`: of a light document."""
    model = document.get("model")
    if type(model) is not str or not model:
        raise refuse_model(model)
    try:
        check_present(document)
        if strict:
            refuse_unknown(document, KNOWN)
        NAMES.refuse_look_alikes(document)
        check_fields(document, strict, FIELDS if outline is None else light_fields(outline))
    except RequestFault as fault:
        raise (refusal(fault) if outline is None else light_refusal(fault, document, outline)) from None
    return read(document, model, outline)


def light_fields(outline: Outline) -> Mapping[str, Check]:
    """The checks of a light document: values are as long as they were sent."""
    return {**FIELDS, "metadata": partial(check_metadata, size=outline.size)}


def refuse_model(model: object) -> RequestError:
    if model is None or model == "":
        return RequestError(NO_MODEL)
    fault = wrong_type("a string", model)
    fault.under("model")
    return refusal(fault)


def refusal(fault: RequestFault) -> RequestError:
    return RequestError(fault.message, param=fault.path, code=fault.code)


def light_refusal(fault: RequestFault, document: Document, outline: Outline) -> RequestError:
    """The refusal of a light document. It tells of a long value as it was sent."""
    value: Any = document
    for step in STEP.findall(fault.path):
        if type(value) is list:
            value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
        else:
            value = value.get(step) if type(value) is dict else None
    if type(value) is not str or (size := outline.size(value)) == len(value):
        return refusal(fault)
    sent = echo(outline.first(value, ECHO_LIMIT + 1))
    message = fault.message.replace(echo(value), sent).replace(f"length {len(value)} ", f"length {size} ")
    return RequestError(message, param=fault.path, code=fault.code)


def check_fields(
    document: Document, strict: bool, fields: Mapping[str, Check] = FIELDS, needs: Mapping[str, Need] = NEEDS
) -> None:
    for name in sorted(document.keys() & fields.keys()):
        value = document[name]
        if value is None:
            continue
        try:
            fields[name](value, strict)
        except RequestFault as fault:
            fault.under(name)
            raise
        if name in needs:
            needs[name](document, strict)


def read(document: Document, model: str, outline: Outline | None) -> ChatRequest:
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
        None,
        outline,
    )
