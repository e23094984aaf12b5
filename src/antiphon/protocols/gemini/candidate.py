"""Parts that the model says -> what a delta says. A whole answer is one delta."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, Final

import msgspec

from antiphon.chat.failure import malformed
from antiphon.document import Document
from antiphon.protocols.gemini.annotations import Citations
from antiphon.protocols.gemini.arguments import Arguments
from antiphon.protocols.gemini.signatures import PART, SIGNATURE, extra_content

_encode: Final = msgspec.json.Encoder().encode


class Candidate:
    """One candidate under way. Lists in deltas have an `index`, by which accumulators put them together."""

    __slots__ = (
        "_arguments",
        "_blocks",
        "_call",
        "_heard",
        "_media",
        "called",
        "citations",
        "finished",
        "length",
        "texts",
    )

    def __init__(self) -> None:
        self.finished = False
        self.called = 0  # calls so far
        self.texts: list[str] = []
        self.length = 0  # characters of text so far
        self.citations = Citations()
        self._blocks = 0
        self._media = 0
        self._heard = False
        self._call: Document | None = None  # a call whose arguments come in pieces
        self._arguments = Arguments()

    def say(self, text: str) -> None:
        self.texts.append(text)
        self.length += len(text)

    def read(self, parts: object, delta: Document) -> None:
        """Adds what the parts say to the delta."""
        if parts is None:
            return
        if not isinstance(parts, list):
            raise malformed()
        for part in parts:
            if not isinstance(part, dict):
                raise malformed()
            self._read_part(part, delta)

    def _read_part(self, part: Document, delta: Document) -> None:
        signature = part.get("thoughtSignature")
        signature = signature if isinstance(signature, str) and signature else None
        if isinstance(text := part.get("text"), str):
            self._read_text(text, part.get("thought") is True, signature, delta)
        elif isinstance(call := part.get("functionCall"), dict):
            self._read_call(call, signature, delta)
        elif isinstance(data := part.get("inlineData"), dict):
            self._read_media(data, signature, part, delta)
        elif any(key not in ("thought", "thoughtSignature") for key in part):
            self._block({"type": PART, "at": self.length, "part": part}, delta)
        elif signature is not None:
            self._read_text("", False, signature, delta)

    def _read_text(self, text: str, thought: bool, signature: str | None, delta: Document) -> None:
        key = "reasoning_content" if thought else "content"
        if text:
            delta[key] = delta.get(key, "") + text
        start = self.length
        if not thought:
            self.say(text)
        if signature is None:
            return
        block: Document = {"type": SIGNATURE, "of": "thought", "text": text, "at": start}
        if not thought:
            block = {"type": SIGNATURE, "of": "text", "start": start, "end": self.length}
        self._block({**block, "signature": signature}, delta)

    def _block(self, block: Document, delta: Document) -> None:
        delta.setdefault("thinking_blocks", []).append({"index": self._blocks, **block})
        self._blocks += 1

    def _read_media(self, data: Document, signature: str | None, part: Document, delta: Document) -> None:
        kind = data.get("mimeType")
        if not isinstance(kind, str) or not kind.startswith(("image/", "audio/")) or part.get("thought") is True:
            self._block({"type": PART, "at": self.length, "part": part}, delta)
            return
        if kind.startswith("audio/"):
            self._read_audio(kind, data, delta)
            return
        url = f"data:{kind};base64,{data.get('data', '')}"
        image: Document = {"index": self._media, "type": "image_url", "image_url": {"url": url}}
        if signature is not None:
            image["extra_content"] = extra_content(signature)
        delta.setdefault("images", []).append(image)
        self._media += 1

    def _read_audio(self, kind: str, data: Document, delta: Document) -> None:
        """The sound of one delta is one base64 string; what kind it is the first says."""
        audio = delta.setdefault("audio", {} if self._heard else {"mime_type": kind})
        self._heard = True
        try:
            sound = b64decode(audio.get("data", "")) + b64decode(data.get("data", ""))
        except (ValueError, TypeError):
            raise malformed() from None
        audio["data"] = b64encode(sound).decode()

    # Calls.

    def _read_call(self, call: Document, signature: str | None, delta: Document) -> None:
        name, pieces = call.get("name"), call.get("partialArgs")
        if isinstance(name, str) and name:
            self.close(delta)
            self._call = self._new_call(call, name, signature, delta)
        elif self._call is None:
            if pieces or call.get("args"):
                raise malformed()
            return  # the end of a call that has ended
        if isinstance(args := call.get("args"), dict):
            self._arguments.value.update(args)
        for piece in pieces if isinstance(pieces, list) else ():
            self._arguments.add(piece)
        if call.get("willContinue") is not True:
            self.close(delta)

    def _new_call(self, call: Document, name: str, signature: str | None, delta: Document) -> Document:
        self._arguments = Arguments()
        said: Document = {"index": self.called}
        if isinstance(call_id := call.get("id"), str) and call_id:
            said["id"] = call_id
        said |= {"type": "function", "function": {"name": name, "arguments": "{}"}}
        if signature is not None:
            said["extra_content"] = extra_content(signature)
            self._block({"type": SIGNATURE, "of": "call", "call": self.called, "signature": signature}, delta)
        self.called += 1
        return said

    def close(self, delta: Document) -> None:
        """A call whose arguments came in pieces is whole. Vertex does not always say so at the end."""
        if self._call is None:
            return
        self._call["function"]["arguments"] = _encode(self._arguments.value).decode()
        delta.setdefault("tool_calls", []).append(self._call)
        self._call = None


def read_logprobs(result: object) -> Document | None:
    chosen = result.get("chosenCandidates") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(chosen, list):
        return None
    rivals = result.get("topCandidates")
    rivals = rivals if isinstance(rivals, list) else []
    content = []
    for place, token in enumerate(chosen):
        step = rivals[place] if place < len(rivals) else None
        others = step.get("candidates") if isinstance(step, dict) else None
        top = [_token(other) for other in others if isinstance(other, dict)] if isinstance(others, list) else []
        content.append({**_token(token if isinstance(token, dict) else {}), "top_logprobs": top})
    return {"content": content, "refusal": None}


def _token(token: dict[str, Any]) -> Document:
    text = token.get("token")
    text = text if isinstance(text, str) else ""
    return {"token": text, "logprob": token.get("logProbability", 0.0), "bytes": list(text.encode(errors="replace"))}
