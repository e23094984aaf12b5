"""The conversation: Chat Completions messages -> Converse's `system` and `messages`.

Neighbours of one role become one message, as Converse's roles alternate; the order of all blocks stays. Results of
tools are a user's blocks, so the results of one turn stand in one message, before what the user says next.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.bedrock.blocks import OWN_BLOCKS, BedrockBlocks, cache_point
from antiphon.protocols.changes import Changes, call_arguments, refuse
from antiphon.protocols.facts import ModelFacts
from antiphon.protocols.parts import parts_of
from antiphon.protocols.protocol import Memory

CALL_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
USUAL: Final = frozenset({"role", "content", "tool_calls", "reasoning_content", "thinking_blocks", "content_parts"})
FILLER: Final = "."  # said for a user who said nothing, where the upstream insists on a user


# A block of an answer that comes back: its index in the answer, the characters of content before it, the block.
Kept = tuple[int, int, Document]


class BedrockConversation:
    """Reads the messages of one request, one after the other."""

    __slots__ = (
        "_blocks",
        "_changes",
        "_facts",
        "_ids",
        "_last_function",
        "_memory",
        "_taken",
        "called",
        "messages",
        "system",
        "unsigned",
    )

    def __init__(self, facts: ModelFacts, memory: Memory | None, changes: Changes) -> None:
        self.system: list[Document] = []
        self.messages: list[Document] = []
        self.called: dict[str, None] = {}  # names of the functions that were called, in order
        self.unsigned = False  # the last turn with calls has no thinking before them
        self._blocks = BedrockBlocks(facts)
        self._changes = changes
        self._facts = facts
        self._memory = memory
        self._ids: dict[Any, list[str]] = {}  # the client's id of a call of this turn -> ours, one for each call
        self._taken: set[str] = set()
        self._last_function = ""  # the id of the last `function_call`, which has none of its own

    def read(self, messages: list[Document]) -> None:
        for index, message in enumerate(messages):
            role = message["role"]
            if role == "user" and len(message) == 2 and type(message.get("content")) is str:  # nearly all of them
                self._add("user", [{"text": message["content"]}] if message["content"] else [])
                continue
            param = f"messages[{index}]"
            if role == "user":
                self._add("user", self._content(message, param))
            elif role == "assistant":
                self._add("assistant", self._assistant(message, index, param))
            elif role in ("tool", "function"):
                self._add("user", self._result(message, param))
            else:
                self._instruct(message, param)
            if "name" in message and message["name"] and role != "function":
                self._changes.drop(f"{param}.name", "This upstream's messages have no names.")

    def begin_with_user(self) -> None:
        """Converse insists on it, whatever the model."""
        if self.messages and self.messages[0]["role"] == "user":
            return
        self.messages.insert(0, {"role": "user", "content": [{"text": FILLER}]})
        self._changes.note(
            "messages", "rewritten", f"This upstream needs a user's message first: '{FILLER}' was added."
        )

    def end_with_user(self) -> None:
        """A last message of the assistant's is the beginning of the answer, where the model takes one."""
        if not self.messages or self.messages[-1]["role"] != "assistant":
            return
        if not self._facts.takes_prefill:
            self._changes.rewrite("messages", "This model does not continue a message: the user asks it to go on.")
            self._add("user", [{"text": "Continue."}])
            return
        last = self.messages[-1]["content"][-1]
        if isinstance(last.get("text"), str):
            last["text"] = last["text"].rstrip()  # Claude refuses white space at its end

    def add_cache_point(self, holder: Document) -> None:
        if self.messages and (point := cache_point(holder)) is not None:
            self.messages[-1]["content"].append(point)

    def _add(self, role: str, content: list[Document]) -> None:
        if not content:
            return
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += content
        else:
            self.messages.append({"role": role, "content": content})

    def _content(self, message: Document, param: str) -> list[Document]:
        content = message.get("content")
        if isinstance(content, str):
            blocks: list[Document] = [{"text": content}] if content else []
        else:
            blocks = []
            for place, part in enumerate(content if isinstance(content, list) else ()):
                if isinstance(part, dict):
                    blocks += self._blocks.read(part, f"{param}.content[{place}]")
        if blocks and (point := cache_point(message)) is not None:
            blocks.append(point)
        return blocks

    def _instruct(self, message: Document, param: str) -> None:
        content = self._content(message, param)
        if not self.messages:
            self.system += content
        elif self._facts.takes_mid_system:
            self._add("system", content)
        elif content:
            self._changes.rewrite(param, "This model takes instructions before the conversation only: it stands there.")
            self.system += content

    def _assistant(self, message: Document, index: int, param: str) -> list[Document]:
        calls = message.get("tool_calls") or []
        self._ids.clear()
        thoughts = self._thoughts(message, calls, param)
        kept = thoughts + _parts(message) if "content_parts" in message else thoughts
        said = self._said(message, kept, param) if kept else self._content(message, param)
        # White space before calls, which some models write, is a 400 from Claude.
        content = [block for block in said if not _is_blank(block)]
        if not message.keys() <= USUAL:
            content += self._others(message, param)
        for place, call in enumerate(calls):
            content.append(self._call(call, f"{param}.tool_calls[{place}]"))
        function = message.get("function_call")
        if isinstance(function, dict):
            self._last_function = f"call_{index}"
            content.append(self._use(self._last_function, function, f"{param}.function_call"))
        if calls or function:
            self.unsigned = not thoughts
        return content

    def _others(self, message: Document, param: str) -> list[Document]:
        """What few messages have."""
        blocks: list[Document] = []
        if isinstance(message.get("refusal"), str) and message["refusal"]:
            blocks.append({"text": message["refusal"]})
        if message.get("audio"):
            self._changes.drop(f"{param}.audio", "This upstream keeps no audio.")
        return blocks

    def _said(self, message: Document, kept: list[Kept], param: str) -> list[Document]:
        """Text, and the blocks that the client kept for us, each where it stood."""
        content = message.get("content")
        if not isinstance(content, str) or not any(offset for _, offset, _ in kept):
            return [block for _, _, block in sorted(kept, key=_index)] + self._content(message, param)
        blocks: list[Document] = []
        start = 0
        for _, offset, block in sorted(kept, key=_index):
            if offset > start:
                blocks.append({"text": content[start:offset]})
                start = offset
            blocks.append(block)
        return [*blocks, *self._content({**message, "content": content[start:]}, param)]

    def _thoughts(self, message: Document, calls: list[Document], param: str) -> list[Kept]:
        """Signed and redacted thinking, as it came. Without a signature it is no model's to read again."""
        blocks = message.get("thinking_blocks")
        if not isinstance(blocks, list) or not blocks:
            blocks = self._remembered(calls) if self._memory is not None else []
        if not blocks and not _reasons(message):
            return []
        thoughts = [_placed(block, thought) for block in blocks if (thought := _thought(block)) is not None]
        if len(thoughts) < len(blocks):
            reason = "Thinking without a signature is not taken back."
            self._changes.note(f"{param}.thinking_blocks", "dropped", reason)
        elif not thoughts and _reasons(message):
            reason = "Reasoning goes back as signed `thinking_blocks` only."
            self._changes.note(f"{param}.reasoning_content", "dropped", reason)
        return thoughts

    def _remembered(self, calls: list[Document]) -> list[Document]:
        assert self._memory is not None
        for call in calls:
            if isinstance(call.get("id"), str) and (found := self._memory.find(call["id"])) is not None:
                return found
        return []

    def _call(self, call: Document, param: str) -> Document:
        if call.get("type") == "custom":  # its input is text; here it must be an object
            custom = call["custom"]
            self.called.setdefault(custom["name"])
            spoken = {
                "toolUseId": self._call_id(call.get("id")),
                "name": custom["name"],
                "input": {"input": custom["input"]},
            }
            return {"toolUse": spoken}
        function = call.get("function")
        if not isinstance(function, dict):
            raise refuse(f"{param}.type", "This upstream knows no calls of this type.")
        return self._use(call.get("id"), function, f"{param}.function")

    def _use(self, identity: Any, function: Document, param: str) -> Document:
        arguments = call_arguments(function.get("arguments"), f"{param}.arguments", self._changes)
        name = function.get("name")
        self.called.setdefault(str(name))
        return {"toolUse": {"toolUseId": self._call_id(identity), "name": name, "input": arguments}}

    def _call_id(self, identity: Any) -> str:
        """Some models count their calls anew in each turn; here no two of a conversation may have one id."""
        own = call_id(identity)
        if own in self._taken:
            own = call_id(f"{identity}#{len(self._taken)}")
        self._taken.add(own)
        self._ids.setdefault(identity, []).append(own)
        return own

    def _answered_id(self, identity: Any) -> str:
        """Of the call that a result answers: where two calls share an id, their results come in their order."""
        own = self._ids.get(identity)
        if own is None:
            return call_id(identity)
        return own.pop(0) if len(own) > 1 else own[0]

    def _result(self, message: Document, param: str) -> list[Document]:
        said = message.get("content")
        if message["role"] == "tool" and len(message) == 3 and type(said) is str and said:
            own = self._answered_id(message["tool_call_id"])
            return [{"toolResult": {"toolUseId": own, "content": [{"text": said}]}}]
        identity = self._last_function if message["role"] == "function" else message.get("tool_call_id")
        content: list[Document] = []
        after: list[Document] = []
        for block in self._content(message, param):
            (after if "cachePoint" in block else content).append(block)
        result: Document = {"toolUseId": self._answered_id(identity), "content": content}
        if message.get("is_error") is True or message.get("status") == "error":
            result["status"] = "error"
        return [{"toolResult": result}, *after]


