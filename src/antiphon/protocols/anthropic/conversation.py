"""The messages of a request, as the Messages API takes them.

System messages leave the conversation, results of calls stand together in one user message, and every block that
Anthropic has signed goes back as it came.
"""

from __future__ import annotations

import re
from typing import Any, Final

from antiphon.document import Document
from antiphon.errors import RequestError
from antiphon.protocols.anthropic.blocks import AnthropicBlocks
from antiphon.protocols.changes import Changes, call_arguments
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.protocol import Memory

THINKING: Final = frozenset({"thinking", "redacted_thinking"})
# The API refuses an empty text, so the smallest one stands where it needs a message that nobody sent.
_FILLER: Final = "."
_GO_ON: Final = "Continue."
_BAD_IN_ID: Final = re.compile(r"[^a-zA-Z0-9_-]")
_PLAIN: Final = frozenset({"role", "content"})
_INPUT: Final = "input"
_KEPT: Final = ("thinking_blocks", "content_parts")  # names under which clients keep blocks for us
# Keys of messages that are read here; citations are the vendor's own words and need not go back.
_READ: Final = frozenset(
    {
        *("role", "content", "refusal", "tool_calls", "function_call", "tool_call_id", "is_error", "cache_control"),
        *("thinking_blocks", "content_parts", "reasoning_content", "reasoning", "annotations"),
    }
)


