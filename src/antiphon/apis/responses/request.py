"""Reads a request of the Responses API into a chat request."""

from __future__ import annotations

from typing import Any, Final

from antiphon.apis.api import ApiCall
from antiphon.apis.responses.answer import ResponsesRequest
from antiphon.apis.responses.compaction import ASK, COMPACT, SHAPES
from antiphon.apis.responses.items import InputConversation, PlacedItem, input_items
from antiphon.apis.responses.native import native_document
from antiphon.apis.responses.notes import RequestNotes, as_list, as_object, as_text, at, type_of, unsupported
from antiphon.apis.responses.output import ResponseFrame
from antiphon.apis.responses.stored import earlier_items, with_references
from antiphon.apis.responses.tools import ToolList, read_choice
from antiphon.chat.checks import Check, RequestFault, boolean, missing, unknown, word, wrong_value
from antiphon.chat.fields import FIELDS, check_metadata
from antiphon.chat.request import refusal, refuse_model
from antiphon.document import Document
from antiphon.errors import RequestError

# Parameters that chat has by the same name. Their values are checked there.
SAME: Final = (
    *("frequency_penalty", "moderation", "presence_penalty", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "safety_identifier", "service_tier", "temperature", "top_p", "user"),
)
# Those of chat that have another name here.
MOVED: Final = {
    "function_call": "tool_choice",
    "functions": "tools",
    "logprobs": "top_logprobs",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "messages": "input",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
    "verbosity": "text.verbosity",
}
NAMES: Final = {
    "max_completion_tokens": "max_output_tokens",
    "messages": "input",
    "reasoning_effort": "reasoning.effort",
    "response_format": "text.format",
    "response_format.json_schema": "text.format",
    "tool_choice.custom": "tool_choice",
    "tool_choice.function": "tool_choice",
    "tool_choice.allowed_tools": "tool_choice",
    "verbosity": "text.verbosity",
}
NO_STORE: Final = "this server does not store responses"
# What cannot be done, and why, where it is asked for.
REFUSED: Final = {
    "background": "responses are not made in the background here",
    "conversation": "conversations are not stored here; send the whole input",
    "n": "a response has one answer",
    "prompt": "prompt templates are not stored here",
    "store": f"{NO_STORE}; send 'store: false' or leave it out",
}
# What chat has no place for. Codex sends `client_metadata`.
DROPPED: Final = ("access_programs", "client_metadata", "context_management", "image")
READ: Final = frozenset(
    {
        *("background", "conversation", "include", "input", "instructions", "max_output_tokens", "max_tool_calls"),
        *("metadata", "model", "parallel_tool_calls", "previous_response_id", "prompt", "reasoning", "store", "stream"),
        *("stream_options", "text", "tool_choice", "tools", "top_logprobs", "truncation", "n"),
        *DROPPED,
    }
)
FORMATS: Final = ("text", "json_schema", "json_object")
ENCRYPTED: Final = "reasoning.encrypted_content"
LOGPROBS: Final = "message.output_text.logprobs"
SUMMARIES: Final = ("auto", "concise", "detailed")


def read(document: Document, call: ApiCall) -> ResponsesRequest:
    """Raises RequestError."""
    model = document.get("model")
    if type(model) is not str or not model:
        raise refuse_model(model)
    compacts = call.action == COMPACT
    if compacts:
        if document.get("stream"):
            raise unsupported("stream", "a summary comes whole")
        document = {key: value for key, value in document.items() if key not in SHAPES} | {"store": False}
    reader = ResponsesReader(document, call, model)
    try:
        reader.read()
    except RequestFault as fault:
        raise refusal(fault) from None
    frame = ResponseFrame(
        call.new_id("resp_"),
        int(call.now()),
        reader.echo(),
        reader.tools.own,
        call.now,
        as_summary=reader.as_summary,
        seals=ENCRYPTED in reader.include,
        input=call.restore(reader.items) if reader.stores else None,
    )
    return ResponsesRequest(
        reader.out,
        reader.notes.names,
        reader.notes.dropped,
        frame,
        reader.native,
        reader.notes.refusal,
        "" if compacts else "responses",
        compacts,
    )


