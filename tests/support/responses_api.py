"""A client of the Responses API, and all clients by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tests.support.apis import ApiClient, Chat, Document, Messages, Said, Turn, Wish, compact, events, renamed
from tests.support.raw import Answer
from tests.support.vendor_apis import Gemini, Ollama


class Responses(ApiClient):
    name = "responses"
    finishes: ClassVar[Mapping[str, str]] = {"max_output_tokens": "length", "content_filter": "filter"}

    def path(self, model: str, stream: bool) -> str:
        return "/v1/responses"

    def body(self, model: str, turns: Sequence[Turn], wish: Wish, stream: bool) -> Document:
        items: list[Document] = [{"role": "system", "content": wish.system}] if wish.system else []
        for turn in turns:
            if isinstance(turn, str):
                items.append({"role": "user", "content": turn})
            elif isinstance(turn, Said):
                items += turn.native
            else:
                ids = [item["call_id"] for item in items if item.get("type") == "function_call"][-len(turn.texts) :]
                told = zip(ids, turn.texts, strict=True)
                items += [{"type": "function_call_output", "call_id": made, "output": text} for made, text in told]
        out: Document = {"model": model, "input": items, "max_output_tokens": wish.limit, "store": False}
        if wish.tools:
            out["tools"] = [{"type": "function", **renamed(tool, "parameters")} for tool in wish.tools]
        if wish.schema:
            out["text"] = {"format": {"type": "json_schema", "name": "response", "schema": wish.schema, "strict": True}}
        if wish.effort:
            out |= {"reasoning": {"effort": wish.effort}, "include": ["reasoning.encrypted_content"]}
        return {**out, "stream": True} if stream else out

    def native(self, text: str, calls: Sequence[tuple[str, str, Document]]) -> Any:
        items: list[Document] = [{"role": "assistant", "content": text}] if text else []
        made = [{"call_id": id, "name": name, "arguments": compact(given)} for id, name, given in calls]
        return items + [{"type": "function_call", **each} for each in made]

    def read(self, document: Document) -> Said:
        items = document["output"]
        parts = [part for item in items if item["type"] == "message" for part in item["content"]]
        thoughts = [item for item in items if item["type"] == "reasoning"]
        calls = [item for item in items if item["type"] == "function_call"]
        told = [part["text"] for item in thoughts for part in (item.get("content") or item["summary"])]
        finish = "tools" if calls else "stop"
        if document["status"] == "incomplete":
            finish = self.finishes[document["incomplete_details"]["reason"]]
        usage = document["usage"]
        return Said(
            "".join(part["text"] for part in parts if part["type"] == "output_text"),
            "".join(told),
            [(item["call_id"], item["name"], json.loads(item["arguments"])) for item in calls],
            finish,
            (usage["input_tokens"], usage["output_tokens"]),
            items,
        )

    def fold(self, answer: Answer) -> Said:
        last = events(answer)[-1]
        return Said(error=last["response"]) if last["type"] == "response.failed" else self.read(last["response"])

    def message_of(self, error: Document) -> str:
        return str(error["error"]["message"])


ALL: tuple[ApiClient, ...] = (Chat(), Messages(), Gemini(), Ollama(), Responses())
CLIENTS: dict[str, ApiClient] = {client.name: client for client in ALL}
