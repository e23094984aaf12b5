"""Ollama's requests as Chat Completions requests. What only Ollama knows is dropped, and named in the receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from antiphon.apis.histories import shortest
from antiphon.apis.reading import (
    fault,
    missing,
    read_flag,
    read_integer,
    read_number,
    read_object,
    read_objects,
    read_text,
    read_texts,
    write_json,
    wrong_type,
)
from antiphon.document import Document

_ROLES: Final = ("system", "user", "assistant", "tool")
# `options` that Chat Completions has under these names.
_OPTIONS: Final[Mapping[str, tuple[str, Callable[[object, str], object]]]] = {
    "temperature": ("temperature", read_number),
    "top_p": ("top_p", read_number),
    "top_k": ("top_k", read_integer),
    "min_p": ("min_p", read_number),
    "seed": ("seed", lambda value, param: read_integer(value, param, -(2**63))),
    "presence_penalty": ("presence_penalty", read_number),
    "frequency_penalty": ("frequency_penalty", read_number),
    "repeat_penalty": ("repeat_penalty", read_number),
}
_READ: Final = frozenset(
    {"model", "messages", "tools", "format", "options", "stream", "think", "logprobs", "top_logprobs"}
)
_OF_PROMPT: Final = frozenset({"prompt", "system", "images"})
_LOCAL: Final = "it is for a model that Ollama runs itself"
# Beginnings of pictures in base64.
_PICTURES: Final = (("iVBOR", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp"))


class OllamaReader:
    """Reads one request."""

    def __init__(self, restore: Callable[[Any], Any]) -> None:
        """`restore`: a value of a large request with nothing left out."""
        self.names: dict[str, str] = dict(NAMES)
        self.dropped: dict[str, str] = {}
        self._restore = restore
        self._messages: list[Document] = []
        self._calls: list[tuple[str, str]] = []  # (id, name) of calls without an answer
        self._count = 0

    def read(self, document: Document, *, is_prompt: bool) -> Document:
        """`is_prompt`: of /api/generate. Raises RequestError."""
        asked = {key: value for key, value in document.items() if value is not None}
        out: Document = {"model": read_text(asked, "model", "")}
        if is_prompt:
            self._read_prompt(asked)
        else:
            self._read_messages(asked.get("messages"))
        out["messages"] = self._messages
        if asked.get("tools"):
            out["tools"] = [_read_tool(tool, param) for param, tool in read_objects(asked["tools"], "tools")]
        if asked.get("format"):
            out["response_format"] = _read_format(asked["format"])
        self._read_options(asked.get("options", {}), out)
        self._read_thinking(asked.get("think"), out)
        for key in ("logprobs", "top_logprobs"):
            if key in asked:
                out[key] = asked[key]
        if read_flag(asked.get("stream", True), "stream"):
            out["stream"], out["stream_options"] = True, {"include_usage": True}
        for param in asked:
            if param not in _READ and not (is_prompt and param in _OF_PROMPT):
                self.dropped[param] = _LOCAL
        return out

    def _read_prompt(self, asked: Document) -> None:
        if asked.get("suffix"):
            raise fault("suffix", "the gateway has no text to be filled in at /api/generate: use /v1/completions")
        if asked.get("raw") or asked.get("template"):
            raise fault("raw" if asked.get("raw") else "template", "prompts are written by the model's own upstream")
        if asked.get("system"):
            self._say({"role": "system", "content": read_text(asked, "system", "")}, "system")
        prompt = read_text(asked, "prompt", "")
        self._say({"role": "user", "content": _with_images(prompt, asked, "")}, "prompt")

    def _read_messages(self, given: object) -> None:
        if given is None:
            raise missing("messages")
        for param, message in read_objects(given, "messages"):
            role = read_text(message, "role", param)
            if role not in _ROLES:
                raise fault(f"{param}.role", f"Input should be one of {', '.join(_ROLES)}")
            content = message.get("content")
            text = "" if content is None else read_text(message, "content", param)
            if role == "tool":
                self._read_result(message, text, param)
            elif role == "assistant":
                self._read_assistant(message, text, param)
            else:
                self._say({"role": role, "content": _with_images(text, message, param)}, param)

    def _say(self, message: Document, param: str) -> None:
        self.names[f"messages[{len(self._messages)}]"] = param
        self._messages.append(message)

    def _read_assistant(self, message: Document, text: str, param: str) -> None:
        calls: list[Document] = []
        for path, call in read_objects(message.get("tool_calls") or [], f"{param}.tool_calls"):
            function = read_object(call.get("function"), f"{path}.function")
            arguments = function.get("arguments", {})
            if not isinstance(arguments, str):
                arguments = write_json(self._restore(arguments), f"{path}.function.arguments")
            name = read_text(function, "name", f"{path}.function")
            given = call.get("id")
            call_id = given if isinstance(given, str) and given else f"call_{self._count}"
            self._count += 1
            calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})
        out: Document = {"role": "assistant", "content": text or (None if calls else "")}
        if calls:
            out["tool_calls"] = calls
        if isinstance(message.get("thinking"), str) and message["thinking"]:
            out["reasoning_content"] = message["thinking"]
        self._calls = [(call["id"], call["function"]["name"]) for call in calls]
        self._say(out, param)

    def _read_result(self, message: Document, text: str, param: str) -> None:
        """Results have the name of their tool, or nothing: then they come in the order of the calls."""
        given, name = message.get("tool_call_id"), message.get("tool_name", message.get("name"))
        for place, (call_id, called) in enumerate(self._calls):
            if call_id == given or (given is None and name in (None, called)):
                del self._calls[place]
                self._say({"role": "tool", "tool_call_id": call_id, "content": text}, param)
                return
        raise fault(param, "no call stands before this result")

    def _read_options(self, value: object, out: Document) -> None:
        for key, inner in read_object(value, "options").items():
            if inner is None:
                continue
            param = f"options.{key}"
            if key in _OPTIONS:
                name, read = _OPTIONS[key]
                out[name] = read(inner, param)
            elif key == "stop":
                out["stop"] = read_texts([inner] if isinstance(inner, str) else inner, param)
            elif key == "num_predict":
                limit = read_integer(inner, param, -2)
                if limit >= 0:  # below: no limit
                    out["max_completion_tokens"] = limit
            else:
                self.dropped[param] = _LOCAL

    def _read_thinking(self, think: object, out: Document) -> None:
        if isinstance(think, str):
            out["reasoning_effort"] = think
        elif think is True:
            out["thinking"] = {"type": "adaptive"}
        elif think is False:
            out["thinking"] = {"type": "disabled"}
        elif think is not None:
            raise wrong_type("think", "a boolean or one of low, medium, high", think)


def _with_images(text: str, holder: Document, param: str) -> str | list[Document]:
    images = holder.get("images")
    if not images:
        return text
    parts: list[Document] = [{"type": "text", "text": text}] if text else []
    for encoded in read_texts(images, f"{param}.images" if param else "images"):
        kind = next((kind for head, kind in _PICTURES if encoded.startswith(head)), "image/jpeg")
        parts.append({"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}})
    return shortest(parts)


def _read_tool(tool: Document, param: str) -> Document:
    function = read_object(tool.get("function"), f"{param}.function")
    read_text(function, "name", f"{param}.function")
    return {"type": "function", "function": {key: value for key, value in function.items() if value is not None}}


def _read_format(value: object) -> Document:
    if value == "json":
        return {"type": "json_object"}
    if isinstance(value, str):
        raise fault("format", "Input should be 'json' or a JSON schema")
    schema = read_object(value, "format")
    return {"type": "json_schema", "json_schema": {"name": "response", "schema": schema}}


NAMES: Final[Mapping[str, str]] = {
    "max_completion_tokens": "options.num_predict",
    "temperature": "options.temperature",
    "top_p": "options.top_p",
    "stop": "options.stop",
    "seed": "options.seed",
    "response_format": "format",
    "reasoning_effort": "think",
    "thinking": "think",
}
