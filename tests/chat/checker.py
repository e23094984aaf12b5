"""What must hold of every stream that leaves the machine, whatever was fed.

`check` asserts it and folds the chunks into `Answer`s, as a client's accumulator would.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat.finish import FINISH_REASONS

Document = dict[str, Any]
ENVELOPE = ("id", "object", "created", "model")


@dataclass
class Tool:
    id: str
    type: str
    name: str
    arguments: str = ""


@dataclass
class Answer:
    content: str = ""
    refusal: str = ""
    reasoning: str = ""
    tools: list[Tool] = field(default_factory=list)
    function_call: list[str] = field(default_factory=list)  # name, arguments
    finish: str | None = None
    tokens: list[Any] = field(default_factory=list)


def check(chunks: list[Document], *, complete: bool = True) -> list[Answer]:
    answers: list[Answer] = []
    for chunk in chunks:
        _check_envelope(chunk, chunks[0])
        if not chunk["choices"]:  # the moderation chunk, and no other
            assert chunk["moderation"]
            assert chunk["choices"] == []
            assert answers
            assert all(answer.finish for answer in answers)
            continue
        [choice] = chunk["choices"]
        _check_choice(choice, answers)
    if complete:
        assert answers
        for answer in answers:
            assert answer.finish in FINISH_REASONS
            _check_arguments(answer)
    return answers


def _check_envelope(chunk: Document, first: Document) -> None:
    json.dumps(chunk, ensure_ascii=False, allow_nan=False).encode()  # no lone surrogate, no NaN
    assert [chunk[key] for key in ENVELOPE] == [first[key] for key in ENVELOPE]
    assert chunk["object"] == "chat.completion.chunk"
    assert isinstance(chunk["id"], str)
    assert chunk["id"]
    assert type(chunk["created"]) is int
    assert isinstance(chunk["model"], str)
    assert chunk["model"]
    assert "usage" not in chunk
    assert "error" not in chunk
    assert "obfuscation" not in chunk
    for key in ("system_fingerprint", "service_tier"):
        assert key not in chunk or isinstance(chunk[key], str)
        if key in first:
            assert chunk[key] == first[key]


def _check_choice(choice: Document, answers: list[Answer]) -> None:
    index, delta = choice["index"], choice["delta"]
    assert type(index) is int
    assert isinstance(delta, dict)
    assert "finish_reason" in choice
    if index == len(answers):
        assert delta["role"] == "assistant"
        assert delta["content"] in ("", None)  # null where the upstream said so [role-chunk]
        assert delta.get("refusal") is None
        assert choice["finish_reason"] is None
        answers.append(Answer())
        return
    assert 0 <= index < len(answers), "choices are introduced in ascending order"
    assert "role" not in delta
    answer = answers[index]
    if answer.finish is not None:
        assert choice["finish_reason"] is None
        said = {"content", "refusal", "tool_calls", "function_call", "audio", "reasoning_content"}
        assert said.isdisjoint(delta), "after its finish a choice only annotates"
        return
    _fold(delta, choice, answer)


def _fold(delta: Document, choice: Document, answer: Answer) -> None:
    logprobs = choice.get("logprobs")
    if logprobs is not None:
        assert {"content", "refusal"} <= logprobs.keys()
        for key in ("content", "refusal"):
            assert logprobs[key] is None or all(isinstance(token, dict) for token in logprobs[key])
        answer.tokens += [token.get("token") for token in logprobs["content"] or []]
    for key in ("content", "refusal", "reasoning_content"):
        if key in delta:
            assert isinstance(delta[key], str)
            assert delta[key] != ""
    answer.content += delta.get("content", "")
    answer.refusal += delta.get("refusal", "")
    answer.reasoning += delta.get("reasoning_content", "")
    if "tool_calls" in delta:
        [fragment] = delta["tool_calls"]
        _fold_call(fragment, answer)
    if "function_call" in delta:
        _fold_function_call(delta["function_call"], answer)
    if choice["finish_reason"] is not None:
        assert choice["finish_reason"] in FINISH_REASONS
        assert delta == {}
        assert logprobs is None
        answer.finish = choice["finish_reason"]


def _fold_call(fragment: Document, answer: Answer) -> None:
    index = fragment["index"]
    if index == len(answer.tools):
        kind = fragment["type"]
        assert isinstance(fragment["id"], str)
        assert fragment["id"]
        if kind not in ("function", "custom"):  # a vendor's own kind travels as it came
            assert fragment["id"] not in [tool.id for tool in answer.tools]
            answer.tools.append(Tool(fragment["id"], kind, ""))
            return
        body = fragment[kind]
        assert isinstance(body["name"], str)
        assert body["arguments" if kind == "function" else "input"] == ""
        assert fragment["id"] not in [tool.id for tool in answer.tools]
        answer.tools.append(Tool(fragment["id"], kind, body["name"]))
        return
    assert 0 <= index < len(answer.tools), "calls are introduced in order"
    tool = answer.tools[index]
    assert "id" not in fragment
    assert "type" not in fragment
    if tool.type not in ("function", "custom"):
        return
    body = fragment[tool.type]
    if "name" in body:  # a name that was cut, of a tool nobody declared: it may only come on before the arguments
        assert tool.arguments == ""
        tool.name += body["name"]
        return
    words = body["arguments" if tool.type == "function" else "input"]
    assert isinstance(words, str)
    tool.arguments += words


def _fold_function_call(call: Document, answer: Answer) -> None:
    if not answer.function_call:
        assert call["arguments"] == ""
        answer.function_call = [call["name"], ""]
    elif "name" in call:
        assert answer.function_call[1] == ""
        answer.function_call[0] += call["name"]
    else:
        answer.function_call[1] += call["arguments"]


def _check_arguments(answer: Answer) -> None:
    """A call that was not cut has arguments. (That they parse is the upstream's to see to, unless it sent none.)"""
    if answer.finish in ("length", "content_filter"):
        return
    if answer.finish in ("tool_calls", "function_call"):
        assert answer.tools or answer.function_call, "told of a call that is not there"
    for tool in answer.tools:
        if tool.type == "function":
            assert tool.arguments.strip()
    if answer.function_call:
        assert answer.function_call[1].strip()
