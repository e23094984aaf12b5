"""The tools of a request, and what becomes of them on a model that was never taught to call any.

    toolbox = await Toolbox.read(…)       None: nothing may be called. Raises RequestError: wrong, or not for this model
    plan = toolbox.plan(messages)         None: answer in text. A Tool: call it. A Probe: ask the model
    tool = toolbox.judged(probe, heard)   None: answer in text
    order = toolbox.order(tool, messages) the prompt (plain text, under no template) and the grammar of the call
    order.reader()                        reads what is generated
    telling.spell(messages, most)         the conversation for an answer in text

`messages` have their contents as plain strings. After a tool's result the answer is text, unless a call is demanded:
a small model would call the same again for ever. Arguments are best generated greedily.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from antiphon.document import Document
from antiphon.engine.response_format import Reads
from antiphon.engine.schema.compiler_client import SchemaPlace
from antiphon.engine.schema.grammar import HEAD, NO_OBJECT
from antiphon.engine.tools.calls import MOST_CALLS, CallReader
from antiphon.engine.tools.choice import Heard, Probe, parts, shortlist, spoken
from antiphon.engine.tools.prompts import BETWEEN, before_arguments, called, request_of, tool_line
from antiphon.errors import RequestError

MOST_TRIALS: Final = 8  # beside those of small talk
# `tool_choice` in words that are not OpenAI's own.
WORDS: Final = {"any": "required"}


@dataclass(frozen=True, slots=True)
class CallOrder:
    prompt: str
    grammar: str
    tool: Tool
    said: frozenset[str]  # the request's words

    def reader(self) -> CallReader:
        """A further call is believed where a word of it was said: asked for order 4711, the model went on to 123456."""
        return self.tool.reader(lambda call: bool(spoken(msgspec.json.decode(call)) & self.said))


@dataclass(frozen=True, slots=True)
class Toolbox:
    tools: tuple[Tool, ...]  # that may be called
    forced: bool  # a call must be made
    named: bool  # … and the client has said which
    parallel: bool  # several calls may be made
    legacy: bool  # `functions`: the answer is a `function_call`

    @classmethod
    async def read(cls, document: Document, reads: Reads) -> Toolbox | None:
        """Of a checked document."""
        if document.get("tools"):
            listed = enumerate(document["tools"])
            tools = tuple([await read_tool(tool, f"tools[{index}]", reads) for index, tool in listed])
            tools, forced, named = chosen(tools, document.get("tool_choice") or "auto")
            parallel = document.get("parallel_tool_calls") is not False
            return cls(tools, forced, named, parallel=parallel, legacy=False) if tools else None
        if document.get("tool_choice") not in (None, "none", "auto"):
            raise RequestError(
                "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
                param="tool_choice",
            )
        return await cls.read_legacy(document, reads) if document.get("functions") else None

    @classmethod
    async def read_legacy(cls, document: Document, reads: Reads) -> Toolbox | None:
        listed = enumerate(document["functions"])
        tools = tuple([await read_function(function, f"functions[{index}]", reads) for index, function in listed])
        choice: Any = document.get("function_call") or "auto"
        if choice == "none":
            return None
        if type(choice) is str and choice != "auto":
            text = f"Invalid value: '{choice[:64]}'. Supported values are: 'none' and 'auto'."
            raise RequestError(text, param="function_call", code="invalid_value")
        named = choice != "auto"
        if named:
            tools = (find(tools, choice["name"], "function_call", "functions"),)
        return cls(tools, forced=named, named=named, parallel=False, legacy=True)

    def plan(self, messages: Sequence[Document]) -> Probe | Tool | None:
        answered = messages[-1]["role"] in ("tool", "function")
        if answered and not self.forced:
            return None
        tools = self._fresh(messages) if answered else self.tools
        if self.forced and len(tools) == 1:
            return tools[0]
        request = request_of(messages)
        if not request:
            return tools[0] if self.forced else None
        likely = shortlist(request, [tool.line for tool in tools], MOST_TRIALS // len(parts(request)))
        lines = [(tools[index].name, tools[index].line) for index in likely]
        calls = [name for message in messages for name in calls_of(message)]
        return Probe(request, lines, may_chat=not self.forced, recent=calls[-1] if calls else None)

    def judged(self, probe: Probe, heard: Sequence[Heard]) -> Tool | None:
        name = probe.judge(heard)
        return next((tool for tool in self.tools if tool.name == name), None)

    def order(self, tool: Tool, messages: Sequence[Document]) -> CallOrder:
        prompt = before_arguments(tool.line, messages)
        more = f'("{BETWEEN}" call){{0,{MOST_CALLS - 1}}} "\\n"' if self.parallel else ""
        grammar = f'{HEAD}start: " " call {more}\ncall: {tool.rule}'
        return CallOrder(prompt, grammar, tool, spoken(request_of(messages)))

    def _fresh(self, messages: Sequence[Document]) -> tuple[Tool, ...]:
        """The tools that were not called since the user spoke, where there are any: an agent that demands a call after
        each result (pydantic-ai) has one for its final answer."""
        used: set[str] = set()
        for message in messages:
            if message["role"] == "user":
                used.clear()
            used.update(calls_of(message))
        return tuple(tool for tool in self.tools if tool.name not in used) or self.tools


def calls_of(message: Document) -> list[str]:
    """The names of the tools that a message calls."""
    legacy = message.get("function_call")
    return [called(call)[0] for call in message.get("tool_calls") or ()] + ([legacy["name"]] if legacy else [])


def chosen(tools: tuple[Tool, ...], choice: Any) -> tuple[tuple[Tool, ...], bool, bool]:
    """The tools that may be called; must one be; is it named?"""
    word = choice if type(choice) is str else choice["type"]
    word = WORDS.get(word, word)
    if word == "none":
        return (), False, False
    if word in ("auto", "required"):
        return tools, word == "required", False
    if word == "allowed_tools":
        allowed = choice["allowed_tools"]
        names = [(entry.get(str(entry.get("type"))) or entry).get("name") for entry in allowed["tools"]]
        some = tuple(find(tools, str(name), "tool_choice", "tools") for name in names)
        if not some and allowed["mode"] == "required":
            raise RequestError(
                "Invalid 'tool_choice.allowed_tools.tools': empty array. Expected at least one tool where the mode is "
                "'required'.",
                param="tool_choice.allowed_tools.tools",
                code="empty_array",
            )
        return some, allowed["mode"] == "required", False
    if type(choice) is str:
        raise RequestError(f"Invalid value: '{word[:64]}'.", param="tool_choice", code="invalid_value")
    named = choice.get(word) or choice
    name = named.get("name") if isinstance(named, dict) else None
    if not isinstance(name, str):
        raise RequestError(f"Tool choice '{word[:64]}' not found in 'tools' parameter.", param="tool_choice")
    return (find(tools, name, "tool_choice", "tools"),), True, True


def find(tools: Sequence[Tool], name: str, param: str, listed: str) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    raise RequestError(
        f"Invalid value for '{param}': no function named '{name[:64]}' was specified in the '{listed}' parameter.",
        param=param,
    )


# One tool: what the model is told of it, and the grammar of its arguments.

INPUT: Final[Document] = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
NO_ARGUMENTS: Final[Document] = {"type": "object", "properties": {}, "additionalProperties": False}
ARGUMENTS: Final = frozenset({"properties", "$ref", "anyOf", "allOf", "oneOf", "required", "patternProperties"})


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    custom: bool
    line: str  # as it is told to the model
    rule: str  # its arguments, as the right side of a grammar rule

    def reader(self, is_likely: Callable[[str], bool] = lambda call: True) -> CallReader:
        return CallReader(self.name, custom=self.custom, is_likely=is_likely)


async def read_tool(tool: Document, param: str, reads: Reads) -> Tool:
    """Of a checked document; `param` is its place there."""
    if tool["type"] == "function":
        return await read_function(tool["function"], f"{param}.function", reads)
    if tool["type"] == "custom":
        return await read_custom(tool["custom"], f"{param}.custom", reads)
    raise RequestError(
        f"Invalid value: '{tool['type'][:64]}'. This model calls tools of the client only. "
        "Supported values are: 'function' and 'custom'.",
        param=f"{param}.type",
        code="invalid_value",
    )


async def read_function(function: Document, param: str, reads: Reads) -> Tool:
    name = function["name"]
    is_strict = function.get("strict") is True
    parameters = function.get("parameters") or {}
    # A function's object without properties takes no arguments; anywhere else it would be open.
    schema = parameters if ARGUMENTS & parameters.keys() else NO_ARGUMENTS
    param = f"{param}.parameters"
    place = SchemaPlace(f"function '{name}'", param, "invalid_function_parameters", strict=is_strict, is_object=True)
    if parameters.get("type", "object") != "object":
        raise place.refusal(NO_OBJECT)
    rule = await reads.rule(schema, place)
    return Tool(name, False, tool_line(name, function.get("description") or "", schema), rule)


async def read_custom(custom: Document, param: str, reads: Reads) -> Tool:
    """Emulated as a function with one string, which `calls` spells out."""
    if (custom.get("format") or {"type": "text"})["type"] != "text":
        raise RequestError(
            "Invalid value: 'grammar'. This model writes a custom tool's input as free text. "
            "Supported values are: 'text'.",
            param=f"{param}.format.type",
            code="invalid_value",
        )
    name = custom["name"]
    line = tool_line(name, custom.get("description") or "", INPUT)
    return Tool(name, True, line, await reads.rule(INPUT, SchemaPlace(f"custom tool '{name}'", param)))
