"""A Chat Completions request, said as one of Cohere's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from antiphon.chat.request import KNOWN
from antiphon.document import Document
from antiphon.errors import RequestError
from antiphon.protocols.changes import Changes, refuse
from antiphon.protocols.cohere.messages import CohereConversation
from antiphon.protocols.facts import ModelFacts, Thinking
from antiphon.protocols.protocol import Encoded

PATH: Final = "/v2/chat"
# OpenAI's name -> Cohere's, the least and the most that Cohere takes.
NUMBERS: Final = (
    ("temperature", "temperature", 0, None),
    ("top_p", "p", 0.01, 0.99),
    ("top_k", "k", 0, 500),
    ("frequency_penalty", "frequency_penalty", 0, 1),
    ("presence_penalty", "presence_penalty", 0, 1),
)
SAMPLING: Final = frozenset({"temperature", "top_p", "top_k"})
MOST_STOPS: Final = 5
BUDGETS: Final = {"minimal": 512, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 32_768, "max": 65_536}
NO_ARGUMENTS: Final = {"type": "object", "properties": {}}
# Parameters that Cohere has no place for -> the values that ask for nothing.
UNSAID: Final[Mapping[str, tuple[Any, ...]]] = {
    "audio": (),
    "logit_bias": ({},),
    "metadata": ({},),
    "modalities": (["text"],),
    "parallel_tool_calls": (True,),
    "prediction": (),
    "prompt_cache_key": (),
    "prompt_cache_options": ({},),
    "prompt_cache_retention": (),
    "safety_identifier": ("",),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "top_logprobs": (0,),
    "user": ("",),
    "verbosity": ("medium",),
    "web_search_options": (),
}
ELSEWHERE: Final = frozenset({"top_k", "extra_body", "cache_control"})
JSON_ONLY: Final = "Answer with one JSON object and nothing else."


def encode(document: Document, model: str, facts: ModelFacts, *, strict: bool) -> Encoded:
    extra = document.get("extra_body")
    document = {**document, **extra} if isinstance(extra, dict) else document
    changes = Changes(strict=strict)
    talk = CohereConversation(facts, changes)
    talk.read(document["messages"])
    if not talk.messages:
        raise RequestError("There is no message with a content.", param="messages", code="invalid_value")
    body: Document = {"model": model, "stream": document.get("stream") is True, "messages": talk.messages}
    _say_tools(document, body, facts, changes)
    _say_format(document, body, facts, changes)
    _say_numbers(document, body, facts, changes)
    _say_thinking(document, body, facts, changes)
    # What OpenAI does not know is Cohere's own: documents, citation_options, safety_mode, priority, …
    body |= {key: value for key, value in document.items() if key not in KNOWN and key not in ELSEWHERE}
    for key, silent in UNSAID.items():
        value = document.get(key)
        if value is not None and value not in silent:
            changes.drop(key, "This upstream has no such parameter.")
    return Encoded(PATH, body, (), tuple(changes.made))


# Tools


def _say_tools(document: Document, body: Document, facts: ModelFacts, changes: Changes) -> None:
    functions = _functions(document, changes)
    choice = document.get("tool_choice")
    if choice is None and isinstance(document.get("function_call"), str | dict):
        call = document["function_call"]
        choice = {"type": "function", "function": call} if isinstance(call, dict) else call
    if isinstance(choice, dict):
        functions, choice = _narrow(functions, choice, changes)
    if not functions:
        return
    body["tools"] = [{"type": "function", "function": _described(function)} for function in functions]
    strict = [function.get("strict") is True for function in functions]
    if all(strict):
        body["strict_tools"] = True
    elif any(strict):
        changes.note("tools", "rewritten", "This upstream takes all tools strictly, or none.")
    if choice == "required" and not facts.takes_forced_tools:
        changes.rewrite("tool_choice", "This model cannot be made to call a tool: it chooses itself.")
    elif choice in ("required", "none", "REQUIRED", "NONE"):
        body["tool_choice"] = choice.upper()


def _functions(document: Document, changes: Changes) -> list[Document]:
    functions: list[Document] = []
    for place, tool in enumerate(document.get("tools") or ()):
        if tool.get("type") == "function" and isinstance(tool.get("function"), dict):
            functions.append(tool["function"])
        else:
            changes.drop(f"tools[{place}]", f"This upstream has no tools of the type '{str(tool.get('type'))[:64]}'.")
    return functions or list(document.get("functions") or ())


def _narrow(functions: list[Document], choice: Document, changes: Changes) -> tuple[list[Document], Any]:
    """A choice of certain tools: the others are left out. -> (those, the word for the choice)"""
    if choice.get("type") == "allowed_tools":
        allowed = choice.get("allowed_tools") or {}
        wanted = {_name_of(tool) for tool in allowed.get("tools") or ()}
        mode = allowed.get("mode")
    else:
        wanted, mode = {_name_of(choice)}, "required"
    kept = [function for function in functions if function.get("name") in wanted]
    if len(kept) < len(functions):
        changes.note("tools", "rewritten", "This upstream has no choice of certain tools: the others are left out.")
    return kept, mode


def _name_of(choice: Document) -> str | None:
    function = choice.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else None


def _described(function: Document) -> Document:
    told: Document = {"name": function["name"]}
    if function.get("description"):
        told["description"] = function["description"]
    told["parameters"] = function.get("parameters") or NO_ARGUMENTS
    return told


# Structured output


def _say_format(document: Document, body: Document, facts: ModelFacts, changes: Changes) -> None:
    form = document.get("response_format") or {}
    kind = form.get("type")
    if kind == "json_object":
        body["response_format"] = {"type": "json_object"}
        if isinstance(form.get("json_schema"), dict):  # Cohere's own shape
            body["response_format"]["json_schema"] = form["json_schema"]
    elif kind == "json_schema":
        schema = (form.get("json_schema") or {}).get("schema") or {"type": "object"}
        body["response_format"] = {"type": "json_object"}
        if facts.takes_schema:
            body["response_format"]["json_schema"] = schema
            return
        changes.rewrite("response_format", "This model takes no schema: it was told so in words.")
        text = f"{JSON_ONLY} It must be valid against this JSON schema:\n{msgspec.json.encode(schema).decode()}"
        body["messages"].insert(0, {"role": "system", "content": text})
    elif kind not in (None, "text"):
        changes.drop("response_format", "This upstream knows no such format.")


# Limits and sampling


def _say_numbers(document: Document, body: Document, facts: ModelFacts, changes: Changes) -> None:
    limit = document.get("max_completion_tokens") or document.get("max_tokens")
    if isinstance(limit, int):
        body["max_tokens"] = limit
    for name, own, least, most in NUMBERS:
        value = document.get(name)
        if value is None:
            continue
        if not isinstance(value, int | float):  # `top_k`, which OpenAI does not know and nobody has checked
            raise refuse(name, "It must be a number.")
        if name in SAMPLING and not facts.takes_sampling:
            changes.drop(name, "This model takes no sampling parameters.")
            continue
        fitting = max(value, least) if most is None else min(max(value, least), most)
        if fitting != value and name == "top_p":  # all tokens, or one: as near as it gets
            changes.note(name, "rewritten", f"This upstream takes {least} to {most}.")
        elif fitting != value:
            changes.rewrite(name, f"This upstream takes {least} to {most}.")
        body[own] = fitting
    if document.get("seed") is not None:
        body["seed"] = document["seed"]
    if document.get("logprobs") is True:
        body["logprobs"] = True
    stop = document.get("stop")
    stops = [word for word in ([stop] if isinstance(stop, str) else stop or ()) if word]
    if len(stops) > MOST_STOPS:
        changes.rewrite("stop", f"This upstream takes {MOST_STOPS} of them.")
    if stops:
        body["stop_sequences"] = stops[:MOST_STOPS]


def _say_thinking(document: Document, body: Document, facts: ModelFacts, changes: Changes) -> None:
    """A model that can think does so unless it is told not to. A client's own `thinking` goes along as it is."""
    effort = document.get("reasoning_effort")
    if not isinstance(effort, str):
        return
    if isinstance(document.get("thinking"), dict):
        changes.note("reasoning_effort", "dropped", "`thinking` says it.")
    elif effort == "none":
        if facts.thinking is Thinking.ALWAYS:
            changes.drop("reasoning_effort", "This model thinks always.")
        elif facts.thinking is not Thinking.NONE:
            body["thinking"] = {"type": "disabled"}
    elif facts.thinking is Thinking.NONE:
        changes.drop("reasoning_effort", "This model does not think.")
    else:
        tokens = max(BUDGETS.get(effort, BUDGETS["medium"]), facts.least_budget)
        tokens = tokens if facts.most_budget is None else min(tokens, facts.most_budget)
        body["thinking"] = {"type": "enabled", "token_budget": tokens}
