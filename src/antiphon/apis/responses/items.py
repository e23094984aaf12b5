"""The input of a request: items in, messages out.

What a model said in one go (reasoning, a message, calls) is one assistant message. Outputs of calls stand right behind
it, wherever they came in the input: Chat Completions asks for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from antiphon.apis.responses.notes import RequestNotes, as_object, at, text_of, type_of
from antiphon.apis.responses.parts import read_content
from antiphon.apis.responses.reasoning import TEXT, unsealed
from antiphon.apis.responses.summary import read_summary
from antiphon.apis.responses.tools import chat_name
from antiphon.chat.checks import empty, missing, wrong_type, wrong_value
from antiphon.document import Document
from antiphon.errors import RequestError

ROLES: Final = ("assistant", "system", "developer", "user")
NOT_OURS: Final = "another server has encrypted it"
OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
BUILT_IN: Final = (
    "Items of type '{}' belong to a built-in tool. The model's upstream is asked by Chat Completions, which has no "
    "place for them."
)
NO_REFERENCES: Final = (
    "Items of type 'item_reference' need stored responses, which this server does not have. Send the item itself."
)

PlacedItem = tuple[str, object]  # an item, and where it stands


class InputConversation:
    """The messages so far."""

    def __init__(self, notes: RequestNotes) -> None:
        self.messages: list[Document] = []
        self._notes = notes
        self._said: Document | None = None  # an assistant message that may go on
        self._calls: dict[str, str] = {}  # of it: by id, where they stand
        self._outputs: dict[str, tuple[str, Document]] = {}  # by id of their calls
        self._answered: set[str] = set()

    def read(self, items: Iterable[PlacedItem]) -> None:
        listed = [(path, as_object(item, path)) for path, item in items]
        for path, item in listed:
            if item.get("type") in OUTPUTS:
                self._take_output(item, path)
        for path, item in listed:
            kind = item.get("type")
            if kind is None and "role" in item:
                kind = "message"
            read = _READERS.get(kind) if type(kind) is str else None
            if read is not None:
                read(self, item, path)
                continue
            self._notes.refuse(_built_in_item(item, path))
            self._notes.beside.append(item)  # it is judged with the rest
        self._close()
        for call_id, (path, _) in self._outputs.items():
            if call_id not in self._answered:
                text = f"No tool call found for function call output with call_id {call_id[:64]}."
                raise RequestError(text, param=path)

    def say(self, role: str, content: object, path: str) -> None:
        self._close()
        self._add({"role": role, "content": content}, path)

    def _add(self, message: Document, path: str) -> None:
        self._notes.names[f"messages[{len(self.messages)}]"] = path
        self.messages.append(message)

    # Items

    def take_message(self, item: Document, path: str) -> None:
        role = item.get("role")
        if role is None:
            raise missing(f"{path}.role")
        if type(role) is not str or role not in ROLES:
            wrong = wrong_value(role, ROLES) if type(role) is str else wrong_type("a string", role)
            raise at(f"{path}.role", wrong)
        if "content" not in item:
            raise missing(f"{path}.content")
        content = read_content(item["content"], f"{path}.content", self._notes)
        self._notes.drop_others(item, ("type", "role", "content", "id", "status"), path)
        if role != "assistant":
            self.say(role, content, path)
            return
        said = self._said
        if said is None or "content" in said:
            said = self._open(path)
        said["content"] = content

    def take_compaction(self, item: Document, path: str) -> None:
        """A summary of ours is what the user says. What another server has encrypted is of no chat request."""
        summary = read_summary(item.get("encrypted_content"))
        if summary is not None:
            self.say("user", summary, path)
            return
        self._notes.refuse(_built_in_item(item, path))
        self._notes.beside.append(item)

    def take_reasoning(self, item: Document, path: str) -> None:
        """Its words, and what a vendor has signed. Of what another server has encrypted only the summary is sent."""
        said = self._said or self._open(path)
        sealed = item.get("encrypted_content")
        kept = unsealed(sealed) if type(sealed) is str else None
        if sealed is not None and kept is None:
            self._notes.drop(f"{path}.encrypted_content", NOT_OURS)
        words = _reasoning_words(item, path)
        if kept is not None:
            for key, value in kept.items():
                if key != TEXT:
                    said[key] = [*said.get(key, ()), *value]
            words = words or str(kept.get(TEXT, ""))
        if words:
            said[TEXT] = f"{said[TEXT]}\n{words}" if TEXT in said else words

    def take_call(self, item: Document, path: str) -> None:
        name = chat_name(text_of(item, "name", path), item.get("namespace"))
        self._add_call(item, path, "function", {"name": name, "arguments": text_of(item, "arguments", path)})

    def take_custom_call(self, item: Document, path: str) -> None:
        name = chat_name(text_of(item, "name", path), item.get("namespace"))
        self._add_call(item, path, "custom", {"name": name, "input": text_of(item, "input", path)})

    def _add_call(self, item: Document, path: str, kind: str, body: Document) -> None:
        call_id = text_of(item, "call_id", path)
        said = self._said or self._open(path)
        call: Document = {"id": call_id, "type": kind, kind: body}
        if item.get("extra_content") is not None:  # Google's signature
            call["extra_content"] = item["extra_content"]
        said.setdefault("tool_calls", []).append(call)
        self._calls[call_id] = path
        known = ("type", "id", "call_id", "name", "namespace", "arguments", "input", "status", "extra_content")
        self._notes.drop_others(item, known, path)

    def pass_output(self, item: Document, path: str) -> None:
        """It stands behind its call. What the model says next is another message."""
        self._close()

    def _take_output(self, item: Document, path: str) -> None:
        call_id = text_of(item, "call_id", path)
        if call_id in self._outputs:
            text = f"There are several outputs for the function call with call_id {call_id[:64]}."
            raise RequestError(text, param=f"{path}.call_id")
        if "output" not in item:
            raise missing(f"{path}.output")
        content = read_content(item["output"], f"{path}.output", self._notes)
        self._notes.drop_others(item, ("type", "id", "call_id", "output", "status", "name", "namespace"), path)
        self._outputs[call_id] = path, {"role": "tool", "tool_call_id": call_id, "content": content}

    # The assistant message

    def _open(self, path: str) -> Document:
        self._close()
        self._said = {"role": "assistant"}
        self._add(self._said, path)
        return self._said

    def _close(self) -> None:
        """The assistant message is complete; the outputs of its calls follow."""
        said, self._said = self._said, None
        calls, self._calls = self._calls, {}
        if said is None:
            return
        said.setdefault("content", None)
        for call_id, path in calls.items():
            if call_id not in self._outputs:
                text = f"No tool output found for function call {call_id[:64]}."
                raise RequestError(text, param=path)
            self._answered.add(call_id)
            where, message = self._outputs[call_id]
            self._add(message, where)


ItemReader = Callable[[InputConversation, Document, str], None]
_READERS: Final[Mapping[str, ItemReader]] = {
    "message": InputConversation.take_message,
    "reasoning": InputConversation.take_reasoning,
    "compaction": InputConversation.take_compaction,
    "function_call": InputConversation.take_call,
    "custom_tool_call": InputConversation.take_custom_call,
    "function_call_output": InputConversation.pass_output,
    "custom_tool_call_output": InputConversation.pass_output,
}


def input_items(value: object) -> list[PlacedItem]:
    """The items of an input; one that is a string is a message. Raises RequestFault."""
    if type(value) is str:
        return [("input", {"type": "message", "role": "user", "content": value})]
    if type(value) is not list:
        raise at("input", wrong_type("one of a string or array of objects", value))
    if not value:
        raise at("input", empty("an array"))
    return [(f"input[{index}]", item) for index, item in enumerate(value)]


def _reasoning_words(item: Document, path: str) -> str:
    """The reasoning itself, or its summary."""
    for key in ("content", "summary"):
        value = item.get(key)
        if value is None:
            continue
        if type(value) is not list:
            raise at(f"{path}.{key}", wrong_type("an array of objects", value))
        parts = [as_object(part, f"{path}.{key}[{index}]") for index, part in enumerate(value)]
        words = "\n".join(text_of(part, "text", f"{path}.{key}[{index}]") for index, part in enumerate(parts))
        if words:
            return words
    return ""


def _built_in_item(item: Document, path: str) -> RequestError:
    """Raises RequestError, RequestFault: it is no item at all."""
    kind = type_of(item, path)
    if kind == "item_reference":
        raise RequestError(NO_REFERENCES, param=f"{path}.type", code="unsupported_value")
    if kind.endswith(("_call", "_call_output")) or kind.startswith(("mcp_", "computer_", "compaction")):
        return RequestError(BUILT_IN.format(kind[:64]), param=f"{path}.type", code="unsupported_value")
    raise at(f"{path}.type", wrong_value(kind, (*_READERS, "item_reference")))
