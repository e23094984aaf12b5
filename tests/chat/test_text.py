from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.text import Flat, ThinkSplitter, flatten, split_think

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "thinking", "value", "refusal", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("content", "flat"),
    [
        ("text", Flat("text", None, [])),
        ("", Flat("", None, [])),
        (None, Flat(None, None, [])),
        ([], Flat(None, None, [])),
        (["a", "b"], Flat("ab", None, [])),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], Flat("ab", None, [])),
        ({"type": "text", "text": "a"}, Flat("a", None, [])),
        ([{"type": "output_text", "text": "a", "annotations": []}], Flat("a", None, [])),
        ([{"type": "text", "text": {"value": "a", "annotations": []}}], Flat("a", None, [])),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}], Flat(None, "t", [])),
        (
            [{"type": "thinking", "thinking": "t", "signature": "s"}],
            Flat(None, "t", [{"type": "thinking", "signature": "s"}]),
        ),
        ([{"type": "reasoning", "text": "t"}, {"type": "text", "text": "a"}], Flat("a", "t", [])),
        ([{"type": "refusal", "refusal": "no"}], Flat(None, None, [], "no")),
        (
            [{"type": "image_url", "image_url": {"url": "u"}}],
            Flat(None, None, [{"type": "image_url", "image_url": {"url": "u"}}]),
        ),
        ([{"type": "text"}], Flat(None, None, [{"type": "text"}])),
        ([None, 3, [{"type": "text", "text": "a"}]], Flat("3a", None, [])),  # what is left over are objects only
        (5, Flat("5", None, [])),
        (True, Flat("true", None, [])),
    ],
)
def test_flatten(content: object, flat: Flat) -> None:
    assert flatten(content) == flat


@given(json_values)
def test_flatten_takes_anything(content: object) -> None:
    flat = flatten(content)
    assert flat.text is None or isinstance(flat.text, str)


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("a<think>b</think>c", ("ac", "b")),
        ("<think>b</think>\n\nc", ("\n\nc", "b")),
        ("<think>never closed", ("", "never closed")),
        ("no <thinker> here", ("no <thinker> here", "")),
        ("a</think>b", ("a</think>b", "")),
        ("<think></think>", ("", "")),
        ("<think>a</think>b<think>c</think>d", ("bd", "ac")),
        ("<think>a <b> </thin </think>c", ("c", "a <b> </thin ")),
        ("ends with <thin", ("ends with <thin", "")),
        ("", ("", "")),
    ],
)
def test_think_is_split_wherever_it_is_cut(text: str, split: tuple[str, str]) -> None:
    assert split_think(text) == split
    for cut in range(len(text) + 1):
        assert feed_all([text[:cut], text[cut:]]) == split
    assert feed_all(list(text)) == split


def feed_all(pieces: list[str]) -> tuple[str, str]:
    splitter = ThinkSplitter()
    split = [splitter.feed(piece) for piece in pieces] + [splitter.close()]
    return "".join(text for text, _ in split), "".join(thought for _, thought in split)


def test_text_that_cannot_be_a_marker_is_not_held() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("a <b") == ("a <b", "")
    assert splitter.feed(" x<") == (" x", "")
    assert splitter.feed("y") == ("<y", "")


@given(st.lists(st.sampled_from(["<", "think>", "/", "<think>", "</think>", "a", "<thi", "nk>"])))
def test_cuts_never_matter(pieces: list[str]) -> None:
    assert feed_all(pieces) == split_think("".join(pieces))