class ResponsesReader:
    def __init__(self, document: Document, call: ApiCall, model: str) -> None:
        self.notes = RequestNotes(call.strict, dict(NAMES))
        self.tools = ToolList(self.notes, drops=call.drops_tools)
        self.include: list[object] = []
        self.items: list[object] = []  # of the input itself
        self.as_summary = False  # reasoning is told as a summary
        self.out: Document = {"model": model}
        self.native: Document = {}
        self._document = document
        self._call = call

    def read(self) -> None:
        document, out = self._document, self.out
        self._refuse()
        if document.get("input") is None:
            raise missing("input")
        conversation = InputConversation(self.notes)
        if document.get("instructions") is not None:
            conversation.say("developer", as_text(document["instructions"], "instructions"), "instructions")
        placed = self._read_items(document["input"])
        conversation.read(placed)
        if self._call.action == COMPACT:
            conversation.say("user", ASK, "input")
        self.native = native_document(document, [item for _, item in placed])
        out["messages"] = conversation.messages or [{"role": "user", "content": ""}]  # items of built-in tools alone
        if self.notes.beside:
            out["input"] = self.notes.beside
        out.update((name, document[name]) for name in SAME if document.get(name) is not None)
        if document.get("max_output_tokens") is not None:
            out["max_completion_tokens"] = document["max_output_tokens"]
        self._read_tools()
        self._read_text()
        self._read_reasoning()
        self._read_include()
        self._read_stream()
        self._pass_others()

    def _read_items(self, value: object) -> list[PlacedItem]:
        """The items of the input, behind those of the responses that it goes on from."""
        items, stored = input_items(value), self._call.stored
        previous = self._document.get("previous_response_id")
        if stored is None:
            self.items = [item for _, item in items]
            return items
        items = with_references(items, stored)
        self.items = [item for _, item in items]
        if previous is None:
            return items
        return [*earlier_items(as_text(previous, "previous_response_id"), stored), *items]

    def _refuse(self) -> None:
        """What cannot be done at all."""
        document = self._document
        for name, reason in REFUSED.items():
            value = document.get(name)
            is_fine = (name == "n" and value == 1) or (name == "store" and self._call.stored is not None)
            if value is not None and value is not False and not is_fine:
                raise unsupported(name, reason)
        for name, own in MOVED.items():
            if document.get(name) is not None:
                text = f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{own}'."
                raise RequestError(text, param=name, code="unsupported_parameter")
        if self._call.stored is None and (previous := document.get("previous_response_id")) is not None:
            shown = as_text(previous, "previous_response_id")[:64]
            text = f"Previous response with id '{shown}' not found: {NO_STORE}."
            raise RequestError(text, param="previous_response_id", code="previous_response_not_found")

    def _read_tools(self) -> None:
        document, out = self._document, self.out
        if document.get("tools") is not None:
            self.tools.read(document["tools"])
            if self.tools.tools:
                out["tools"] = self.tools.tools
        if document.get("tool_choice") is not None:
            choice = read_choice(document["tool_choice"], self.notes)
            if self.tools.tools or choice not in (
                "none",
                "auto",
                None,
            ):  # chat takes no choice where there are no tools
                out["tool_choice"] = choice or "auto"
        self._check("parallel_tool_calls", boolean)
        if document.get("parallel_tool_calls") is not None and self.tools.tools:
            out["parallel_tool_calls"] = document["parallel_tool_calls"]

    def _read_text(self) -> None:
        value = self._document.get("text")
        if value is None:
            return
        text = as_object(value, "text")
        if text.get("verbosity") is not None:
            self.out["verbosity"] = text["verbosity"]
        if text.get("format") is not None:
            form = as_object(text["format"], "text.format")
            kind = type_of(form, "text.format")
            if kind not in FORMATS:
                raise at("text.format.type", wrong_value(kind, FORMATS))
            if kind == "json_schema":
                inner = {key: form[key] for key in form if key != "type" and form[key] is not None}
                if "schema" not in inner:
                    raise missing("text.format.schema")
                self.out["response_format"] = {"type": kind, kind: inner}
            elif kind == "json_object":
                self.out["response_format"] = form
        self.notes.drop_others(text, ("format", "verbosity"), "text")

    def _read_reasoning(self) -> None:
        value = self._document.get("reasoning")
        if value is None:
            return
        reasoning = as_object(value, "reasoning")
        if reasoning.get("effort") is not None:
            self.out["reasoning_effort"] = reasoning["effort"]
        for name in ("summary", "generate_summary"):
            if reasoning.get(name) is not None:
                try:
                    word(*SUMMARIES)(reasoning[name], self._call.strict)
                except RequestFault as fault:
                    raise at(f"reasoning.{name}", fault) from None
                self.as_summary = True
        self.notes.drop_others(reasoning, ("effort", "summary", "generate_summary"), "reasoning")

    def _read_include(self) -> None:
        document, out = self._document, self.out
        if document.get("include") is not None:
            self.include = as_list(document["include"], "include")
            for index, name in enumerate(self.include):
                if as_text(name, f"include[{index}]") not in (ENCRYPTED, LOGPROBS):
                    self.notes.drop(f"include[{index}]", "it is of a built-in tool")
        top = document.get("top_logprobs")
        if LOGPROBS in self.include or top:
            out["logprobs"] = True
        if top is not None:
            self._check("top_logprobs", FIELDS["top_logprobs"])
            if top:
                out["top_logprobs"] = top

    def _read_stream(self) -> None:
        document, out = self._document, self.out
        self._check("stream", boolean)
        if document.get("stream"):
            out["stream"] = True
            out["stream_options"] = {"include_usage": True}
        if document.get("stream_options") is not None:
            options = as_object(document["stream_options"], "stream_options")
            if out.get("stream") and options.get("include_obfuscation") is True:
                out["stream_options"]["include_obfuscation"] = True
            self.notes.drop_others(options, ("include_obfuscation",), "stream_options")

    def _pass_others(self) -> None:
        """What is not of this API, and of no chat parameter that we make, travels. Strict refuses it."""
        document = self._document
        self._check("metadata", check_metadata)
        self._check("store", boolean)
        self._check("background", boolean)
        for name in DROPPED:
            if document.get(name) is not None:
                self.notes.drop(name)
        if document.get("truncation") is not None:
            if as_text(document["truncation"], "truncation") == "auto":
                self.notes.drop("truncation", "nothing is left out of the input here")
            else:
                self._check("truncation", word("auto", "disabled", travels=False))
        for name, value in document.items():
            if name not in READ and name not in SAME and name not in MOVED:
                if self._call.strict:
                    raise unknown(name)
                self.out[name] = value

    @property
    def stores(self) -> bool:
        return self._call.stored is not None and self._document.get("store") is not False

    def _check(self, name: str, check: Check) -> None:
        value = self._document.get(name)
        if value is not None:
            try:
                check(value, self._call.strict)
            except RequestFault as fault:
                raise at(name, fault) from None

    def echo(self) -> Document:
        """What the answer says of the request."""
        get = self._document.get
        restore = self._call.restore
        text, reasoning = get("text") or {}, get("reasoning") or {}
        summary = reasoning.get("summary") or reasoning.get("generate_summary")
        return {
            "background": False,
            "instructions": restore(get("instructions")),
            "max_output_tokens": get("max_output_tokens"),
            "max_tool_calls": get("max_tool_calls"),
            "parallel_tool_calls": get("parallel_tool_calls") is not False,
            "previous_response_id": get("previous_response_id"),
            "prompt_cache_key": get("prompt_cache_key"),
            "prompt_cache_retention": get("prompt_cache_retention"),
            "reasoning": {"effort": reasoning.get("effort"), "summary": summary},
            "safety_identifier": get("safety_identifier"),
            "service_tier": get("service_tier") or "default",
            "store": self.stores,
            "temperature": _or(get("temperature"), 1.0),
            "text": {"format": _format(restore(text.get("format"))), "verbosity": text.get("verbosity") or "medium"},
            "tool_choice": restore(get("tool_choice")) or "auto",
            "tools": [_tool(tool) for tool in restore(get("tools")) or ()],
            "top_logprobs": get("top_logprobs") or 0,
            "top_p": _or(get("top_p"), 1.0),
            "presence_penalty": _or(get("presence_penalty"), 0.0),
            "frequency_penalty": _or(get("frequency_penalty"), 0.0),
            "truncation": "disabled",
            "user": get("user"),
            "metadata": restore(get("metadata")) or {},
        }


def _or(value: Any, default: float) -> Any:
    return default if value is None else value


def _tool(tool: Document) -> Document:
    """A tool as answers say it: with every field that its type has."""
    if tool.get("type") != "function":
        return tool
    return {"description": None, "parameters": None, "strict": None, **tool}


def _format(form: Document | None) -> Document:
    if form is None:
        return {"type": "text"}
    if form["type"] != "json_schema":
        return form
    return {"description": None, "strict": False, **{key: form[key] for key in form if form[key] is not None}}
