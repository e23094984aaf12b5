"""Clients of every API that the gateway speaks, as far as a conversation needs them: one neutral conversation is said
in each, and each one's answers are read back."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tests.support.raw import Answer, call

Document = dict[str, Any]


@dataclass
class Said:
    """One answer."""

    text: str = ""
    thought: str = ""
    calls: list[tuple[str, str, Document]] = field(default_factory=list)  # id, name, arguments
    finish: str = ""  # stop, tools, length or filter
    counted: tuple[int, int] = (0, 0)
    native: Any = None  # the answer as the API wants it back
    error: Document | None = None  # in mid-stream


@dataclass(frozen=True)
class Results:
    """What the tools said, in the order of the calls."""

    texts: tuple[str, ...]


Turn = str | Said | Results


@dataclass(frozen=True)
class Wish:
    """What is asked for besides the conversation."""

    system: str = ""
    tools: tuple[Document, ...] = ()  # name, description, schema
    schema: Document | None = None
    effort: str = ""
    limit: int = 4000
    stops: tuple[str, ...] = ()


PLAIN = Wish()


class ApiClient(ABC):
    name: str
    finishes: ClassVar[Mapping[str, str]]

    @abstractmethod
    def path(self, model: str, stream: bool) -> str: ...

    @abstractmethod
    def body(self, model: str, turns: Sequence[Turn], wish: Wish, stream: bool) -> Document: ...

    @abstractmethod
    def native(self, text: str, calls: Sequence[tuple[str, str, Document]]) -> Any:
        """What an assistant has said, as the API wants it back."""

    @abstractmethod
    def read(self, document: Document) -> Said: ...

    @abstractmethod
    def fold(self, answer: Answer) -> Said:
        """A stream."""

    @abstractmethod
    def message_of(self, error: Document) -> str:
        """The text of an error's body."""

    async def post(
        self,
        port: int,
        model: str,
        turns: Sequence[Turn],
        wish: Wish = PLAIN,
        *,
        stream: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        body = self.body(model, turns, wish, stream)
        return await call(port, "POST", self.path(model, stream), body, headers=headers)

    async def ask(
        self, port: int, model: str, turns: Sequence[Turn], wish: Wish = PLAIN, *, stream: bool = False
    ) -> Said:
        answer = await self.post(port, model, turns, wish, stream=stream)
        assert answer.status == 200, answer.body
        return self.fold(answer) if stream else self.read(answer.json)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def events(answer: Answer) -> list[Document]:
    """The data of server-sent events, without [DONE]."""
    lines = answer.body.decode().replace("\r\n", "\n").split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(each) for each in data if each != "[DONE]"]


class Chat(ApiClient):
    name = "chat"
    finishes: ClassVar[Mapping[str, str]] = {
        "stop": "stop",
        "tool_calls": "tools",
        "length": "length",
        "content_filter": "filter",
    }

    def path(self, model: str, stream: bool) -> str:
        return "/v1/chat/completions"

    def body(self, model: str, turns: Sequence[Turn], wish: Wish, stream: bool) -> Document:
        messages: list[Document] = [{"role": "system", "content": wish.system}] if wish.system else []
        for turn in turns:
            if isinstance(turn, str):
                messages.append({"role": "user", "content": turn})
            elif isinstance(turn, Said):
                messages.append(turn.native)
            else:
                ids = [made["id"] for made in messages[-1]["tool_calls"]]
                told = zip(ids, turn.texts, strict=True)
                messages += [{"role": "tool", "tool_call_id": made, "content": text} for made, text in told]
        out: Document = {"model": model, "messages": messages, "max_completion_tokens": wish.limit}
        if wish.tools:
            out["tools"] = [{"type": "function", "function": renamed(tool, "parameters")} for tool in wish.tools]
        if wish.schema:
            named = {"name": "response", "schema": wish.schema, "strict": True}
            out["response_format"] = {"type": "json_schema", "json_schema": named}
        if wish.effort:
            out["reasoning_effort"] = wish.effort
        if wish.stops:
            out["stop"] = list(wish.stops)
        return {**out, "stream": True, "stream_options": {"include_usage": True}} if stream else out

    def native(self, text: str, calls: Sequence[tuple[str, str, Document]]) -> Any:
        message: Document = {"role": "assistant", "content": text or None}
        written = [(id, {"name": name, "arguments": compact(given)}) for id, name, given in calls]
        if calls:
            message["tool_calls"] = [{"id": id, "type": "function", "function": made} for id, made in written]
        return message

    def read(self, document: Document) -> Said:
        choice = document["choices"][0]
        message = choice["message"]
        calls = [
            (made["id"], made["function"]["name"], json.loads(made["function"]["arguments"]))
            for made in message.get("tool_calls") or ()
        ]
        usage = document["usage"]
        return Said(
            message.get("content") or "",
            message.get("reasoning_content") or "",
            calls,
            self.finishes[choice["finish_reason"]],
            (usage["prompt_tokens"], usage["completion_tokens"]),
            message,
        )

    def fold(self, answer: Answer) -> Said:
        from tests.upstreams.languages import gather

        chunks = events(answer)
        if "error" in chunks[-1]:
            return Said(error=chunks[-1])
        told = gather(chunks)
        choice = {"message": {"role": "assistant", **told}, "finish_reason": told["finish"]}
        return self.read({"choices": [choice], "usage": told["usage"]})

    def message_of(self, error: Document) -> str:
        return str(error["error"]["message"])


