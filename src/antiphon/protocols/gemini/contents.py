"""Messages -> `systemInstruction` and `contents`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes, call_arguments, refuse
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.gemini.media import Media
from antiphon.protocols.gemini.signatures import (
    SKIP,
    call_signatures,
    find_blocks,
    is_own_id,
    said_parts,
    signature_in,
    split_id,
)
from antiphon.protocols.parts import parts_of, text_of
from antiphon.protocols.protocol import Memory

_AFTER: Final = 100_000  # a place behind all results
_SPEAKERS: Final = {"user": "user", "assistant": "model"}


class OpenCalls:
    """The calls of the last assistant's message, by id, and the answers to them that have come."""

    __slots__ = ("answers", "content", "last", "names", "places")

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.places: dict[str, int] = {}
        self.answers: list[tuple[int, Document]] = []
        self.content: Document | None = None  # where the answers stand
        self.last = -1  # the place of the last answer


@dataclass(slots=True)
class GeminiConversation:
    changes: Changes
    media: Media
    facts: ModelFacts
    memory: Memory | None
    signs: bool  # Gemini 3 or later: calls without a signature are refused
    system: list[Document] = field(default_factory=list)
    contents: list[Document] = field(default_factory=list)
    turn: OpenCalls = field(default_factory=OpenCalls)

    def read(self, messages: list[Any]) -> None:
        for index, message in enumerate(messages):
            role = message.get("role")
            if len(message) == 2 and role in _SPEAKERS and type(content := message.get("content")) is str:
                self.contents.append({"role": _SPEAKERS[role], "parts": [{"text": content}]})  # nearly every one
                continue
            self._take(message, role, f"messages[{index}]")
        if messages and messages[-1].get("role") == "assistant" and not self.facts.takes_prefill:
            raise refuse(f"messages[{len(messages) - 1}]", "the model does not continue an assistant's message")
        if not self.contents:  # Gemini wants one, and takes an empty one
            self.contents.append({"role": "user", "parts": [{"text": ""}]})

    def _take(self, message: Document, role: Any, param: str) -> None:
        if message.get("cache_control") is not None:
            self.changes.drop(param + ".cache_control", "Gemini caches by itself, or by cachedContent")
        if role == "tool":
            self._answer(message, param)
            return
        if role == "function":
            self._answer({**message, "tool_call_id": ""}, param)
            return
        if role == "assistant":
            self._model(message, param)
            return
        if message.get("name") is not None:
            self.changes.drop(param + ".name", "Gemini has no names of speakers")
        if role in ("system", "developer"):
            self._system(message, param)
        else:
            self.contents.append({"role": "user", "parts": self._parts(message.get("content"), param)})

    def _system(self, message: Document, param: str) -> None:
        if self.contents:
            self.changes.rewrite(param, "Gemini has one system instruction, before the conversation")
        for place, part in enumerate(parts_of(message.get("content"))):
            self.system.append(self.media.part(part, f"{param}.content[{place}]"))

    def _parts(self, content: Any, param: str) -> list[Document]:
        if isinstance(content, str) or content is None:
            return [{"text": content or ""}]
        parts = [
            self.media.part(part, f"{param}.content[{place}]")
            for place, part in enumerate(content)
            if isinstance(part, dict) and not (part.get("type") == "text" and not part.get("text"))
        ]
        return parts or [{"text": ""}]

    # What the model said.

    def _model(self, message: Document, param: str) -> None:
        calls = message.get("tool_calls")
        calls = calls if isinstance(calls, list) else []
        if isinstance(legacy := message.get("function_call"), dict):
            calls = [*calls, {"id": "", "function": legacy}]
        blocks: list[Document] = []
        if self.memory is not None or "thinking_blocks" in message:
            blocks = find_blocks(message, calls, self.memory, param, self.changes)
        parts = self._said(message, blocks, param)
        self.turn = OpenCalls()
        signatures = call_signatures(blocks) if blocks else {}
        for place, call in enumerate(calls):
            parts.append(self._call(call, place, signatures, f"{param}.tool_calls[{place}]"))
        self.contents.append({"role": "model", "parts": parts or [{"text": ""}]})

    def _said(self, message: Document, blocks: list[Document], param: str) -> list[Document]:
        content = message.get("content")
        if isinstance(content, list):
            text = "".join(self.media.part(part, f"{param}.content").get("text", "") for part in parts_of(content))
        else:
            text = content or message.get("refusal") or ""
        parts = said_parts(text, blocks) if blocks else ([{"text": text}] if text else [])
        signature = signature_in(message)
        if signature is not None and not blocks:
            parts[-1:] = [{**(parts[-1] if parts else {"text": ""}), "thoughtSignature": signature}]
        for place, image in enumerate(message.get("images") or ()):
            if isinstance(image, dict):
                said = self.media.part({"type": "image_url", **image}, f"{param}.images[{place}]")
                if (signature := signature_in(image)) is not None:
                    said["thoughtSignature"] = signature
                parts.append(said)
        if message.get("audio") is not None:
            self.changes.drop(param + ".audio", "Gemini keeps no audio of earlier answers")
        return parts

    def _call(self, call: Any, place: int, signatures: dict[int, str], param: str) -> Document:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise refuse(param, "Gemini has calls of functions only")
        arguments = call_arguments(function.get("arguments"), param + ".function.arguments", self.changes)
        whole_id = str(call.get("id") or "")
        call_id, hidden = split_id(whole_id)
        name = str(function.get("name"))
        self.turn.names[whole_id] = name
        self.turn.places[whole_id] = place
        said: Document = {"id": call_id} if is_own_id(call_id) else {}
        said |= {"name": name, "args": arguments}
        signature = signature_in(call) or signatures.get(place) or hidden or signature_in(function)
        if signature is None and self.signs and place == 0:
            signature = SKIP
        part: Document = {"functionCall": said}
        if signature is not None:
            part["thoughtSignature"] = signature
        return part

    # What its calls gave.

    def _answer(self, message: Document, param: str) -> None:
        whole_id = str(message.get("tool_call_id") or "")
        turn = self.turn
        call_id = split_id(whole_id)[0]
        name = turn.names.get(whole_id) or message.get("name")
        if not name:
            raise refuse(param + ".tool_call_id", "no call of this id stands before it")
        said: Document = {"id": call_id} if is_own_id(call_id) else {}
        content = message.get("content")
        media: list[Document] = []
        said["name"] = name
        if isinstance(content, list):
            said["response"] = {_outcome(message): text_of(content)}
            media = self._media(content, param)
        else:
            said["response"] = {_outcome(message): content or ""}
        if media and self.signs:
            said["parts"] = media
        place = turn.places.get(whole_id, len(turn.answers))
        self._place(place, {"functionResponse": said})
        if media and not self.signs:
            self.changes.rewrite(param, "the model takes media beside results, not in them")
            for part in media:
                self._place(_AFTER + place, part)

    def _media(self, content: list[Any], param: str) -> list[Document]:
        media = []
        for place, part in enumerate(content):
            if isinstance(part, dict) and part.get("type") != "text":
                said = self.media.part(part, f"{param}.content[{place}]")
                if said.pop("mediaResolution", None) is not None:
                    self.changes.drop(f"{param}.content[{place}].image_url.detail", "results take no resolution")
                media.append(said)
        return media

    def _place(self, place: int, part: Document) -> None:
        """All answers to one turn stand in one content, in the order of the calls: Gemini counts them."""
        turn = self.turn
        if turn.content is None or turn.content is not self.contents[-1]:
            turn.content = {"role": "user", "parts": []}
            turn.answers, turn.last = [], -1
            self.contents.append(turn.content)
        turn.answers.append((place, part))
        if place < turn.last:
            turn.answers.sort(key=lambda answer: answer[0])
            turn.content["parts"] = [answer for _, answer in turn.answers]
        else:
            turn.content["parts"].append(part)
            turn.last = place


def _outcome(message: Document) -> str:
    failed = message.get("is_error") is True or message.get("status") == "error"  # Anthropic's word, LangChain's
    return "error" if failed else "output"
