"""The conversation: Chat Completions messages -> Cohere's. They are alike; what differs is the inside of a few."""

from __future__ import annotations

from typing import Any, Final

from antiphon.document import Document
from antiphon.protocols.changes import Changes, call_arguments, refuse
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.parts import read_arguments, text_of, write_json

ROLES: Final = {"system": "system", "developer": "system", "user": "user"}


class CohereConversation:
    __slots__ = ("_changes", "_facts", "_last_function", "messages")

    def __init__(self, facts: ModelFacts, changes: Changes) -> None:
        self.messages: list[Document] = []
        self._facts = facts
        self._changes = changes
        self._last_function = ""  # the id of the last `function_call`, which has none of its own

    def read(self, messages: list[Document]) -> None:
        for index, message in enumerate(messages):
            role, param = message["role"], f"messages[{index}]"
            if role == "assistant":
                said = self._assistant(message, index, param)
            elif role in ("tool", "function"):
                said = self._result(message, param)
            else:
                said = self._spoken(message, ROLES[role], param)
            if said is not None:
                self.messages.append(said)
            if message.get("name") and role != "function":
                self._changes.drop(f"{param}.name", "This upstream's messages have no names.")

    def _spoken(self, message: Document, role: str, param: str) -> Document | None:
        content = message.get("content")
        if isinstance(content, list):
            content = [
                said for place, part in enumerate(content) if (said := self._part(part, f"{param}.content[{place}]"))
            ]
        return {"role": role, "content": content} if content else None

    def _part(self, part: Any, param: str) -> Document | None:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("text", "input_text", "output_text"):
            return {"type": "text", "text": part["text"]} if part.get("text") else None
        if kind == "refusal":
            return {"type": "text", "text": part["refusal"]} if part.get("refusal") else None
        if kind == "image_url":
            if not self._facts.takes_images:
                raise refuse(f"{param}.image_url", "This model takes no images.")
            image = part.get("image_url")
            return {"type": "image_url", "image_url": {"url": image} if isinstance(image, str) else image}
        if kind in ("document", "thinking"):
            return dict(part)  # in Cohere's own words
        raise refuse(f"{param}.type", f"This upstream takes no parts of the type '{str(kind)[:64]}'.")

    def _assistant(self, message: Document, index: int, param: str) -> Document | None:
        spoken = self._spoken(
            {**message, "content": message.get("content") or message.get("refusal")}, "assistant", param
        )
        content = spoken["content"] if spoken is not None else None
        calls = [
            self._call(call, f"{param}.tool_calls[{place}]")
            for place, call in enumerate(message.get("tool_calls") or ())
        ]
        if isinstance(function := message.get("function_call"), dict):
            self._last_function = f"call_{index}"
            calls.append(_called(self._last_function, function, f"{param}.function_call", self._changes))
        said: Document = {"role": "assistant"}
        if message.get("audio"):
            self._changes.drop(f"{param}.audio", "This upstream keeps no audio.")
        content = self._think(message, content, said, calls, param)
        if calls:
            said["tool_calls"] = calls
        if content:
            said["content"] = content
        return said if len(said) > 1 else None

    def _think(self, message: Document, content: Any, said: Document, calls: list[Document], param: str) -> Any:
        """Reasoning goes back as thinking to models that think, and as the plan of its calls to others."""
        if isinstance(plan := message.get("tool_plan"), str) and plan:
            said["tool_plan"] = plan
            return content
        thought = message.get("reasoning_content") or message.get("reasoning")
        if not isinstance(thought, str) or not thought:
            return content
        if self._facts.thinking is not Thinking.NONE:
            text = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            return [{"type": "thinking", "thinking": thought}, *text]
        if calls:
            said["tool_plan"] = thought
        else:
            self._changes.note(f"{param}.reasoning_content", "dropped", "This model does not think.")
        return content

    def _call(self, call: Document, param: str) -> Document:
        function = call.get("function")
        if isinstance(call.get("custom"), dict) or not isinstance(function, dict):
            raise refuse(f"{param}.type", "This upstream knows no calls but those of functions.")
        return _called(call.get("id"), function, f"{param}.function", self._changes)

    def _result(self, message: Document, param: str) -> Document:
        identity = self._last_function if message["role"] == "function" else message.get("tool_call_id")
        content = message.get("content")
        if isinstance(content, list):
            content = [part for part in (self._result_part(part, param) for part in content) if part]
        if message.get("is_error") is True or message.get("status") == "error":
            self._changes.note(f"{param}.is_error", "dropped", "This upstream's results have no such mark.")
        return {"role": "tool", "tool_call_id": identity, "content": content or ""}

    def _result_part(self, part: Any, param: str) -> Document | None:
        if isinstance(part, dict) and part.get("type") == "document":
            return dict(part)
        if text := text_of([part]):
            return {"type": "text", "text": text}
        if isinstance(part, dict) and part.get("type") == "text":
            return None
        raise refuse(f"{param}.content", "This upstream takes text and documents as results of tools.")


def _called(identity: Any, function: Document, param: str, changes: Changes) -> Document:
    arguments = function.get("arguments")
    if read_arguments(arguments) is None:
        arguments = write_json(call_arguments(arguments, f"{param}.arguments", changes))
    elif not str(arguments).strip():
        arguments = "{}"
    return {"id": identity, "type": "function", "function": {"name": function.get("name"), "arguments": arguments}}