def renamed(tool: Document, schema: str) -> Document:
    return {"name": tool["name"], "description": tool["description"], schema: tool["schema"]}


class Messages(ApiClient):
    name = "messages"
    finishes: ClassVar[Mapping[str, str]] = {
        "end_turn": "stop",
        "tool_use": "tools",
        "max_tokens": "length",
        "refusal": "filter",
    }

    def path(self, model: str, stream: bool) -> str:
        return "/v1/messages"

    def body(self, model: str, turns: Sequence[Turn], wish: Wish, stream: bool) -> Document:
        messages: list[Document] = []
        for turn in turns:
            if isinstance(turn, str):
                messages.append({"role": "user", "content": turn})
            elif isinstance(turn, Said):
                messages.append({"role": "assistant", "content": turn.native})
            else:
                ids = [block["id"] for block in messages[-1]["content"] if block["type"] == "tool_use"]
                told = zip(ids, turn.texts, strict=True)
                blocks = [{"type": "tool_result", "tool_use_id": made, "content": text} for made, text in told]
                messages.append({"role": "user", "content": blocks})
        out: Document = {"model": model, "max_tokens": wish.limit, "messages": messages}
        if wish.system:
            out["system"] = wish.system
        if wish.tools:
            named = [(tool["name"], tool["description"], tool["schema"]) for tool in wish.tools]
            out["tools"] = [
                {"name": name, "description": words, "input_schema": schema} for name, words, schema in named
            ]
        config: Document = {}
        if wish.schema:
            config["format"] = {"type": "json_schema", "schema": wish.schema}
        if wish.effort:
            config["effort"] = wish.effort
            out["thinking"] = {"type": "adaptive"}
        if config:
            out["output_config"] = config
        if wish.stops:
            out["stop_sequences"] = list(wish.stops)
        return {**out, "stream": True} if stream else out

    def native(self, text: str, calls: Sequence[tuple[str, str, Document]]) -> Any:
        blocks: list[Document] = [{"type": "text", "text": text}] if text else []
        return blocks + [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in calls]

    def read(self, document: Document) -> Said:
        blocks = document["content"]
        usage = document["usage"]
        return Said(
            "".join(block["text"] for block in blocks if block["type"] == "text"),
            "".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
            [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"],
            self.finishes[document["stop_reason"]],
            (usage["input_tokens"], usage["output_tokens"]),
            blocks,
        )

    def fold(self, answer: Answer) -> Said:
        told = events(answer)
        if told[-1]["type"] == "error":
            return Said(error=told[-1])
        assert told[0]["type"] == "message_start"
        assert told[-1]["type"] == "message_stop"
        message = told[0]["message"]
        written: dict[int, str] = {}
        open_block: int | None = None
        for event in told[1:-1]:
            kind = event["type"]
            if kind == "content_block_start":
                assert open_block is None
                assert event["index"] == len(message["content"])
                open_block = event["index"]
                message["content"].append(event["content_block"])
            elif kind == "content_block_delta":
                assert event["index"] == open_block
                self._grow(message["content"][event["index"]], event["delta"], written, event["index"])
            elif kind == "content_block_stop":
                assert event["index"] == open_block
                open_block = None
            elif kind == "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
        for index, text in written.items():
            message["content"][index]["input"] = json.loads(text)
        return self.read(message)

    def _grow(self, block: Document, delta: Document, written: dict[int, str], index: int) -> None:
        if delta["type"] == "input_json_delta":
            written[index] = written.get(index, "") + delta["partial_json"]
        elif delta["type"] == "citations_delta":
            block.setdefault("citations", []).append(delta["citation"])
        else:
            key = delta["type"].removesuffix("_delta")
            block[key] += delta[key]

    def message_of(self, error: Document) -> str:
        assert error["type"] == "error"
        assert error["request_id"].startswith("req_")
        return str(error["error"]["message"])