class AnthropicConversation:
    __slots__ = ("_blocks", "_changes", "_facts", "_ids", "_memory", "_mid", "_results", "_taken", "messages", "system")

    def __init__(self, facts: ModelFacts, memory: Memory | None, blocks: AnthropicBlocks, changes: Changes) -> None:
        self.system: list[Document] = []
        self.messages: list[Document] = []
        self._facts = facts
        self._memory = memory
        self._blocks = blocks
        self._changes = changes
        self._mid: list[tuple[int, list[Document]]] = []  # system messages that wait for their place
        self._results: list[Document] | None = None  # of the turn under way
        self._ids: dict[str, list[str]] = {}  # the client's id of a call of this turn -> ours, one for each call
        self._taken: set[str] = set()  # ids must be unique in a conversation

    def say(self, messages: list[Document]) -> None:
        for place, message in enumerate(messages):
            role = message["role"]
            if role == "tool" or role == "function":
                self._say_result(place, message)
                continue
            self._results = None
            if role == "user":
                self._say_user(place, message)
            elif role == "assistant":
                self._say_assistant(place, message)
            else:
                self._say_system(place, message)
        self._settle_mid()
        self._check_ends()

    @property
    def ends_unthinking(self) -> bool:
        """The calls that are answered now came without their thinking, or the answer has begun already: with a budget
        the API refuses to think then."""
        for message in reversed(self.messages):
            if message["role"] == "assistant":
                content = message["content"]
                return isinstance(content, str) or content[0].get("type") not in THINKING
            if message["role"] == "user" and not _has_results(message["content"]):
                return False
        return False

    # Roles.

    def _say_user(self, place: int, message: Document) -> None:
        content = message.get("content")
        if type(content) is not str or len(message) > 2:
            self._note_lost(place, message)
            content = _marked(message, self._blocks.of(content, place, "user"))
        if not content or (isinstance(content, str) and not content.strip()):
            self._changes.note(f"messages[{place}]", "dropped", "it is empty")
            return
        self.messages.append({"role": "user", "content": content})

    def _say_system(self, place: int, message: Document) -> None:
        blocks = _marked(message, self._blocks.of(message.get("content"), place, "system"))
        self._note_lost(place, message)
        if not blocks:
            return
        if not self.messages:
            self.system += blocks
        elif self._facts.takes_mid_system:
            self._mid.append((place, blocks))
        else:
            self._fold(place, blocks)

    def _settle_mid(self) -> None:
        """A system message in mid-conversation stands after the user's messages and before the answer."""
        follows_user = bool(self.messages) and self.messages[-1]["role"] == "user"
        for place, blocks in self._mid:
            if follows_user:
                self.messages.append({"role": "system", "content": _shortest(blocks)})
            else:
                self._fold(place, blocks)
        self._mid = []

    def _fold(self, place: int, blocks: list[Document]) -> None:
        self.system += blocks
        self._changes.note(f"messages[{place}]", "rewritten", "system messages stand before the conversation")

    def _say_assistant(self, place: int, message: Document) -> None:
        self._settle_mid()
        self._ids.clear()
        content = message.get("content")
        if message.keys() == _PLAIN and isinstance(content, str) and content.strip():
            self.messages.append({"role": "assistant", "content": content})
            return
        blocks = self._said(place, message)
        self._say_calls(place, message, blocks)
        self._note_lost(place, message)
        if not blocks:
            self._changes.note(f"messages[{place}]", "dropped", "it is empty")
            return
        for key in ("reasoning_content", "reasoning"):
            if message.get(key) and not _thinks(blocks):
                self._changes.note(f"messages[{place}].{key}", "dropped", "it takes signed thinking only")
        self.messages.append({"role": "assistant", "content": _marked(message, blocks)})

    def _note_lost(self, place: int, message: Document) -> None:
        for key in message:
            if key not in _READ and message[key]:
                self._changes.drop(f"messages[{place}].{key}", "the vendor does not know it")

    # What an assistant said.

    def _said(self, place: int, message: Document) -> list[Document]:
        """Thinking, the vendor's own blocks and text, in the order in which they came."""
        content = message.get("content")
        if not content:
            content = message.get("refusal")
        kept = self._kept(place, message) if not message.keys().isdisjoint(_KEPT) else []
        if not kept or not isinstance(content, str):
            return [block for _, block in kept] + self._blocks.of(content, place, "assistant")
        blocks: list[Document] = []
        start = 0
        for offset, block in kept:
            if offset > start:
                blocks += self._blocks.of(content[start:offset], place, "assistant")
                start = offset
            blocks.append(block)
        return blocks + self._blocks.of(content[start:], place, "assistant")

    def _kept(self, place: int, message: Document) -> list[tuple[int, Document]]:
        """Blocks that the client has kept for us: how much text stands before each, and the block."""
        entries: list[tuple[int, int, Document]] = []
        for name in _KEPT:
            given = message.get(name)
            for number, entry in enumerate(given if isinstance(given, list) else ()):
                block = _read_kept(entry)
                if block is None:
                    self._changes.note(
                        f"messages[{place}].{name}[{number}]", "dropped", "it is not signed by the vendor"
                    )
                else:
                    entries.append((_count(entry.get("index")), _count(entry.get("text_offset")), block))
        entries.sort(key=lambda entry: entry[0])  # stable: without an index they stay as they are
        return [(offset, block) for _, offset, block in entries]

    def _say_calls(self, place: int, message: Document, blocks: list[Document]) -> None:
        memory = self._memory if self._memory is not None and not _thinks(blocks) else None
        for number, call in enumerate(message.get("tool_calls") or ()):
            if memory is not None:
                found = _recalled(memory, call.get("id"), blocks)
                if number == 0:
                    blocks[:0] = found
                else:
                    blocks += found
            self._say_call(call, place, number, blocks)
        legacy = message.get("function_call")
        if isinstance(legacy, dict):
            self._say_call({"id": f"call_{place}", "type": "function", "function": legacy}, place, 0, blocks)

    def _say_call(self, call: Document, place: int, number: int, blocks: list[Document]) -> None:
        kind = call.get("type")
        if kind not in ("function", "custom"):
            self._changes.drop(f"messages[{place}].tool_calls[{number}]", "the vendor does not know this kind of call")
            return
        body = call[kind]
        block: Document = {"type": "tool_use", "id": self._new_id(call["id"]), "name": body["name"]}
        if kind == "custom":
            block["input"] = {_INPUT: body["input"]}
        else:
            param = f"messages[{place}].tool_calls[{number}].function.arguments"
            block["input"] = call_arguments(body["arguments"], param, self._changes)
        if len(call) > 3:
            _carry(call, block)
        blocks.append(block)

    def _new_id(self, given: str) -> str:
        """Other vendors' ids may have characters that the API refuses, and may come again with every turn."""
        own = _BAD_IN_ID.sub(lambda match: f"-{ord(match[0]):x}-", given) or "call"
        unique, number = own, 1
        while unique in self._taken:
            number += 1
            unique = f"{own}_{number}"
        self._taken.add(unique)
        self._ids.setdefault(given, []).append(unique)
        return unique

    def _answered_id(self, given: str) -> str:
        """Of the call that a result answers: where two calls share an id, their results come in their order."""
        own = self._ids.get(given)
        if own is None:
            return given
        return own.pop(0) if len(own) > 1 else own[0]

    # Results.

    def _say_result(self, place: int, message: Document) -> None:
        given = message.get("tool_call_id")
        if given is None:  # a `function` message answers the call before it
            given = f"call_{place - 1}"
        block: Document = {"type": "tool_result", "tool_use_id": self._answered_id(given)}
        content = message.get("content")
        if isinstance(content, list):
            content = self._blocks.of(content, place, "tool")
        if content and not (isinstance(content, str) and not content.strip()):
            block["content"] = content
        if len(message) > 3:
            self._note_lost(place, {**message, "name": None})
            if message.get("is_error") is not None:
                block["is_error"] = bool(message["is_error"])
            if message.get("cache_control") is not None:
                block["cache_control"] = message["cache_control"]
        if self._results is None:
            self._results = []
            self.messages.append({"role": "user", "content": self._results})
        self._results.append(block)

    # The ends.

    def _check_ends(self) -> None:
        messages = self.messages
        if not messages:
            if not self.system:
                raise RequestError("There is no message with a content.", param="messages", code="invalid_value")
            self._changes.note("messages", "rewritten", "a conversation needs a user's message")
            messages.append({"role": "user", "content": [self.system.pop()]})
        if messages[0]["role"] != "user":
            self._changes.rewrite("messages", f"a conversation begins with the user: '{_FILLER}' stands before it")
            messages.insert(0, {"role": "user", "content": _FILLER})
        last = messages[-1]
        if last["role"] == "assistant" and _is_words(last["content"]):
            self._prefill(last)

    def _prefill(self, last: Document) -> None:
        if not self._facts.takes_prefill:
            self._changes.rewrite("messages", f"it begins no answer for the model: '{_GO_ON}' stands after it")
            self.messages.append({"role": "user", "content": _GO_ON})
            return
        content = last["content"]
        text = content if isinstance(content, str) else content[-1].get("text", "")
        if text != text.rstrip():
            self._changes.note("messages", "rewritten", "the begun answer may not end with a space")
            last["content"] = _ending(content, text.rstrip())