def call_id(identity: object) -> str:
    """An id as Converse takes it. Those of other vendors may be longer or have other characters; a call and its result
    are given the same one."""
    text = identity if isinstance(identity, str) else ""
    if CALL_ID.fullmatch(text):
        return text
    return "call_" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _parts(message: Document) -> list[Kept]:
    """Blocks that Chat Completions has no place for. Parts of other makers are not ours to send."""
    parts = message["content_parts"]
    return [
        _placed(part, {name: part[name]})
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict)
        for name in part
        if name in OWN_BLOCKS
    ]


def _placed(entry: Document, block: Document) -> Kept:
    """Clients of other gateways send no places: then the order stays."""
    index, offset = entry.get("index"), entry.get("text_offset")
    return index if type(index) is int else 0, offset if type(offset) is int else 0, block


def _index(kept: Kept) -> int:
    return kept[0]


def _reasons(message: Document) -> bool:
    return bool(message.get("reasoning_content") or message.get("reasoning"))


def _is_blank(block: Document) -> bool:
    return "text" in block and not block["text"].strip()


def _thought(block: object) -> Document | None:
    if not isinstance(block, dict):
        return None
    if block.get("type") == "redacted_thinking" and isinstance(block.get("data"), str) and block["data"]:
        return {"reasoningContent": {"redactedContent": block["data"]}}
    text, signature = block.get("thinking"), block.get("signature")
    if block.get("type") == "thinking" and isinstance(text, str) and isinstance(signature, str) and signature:
        return {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}
    return None


def instruction_texts(system: object) -> list[Document]:
    """A client's own `system`, in Converse's shape or as text."""
    return [dict(part) if "type" not in part else {"text": part["text"]} for part in parts_of(system) if part]
