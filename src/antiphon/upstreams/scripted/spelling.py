"""Replies spelled as OpenAI spells them: one completion, or the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from antiphon.upstreams.scripted.reply import Reply, ToolCall, flat, pieces

Document = dict[str, Any]

FINGERPRINT = "fp_scripted"
LOGPROB = -0.25


@dataclass(frozen=True, slots=True)
class Answer:
    """A request's whole answer, in both forms; the faults take from it what they need."""

    request: Document
    replies: tuple[Reply, ...]
    now: int
    id: str = field(default_factory=lambda: "chatcmpl-" + token_hex(12))  # of this answer; another one has another

    @property
    def stream(self) -> bool:
        return self.request.get("stream") is True

    def envelope(self, kind: str) -> Document:
        return {
            "id": self.id,
            "object": kind,
            "created": self.now,
            "model": self.request.get("model"),
            "system_fingerprint": FINGERPRINT,
        }

    def completion(self) -> Document:
        choices = [self._choice(index, reply) for index, reply in enumerate(self.replies)]
        return {**self.envelope("chat.completion"), "choices": choices, "usage": self.usage()}

    def chunks(self) -> list[Document]:
        """Role, deltas and finish of each choice, the choices by turns; usage last where it was asked for."""
        options = self.request.get("stream_options")
        asked = isinstance(options, dict) and options.get("include_usage") is True
        envelope = self.envelope("chat.completion.chunk")
        chunks = [{**envelope, "choices": [choice]} for choice in self._deltas()]
        if asked:
            chunks = [{**chunk, "usage": None} for chunk in chunks]
            chunks.append({**envelope, "choices": [], "usage": self.usage()})
        return chunks

    def usage(self) -> Document:
        messages = [m for m in self.request.get("messages") or () if isinstance(m, dict)]
        prompt = 3 + sum(3 + len(pieces(flat(message.get("content")))) for message in messages)
        completion = sum(reply.tokens for reply in self.replies)
        reasoning = sum(len(pieces(reply.reasoning)) for reply in self.replies)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }

    def _choice(self, index: int, reply: Reply) -> Document:
        message: Document = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.calls and reply.legacy:
            message["function_call"] = {"name": reply.calls[0].name, "arguments": reply.calls[0].input}
        elif reply.calls:
            message["tool_calls"] = [_whole_call(call) for call in reply.calls]
        logprobs = self._logprobs(pieces(reply.text)) if reply.text else None
        return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": reply.finish}

    def _deltas(self) -> Iterator[Document]:
        lines = [self._deltas_of(index, reply) for index, reply in enumerate(self.replies)]
        while lines:
            for line in list(lines):
                choice = next(line, None)
                if choice is None:
                    lines.remove(line)
                else:
                    yield choice

    def _deltas_of(self, index: int, reply: Reply) -> Iterator[Document]:
        def choice(delta: Document, logprobs: Document | None = None, finish: str | None = None) -> Document:
            return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}

        yield choice({"role": "assistant", "content": None if reply.calls else "", "refusal": None})
        for piece in pieces(reply.reasoning):
            yield choice({"reasoning_content": piece})
        for piece in pieces(reply.refusal):
            yield choice({"refusal": piece})
        for piece in pieces(reply.text):
            yield choice({"content": piece}, self._logprobs([piece]))
        for place, call in enumerate(reply.calls):
            for delta in _call_deltas(place, call, reply.legacy):
                yield choice(delta)
        yield choice({}, finish=reply.finish)

    def _logprobs(self, tokens: list[str]) -> Document | None:
        if self.request.get("logprobs") is not True:
            return None
        return {"content": [self._logprob(token) for token in tokens], "refusal": None}

    def _logprob(self, token: str) -> Document:
        top = self.request.get("top_logprobs")
        others = [token, *(f" other{rank}" for rank in range(1, 20))][: top if isinstance(top, int) else 0]
        ranked = [_entry(word, LOGPROB * (rank * 4 + 1)) for rank, word in enumerate(others)]
        return {**_entry(token, LOGPROB), "top_logprobs": ranked}


def _entry(token: str, logprob: float) -> Document:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def _whole_call(call: ToolCall) -> Document:
    if call.custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.input}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.input}}


def _call_deltas(place: int, call: ToolCall, legacy: bool) -> Iterator[Document]:
    if legacy:
        yield {"function_call": {"name": call.name, "arguments": ""}}
        for piece in pieces(call.input):
            yield {"function_call": {"arguments": piece}}
        return
    kind, text = ("custom", "input") if call.custom else ("function", "arguments")
    yield {"tool_calls": [{"index": place, "id": call.id, "type": kind, kind: {"name": call.name, text: ""}}]}
    for piece in pieces(call.input):
        yield {"tool_calls": [{"index": place, kind: {text: piece}}]}
