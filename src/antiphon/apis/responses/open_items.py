"""Items of the output while they are being said: the events of each, and what it is in the end."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from antiphon.apis.responses.output import (
    KINDS,
    PREFIXES,
    ResponseFrame,
    call_item,
    call_prefix,
    message_item,
    read_annotations,
    reasoning_item,
    text_part,
)
from antiphon.document import Document

encode = msgspec.json.Encoder().encode
_WORDS: Final = {"content": "output_text", "refusal": "refusal"}


class OpenItem:
    """`before`, `between` and `after` stand around the number and the words of its usual delta."""

    key = ""  # of its words in a chat delta
    before = between = after = b""

    def __init__(self, frame: ResponseFrame, index: int, prefix: str) -> None:
        self._frame = frame
        self.id = frame.new_id(prefix)
        self.index = index
        self.words: list[str] = []
        self.final: Document | None = None  # once it is complete

    def whole(self, status: str) -> Document:
        """The item with all that was said so far."""
        raise NotImplementedError

    def added(self) -> list[Document]:
        return [{"type": "response.output_item.added", "output_index": self.index, "item": self.whole("in_progress")}]

    def closed(self, status: str) -> list[Document]:
        self.final = self.whole(status)
        return [{"type": "response.output_item.done", "output_index": self.index, "item": self.final}]

    def _at(self, type: str, **where: Any) -> Document:
        return {"type": type, "item_id": self.id, "output_index": self.index, **where}

    def _set_delta(self, event: Document) -> None:
        """Finds the bytes around a delta's number and words."""
        kind, named = event["type"].encode(), encode({**event, "delta": None, "type": 0})
        head, tail = named.split(b'"delta":null', 1)
        self.before = b'event: %b\ndata: {"type":"%b","sequence_number":' % (kind, kind)
        self.between = b"," + head.replace(b'{"type":0,', b"", 1) + b'"delta":'
        self.after = tail + b"\n\n"


class OpenReasoning(OpenItem):
    """Told as a summary where the client asked for one, else as it is."""

    key = "reasoning_content"

    def __init__(self, frame: ResponseFrame, index: int) -> None:
        super().__init__(frame, index, "rs_")
        self.encrypted: str | None = None
        name, place = ("summary_text", "summary_index") if frame.as_summary else ("text", "content_index")
        self._name = f"response.reasoning_{name}"
        self._place = {place: 0}
        self._has_part = False
        self._set_delta(self._at(f"{self._name}.delta", **self._place, delta=""))

    def whole(self, status: str) -> Document:
        words = "".join(self.words)
        return reasoning_item(self.id, words, self.encrypted, as_summary=self._frame.as_summary, status=status)

    def open_part(self, key: str) -> list[Document]:
        if self._has_part:
            return []
        self._has_part = True
        return [self._part("added", "")]

    def closed(self, status: str) -> list[Document]:
        if not self._has_part:
            return super().closed(status)
        words = "".join(self.words)
        done = self._at(f"{self._name}.done", **self._place, text=words)
        return [done, self._part("done", words), *super().closed(status)]

    def _part(self, step: str, words: str) -> Document:
        if self._frame.as_summary:
            name, part = "reasoning_summary_part", {"type": "summary_text", "text": words}
        else:
            name, part = "content_part", {"type": "reasoning_text", "text": words}
        return self._at(f"response.{name}.{step}", **self._place, part=part)

    def delta(self, words: str, logprobs: list[Document], obfuscation: Any) -> Document:
        return self._at(f"{self._name}.delta", **self._place, delta=words)


