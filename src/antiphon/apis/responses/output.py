"""The response object and the items of its output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from antiphon.apis.responses.reasoning import TEXT
from antiphon.apis.responses.stored import item_id
from antiphon.apis.responses.tools import Own
from antiphon.document import Document, objects_in
from antiphon.safety.annotation import merged

INCOMPLETE: Final[Mapping[str, str]] = {"length": "max_output_tokens", "content_filter": "content_filter"}
RESULTS: Final = "content_filter_results"
# Of a completion, and of a choice, what has its own place in a response, or none.
_PLACED: Final = frozenset({"id", "object", "created", "model", "choices", "usage", "service_tier", "obfuscation"})
_CHOICE: Final = frozenset({"index", "message", "delta", "logprobs", "finish_reason"})
# Of a message, what becomes items and parts.
SAID: Final = frozenset({"role", "content", "refusal", "annotations", "tool_calls", TEXT})


class CallKind(NamedTuple):
    """How the items of one kind of tool are spelled."""

    item: str
    words: str  # the key of what the tool is given
    prefix: str  # of ids
    event: str


KINDS: Final[Mapping[str, CallKind]] = {
    "function": CallKind("function_call", "arguments", "fc_", "response.function_call_arguments"),
    "custom": CallKind("custom_tool_call", "input", "ctc_", "response.custom_tool_call_input"),
}


PREFIXES: Final[Mapping[str, str]] = {
    "message": "msg_",
    "reasoning": "rs_",
    **{kind.item: kind.prefix for kind in KINDS.values()},
}


class ResponseFrame(msgspec.Struct):
    """All of a response that is known before its answer."""

    id: str
    created: int
    echo: Document  # what it says of the request
    own_tools: Mapping[str, Own]  # tools in a namespace, by the name that chat knows
    now: Callable[[], float]
    as_summary: bool  # reasoning is told as a summary
    seals: bool  # `reasoning.encrypted_content` was asked for
    input: list[Any] | None = None  # items that are kept with the response; None: it is not kept
    last: Document | None = None  # the response as the client gets it
    items: int = 0  # that have an id

    def new_id(self, prefix: str) -> str:
        """An item's id."""
        self.items += 1
        return item_id(self.id, prefix, self.items - 1)

    def response(
        self,
        status: str,
        model: str,
        output: list[Document],
        *,
        details: Document | None = None,
        error: Document | None = None,
        usage: Document | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> Document:
        response: Document = {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "completed_at": int(self.now()) if status == "completed" else None,
            "status": status,
            "error": error,
            "incomplete_details": details,
            "model": model,
            "output": output,
            "usage": None if usage is None else usage_of(usage),
            **self.echo,
        }
        for key, value in (extras or {}).items():
            if key not in response or key == "service_tier":
                response[key] = value
        self.last = response
        return response


def ending(finish: str | None) -> tuple[str, Document | None]:
    """A response's status, and why it is incomplete."""
    reason = INCOMPLETE.get(finish or "")
    return ("completed", None) if reason is None else ("incomplete", {"reason": reason})


def usage_of(usage: Document) -> Document:
    """Chat's usage in the words of Responses. Whatever else was reported stays."""
    prompt, completion = _details(usage, "prompt_tokens_details"), _details(usage, "completion_tokens_details")
    read = {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"}
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0} | _known(prompt),
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0} | _known(completion),
        "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"],
    } | {key: value for key, value in usage.items() if key not in read}


def _details(usage: Document, key: str) -> Document:
    found = usage.get(key)
    return found if isinstance(found, dict) else {}


def _known(details: Document) -> Document:
    """Zeros of chat's own that Responses does not have are left out."""
    return {key: value for key, value in details.items() if value}


def reasoning_item(item_id: str, words: str, encrypted: str | None, *, as_summary: bool, status: str) -> Document:
    item: Document = {"id": item_id, "type": "reasoning", "status": status, "summary": []}
    if words and as_summary:
        item["summary"] = [{"type": "summary_text", "text": words}]
    elif words:
        item["content"] = [{"type": "reasoning_text", "text": words}]
    if encrypted is not None:
        item["encrypted_content"] = encrypted
    return item


def message_item(item_id: str, parts: list[Document], extras: Document, status: str) -> Document:
    return {"id": item_id, "type": "message", "status": status, "role": "assistant", "content": parts, **extras}


def text_part(text: str, annotations: list[Document], logprobs: list[Document]) -> Document:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": logprobs}


def call_item(frame: ResponseFrame, item_id: str, call: Document, status: str) -> Document:
    """`call`: as it stands in a chat message. That of a vendor's own kind keeps its shape."""
    kind = KINDS.get(call.get("type", "function"))
    if kind is None:
        return {**call, "id": item_id, "call_id": call.get("id"), "status": status}
    body = call.get("function") or call.get("custom") or {}
    name, namespace = frame.own_tools.get(body.get("name", ""), (body.get("name", ""), None))
    item: Document = {
        "id": item_id,
        "type": kind.item,
        "status": status,
        "call_id": call.get("id"),
        "name": name,
        kind.words: body.get(kind.words) or "",
    }
    if namespace is not None:
        item["namespace"] = namespace
    others = {**body, **call}
    known = {"function", "custom", "index", *item}
    return item | {key: value for key, value in others.items() if key not in known}


def native_item(frame: ResponseFrame, item: Document) -> Document:
    """An item of an upstream that speaks this API, with an id of ours."""
    return {**item, "id": frame.new_id(PREFIXES.get(item.get("type", ""), "item_"))}


def call_prefix(call: Document) -> str:
    kind = KINDS.get(call.get("type", "function"))
    return kind.prefix if kind is not None else "call_"


def read_logprobs(logprobs: object) -> list[Document]:
    """The tokens of a chat choice. `bytes` is a list here, also where a token has none."""
    return [_token(token) for token in objects_in(logprobs.get("content"))] if isinstance(logprobs, dict) else []


def _token(token: Document) -> Document:
    others = [{**other, "bytes": other.get("bytes") or []} for other in objects_in(token.get("top_logprobs"))]
    return {**token, "bytes": token.get("bytes") or [], "top_logprobs": others}


def read_annotations(annotations: object) -> list[Document]:
    """A citation's fields stand beside its type."""
    found: list[Document] = []
    for annotation in objects_in(annotations):
        kind = annotation.get("type")
        inner = annotation.get(kind) if isinstance(kind, str) else None
        found.append({"type": kind, **inner} if isinstance(inner, dict) else annotation)
    return found


def gather_extras(extras: Document, completion: Document) -> None:
    """What a completion, or a chunk, says beside its message. Of findings the worst counts."""
    for key, value in completion.items():
        if (key not in _PLACED and value is not None) or (key == "service_tier" and type(value) is str):
            extras[key] = value
    for choice in completion["choices"]:
        for key, value in choice.items():
            if key == RESULTS and isinstance(value, dict):
                extras[key] = merged(extras.get(key), value)
            elif key not in _CHOICE and value is not None:
                extras[key] = value
