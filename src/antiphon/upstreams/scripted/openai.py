"""OpenAI's language: one completion, or the chunks of a stream. The gateway checks these requests, not this fake."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from antiphon.document import Document
from antiphon.upstreams.scripted.language import (
    BORN,
    JSON,
    SSE,
    Credential,
    EventPart,
    RefusedError,
    ScriptedAnswer,
    ScriptedEvent,
    Shape,
    as_asked,
)
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.reply import Reply, ScriptedCall, pieces
from antiphon.upstreams.scripted.script import Script, error, event, json_answer

FINGERPRINT = "fp_scripted"
LOGPROB = -0.25
DONE = ScriptedEvent(b"data: [DONE]\n\n", EventPart.CLOSE)
BLOCKED = "The response was filtered due to the prompt triggering a content management policy."
SAFE = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}
OVERLOADED: Document = {
    "error": {"message": "The model is overloaded.", "type": "server_error", "param": None, "code": "overloaded"}
}


class OpenAILanguage:
    base = "/v1"

    def route(self, request: Received, credential: Credential | None, models: Mapping[str, str]) -> Script | None:
        if credential is not None:
            check_credential(request, credential)
        if request.path.endswith("/chat/completions"):
            return None if request.method == "POST" else error(405)
        _, found, name = request.path.partition("/models")
        return list_models(unquote(name.strip("/")), models) if found and request.method == "GET" else error(404)

    def read(self, request: Received) -> Document:
        document = request.document
        if not isinstance(document.get("messages"), list):
            raise RefusedError(400, "")
        return document

    def whole(self, answer: ScriptedAnswer) -> Document:
        top = envelope(answer, "chat.completion")
        if answer.shape is Shape.BLOCKED:
            raise RefusedError(400, BLOCKED, "content_filter")
        if answer.shape is Shape.EMPTY:
            return {**top, "choices": None}
        spelled = Spelled(answer)
        completion = {**top, "choices": [spelled.choice(index, reply) for index, reply in enumerate(answer.replies)]}
        if answer.tells_usage:
            completion["usage"] = usage(answer)
        return azure_completion(completion) if answer.shape is Shape.AZURE else completion

    def events(self, answer: ScriptedAnswer) -> list[ScriptedEvent]:
        top = envelope(answer, "chat.completion.chunk")
        if answer.shape is Shape.BLOCKED:
            raise RefusedError(400, BLOCKED, "content_filter")
        if answer.shape is Shape.EMPTY:
            return [ScriptedEvent(event({**top, "choices": None}), EventPart.FINISH), DONE]
        chunks = spell_chunks(answer, top)
        if answer.shape is Shape.AZURE:
            chunks = azure_chunks(chunks)
        return [*(ScriptedEvent(event(chunk), part_of(chunk)) for chunk in chunks), DONE]

    def headers(self, answer: ScriptedAnswer) -> Mapping[str, str]:
        return SSE if answer.stream else JSON

    def refuse(self, refused: RefusedError) -> Script:
        headers = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
        if not refused.message:
            return error(refused.status, headers=headers)
        body = {"message": refused.message, "type": "scripted_error", "param": None, "code": refused.kind or None}
        return error(refused.status, {"error": body}, headers)

    def failure(self, status: int | None) -> Document:
        if status is None:
            return OVERLOADED
        return {"error": {"message": as_asked(status), "type": "scripted_error", "param": None, "code": status}}

    def failure_event(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        return event(self.failure(answer.status))

    def garbage(self, answer: ScriptedAnswer, *, is_first: bool) -> bytes:
        return b'data: {"choices": [{"ind\n\n'

    def bad_frame(self) -> None:
        return None


def check_credential(request: Received, credential: Credential) -> None:
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not shown.strip():
        raise RefusedError(401, "You didn't provide an API key.")
    if credential.key is not None and not hmac.compare_digest(shown.strip().encode(), credential.key.encode()):
        raise RefusedError(401, "Incorrect API key provided.", "invalid_api_key")


def list_models(name: str, models: Mapping[str, str]) -> Script:
    data: list[Document] = [
        {"id": model, "object": "model", "created": BORN, "owned_by": "antiphon", "description": what}
        for model, what in models.items()
    ]
    if not name:
        return json_answer({"object": "list", "data": data})
    return next((json_answer(row) for row in data if row["id"] == name), error(404))


def spell_chunks(answer: ScriptedAnswer, top: Document) -> list[Document]:
    """Role, deltas and finish of each choice, the choices by turns; usage last where it was asked for."""
    options = answer.request.get("stream_options")
    asked = isinstance(options, dict) and options.get("include_usage") is True and answer.tells_usage
    chunks = [{**top, "choices": [choice]} for choice in Spelled(answer).deltas()]
    if asked:
        chunks = [{**chunk, "usage": None} for chunk in chunks]
        chunks.append({**top, "choices": [], "usage": usage(answer)})
    return chunks


def part_of(chunk: Document) -> EventPart:
    return EventPart.SAID if chunk["choices"] and chunk["choices"][0]["finish_reason"] is None else EventPart.FINISH


def azure_completion(completion: Document) -> Document:
    for choice in completion["choices"]:
        choice["content_filter_results"] = SAFE
    return {**completion, "prompt_filter_results": azure_prompt()}


def azure_chunks(chunks: list[Document]) -> list[Document]:
    """Azure's shapes: an empty first chunk with the prompt's results, annotations without a delta."""
    blank: Document = {"id": "", "object": "", "created": 0, "model": ""}
    note: Document = {"index": 0, "finish_reason": None, "content_filter_results": SAFE}
    note["content_filter_offsets"] = {"check_offset": 10, "start_offset": 10, "end_offset": 20}
    first = {**blank, "choices": [], "prompt_filter_results": azure_prompt()}
    return [first, *chunks[:-1], {**blank, "choices": [note]}, *chunks[-1:]]


def azure_prompt() -> list[Document]:
    results = {**SAFE, "jailbreak": {"detected": False, "filtered": False}}
    return [{"prompt_index": 0, "content_filter_results": results}]


def envelope(answer: ScriptedAnswer, kind: str) -> Document:
    return {
        "id": "chatcmpl-" + answer.id,
        "object": kind,
        "created": answer.now,
        "model": answer.request.get("model"),
        "system_fingerprint": FINGERPRINT,
    }


def usage(answer: ScriptedAnswer) -> Document:
    counts = answer.usage
    return {
        "prompt_tokens": counts.prompt,
        "completion_tokens": counts.completion,
        "total_tokens": counts.prompt + counts.completion,
        "prompt_tokens_details": {"cached_tokens": counts.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": counts.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


class Spelled:
    """The choices of one answer."""

    def __init__(self, answer: ScriptedAnswer) -> None:
        self._request = answer.request
        self._replies = answer.replies

    def choice(self, index: int, reply: Reply) -> Document:
        message: Document = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal or None}
        if reply.reasoning and not reply.redacted:
            message["reasoning_content"] = reply.reasoning
        if reply.citation:
            message["annotations"] = [annotation(reply)]
        if reply.calls and reply.legacy:
            message["function_call"] = {"name": reply.calls[0].name, "arguments": reply.calls[0].input}
        elif reply.calls:
            message["tool_calls"] = [_whole_call(call) for call in reply.calls]
        logprobs = self._logprobs(pieces(reply.text)) if reply.text else None
        return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": reply.finish}

    def deltas(self) -> Iterator[Document]:
        lines = [self._deltas_of(index, reply) for index, reply in enumerate(self._replies)]
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
        for piece in () if reply.redacted else pieces(reply.reasoning):
            yield choice({"reasoning_content": piece})
        for piece in pieces(reply.refusal):
            yield choice({"refusal": piece})
        for piece in pieces(reply.text):
            yield choice({"content": piece}, self._logprobs([piece]))
        if reply.citation:
            yield choice({"annotations": [annotation(reply)]})
        for place, call in enumerate(reply.calls):
            for delta in _call_deltas(place, call, reply.legacy):
                yield choice(delta)
        yield choice({}, finish=reply.finish)

    def _logprobs(self, tokens: list[str]) -> Document | None:
        if self._request.get("logprobs") is not True:
            return None
        return {"content": [self._logprob(token) for token in tokens], "refusal": None}

    def _logprob(self, token: str) -> Document:
        top = self._request.get("top_logprobs")
        others = [token, *(f" other{rank}" for rank in range(1, 20))][: top if isinstance(top, int) else 0]
        ranked = [_entry(word, LOGPROB * (rank * 4 + 1)) for rank, word in enumerate(others)]
        return {**_entry(token, LOGPROB), "top_logprobs": ranked}


def annotation(reply: Reply) -> Document:
    source = {"url": reply.citation, "title": reply.cited_title, "start_index": 0, "end_index": len(reply.text)}
    return {"type": "url_citation", "url_citation": source}


def _entry(token: str, logprob: float) -> Document:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def _whole_call(call: ScriptedCall) -> Document:
    if call.custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.input}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.input}}


def _call_deltas(place: int, call: ScriptedCall, legacy: bool) -> Iterator[Document]:
    if legacy:
        yield {"function_call": {"name": call.name, "arguments": ""}}
        for piece in pieces(call.input):
            yield {"function_call": {"arguments": piece}}
        return
    kind, text = ("custom", "input") if call.custom else ("function", "arguments")
    yield {"tool_calls": [{"index": place, "id": call.id, "type": kind, kind: {"name": call.name, text: ""}}]}
    for piece in pieces(call.input):
        yield {"tool_calls": [{"index": place, kind: {text: piece}}]}
