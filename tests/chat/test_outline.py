"""A large body without its long strings: nothing is lost, nothing is let in that is not JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.bounds import PIECE, JsonBounds
from antiphon.chat.outline import ENDS, LONG, Outline, OutlineReader
from antiphon.errors import RequestError

TOKEN = "0f1e2d3c"
WIDE = JsonBounds(values=10**9)
# Long texts of short motives: every cut of a piece falls somewhere in them.
MOTIVE = st.text(
    st.sampled_from('\\"/[]{},: \n\t\x01a\u00e9\u6d77\U0001f600\ud7ff') | st.characters(codec="utf-8"),
    min_size=1,
    max_size=7,
)
LONG_TEXT = st.builds(lambda motive, size: (motive * size)[:size], MOTIVE, st.integers(LONG // 2, 2 * PIECE))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5) | LONG_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def read(body: bytes, bounds: JsonBounds = WIDE) -> Outline:
    reader = OutlineReader(body, bounds, TOKEN)
    for _ in reader.steps():
        pass
    return reader.outline


def read_value(body: bytes) -> Any:
    """The value of a body after it was sent on."""
    outline = read(body)
    light = msgspec.json.decode(outline.light_body)
    assert outline.restore(light) == msgspec.json.decode(body)
    whole = outline.whole(msgspec.json.encode(light))
    sent = b"".join(whole)
    assert len(sent) == whole.size
    assert b"".join(whole) == sent  # a second time
    return json.loads(sent)


@given(VALUES, st.booleans(), st.sampled_from([None, 1, 300]))
def test_nothing_is_lost(value: Any, ascii_only: bool, indent: int | None) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    assert read_value(body) == value


@pytest.mark.parametrize("odd", ["\\", '"', "\U0001f600", "\u6d77", "\\u0041", "\n", "\ud7ff"])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_string_is_cut_anywhere(odd: str, ascii_only: bool) -> None:
    for shift in range(14):
        value = ["x" * shift + odd * (PIECE // 2), odd * 5000 + "x" * shift]
        assert read_value(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@pytest.mark.parametrize(
    "bad",
    [
        b"\n",
        b"\x00",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\x",
        b"\\u12g4",
        b"\\ud83d",
        b"\\ude00",
        b"\\ud83d\\u0041",
        b"\xe6\xb5",
    ],
)
@pytest.mark.parametrize("place", [LONG, PIECE - 1, PIECE, PIECE + 1, PIECE + 7, 2 * PIECE])
def test_what_is_not_json_is_refused_wherever_it_stands(bad: bytes, place: int) -> None:
    """The ends of a string are parsed as part of the light document."""
    for body in (
        b'{"a":"' + b"x" * (place - 6) + bad + b"x" * 3 * PIECE + b'"}',
        b'{"a":"' + b"x" * 3 * PIECE + bad + b"x" * (place - 6) + b'"}',
    ):
        with pytest.raises((RequestError, ValueError)):
            read_value(body)


def test_only_the_ends_of_a_long_string_are_parsed() -> None:
    outline = read(b'{"content":"%b","name":"%b"}' % (b"begin " * 9999, b"n" * 10))
    light = msgspec.json.decode(outline.light_body)
    assert len(light["content"]) < 3 * ENDS[1]
    assert light["content"].startswith("begin begin ")
    assert light["content"].endswith("begin begin ")
    assert light["name"] == "n" * 10


def test_a_long_name_stays() -> None:
    body = b'{"%b" \n : 1}' % (b"n" * 5000)
    assert read(body).light_body == body


def test_white_space_is_not_parsed() -> None:
    body = b'{"a":' + b" \n" * 200_000 + b'[1 , 2],"b":' + b"\t" * 5000 + b"1}"
    outline = read(body)
    assert len(outline.light_body) < 100
    assert msgspec.json.decode(outline.light_body) == {"a": [1, 2], "b": 1}


@pytest.mark.parametrize("value", [b"1234567", b"-1.5e3", b"true", b"null"])
def test_a_value_in_white_space_is_cut_anywhere(value: bytes) -> None:
    """Where a piece of the body ends within it."""
    for shift in range(len(value) + 1):
        body = b'{"a":' + b" " * (PIECE - 5 - shift) + value + b" " * 999 + b"}"
        assert read_value(body) == json.loads(body)


@pytest.mark.parametrize("space", [b" ", b"\n", b"\v", b"\f", b"\xa0"])
def test_white_space_joins_nothing_and_forgives_nothing(space: bytes) -> None:
    for shift in range(3):
        body = b'{"a":' + b" " * shift + b"1" + space * 3 * PIECE + b"2}"
        outline = read(body)
        with pytest.raises(ValueError, match="JSON"):
            msgspec.json.decode(outline.light_body)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("A" * 9000, "media"), ("A" * 4000 + " " + "A" * 4000, "words"), ("A" * 4000 + "\u6d77" * 4000, "words")],
)
def test_a_light_text_looks_like_the_whole_one(text: str, kind: str) -> None:
    outline = read(json.dumps([text], ensure_ascii=False).encode())
    [light] = msgspec.json.decode(outline.light_body)
    assert outline.size(light) == len(text)
    assert "".join(outline.expand(light, set())) == text
    is_media = light.isascii() and " " not in light and len(light) > 256
    assert is_media == (kind == "media")


@pytest.mark.parametrize("word", [b"jSon", b"js\\u006fn", b"\\u006a\\u0073\\u006f\\u006e"])
def test_a_word_is_seen_wherever_it_stands(word: bytes) -> None:
    """Also where the middle of a text begins and ends."""
    for size in (LONG + 1, 9000):
        for place in range(size):
            if 90 < place < size - 1100 and place % 16:
                continue
            outline = read(b'["%b%b%b"]' % (b"x" * place, word, b"x" * (size - place)))
            assert "json" in msgspec.json.decode(outline.light_body)[0].lower(), place


def test_the_middle_of_a_text_is_given_once() -> None:
    outline = read(json.dumps(["ab" * 9000]).encode())
    [light] = msgspec.json.decode(outline.light_body)
    known: set[int] = set()
    assert "".join(outline.expand(light, known)) == "ab" * 9000
    assert len("".join(outline.expand(light, known))) <= 2 * ENDS[1]


@pytest.mark.parametrize("text", [b"\xe6\xb5\xb7" * 300, b"\\u6d77" * 150])
def test_many_strings_that_are_short_count_by_their_bytes(text: bytes) -> None:
    body = b'["' + b'","'.join([text] * (10_000_000 // len(text))) + b'"]'
    with pytest.raises(RequestError, match="too many values"):
        read(body, JsonBounds())
