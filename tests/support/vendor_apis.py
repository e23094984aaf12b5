"""Clients of Gemini's and of Ollama's API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tests.support.apis import ApiClient, Document, Said, Turn, Wish, events, renamed
from tests.support.raw import Answer


class Gemini(ApiClient):
    name = "gemini"
    finishes: ClassVar[Mapping[str, str]] = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filter"}

    def path(self, model: str, stream: bool) -> str:
        return f"/v1beta/models/{model}:" + ("streamGenerateContent?alt=sse" if stream else "generateContent")

    def body(self, model: str, turns: Sequence[Turn], wish: Wish, stream: bool) -> Document:
        contents: list[Document] = []
        for turn in turns:
            if isinstance(turn, str):
                contents.append({"role": "user", "parts": [{"text": turn}]})
            elif isinstance(turn, Said):
                contents.append({"role": "model", "parts": turn.native})
            else:
                calls = [part["functionCall"] for part in contents[-1]["parts"] if "functionCall" in part]
                told = zip(calls, turn.texts, strict=True)
                named = [{"id": made["id"], "name": made["name"], "response": {"output": text}} for made, text in told]
                contents.append({"role": "user", "parts": [{"functionResponse": each} for each in named]})
        config: Document = {"maxOutputTokens": wish.limit}
        if wish.schema:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": wish.schema}
        if wish.effort:
            config["thinkingConfig"] = {"includeThoughts": True, "thinkingLevel": wish.effort.upper()}
        if wish.stops:
            config["stopSequences"] = list(wish.stops)
        out: Document = {"contents": contents, "generationConfig": config}
        if wish.system:
            out["systemInstruction"] = {"parts": [{"text": wish.system}]}
        if wish.tools:
            functions = [renamed(tool, "parametersJsonSchema") for tool in wish.tools]
            out["tools"] = [{"functionDeclarations": functions}]
        return out

    def native(self, text: str, calls: Sequence[tuple[str, str, Document]]) -> Any:
        parts: list[Document] = [{"text": text}] if text else []
        return parts + [{"functionCall": {"id": id, "name": name, "args": given}} for id, name, given in calls]

    def read(self, document: Document) -> Said:
        candidate = document["candidates"][0]
        parts = candidate["content"]["parts"]
        usage = document["usageMetadata"]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        finish = self.finishes[candidate["finishReason"]]
        return Said(
            "".join(part["text"] for part in parts if "text" in part and not part.get("thought")),
            "".join(part["text"] for part in parts if part.get("thought")),
            [(made["id"], made["name"], made["args"]) for made in calls],
            "tools" if calls and finish == "stop" else finish,
            (usage["promptTokenCount"], usage["candidatesTokenCount"] + usage.get("thoughtsTokenCount", 0)),
            parts,
        )

    def fold(self, answer: Answer) -> Said:
        told = events(answer)
        if "error" in told[-1]:
            return Said(error=told[-1])
        parts = [part for each in told for part in each["candidates"][0]["content"]["parts"]]
        last = told[-1]
        candidate = {**last["candidates"][0], "content": {"parts": [part for part in parts if part != {"text": ""}]}}
        return self.read({**last, "candidates": [candidate]})

    def message_of(self, error: Document) -> str:
        assert error["error"]["status"].isupper()
        return str(error["error"]["message"])


class Ollama(ApiClient):
    name = "ollama"
    finishes: ClassVar[Mapping[str, str]] = {"stop": "stop", "length": "length"}

    def path(self, model: str, stream: bool) -> str:
        return "/api/chat"

    def body(self, model: str, turns: Sequence[Turn], wish: Wish, stream: bool) -> Document:
        messages: list[Document] = [{"role": "system", "content": wish.system}] if wish.system else []
        for turn in turns:
            if isinstance(turn, str):
                messages.append({"role": "user", "content": turn})
            elif isinstance(turn, Said):
                messages.append(turn.native)
            else:
                names = [made["function"]["name"] for made in messages[-1]["tool_calls"]]
                told = zip(names, turn.texts, strict=True)
                messages += [{"role": "tool", "tool_name": name, "content": text} for name, text in told]
        options: Document = {"num_predict": wish.limit}
        if wish.stops:
            options["stop"] = list(wish.stops)
        out: Document = {"model": model, "messages": messages, "stream": stream, "options": options}
        if wish.tools:
            out["tools"] = [{"type": "function", "function": renamed(tool, "parameters")} for tool in wish.tools]
        if wish.schema:
            out["format"] = wish.schema
        if wish.effort:
            out["think"] = wish.effort
        return out

    def native(self, text: str, calls: Sequence[tuple[str, str, Document]]) -> Any:
        message: Document = {"role": "assistant", "content": text}
        if calls:
            named = [(id, {"name": name, "arguments": given}) for id, name, given in calls]
            message["tool_calls"] = [{"id": id, "function": made} for id, made in named]
        return message

    def read(self, document: Document) -> Said:
        message = document["message"]
        calls = [
            (made["id"], made["function"]["name"], made["function"]["arguments"])
            for made in message.get("tool_calls") or ()
        ]
        assert document["done"]
        finish = "filter" if document.get("finish_reason") == "content_filter" else document["done_reason"]
        return Said(
            message["content"],
            message.get("thinking", ""),
            calls,
            "tools" if calls else finish,
            (document["prompt_eval_count"], document["eval_count"]),
            message,
        )

    def fold(self, answer: Answer) -> Said:
        assert answer.headers["content-type"] == "application/x-ndjson"
        told = [json.loads(line) for line in answer.body.decode().splitlines()]
        if "error" in told[-1]:
            return Said(error=told[-1])
        message: Document = {"role": "assistant", "content": ""}
        for each in told:
            for key in ("content", "thinking"):
                if each["message"].get(key):
                    message[key] = message.get(key, "") + each["message"][key]
            if each["message"].get("tool_calls"):
                message["tool_calls"] = each["message"]["tool_calls"]
        return self.read({**told[-1], "message": message})

    def message_of(self, error: Document) -> str:
        return str(error["error"])
