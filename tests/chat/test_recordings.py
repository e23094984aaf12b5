"""Streams as vendors send them (tests/data/streams), through the codec and the machine, cut at every byte."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.chat.stream import ChatStream
from tests.chat.checker import Answer, Tool, check
from tests.chat.machine import STREAMS, machine, play, recording

Document = dict[str, Any]

NAMES = sorted(path.stem for path in STREAMS.glob("*.sse"))
FAILING = {"vllm_error", "openrouter_error"}
HOW: dict[str, Document] = {
    "think_in_content": {"think": True},
    "legacy_functions": {"legacy_functions": True},
    "llamacpp_n2": {"n": 2},
}

EXPECTED: dict[str, list[Answer]] = {
    "openai": [Answer("Grüße aus 北京 🎉\u2028\u0085\u000b\r!", finish="stop")],
    "openai_tools": [
        Answer(
            tools=[
                Tool("call_A1", "function", "get_weather", '{"city":"Paris"}'),
                Tool("call_B2", "function", "now", "{}"),
            ],
            finish="tool_calls",
        )
    ],
    "openai_logprobs": [Answer("One two", finish="stop", tokens=["One", " two"])],
    "openai_refusal": [Answer(refusal="I'm sorry, no.", finish="stop")],
    "openai_audio": [Answer(finish="stop")],
    "azure_default": [Answer("Good day", finish="stop")],
    "azure_async": [Answer("Good day", finish="stop")],
    "vllm": [Answer("Yes sir.", finish="length")],
    "vllm_tools": [
        Answer(
            reasoning="Let me look.",
            tools=[Tool("chatcmpl-tool-1", "function", "get_weather", '{"city": "Rome"}')],
            finish="tool_calls",
        )
    ],
    "vllm_error": [Answer("Well")],
    "ollama": [Answer("It is 4.", reasoning="Hm...", finish="stop")],
    "ollama_tools": [
        Answer(
            tools=[
                Tool("call_o1", "function", "add", '{"a":1}'),
                Tool("call_o2", "function", "add", '{"a":2}'),
            ],
            finish="tool_calls",
        )
    ],
    "deepseek": [Answer("9.11 < 9.8", reasoning="First, think", finish="stop")],
    "qwen_tools": [
        Answer(reasoning="Need tool", tools=[Tool("call_q", "function", "search", '{"q": "x"}')], finish="tool_calls")
    ],
    "mistral": [Answer("Salut !", reasoning="Bon", finish="stop")],
    "gemini": [
        Answer(
            "Ok",
            tools=[
                Tool("function-call-1", "function", "f", '{"x":1}'),
                Tool("call_made1", "function", "f", '{"x":2}'),
            ],
            finish="tool_calls",
        )
    ],
    "llamacpp": [Answer("1. Red", finish="length")],
    "llamacpp_n2": [Answer("A1A2A3", finish="stop"), Answer("B1B2", finish="length")],
    "openrouter": [Answer("Hi there", reasoning="Hm", finish="stop")],
    "openrouter_error": [Answer("Hi")],
    "groq": [Answer("Fast!", finish="stop")],
    "maritaca": [Answer("São Paulo", finish="stop")],
    "skytells": [Answer("Hello sky", finish="stop")],
    "crazyrouter": [Answer("Hello!", finish="stop")],
    "think_in_content": [Answer("shown <b", reasoning="hidden", finish="stop")],
    "legacy_functions": [Answer(function_call=["f", '{"a":1}'], finish="function_call")],
    "custom_tool": [Answer(tools=[Tool("call_c", "custom", "sql", "SELECT 1")], finish="tool_calls")],
    "odd_framing": [Answer("odd lines", finish="stop")],
}

USAGE: dict[str, tuple[int, int] | None] = {
    "openai": (9, 4),
    "vllm": (12, 3),
    "deepseek": (10, 20),
    "mistral": (5, 4),
    "gemini": (7, 9),
    "llamacpp": (34, 2),
    "llamacpp_n2": (34, 5),
    "openrouter": (4, 2),
    "groq": (3, 2),
    "skytells": None,
}


def start(name: str) -> ChatStream:
    return machine(**HOW.get(name, {}))


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_says_what_it_says(name: str) -> None:
    stream = start(name)
    chunks, error = play([recording(name)], stream)
    assert (error is not None) == (name in FAILING)
    assert stream.finished == (error is None)
    assert check(chunks, complete=error is None) == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_cut_in_two_anywhere_it_says_the_same(name: str) -> None:
    data = recording(name)
    whole, _ = play([data], start(name))
    for cut in range(1, len(data)):
        chunks, _ = play([data[:cut], data[cut:]], start(name))
        assert chunks == whole, cut


@pytest.mark.parametrize("name", NAMES)
def test_byte_by_byte_it_says_the_same(name: str) -> None:
    data = recording(name)
    chunks, _ = play((data[at : at + 1] for at in range(len(data))), start(name))
    assert chunks == play([data], start(name))[0]


@pytest.mark.parametrize("name", NAMES)
def test_cut_short_it_never_ends_well_without_a_finish(name: str) -> None:
    data = recording(name)
    for cut in range(0, len(data), 7):
        stream = start(name)
        chunks, error = play([data[:cut]], stream)
        answers = check(chunks, complete=False)
        if error is None:
            assert answers
            assert all(answer.finish for answer in answers)
        elif name not in FAILING:
            assert error.code == "upstream_truncated"


@pytest.mark.parametrize(("name", "counts"), USAGE.items())
def test_usage_wherever_it_was(name: str, counts: tuple[int, int] | None) -> None:
    stream = start(name)
    play([recording(name)], stream)
    usage = stream.usage
    assert (usage and (usage["prompt_tokens"], usage["completion_tokens"])) == counts


def test_errors_inside_a_stream() -> None:
    _, error = play([recording("vllm_error")], start("vllm_error"))
    assert error is not None
    assert (error.status, error.code) == (502, "upstream_error")
    assert "10.0.0.7" not in error.message
    _, error = play([recording("openrouter_error")], start("openrouter_error"))
    assert error is not None
    assert (error.status, error.code) == (429, "rate_limit_exceeded")
    assert "internal.example" not in error.message


def test_azure_keys_travel_and_its_empty_chunk_is_folded() -> None:
    chunks, _ = play([recording("azure_default")], start("azure_default"))
    assert [list(chunk["choices"][0]["delta"]) for chunk in chunks] == [
        ["role", "content", "refusal"],
        ["content"],
        ["content"],
        [],
    ]
    assert chunks[0]["prompt_filter_results"][0]["prompt_index"] == 0
    assert all("prompt_filter_results" not in chunk for chunk in chunks[1:])
    assert chunks[0]["choices"][0]["content_filter_results"] == {}
    assert chunks[1]["choices"][0]["content_filter_results"]["hate"]["severity"] == "safe"


def test_azure_async_annotations_get_a_delta_also_after_the_finish() -> None:
    chunks, _ = play([recording("azure_async")], start("azure_async"))
    notes = [chunk["choices"][0] for chunk in chunks if "content_filter_offsets" in chunk["choices"][0]]
    assert [note["delta"] for note in notes] == [{}, {}]
    assert [note["finish_reason"] for note in notes] == [None, None]
    assert notes[1]["content_filter_offsets"]["end_offset"] == 52
    assert chunks[-1]["choices"][0] is notes[1]


def test_vendor_extras_travel() -> None:
    chunks, _ = play([recording("openrouter")], start("openrouter"))
    assert [chunk.get("provider") for chunk in chunks] == ["Fireworks", None, *["Fireworks"] * 3]  # one was split
    assert chunks[1]["choices"][0]["delta"]["reasoning_details"][0]["text"] == "Hm"
    assert chunks[-1]["choices"][0]["native_finish_reason"] == "COMPLETED"
    groq, _ = play([recording("groq")], start("groq"))
    assert groq[0]["x_groq"] == {"id": "req_01"}
    gemini, _ = play([recording("gemini")], start("gemini"))
    [call] = [c for chunk in gemini for c in chunk["choices"][0]["delta"].get("tool_calls", []) if "extra_content" in c]
    assert call["extra_content"] == {"google": {"thought_signature": "c2ln"}}
    mistral, _ = play([recording("mistral")], start("mistral"))
    assert mistral[2]["choices"][0]["delta"]["content_parts"] == [
        {"index": 0, "type": "reference", "reference_ids": [1]}
    ]


def test_what_rode_on_the_usage_chunk_rides_on_ours() -> None:
    stream = machine(include_usage=True)
    chunks, _ = play([recording("llamacpp")], stream)
    assert all("timings" not in chunk for chunk in chunks)
    assert stream.usage_envelope()["timings"]["predicted_n"] == 2
    assert "timings" not in stream.envelope()


def test_what_rode_on_the_usage_chunk_is_sent_where_there_is_no_usage_chunk() -> None:
    chunks, _ = play([recording("llamacpp")], start("llamacpp"))
    assert [chunk["timings"]["predicted_n"] for chunk in chunks if "timings" in chunk] == [2]
    assert (chunks[-1]["timings"]["predicted_n"], chunks[-1]["choices"][0]["delta"]) == (2, {})
