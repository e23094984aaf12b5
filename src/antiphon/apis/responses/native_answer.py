"""The answer of an upstream that speaks this API, read into chat: all that is done with answers is done with it.

What chat has no place for travels beside: items of built-in tools in `content_parts`, encrypted reasoning, and where a
new message begins. A whole answer carries its output as it is; what is judged are the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from antiphon.apis.responses.tools import chat_name
from antiphon.chat.failure import malformed, read_failure
from antiphon.document import Document

OUTPUT: Final = "response_output"  # of a message: the items of a whole answer
BREAK: Final = "response_item"  # of a delta: a new message begins; what it says of itself
ENCRYPTED: Final = "encrypted_content"  # of a delta: of the reasoning before it
ITEM: Final = "response_item"  # the type of a content part that is an item of a built-in tool
FINISHES: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}
_CALLS: Final = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}


def read_native(response: Document) -> Document:
    """A chat completion. Raises UpstreamError."""
    output = response.get("output")
    if response.get("status") == "failed" or not isinstance(output, list):
        raise read_failure(response) if response.get("error") else malformed()
    message: Document = {"role": "assistant", "content": None, OUTPUT: output}
    for item in output:
        if not isinstance(item, dict):
            raise malformed()
        _add_item(message, item)
    choice = {"index": 0, "message": message, "finish_reason": _finish(response, message)}
    return {**_envelope(response), "choices": [choice], "usage": _usage(response.get("usage"))}


def _add_item(message: Document, item: Document) -> None:
    kind = item.get("type")
    if kind == "message":
        for part in _parts(item, "content"):
            _add_words(message, "refusal" if part.get("type") == "refusal" else "content", part)
    elif kind == "reasoning":
        for part in (*_parts(item, "summary"), *_parts(item, "content")):
            _add_words(message, "reasoning_content", part)
    elif kind in _CALLS:
        message.setdefault("tool_calls", []).append(_call(item, _CALLS[kind]))
    else:
        message.setdefault("content_parts", []).append({"type": ITEM, "item": item})


def _parts(item: Document, key: str) -> list[Document]:
    parts = item.get(key)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _add_words(message: Document, key: str, part: Document) -> None:
    words = part.get("refusal" if key == "refusal" else "text")
    if isinstance(words, str):
        message[key] = (message.get(key) or "") + words


def _call(item: Document, kind: tuple[str, str], *, begun: bool = False) -> Document:
    name, key = kind
    words = "" if begun else item.get(key, "")
    body = {"name": chat_name(str(item.get("name", "")), item.get("namespace")), key: words}
    return {"id": item.get("call_id"), "type": name, name: body}


def _finish(response: Document, message: Document) -> str:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if response.get("status") == "incomplete":
        return FINISHES.get(str(reason), "length")
    return "tool_calls" if message.get("tool_calls") else "stop"


def _envelope(response: Document) -> Document:
    kept: Document = {"id": response.get("id"), "created": response.get("created_at"), "model": response.get("model")}
    if isinstance(response.get("service_tier"), str):
        kept["service_tier"] = response["service_tier"]
    return kept


def _usage(usage: Any) -> Document | None:
    if not isinstance(usage, dict):
        return None
    names: dict[str, str] = {
        "input_tokens": "prompt_tokens",
        "output_tokens": "completion_tokens",
        "input_tokens_details": "prompt_tokens_details",
        "output_tokens_details": "completion_tokens_details",
    }
    return {names.get(str(key), str(key)): value for key, value in usage.items()}


class NativeEvents:
    """Events in, chat chunks out."""

    def __init__(self) -> None:
        self._envelope: Document = {}
        self._calls: dict[Any, tuple[int, tuple[str, str]]] = {}  # by their place in the output
        self._messages = 0

    def feed(self, event: Document) -> list[Document]:
        """Raises UpstreamError."""
        kind = event.get("type")
        if kind == "error":
            raise read_failure(event)
        response = event.get("response")
        if isinstance(response, dict):
            return self._take_response(str(kind), response)
        read = _EVENTS.get(str(kind))
        delta = None if read is None else read(self, event)
        return [] if not delta else [self._chunk(delta, event.get("logprobs"))]

    def _chunk(self, delta: Document, logprobs: Any = None, finish: str | None = None) -> Document:
        choice: Document = {"index": 0, "delta": delta, "finish_reason": finish}
        if logprobs and "content" in delta:
            choice["logprobs"] = {"content": logprobs, "refusal": None}
        return {**self._envelope, "object": "chat.completion.chunk", "choices": [choice]}

    def _take_response(self, kind: str, response: Document) -> list[Document]:
        self._envelope = _envelope(response)
        if kind == "response.failed":
            raise read_failure(response)
        if kind not in ("response.completed", "response.incomplete"):
            return []
        finish = self._chunk({}, finish=_finish(response, {"tool_calls": self._calls}))
        usage = _usage(response.get("usage"))
        return [finish] if usage is None else [finish, {**self._chunk({}), "choices": [], "usage": usage}]

    # Events of items

    def _added(self, event: Document) -> Document | None:
        item = event.get("item")
        if not isinstance(item, dict):
            raise malformed()
        kind = item.get("type")
        if kind in _CALLS:
            index = len(self._calls)
            self._calls[event.get("output_index")] = index, _CALLS[kind]
            return {"tool_calls": [{"index": index, **_call(item, _CALLS[kind], begun=True)}]}
        if kind != "message":
            return None
        self._messages += 1
        said = {"phase": item["phase"]} if item.get("phase") else {}
        return {BREAK: said} if said or self._messages > 1 else None

    def _done(self, event: Document) -> Document | None:
        item = event.get("item")
        if not isinstance(item, dict):
            raise malformed()
        kind = item.get("type")
        if kind == "reasoning":
            return {ENCRYPTED: item[ENCRYPTED]} if item.get(ENCRYPTED) else None
        return None if kind == "message" or kind in _CALLS else {"content_parts": [{"type": ITEM, "item": item}]}

    def _words(self, event: Document) -> Document | None:
        call = self._calls.get(event.get("output_index"))
        if call is None:
            raise malformed()
        index, (name, key) = call
        return {"tool_calls": [{"index": index, name: {key: event.get("delta") or ""}}]}

    def _content(self, event: Document) -> Document | None:
        return {"content": event.get("delta") or ""}

    def _refusal(self, event: Document) -> Document | None:
        return {"refusal": event.get("delta") or ""}

    def _thought(self, event: Document) -> Document | None:
        return {"reasoning_content": event.get("delta") or ""}

    def _annotation(self, event: Document) -> Document | None:
        return {"annotations": [event["annotation"]]} if event.get("annotation") else None


_EVENTS: Final[Mapping[str, Callable[[NativeEvents, Document], Document | None]]] = {
    "response.output_item.added": NativeEvents._added,
    "response.output_item.done": NativeEvents._done,
    "response.output_text.delta": NativeEvents._content,
    "response.refusal.delta": NativeEvents._refusal,
    "response.reasoning_summary_text.delta": NativeEvents._thought,
    "response.reasoning_text.delta": NativeEvents._thought,
    "response.function_call_arguments.delta": NativeEvents._words,
    "response.custom_tool_call_input.delta": NativeEvents._words,
    "response.output_text.annotation.added": NativeEvents._annotation,
}
