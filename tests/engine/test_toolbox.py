"""What a request's tools come to: who may be called, what the model is asked, and what it may write."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import jsonschema
import pytest

from antiphon.engine.tools.choice import Heard, Probe
from antiphon.engine.tools.prompts import PAGE, spell
from antiphon.engine.tools.toolbox import Tool, Toolbox
from antiphon.errors import RequestError
from tests.engine.here import Here
from tests.engine.walk import accepts, draw

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Get the current weather in a city.", "parameters": CITY}
ADD = {
    "name": "add",
    "description": "Add two numbers",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}
TIME = {"name": "get_time"}
SHELL = {"type": "custom", "custom": {"name": "shell", "description": "Run a command"}}
TOOLS = [{"type": "function", "function": function} for function in (WEATHER, ADD, TIME)]
PARIS = [{"role": "user", "content": "What is the weather in Paris?"}]


def toolbox_of(document: dict[str, Any]) -> Toolbox | None:
    return asyncio.run(Toolbox.read(document, Here()))


def box(**document: Any) -> Toolbox:
    read = toolbox_of({"tools": TOOLS, "messages": PARIS, **document})
    assert read is not None
    return read


def names(toolbox: Toolbox) -> list[str]:
    return [tool.name for tool in toolbox.tools]


def named(name: str, kind: str = "function") -> dict[str, Any]:
    return {"type": kind, kind: {"name": name}}


def refusal(**document: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        toolbox_of({"tools": TOOLS, "messages": PARIS, **document})
    assert caught.value.status == 400
    return caught.value


# Who may be called


@pytest.mark.parametrize(
    ("choice", "allowed", "is_forced", "is_named"),
    [
        (None, ["get_weather", "add", "get_time"], False, False),
        ("auto", ["get_weather", "add", "get_time"], False, False),
        ("required", ["get_weather", "add", "get_time"], True, False),
        ("any", ["get_weather", "add", "get_time"], True, False),
        ({"type": "any"}, ["get_weather", "add", "get_time"], True, False),
        (named("add"), ["add"], True, True),
        ({"type": "tool", "name": "add"}, ["add"], True, True),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("add")]}}, ["add"], False, False),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [named("add"), named("get_time")]},
            },
            ["add", "get_time"],
            True,
            False,
        ),
    ],
)
def test_the_choice(choice: Any, allowed: list[str], is_forced: bool, is_named: bool) -> None:
    toolbox = box(tool_choice=choice)
    assert (names(toolbox), toolbox.forced, toolbox.named) == (allowed, is_forced, is_named)
    assert not toolbox.legacy


@pytest.mark.parametrize(
    "document",
    [
        {"tools": None},
        {"tools": []},
        {"tools": TOOLS, "tool_choice": "none"},
        {"tools": TOOLS, "tool_choice": {"type": "none"}},
        {"tools": None, "tool_choice": "none"},
        {"tools": [], "tool_choice": "auto"},
        {"functions": [WEATHER], "function_call": "none"},
    ],
)
def test_there_is_nothing_to_call(document: dict[str, Any]) -> None:
    assert toolbox_of({"messages": PARIS, **document}) is None


def test_functions_of_old() -> None:
    toolbox = box(tools=None, functions=[WEATHER, ADD])
    assert (names(toolbox), toolbox.forced, toolbox.legacy, toolbox.parallel) == (
        ["get_weather", "add"],
        False,
        True,
        False,
    )
    toolbox = box(tools=None, functions=[WEATHER, ADD], function_call={"name": "add"})
    assert (names(toolbox), toolbox.forced, toolbox.named, toolbox.legacy) == (["add"], True, True, True)


@pytest.mark.parametrize(
    ("document", "message", "param"),
    [
        (
            {"tool_choice": named("nobody")},
            "Invalid value for 'tool_choice': no function named 'nobody' was specified in the 'tools' parameter.",
            "tool_choice",
        ),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named("nobody")]}}},
            "Invalid value for 'tool_choice': no function named 'nobody' was specified in the 'tools' parameter.",
            "tool_choice",
        ),
        (
            {"tool_choice": {"type": "web_search"}},
            "Tool choice 'web_search' not found in 'tools' parameter.",
            "tool_choice",
        ),
        (
            {"tools": None, "tool_choice": "required"},
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
            "tool_choice",
        ),
        (
            {"tools": None, "functions": [WEATHER], "function_call": {"name": "nobody"}},
            "Invalid value for 'function_call': no function named 'nobody' was specified in the 'functions' parameter.",
            "function_call",
        ),
        (
            {"tools": None, "functions": [WEATHER], "function_call": "always"},
            "Invalid value: 'always'. Supported values are: 'none' and 'auto'.",
            "function_call",
        ),
        (
            {"tools": [*TOOLS, {"type": "web_search"}]},
            "Invalid value: 'web_search'. This model calls tools of the client only. "
            "Supported values are: 'function' and 'custom'.",
            "tools[3].type",
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "x", "format": {"type": "grammar", "grammar": {}}}}]},
            "Invalid value: 'grammar'. This model writes a custom tool's input as free text. "
            "Supported values are: 'text'.",
            "tools[0].custom.format.type",
        ),
        (
            {"tools": [TOOLS[0], {"type": "function", "function": {"name": "f", "parameters": {"$ref": "#/no"}}}]},
            "Invalid schema for function 'f': '$ref' leads nowhere: there is no 'no'.",
            "tools[1].function.parameters",
        ),
        *(
            (
                {"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]},
                "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"'.",
                "tools[0].function.parameters",
            )
            for parameters in (
                {"type": "string"},
                {"type": ["object", "null"]},
                {"anyOf": [{"type": "string"}, CITY]},
                {"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"type": "string"}}}},
            )
        ),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}},
            "Invalid 'tool_choice.allowed_tools.tools': empty array. Expected at least one tool where the mode is "
            "'required'.",
            "tool_choice.allowed_tools.tools",
        ),
        (
            {"tools": None, "functions": [{"name": "f", "parameters": {"properties": {"a": {"type": "x"}}}}]},
            "Invalid schema for function 'f': Invalid type: x",
            "functions[0].parameters",
        ),
    ],
)
def test_what_is_refused(document: dict[str, Any], message: str, param: str) -> None:
    error = refusal(**document)
    assert (error.message, error.param) == (message, param)


# Call or text?


def probe(said: str = PARIS[0]["content"], **document: Any) -> Probe:
    made = box(**document).plan([{"role": "user", "content": said}])
    assert isinstance(made, Probe)
    return made


def answered(*after: dict[str, Any]) -> list[dict[str, Any]]:
    call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    result = {"role": "tool", "tool_call_id": "1", "content": "18 degrees"}
    return [*PARIS, {"role": "assistant", "content": "", "tool_calls": [call]}, result, *after]


def test_each_tool_and_small_talk_are_tried() -> None:
    trials = probe().trials
    assert [trial.prompt.removeprefix(PAGE) for trial in trials] == [
        "Tool: get_weather(city): Get the current weather in a city\nRequest:",
        "Tool: add(a, b): Add two numbers\nRequest:",
        "Tool: get_time()\nRequest:",
        "Tool: Chat\nRequest:",
    ]


@pytest.mark.parametrize("said", ["What is the weather in Paris?", 'Say "hi"\\\n\tand 😀 %json {} /x/', "é" * 3000])
def test_a_trial_may_write_the_request_only(said: str) -> None:
    for trial in probe(said).trials:
        written = draw(trial.grammar, seed=0)
        assert " ".join(said.split()).startswith(written.strip()[:140])
        assert len(written) <= 162


def test_the_last_sentence_of_a_long_request_is_tried_too() -> None:
    said = "I am planning a picnic with my family tomorrow, and we hope for sun. " * 2 + "What is the weather in Rome?"
    trials = probe(said).trials
    assert len(trials) == 8
    assert accepts(trials[1].grammar, " What is the weather in Rome?")


def heard(*scores: float, token: bytes = b" What") -> list[Heard]:
    return [[(token, score)] for score in scores]


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        ((-5.0, -20.0, -20.0, -10.0), "get_weather"),
        ((-20.0, -20.0, -5.0, -10.0), "get_time"),
        ((-10.0, -20.0, -20.0, -1.0), None),
        ((-20.0, -10.0, -20.0, -10.0), None),  # likely, but not more so than small talk
    ],
)
def test_the_likeliest_wins_if_it_beats_small_talk(scores: tuple[float, ...], name: str | None) -> None:
    toolbox = box()
    plan = toolbox.plan(PARIS)
    assert isinstance(plan, Probe)
    tool = toolbox.judged(plan, heard(*scores))
    assert (tool.name if tool else None) == name


def test_shared_words_count() -> None:
    evenly = heard(-5.0, -5.0, -5.0, -5.0)
    assert probe("Rome: current weather").judge(evenly) == "get_weather"
    assert probe("Tell me something nice").judge(evenly) is None


def test_one_word_that_no_tool_knows_is_small_talk() -> None:
    assert probe("ok").judge(heard(-1.0, -1.0, -1.0, -9.0)) is None
    assert probe("Weather!").judge(heard(-1.0, -1.0, -1.0, -9.0)) == "get_weather"


def test_a_request_that_leans_on_the_talk_rather_means_the_same_tool() -> None:
    earlier = answered({"role": "assistant", "content": "It is 18 degrees."})
    toolbox = box()
    for said, name in (("And in Rome?", "get_weather"), ("And now something completely different, please", None)):
        plan = toolbox.plan([*earlier, {"role": "user", "content": said}])
        assert isinstance(plan, Probe)
        assert plan.judge(heard(-5.0, -5.0, -5.0, -5.5)) == name


def test_only_what_all_trials_reached_is_compared() -> None:
    """The token limit leaves them at different places."""
    far: Heard = [(b" What", -3.0), (b" is", -1.0), (b" the", -50.0)]
    near: Heard = [(b" What", -4.0), (b" is", -1.0)]
    assert (
        probe("What is the matter here?").judge([far, near, near, [(b" What", -9.0), (b" is", -9.0)]]) == "get_weather"
    )


def test_the_end_of_the_text_does_not_count() -> None:
    end: Heard = [(b" Hi", -3.0), (b" all", -2.0), (b"<|im_end|>", -40.0)]
    chat: Heard = [(b" Hi", -9.0), (b" all", -9.0)]
    assert probe("Hi all").judge([end, end, end, chat]) == "get_weather"


def test_a_call_that_must_be_made_is_made() -> None:
    toolbox = box(tool_choice="required")
    plan = toolbox.plan(PARIS)
    assert isinstance(plan, Probe)
    tool = toolbox.judged(plan, heard(-90.0, -80.0, -90.0, -1.0))
    assert tool is not None
    assert tool.name == "add"
    assert isinstance(box(tool_choice=named("add")).plan(PARIS), Tool)


def test_after_a_result_the_answer_is_text() -> None:
    assert box().plan(answered()) is None
    asked_again = answered({"role": "assistant", "content": "18."}, {"role": "user", "content": "And in Rome?"})
    assert isinstance(box().plan(asked_again), Probe)
    legacy = [*PARIS, {"role": "function", "name": "get_weather", "content": "18"}]
    assert box(tools=None, functions=[WEATHER]).plan(legacy) is None


def test_after_a_result_another_tool_must_be_called_if_one_must() -> None:
    plan = box(tool_choice="required").plan(answered())
    assert isinstance(plan, Probe)
    assert len(plan.trials) == 3  # and small talk
    only = box(tools=TOOLS[:2], tool_choice="required").plan(answered())
    assert isinstance(only, Tool)
    assert only.name == "add"
    again = box(tools=TOOLS[:1], tool_choice="required").plan(answered())
    assert isinstance(again, Tool)


def test_no_user_no_call() -> None:
    silent = [{"role": "system", "content": "Be kind."}]
    assert box().plan(silent) is None
    assert isinstance(box(tool_choice="required").plan(silent), Tool)


def test_of_many_tools_the_likely_ones_are_tried() -> None:
    others = [
        {"type": "function", "function": {"name": f"tool_{number}", "description": f"Handles matter {number}"}}
        for number in range(100)
    ]
    trials = probe(tools=[*others, *TOOLS]).trials
    assert len(trials) == 9
    assert any("get_weather" in trial.prompt for trial in trials)


# The call


def calls(toolbox: Toolbox, seed: int) -> list[str]:
    """What the reader makes of a text that the grammar lets through."""
    order = toolbox.order(toolbox.tools[0], PARIS)
    reader = order.reader()
    texts: dict[int, str] = {}
    for event in reader.feed(draw(order.grammar, seed)):
        texts[event.index] = texts.get(event.index, "") + getattr(event, "text", "")
    assert reader.complete
    return list(texts.values())


def test_calls_fit_the_schema() -> None:
    for seed in range(10):
        for arguments in calls(box(), seed):
            jsonschema.validate(json.loads(arguments), CITY)


def test_several_calls_of_one_tool_unless_forbidden() -> None:
    two = ' {"city": "Paris"}, {"city": "Rome"}'
    toolbox = box()
    assert accepts(toolbox.order(toolbox.tools[0], PARIS).grammar, two + "\n")
    toolbox = box(parallel_tool_calls=False)
    assert not accepts(toolbox.order(toolbox.tools[0], PARIS).grammar, two)
    assert accepts(toolbox.order(toolbox.tools[0], PARIS).grammar, ' {"city": "Paris"}')


def test_a_further_call_is_believed_where_it_was_asked_for() -> None:
    toolbox = box()
    order = toolbox.order(toolbox.tools[0], [{"role": "user", "content": "Weather in Paris and in new york?"}])
    reader = order.reader()
    events = reader.feed(' {"city": "Paris"}, {"city": "New York"}, {"city": "Berlin"}')
    assert {event.index for event in events} == {0, 1}
    assert reader.over


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_without_arguments(parameters: Any) -> None:
    toolbox = box(tools=[{"type": "function", "function": {"name": "f", "parameters": parameters}}])
    assert calls(toolbox, 0) == ["{}"]


def test_a_custom_tool_writes_text() -> None:
    toolbox = box(tools=[SHELL])
    assert toolbox.tools[0].custom
    for text in calls(toolbox, 3):
        assert not text.startswith("{")


def test_the_prompt_ends_with_the_request() -> None:
    toolbox = box()
    prompt = toolbox.order(toolbox.tools[0], PARIS).prompt
    assert prompt.startswith(PAGE)
    assert prompt.endswith("\nRequest: What is the weather in Paris?\nArguments:")


def test_a_short_request_is_told_what_was_said_before() -> None:
    toolbox = box()
    before = [{"role": "user", "content": "I am in Oslo."}, {"role": "assistant", "content": "Nice!"}]
    short = toolbox.order(toolbox.tools[0], [*before, {"role": "user", "content": "How is it there?"}]).prompt
    assert "\nBefore: I am in Oslo. Nice!\nRequest: How is it there?\n" in short
    assert "Oslo" not in toolbox.order(toolbox.tools[0], [*before, *PARIS]).prompt


def test_what_is_required_is_given_though_it_is_not_described() -> None:
    toolbox = box(tools=[{"type": "function", "function": {"name": "f", "parameters": {"required": ["x"]}}}])
    for seed in range(5):
        assert all("x" in json.loads(arguments) for arguments in calls(toolbox, seed))


def test_a_tool_of_many_arguments_is_told_shortly() -> None:
    properties = {f"property_{number}": {"type": "string"} for number in range(800)}
    parameters = {"type": "object", "properties": properties, "required": ["property_799"]}
    toolbox = box(tools=[{"type": "function", "function": {"name": "f", "parameters": parameters}}])
    line = toolbox.tools[0].line
    assert line.startswith("f(property_0, property_1, ")
    assert len(line) < 1000
    assert json.loads(calls(toolbox, 1)[0]).keys() >= {"property_799"}


def test_a_long_result_is_told_as_far_as_there_is_room() -> None:
    told = spell([*PARIS, {"role": "tool", "tool_call_id": "1", "content": "x" * 10_000}], 6000)
    assert told[-1][1].count("x") == 6000


@pytest.mark.parametrize(
    "choice", ["sometimes", "function", {"type": "web_search"}, {"type": "x", "x": "y"}, {"type": "x", "name": 3}]
)
def test_a_choice_that_it_does_not_know_is_refused(choice: Any) -> None:
    assert refusal(tool_choice=choice).param == "tool_choice"