class OpenMessage(OpenItem):
    """Text, then perhaps a refusal: each a part of its own."""

    def __init__(self, frame: ResponseFrame, index: int) -> None:
        super().__init__(frame, index, "msg_")
        self._parts: list[Document] = []  # those that are complete
        self._annotations: list[Document] = []
        self._logprobs: list[Document] = []
        self._extras: Document = {}

    def add_extra(self, key: str, value: Any) -> None:
        """What a vendor sends beside the text: lists and strings go on, of anything else the last counts."""
        before = self._extras.get(key)
        is_piece = type(before) is type(value) and isinstance(value, list | str)
        self._extras[key] = before + value if is_piece else value

    def whole(self, status: str) -> Document:
        parts = [*self._parts, self._part()] if self.key else self._parts
        return message_item(self.id, list(parts), self._extras, status)

    def _part(self) -> Document:
        words = "".join(self.words)
        if self.key == "refusal":
            return {"type": "refusal", "refusal": words}
        return text_part(words, self._annotations, self._logprobs)

    def open_part(self, key: str) -> list[Document]:
        """The part with the words of this key of a chat delta."""
        if self.key == key:
            return []
        events = self._close_part()
        self.key = key
        event: Document = self._at(f"response.{_WORDS[key]}.delta", content_index=len(self._parts), delta="")
        self._set_delta(event if key == "refusal" else {**event, "logprobs": []})
        return [*events, self._part_event("added")]

    def _part_event(self, step: str) -> Document:
        return self._at(f"response.content_part.{step}", content_index=len(self._parts), part=self._part())

    def _close_part(self) -> list[Document]:
        if not self.key:
            return []
        words, kind = "".join(self.words), _WORDS[self.key]
        said: Document = {"refusal": words} if self.key == "refusal" else {"text": words, "logprobs": self._logprobs}
        done = self._at(f"response.{kind}.done", content_index=len(self._parts), **said)
        events = [done, self._part_event("done")]
        self._parts.append(self._part())
        self.words, self._annotations, self._logprobs, self.key = [], [], [], ""
        return events

    def closed(self, status: str) -> list[Document]:
        return [*self._close_part(), *super().closed(status)]

    def delta(self, words: str, logprobs: list[Document], obfuscation: Any) -> Document:
        self._logprobs += logprobs
        event = self._at(f"response.{_WORDS[self.key]}.delta", content_index=len(self._parts), delta=words)
        if self.key != "refusal":
            event["logprobs"] = logprobs
        return event if obfuscation is None else {**event, "obfuscation": obfuscation}

    def annotate(self, annotations: object) -> list[Document]:
        """Of a message that has ended, they stand in the whole response only."""
        found = read_annotations(annotations)
        if self.key != "content":
            texts = [part for part in self._parts if part["type"] == "output_text"]
            for part in texts[-1:]:
                part["annotations"] += found
            return []
        first = len(self._annotations)
        self._annotations += found
        return [
            self._at(
                "response.output_text.annotation.added",
                content_index=len(self._parts),
                annotation_index=first + place,
                annotation=annotation,
            )
            for place, annotation in enumerate(found)
        ]


class WholeItem(OpenItem):
    """An item of a built-in tool, as its upstream sent it when it was complete."""

    def __init__(self, frame: ResponseFrame, index: int, item: Document) -> None:
        super().__init__(frame, index, PREFIXES.get(item.get("type", ""), "item_"))
        self._item = {**item, "id": self.id}

    def whole(self, status: str) -> Document:
        return self._item


class OpenCall(OpenItem):
    def __init__(self, frame: ResponseFrame, index: int, fragment: Document) -> None:
        super().__init__(frame, index, call_prefix(fragment))
        self._call = {key: value for key, value in fragment.items() if key != "index"}
        self._kind = KINDS.get(fragment.get("type", "function"))

    def take(self, fragment: Document) -> None:
        """What a later fragment adds beside words."""
        for key, value in fragment.items():
            if key in KINDS:
                body = self._call.setdefault(key, {})
                for name, inner in value.items():
                    body[name] = body.get(name, "") + inner if name == "name" else inner
            elif key != "index":
                self._call[key] = value

    def new_words(self, fragment: Document) -> str:
        if self._kind is None:
            return ""
        body = fragment.get("function") or fragment.get("custom") or {}
        words = body.get(self._kind.words) or ""
        if words:
            self.words.append(words)
        return words

    def whole(self, status: str) -> Document:
        item = call_item(self._frame, self.id, self._call, status)
        if self._kind is not None:
            item[self._kind.words] = "".join(self.words)
        return item

    def delta(self, words: str) -> Document:
        assert self._kind is not None
        return self._at(f"{self._kind.event}.delta", delta=words)

    def closed(self, status: str) -> list[Document]:
        closed = super().closed(status)
        if self._kind is None:
            return closed
        return [self._at(f"{self._kind.event}.done", **{self._kind.words: "".join(self.words)}), *closed]
