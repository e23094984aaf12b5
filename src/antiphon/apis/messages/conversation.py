"""The system prompt and the messages of a request, as Chat Completions messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from antiphon.apis.histories import THINKING, shortest
from antiphon.apis.messages.blocks import read_content, read_part, read_text_part
from antiphon.apis.reading import fault, missing, read_list, read_object, read_objects, read_text, write_json
from antiphon.document import Document

_OF_CALL: Final = ("caller", "toolset_name")  # what Anthropic wants back with a call


class MessagesConversation:
    """Reads messages. `names`: where each of them stands in the request."""

    def __init__(self, restore: Callable[[Any], Any]) -> None:
        """`restore`: a value of a large request with nothing left out."""
        self.messages: list[Document] = []
        self.names: dict[str, str] = {}
        self._restore = restore
        self._waiting: dict[str, None] = {}  # calls without a result, in their order

    def read_system(self, system: object) -> None:
        if isinstance(system, str):
            content: str | list[Document] = system
        else:
            parts = [read_text_part(block, path) for path, block in read_objects(system, "system")]
            content = shortest(parts)
        if content:
            self._say({"role": "system", "content": content}, "system")

    def read_messages(self, given: object) -> None:
        if given is None:
            raise missing("messages")
        if not read_list(given, "messages"):
            raise fault("messages", "at least one message is required", "empty_array")
        param = "messages"
        for param, message in read_objects(given, "messages"):
            role = read_text(message, "role", param)
            if role == "user":
                self._read_user(message.get("content"), param)
                continue
            self._check_answered(param)
            if role == "assistant":
                self._read_assistant(message.get("content"), param)
            elif role == "system":
                self._say({"role": role, "content": read_content(message.get("content"), f"{param}.content")}, param)
            else:
                raise fault(f"{param}.role", "Input should be 'user', 'assistant' or 'system'")
        self._check_answered(param)

    def _say(self, message: Document, param: str) -> None:
        self.names[f"messages[{len(self.messages)}]"] = param
        self.messages.append(message)

    def _check_answered(self, param: str) -> None:
        if self._waiting:
            words = "`tool_use` ids were found without `tool_result` blocks immediately after: "
            raise fault(param, words + ", ".join(self._waiting)[:300])

    # The user's messages, with the results of calls.

    def _read_user(self, content: object, param: str) -> None:
        """Results stand before all else: Chat Completions has them as messages of their own."""
        if not isinstance(content, list):
            self._check_answered(param)
            self._say({"role": "user", "content": read_content(content, f"{param}.content")}, param)
            return
        if not content:
            raise fault(f"{param}.content", "at least one content block is required", "empty_array")
        parts: list[Document] = []
        for path, block in read_objects(content, f"{param}.content"):
            if block.get("type") == "tool_result":
                self._read_result(block, path)
            else:
                parts.append(read_part(block, path))
        self._check_answered(param)
        if parts:
            self._say({"role": "user", "content": shortest(parts)}, param)

    def _read_result(self, block: Document, param: str) -> None:
        call_id = read_text(block, "tool_use_id", param)
        if call_id not in self._waiting:
            words = f"unexpected `tool_use_id` found in `tool_result` blocks: {call_id[:100]}. Each `tool_result` "
            raise fault(param, words + "block must have a corresponding `tool_use` block in the previous message.")
        del self._waiting[call_id]
        content = block.get("content")
        told = "" if content is None else read_content(content, f"{param}.content")
        result: Document = {"role": "tool", "tool_call_id": call_id, "content": told or ""}
        if block.get("is_error"):
            result["is_error"] = True
        if block.get("cache_control") is not None:
            result["cache_control"] = block["cache_control"]
        self._say(result, param)

    # The assistant's messages.

    def _read_assistant(self, content: object, param: str) -> None:
        if not isinstance(content, list):
            self._say({"role": "assistant", "content": read_content(content, f"{param}.content")}, param)
            return
        said: list[Document] = []
        calls: list[Document] = []
        unsigned: list[str] = []
        for path, block in read_objects(content, f"{param}.content"):
            kind = read_text(block, "type", path)
            if kind == "tool_use":
                calls.append(self._read_call(block, path))
            elif kind == "thinking" and not block.get("signature"):
                unsigned.append(read_text(block, "thinking", path))
            else:
                said.append(read_part(block, path))
        message: Document = {"role": "assistant", **_put_together(said)}
        if unsigned:
            message["reasoning_content"] = "".join(unsigned)
        if calls:
            message["tool_calls"] = calls
            self._waiting = {call["id"]: None for call in calls}
        self._say(message, param)

    def _read_call(self, block: Document, param: str) -> Document:
        given = self._restore(read_object(block.get("input", {}), f"{param}.input"))
        function = {"name": read_text(block, "name", param), "arguments": write_json(given, f"{param}.input")}
        call: Document = {"id": read_text(block, "id", param), "type": "function", "function": function}
        extra = block.get("extra_content")
        kept = dict(extra) if isinstance(extra, dict) else {}
        own = {key: block[key] for key in _OF_CALL if block.get(key) is not None}
        if own:
            kept["anthropic"] = own
        if kept:
            call["extra_content"] = kept
        if block.get("cache_control") is not None:
            call["cache_control"] = block["cache_control"]
        return call


def _put_together(said: list[Document]) -> Document:
    """Thinking before one text has a place of its own in Chat Completions. All else is told in order."""
    thoughts = [block for block in said if block.get("type") in THINKING]
    rest = said[len(thoughts) :]
    if thoughts == said[: len(thoughts)] and (not rest or isinstance(shortest(rest), str)):
        out: Document = {"content": shortest(rest) if rest else None}
        return {**out, "thinking_blocks": thoughts} if thoughts else out
    return {"content": said}
