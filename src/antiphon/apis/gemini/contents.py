"""`systemInstruction` and `contents` as Chat Completions messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from antiphon.apis.gemini.words import named
from antiphon.apis.histories import shortest
from antiphon.apis.reading import fault, missing, read_list, read_text, write_json
from antiphon.document import Document

_SOUNDS: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
_SIGNATURE: Final = "thought_signature"  # a kind of `thinking_blocks`, as the upstream's protocol writes it
_PART: Final = "gemini_part"
_ROLES: Final = ("user", "model", "function", "tool")


class GeminiContents:
    """Reads contents. `names`: where each message stands in the request."""

    def __init__(self, restore: Callable[[Any], Any]) -> None:
        """`restore`: a value of a large request with nothing left out."""
        self.messages: list[Document] = []
        self.names: dict[str, str] = {}
        self._restore = restore
        self._calls: list[tuple[str, str]] = []  # (id, name) of calls without an answer, in their order
        self._count = 0  # of all calls

    def read_system(self, system: object) -> None:
        if isinstance(system, str):
            texts = [system]
        else:
            param = "systemInstruction"
            content = named(system, param)
            texts = [read_text(part, "text", path) for path, part in _parts(content, param)]
        if any(texts):
            content_or_parts: str | list[Document] = shortest([{"type": "text", "text": text} for text in texts])
            self._say({"role": "system", "content": content_or_parts}, "systemInstruction")

    def read(self, given: object) -> None:
        if given is None:
            raise missing("contents")
        contents = given if isinstance(given, list) else [given]
        if not contents:
            raise fault("contents", "contents is not specified", "empty_array")
        for place, value in enumerate(contents):
            param = f"contents[{place}]"
            content = named({"role": "user", "parts": [{"text": value}]} if isinstance(value, str) else value, param)
            role = content.get("role", "user")
            if role not in _ROLES:
                raise fault(f"{param}.role", "Please use a valid role: user, model.")
            if role == "model":
                self._read_model(content, param)
            else:
                self._read_user(content, param)

    def _say(self, message: Document, param: str) -> None:
        self.names[f"messages[{len(self.messages)}]"] = param
        self.messages.append(message)

    # The user's contents, with the answers to calls.

    def _read_user(self, content: Document, param: str) -> None:
        parts: list[Document] = []
        for path, part in _parts(content, param):
            if "functionResponse" in part:
                self._read_answer(part["functionResponse"], f"{path}.functionResponse")
            else:
                parts.append(self._part(part, path))
        if parts:
            self._calls.clear()
            self._say({"role": "user", "content": shortest(parts)}, param)

    def _read_answer(self, value: object, param: str) -> None:
        answer = named(value, param)
        name = read_text(answer, "name", param)
        call_id = self._answered(answer.get("id"), name, param)
        response = answer.get("response", {})
        message: Document = {"role": "tool", "tool_call_id": call_id, "content": self._words(response, param)}
        media = [self._part(part, path) for path, part in _parts(answer, param)] if "parts" in answer else []
        if media:
            message["content"] = [{"type": "text", "text": message["content"]}, *media]
        if isinstance(response, dict) and response.get("error") is not None:
            message["is_error"] = True
        self._say(message, param)

    def _answered(self, given: object, name: str, param: str) -> str:
        """The id of the call that is answered: by its id, else the first of this name."""
        for place, (call_id, called) in enumerate(self._calls):
            if call_id == given or (given is None and called == name):
                del self._calls[place]
                return call_id
        raise fault(param, f"no call of the function '{name[:64]}' stands before this response")

    def _words(self, response: object, param: str) -> str:
        """What a function has said: its `output` or `error` alone, where it is a text and all there is."""
        if isinstance(response, dict) and len(response) == 1:
            [(key, told)] = response.items()
            if key in ("output", "error", "result") and isinstance(told, str):
                return told
        return write_json(self._restore(response), f"{param}.response")

    # The model's contents.

    def _read_model(self, content: Document, param: str) -> None:
        said: list[str] = []
        thought: list[str] = []
        calls: list[Document] = []
        blocks: list[Document] = []
        media: list[Document] = []
        for path, part in _parts(content, param):
            text = part.get("text")
            if "functionCall" in part:
                calls.append(self._read_call(part, path))
            elif isinstance(text, str) and part.get("thought") is True:
                thought.append(text)
                blocks += _signed(part, {"of": "thought", "text": text, "at": _length(said)})
            elif isinstance(text, str):
                start = _length(said)
                said.append(text)
                blocks += _signed(part, {"of": "text", "start": start, "end": _length(said)})
            elif "inlineData" in part or "fileData" in part:
                media.append(self._part(part, path))
            else:
                blocks.append({"type": _PART, "at": _length(said), "part": part})
        message: Document = {"role": "assistant", "content": "".join(said) or (None if calls else "")}
        beside = (("tool_calls", calls), ("thinking_blocks", blocks), ("images", media))
        message.update((key, value) for key, value in beside if value)
        if thought:
            message["reasoning_content"] = "".join(thought)
        self._calls = [(call["id"], call["function"]["name"]) for call in calls]
        self._say(message, param)

    def _read_call(self, part: Document, param: str) -> Document:
        call = named(part["functionCall"], f"{param}.functionCall")
        name = read_text(call, "name", f"{param}.functionCall")
        given = call.get("id")
        # Gemini's calls often have no id. The same history gives the same ids: prompt caches depend on it.
        call_id = given if isinstance(given, str) and given else f"call_{self._count}"
        self._count += 1
        arguments = write_json(self._restore(call.get("args", {})), f"{param}.functionCall.args")
        out: Document = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        signature = part.get("thoughtSignature")
        if isinstance(signature, str) and signature:
            out["extra_content"] = {"google": {_SIGNATURE: signature}}
        return out

    # Parts.

    def _part(self, part: Document, param: str) -> Document:
        if isinstance(part.get("text"), str):
            return {"type": "text", "text": part["text"]}
        if "inlineData" in part:
            return _inline(named(part["inlineData"], f"{param}.inlineData"), f"{param}.inlineData")
        if "fileData" in part:
            return _linked(named(part["fileData"], f"{param}.fileData"), f"{param}.fileData")
        raise fault(param, f"a part of this kind cannot be sent: {', '.join(part)[:100]}")


def _parts(content: Document, param: str) -> list[tuple[str, Document]]:
    given = content.get("parts", [])
    listed = read_list(given if isinstance(given, list) else [given], f"{param}.parts")
    if not listed:
        raise fault(f"{param}.parts", "contents.parts must not be empty.", "empty_array")
    paths = [f"{param}.parts[{place}]" for place in range(len(listed))]
    parts = [{"text": part} if isinstance(part, str) else part for part in listed]
    return [(path, named(part, path)) for path, part in zip(paths, parts, strict=True)]


def _inline(data: Document, param: str) -> Document:
    kind, encoded = read_text(data, "mimeType", param), read_text(data, "data", param)
    if kind in _SOUNDS:
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": _SOUNDS[kind]}}
    url = f"data:{kind};base64,{encoded}"
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": str(data.get("displayName", "file")), "file_data": url}}


def _linked(data: Document, param: str) -> Document:
    uri, kind = read_text(data, "fileUri", param), str(data.get("mimeType", ""))
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": uri, "format": kind}}
    if kind.startswith("video/"):
        return {"type": "video_url", "video_url": {"url": uri, "format": kind}}
    return {"type": "file", "file": {"file_id": uri, "format": kind} if kind else {"file_id": uri}}


def _signed(part: Document, place: Document) -> list[Document]:
    signature = part.get("thoughtSignature")
    if not isinstance(signature, str) or not signature:
        return []
    return [{"type": _SIGNATURE, **place, "signature": signature}]


def _length(said: list[str]) -> int:
    return sum(map(len, said))
