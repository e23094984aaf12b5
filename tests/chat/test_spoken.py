"""What can be judged of a conversation and of an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.moderated_text import answer_texts, delta_words, newest_first, prompt_texts, readings
from antiphon.chat.plain_request import judged_texts, read_plain
from antiphon.chat.request import decode
from antiphon.chat.together import Frame, Join


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_the_newest_message_comes_first_and_empty_ones_not_at_all() -> None:
    messages = [{"role": "system", "content": "S"}, user("A"), {"role": "assistant", "content": " "}]
    assert prompt_texts({"messages": messages}) == ["A", "S", "S A"]


def test_what_a_user_said_in_several_messages_is_read_together() -> None:
    assert prompt_texts({"messages": [user("A"), user("B")]}) == ["B", "A", "A B"]


def test_parts_calls_reasoning_and_refusals() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": "b"}'}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "T"}, {"type": "refusal", "refusal": "R"}]}
    custom = {"id": "2", "type": "custom", "custom": {"name": "g", "input": "I"}}
    assert prompt_texts({"messages": [{**message, "tool_calls": [call, custom], "reasoning_content": "W"}]}) == [
        'T\nR\nW\n{"a": "b"}\nI\nf\ng',
        "b I",
    ]
    picture = {"type": "image_url", "image_url": {"url": "https://x"}}
    assert prompt_texts({"messages": [user([picture])]}) == []


def test_an_answer_says_all_that_it_says() -> None:
    message = {"content": "C", "refusal": "R", "reasoning": "W", "audio": {"transcript": "A"}}
    function = {"function_call": {"name": "f", "arguments": "{}"}}
    assert answer_texts({**message, **function}) == ["C", "R", "W", "A", "{}"]


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("plain", "plain"),
        (r'{"t":"a\nzork"}', '{"t":"a\nzork"}'),
        (r"\u006bi\u006Cl", "kill"),
        (r"\ud83d\ude00 \u6740", "😀 杀"),
        (r"{\"a\": \"\\u006bill\"}", '{"a": "kill"}'),
        ("C:\\users", "C:\\users"),
        ("half \\u00", "half \\u00"),
    ],
)
def test_escapes_are_read(text: str, last: str) -> None:
    found = readings(text)
    assert found[0] == text
    assert found[-1] == last


@pytest.mark.parametrize("cut", ["\\u00", "\\u00zz", "\\u"])
@pytest.mark.parametrize("place", [0, 30_000, 60_000])
def test_one_code_that_is_cut_hides_no_others(cut: str, place: int) -> None:
    codes = "\\u006b" * 60_000
    text = codes[: 6 * place] + cut + codes[6 * place :]
    assert readings(text)[-1] == "k" * place + cut + "k" * (60_000 - place)


def test_of_a_long_text_only_lines_near_escapes_are_read_again() -> None:
    before, after = [[f"line {number} of {name}" for number in range(50)] for name in ("these", "those")]
    text = "\n".join([*before, r"I will \u006bill", "you", "tomorrow", *after, r"and \u0068im"])
    found = readings(text)
    assert found[0] == text
    assert found[1:] == ["\n".join([*before[-3:], "I will kill", "you", "tomorrow", after[0], *after[-3:], "and him"])]


@given(st.lists(st.sampled_from(["a", r"\n", r"\u006b", r"\\", "x" * 40])).map(lambda parts: f"{''.join(parts)}."))
def test_a_line_with_escapes_is_read_as_it_is_meant(text: str) -> None:
    """Whether the text is long or short."""
    long = "\n".join([*["filler"] * 200, text, *["filler"] * 200])
    if len(short := readings(text)) > 1:
        assert all(each in there for each, there in zip(short[1:], readings(long)[1:], strict=True))
    else:
        assert readings(long) == [long]


def test_reasoning_in_vendors_shapes() -> None:
    details = [{"type": "reasoning.text", "text": "W"}, {"summary": [{"text": "S"}]}]
    assert answer_texts({"content": "C", "reasoning_details": details}) == ["C", "W\nS"]
    assert list(delta_words({"reasoning_details": details})) == [
        ("reasoning_details[0].text", "W"),
        ("reasoning_details[1].summary[0].text", "S"),
    ]


def test_an_entry_is_known_by_its_index_and_labels_are_no_text() -> None:
    entry = {"type": "reasoning.text", "text": "W", "index": 3, "id": "rs_1", "signature": "c2ln", "format": "x"}
    sealed = {"type": "reasoning.encrypted", "data": "c2VjcmV0", "index": 4}
    assert list(delta_words({"reasoning_details": [entry, sealed]})) == [("reasoning_details[3].text", "W")]


@pytest.mark.parametrize(
    ("delta", "words"),
    [
        ({"content": "x"}, [("content", "x")]),
        ({"role": "assistant", "content": ""}, []),
        ({"refusal": None, "reasoning_content": "w"}, [("reasoning_content", "w")]),
        ({"tool_calls": [{"index": 1, "function": {"name": "f", "arguments": ""}}]}, [("call 1", "")]),
        ({"tool_calls": [{"index": 0, "custom": {"input": "i"}}]}, [("call 0", "i")]),
        ({"function_call": {"arguments": "a"}}, [("call", "a")]),
        ({"audio": {"transcript": "t", "data": "x"}}, [("audio", "t")]),
    ],
)
def test_what_a_delta_adds(delta: dict[str, Any], words: list[tuple[str, str]]) -> None:
    assert list(delta_words(delta)) == words


@pytest.mark.parametrize(
    "messages",
    [
        b'[{"role":"user","content":"A"}]',
        b'[{"role":"user","content":" "}]',
        b'[{"role":"system","content":"S"},{"role":"user","content":"A"},{"role":"assistant","content":"B"},'
        b'{"role":"user","content":"C"}]',
    ],
)
def test_the_fast_path_reads_the_same(messages: bytes) -> None:
    body = b'{"model":"m","messages":%b}' % messages
    plain = read_plain(body)
    assert plain is not None
    assert newest_first(*judged_texts(plain)) == prompt_texts(decode(body))


def test_a_vendors_own_call_is_read_in_every_fragment() -> None:
    first = {"index": 0, "id": "c", "type": "mcp", "mcp": {"body": "W"}}
    assert list(delta_words({"tool_calls": [first]})) == [("call 0", "W")]
    assert list(delta_words({"tool_calls": [{"index": 0, "mcp": {"body": "X"}}]})) == [("call 0", "X")]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "tool_result", "content": "bad"}, ["bad"]),
        ({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "bad"}]}, ["bad"]),
        ({"type": "own", "text": "good", "Content": "bad"}, ["good", "bad"]),
        (
            {"type": "document", "title": "a", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
            ["a", "x"],
        ),
        ({"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo" * 100}}, []),
        ({"type": "video_url", "video_url": {"url": "https://example.com/a"}}, []),
        ({"type": "video", "video": ["https://example.com/a", "data:video/mp4;base64,AAAA"]}, []),
        ({"type": "image", "image": "iVBORw0KGgo" * 100}, []),
        ({"type": "own", "words": "bad " * 100}, ["bad " * 100]),
        ({"type": "own", "words": "data: bad"}, ["data: bad"]),
    ],
)
def test_a_part_of_a_vendors_own_kind_is_read_but_for_media(part: dict[str, Any], words: list[str]) -> None:
    document = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}, part]}]}
    read = [text for text in prompt_texts(document) if type(text) is not Join]
    assert read == ["\n".join(["Hello", *words])]


def test_parts_that_are_no_text_to_us_are_read_but_for_their_data() -> None:
    parts = [{"type": "output_html", "text": "W"}, {"type": "image_url", "image_url": {"url": "data:x"}}]
    assert answer_texts({"content": "C", "content_parts": parts}) == ["C", "W"]


@pytest.mark.parametrize("calls", [0.5, True, 2**64, "x", {"a": 1}, [None, 3]])
def test_what_stands_for_calls_and_is_no_list_is_passed_over(calls: object) -> None:
    message = {"role": "user", "content": "Hello", "tool_calls": calls}
    assert prompt_texts({"messages": [message]})[0].startswith("Hello")
    assert "Hello" in answer_texts(message)


def test_frames_stand_behind_all_that_is_said_and_joins_at_the_end() -> None:
    """Who is asked takes the last texts before the joins for frames."""
    roles = ("system", "user", "developer", "user")
    texts = prompt_texts({"messages": [{"role": role, "content": f"The {role} says this."} for role in roles]})
    order = {str: 0, Frame: 1, Join: 2}
    assert [order[type(text)] for text in texts] == sorted(order[type(text)] for text in texts)
    assert {type(text) for text in texts} == {str, Frame, Join}