def _thinks(blocks: list[Document]) -> bool:
    return any(block.get("type") in THINKING for block in blocks)


def _recalled(memory: Memory, call_id: object, blocks: list[Document]) -> list[Document]:
    found = memory.find(call_id) if isinstance(call_id, str) else None
    read = [_read_kept(entry) for entry in found or ()]
    return [block for block in read if block is not None and block not in blocks]


def _carry(call: Document, block: Document) -> None:
    """What the vendor has said of a call beside its name and input, and the client's mark of the cache."""
    extra = call.get("extra_content")
    own = extra.get("anthropic") if isinstance(extra, dict) else None
    for key in ("caller", "toolset_name"):
        if isinstance(own, dict) and own.get(key) is not None:
            block[key] = own[key]
    if call.get("cache_control") is not None:
        block["cache_control"] = call["cache_control"]


def _ending(content: Any, text: str) -> Any:
    return text if isinstance(content, str) else [*content[:-1], {**content[-1], "text": text}]


def _has_results(content: str | list[Document]) -> bool:
    return not isinstance(content, str) and content[0].get("type") == "tool_result"


def _is_words(content: str | list[Document]) -> bool:
    """Not so an answer that was paused within the vendor's own tools: it goes on from there."""
    return isinstance(content, str) or content[-1].get("type") in ("text", *THINKING)


def _marked(message: Document, blocks: list[Document]) -> list[Document]:
    """A message's own `cache_control` stands on its last block."""
    if blocks and message.get("cache_control") is not None:
        blocks[-1] = {**blocks[-1], "cache_control": message["cache_control"]}
    return blocks


def _shortest(blocks: list[Document]) -> str | list[Document]:
    if len(blocks) == 1 and len(blocks[0]) == 2:
        return str(blocks[0]["text"])
    return blocks


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _read_kept(entry: object) -> Document | None:
    """A block as it came from the vendor. None: it is none, or it has lost its signature."""
    if not isinstance(entry, dict):
        return None
    kind = entry.get("type")
    if kind == "thinking":
        thought, signature = entry.get("thinking"), entry.get("signature")
        if not isinstance(signature, str) or not signature or not isinstance(thought, str):
            return None
        return {"type": kind, "thinking": thought, "signature": signature}
    if kind == "redacted_thinking":
        return {"type": kind, "data": entry["data"]} if isinstance(entry.get("data"), str) else None
    if not isinstance(kind, str):
        return None
    return {key: value for key, value in entry.items() if key not in ("index", "text_offset")}
