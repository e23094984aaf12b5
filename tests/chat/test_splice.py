"""Splicing gives the very documents that the whole way gives, or nothing."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.chat.event import decode
from antiphon.chat.splice import FUTILE, Splice
from antiphon.chat.stream import ChatStream
from antiphon.dialects import DIALECTS, WriteOptions
from antiphon.errors import UpstreamError
from antiphon.sse import Named, frame
from tests.chat.machine import USAGE, bare, chunk, machine, request

CALLED = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{"}}]}
TEXTS = st.text(alphabet=st.characters(codec="utf-8"), max_size=20)
SEEDS = st.integers(0, 2**64)


class Line:
    """A stream's way: machine, writer and, if `splices`, the shortcut; as a relay puts them together."""

    def __init__(self, splices: bool, dialect: str = "openai", *, any_shape: bool = True, **fields: Any) -> None:
        self.machine: ChatStream = machine(**fields)
        asked = request(**{key: value for key, value in fields.items() if key not in ("think", "sources")})
        self.writer = DIALECTS[dialect].writer(asked, WriteOptions(strict=False, target="up/target"))
        self.splice = Splice(self.machine.texts, any_shape=any_shape)
        self.splices = splices
        self.spliced = 0

    def take(self, payload: bytes) -> list[bytes]:
        if self.splices and type(payload) is bytes:
            sent = self.splice.apply(payload)
            if sent is not None:
                self.spliced += 1
                return [sent]
        document = decode(payload)
        chunks = self.machine.feed(document)
        seen = self.splice.see(payload, document, chunks)
        out = [frame(msgspec.json.encode(self.writer.chunk(chunk))) for chunk in chunks]
        if seen is not None:
            self.splice.learn(seen, out[-1])
        return out


def documents(frames: list[bytes]) -> list[Any]:
    assert all(sent.startswith(b"data: ") and sent.endswith(b"\n\n") and sent.count(b"\n") == 2 for sent in frames)
    return [json.loads(sent[6:]) for sent in frames]


def spelled(document: Any, **how: Any) -> bytes:
    return json.dumps(document, **{"separators": (",", ":"), **how}).encode()


def text(words: str = "hi", index: int = 0, key: str = "content", **more: Any) -> Any:
    return chunk({key: words}, index=index, **more)


def begun(dialect: str = "openai", n: int = 1, **fields: Any) -> Line:
    line = Line(True, dialect, n=n, **fields)
    for index in range(n):
        line.take(spelled(chunk({"role": "assistant", "content": ""}, index=index)))
    return line


# Whatever comes


def some_text(random: Random) -> Any:
    words = random.choice(["a", " é", 'q"\\', "\u2028", "\U0001f600", '{"content":"x"}', "<think>", "", "\x01"])
    key = random.choice(["content"] * 6 + ["reasoning_content", "reasoning", "refusal"])
    index = random.choice([0, 0, 0, 1])
    document = text(words, index, key)
    choice = document["choices"][0]
    variant = random.randrange(12)
    if variant == 0:
        del choice["logprobs"]
    elif variant == 1:
        document = dict(reversed(document.items()))
    elif variant == 2:
        document = {"obfuscation": random.choice(["aB3", "x", "", '"', "é"]), **document}
    elif variant == 3:
        choice["delta"] = {"role": "assistant", "content": None, **choice["delta"], "tool_calls": None}
    elif variant == 4:
        document["usage"] = random.choice([None, {}, USAGE, {**USAGE, "completion_tokens": 9, "total_tokens": 12}])
    elif variant == 5:
        document[random.choice(["x_new", "service_tier", "system_fingerprint"])] = random.choice(["a", "b", None])
    elif variant == 6:
        choice["x_inner"] = random.choice([1, 2, None, {"content": "b"}])
    elif variant > 8:
        document["obfuscation"] = random.choice(["aB3", "Zz", "", "a\\"])
    return document


def some_other(random: Random) -> Any:
    index = random.choice([0, 0, 1])
    return random.choice(
        [
            chunk({}, finish="stop", index=index),
            chunk({"content": "end"}, finish="length", index=index),
            chunk({"role": "assistant", "content": ""}, index=index),
            chunk(CALLED),
            chunk({"content": [{"type": "text", "text": "part"}]}),
            chunk({"content": "x", "reasoning": "y"}),
            chunk({"content": "x", "x_aside": 1}),
            chunk({"content": "x"}, choice={"logprobs": {"content": [], "refusal": None}}),
            chunk({}, choice={"logprobs": {"content": [{"token": "t", "logprob": 0}], "refusal": None}}),
            chunk({}, choice={"x_inner": 1}),
            bare(usage=USAGE),
            bare(prompt_filter_results=[{"prompt_index": 0}]),
            bare(system_fingerprint="late"),
            {**text("x"), "choices": [*text("x")["choices"], *text("y", 1)["choices"]]},
            {"error": None, **text("x")},
            text("x", id="chatcmpl-2"),
        ]
    )


def some_payloads(random: Random) -> list[bytes]:
    style: dict[str, Any] = random.choice([{}, {}, {"separators": (", ", ": ")}, {"ensure_ascii": False}])
    payloads = [spelled(chunk({"role": "assistant", "content": ""}), **style)] if random.random() < 0.8 else []
    kinds = [some_text(random) for _ in range(random.choice([1, 2, 4, 6]))]
    for _ in range(random.randrange(25)):
        chance = random.random()
        if chance < 0.7:
            document = json.loads(json.dumps(random.choice(kinds)))
            for choice in document["choices"]:
                for key in choice["delta"].keys() & {"content", "reasoning", "reasoning_content", "refusal"}:
                    if choice["delta"][key]:
                        choice["delta"][key] = random.choice(["one", "two\n", "é", "<think>no</think>"])
            if document.get("obfuscation"):
                document["obfuscation"] = random.choice(["q", "w9", "e e"])
        else:
            document = some_text(random) if chance < 0.8 else some_other(random)
        payload = spelled(document, **style)
        if random.random() < 0.03:
            payload = payload.replace(b'"one"', b'"\\ud83d"').replace(b'"two\\n"', b'"\\ude00"')
        if random.random() < 0.02:
            at = random.randrange(len(payload))
            payload = payload[:at] + random.choice([b'"', b"\xff", b"\\", b"", b"\n"]) + payload[at + 1 :]
        payloads.append(Named(payload, b"ping") if random.random() < 0.02 else payload)
    return payloads


def outcome(line: Line, payloads: list[bytes]) -> Any:
    out: list[bytes] = []
    try:
        for payload in payloads:
            out += line.take(payload)
        ended = line.machine.done()
    except UpstreamError as error:
        return documents(out), error.code, line.machine.texts, line.machine.usage
    return documents(out), ended, line.machine.texts, line.machine.usage


@settings(max_examples=500, deadline=None)
@given(SEEDS)
def test_a_spliced_stream_is_the_stream_that_took_the_whole_way(seed: int) -> None:
    random = Random(seed)
    payloads = some_payloads(random)
    dialect = random.choice(["openai", "openai", "skytells", "crazyrouter", "maritaca"])
    fields: dict[str, Any] = {"n": random.choice([1, 2]), "include_usage": random.random() < 0.5}
    whole = outcome(Line(False, dialect, **fields), payloads)
    assert outcome(Line(True, dialect, **fields), payloads) == whole


@settings(max_examples=250, deadline=None)
@given(SEEDS)
def test_also_where_text_is_divided(seed: int) -> None:
    payloads = some_payloads(Random(seed))
    whole = outcome(Line(False, think=True), payloads)
    assert outcome(Line(True, think=True, any_shape=False), payloads) == whole


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=5), st.booleans())
def test_the_text_alone_changes(first: str, texts: list[str], is_ascii: bool) -> None:
    line = begun()
    line.take(spelled(text("x" + first), ensure_ascii=is_ascii))
    line.take(spelled(text("y" + first), ensure_ascii=is_ascii))
    del line.machine.texts[:]
    for words in texts:
        sent = line.splice.apply(spelled(text(words), ensure_ascii=is_ascii))
        if words:
            assert sent is not None
            assert json.loads(sent[6:]) == text(words)
        else:
            assert sent is None
    assert line.machine.texts == [words for words in texts if words]


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=30), st.binary(max_size=10), st.booleans())
def test_whatever_stands_in_a_strings_place_is_one_string_or_refused(
    inside: bytes, padding: bytes, first: bool
) -> None:
    line = begun()
    document = {"obfuscation": "#", **text("@")} if first else text("@", obfuscation="#")
    line.take(spelled(document))
    line.take(spelled(document))
    assert line.splice.apply(spelled(document)) is not None
    payload = spelled(document).replace(b"@", inside).replace(b"#", padding)
    sent = line.splice.apply(payload)
    if sent is not None:
        read = msgspec.json.decode(payload)
        words = read["choices"][0]["delta"]["content"]
        assert read == {**text(words), "obfuscation": read["obfuscation"]}
        assert documents([sent]) == [text(words)]


# What is known


def spliced(line: Line, *rest: Any) -> list[bool]:
    found = []
    for document in rest:
        before = line.spliced
        line.take(spelled(document))
        found.append(line.spliced > before)
    return found


def test_text_with_obfuscation_is_spliced_without_it() -> None:
    line = begun()
    assert spliced(line, text("a", obfuscation="x1"), text("b", obfuscation="y")) == [False, True]
    assert documents(line.take(spelled(text("c", obfuscation="a b\n")))) == [text("c")]
    assert line.spliced == 2


@pytest.mark.parametrize(
    "shapes",
    [
        [text(index=0), text(index=1)],
        [text(), text(obfuscation="x")],
        [text(), dict(reversed(text().items())), chunk({"content": "a", "refusal": None})],
        [text(key="reasoning_content"), text()],
        [text(key="reasoning"), chunk({"content": None, "reasoning_content": "x"}), text(), text(key="refusal")],
    ],
)
def test_shapes_that_alternate_stay_known(shapes: list[Any]) -> None:
    line = begun(n=2)
    spliced(line, *shapes)
    assert spliced(line, *shapes * 3) == [True] * len(shapes) * 3


def assert_the_same(payloads: list[bytes]) -> None:
    start = spelled(chunk({"role": "assistant", "content": ""}))
    assert outcome(Line(True), [start, *payloads]) == outcome(Line(False), [start, *payloads])


def test_of_usage_the_last_report_counts() -> None:
    other = {**USAGE, "completion_tokens": 9, "total_tokens": 12}
    assert_the_same([spelled(text(usage=usage)) for usage in (USAGE, other, USAGE, None, other, USAGE)])


def test_half_a_character_is_waited_for() -> None:
    half, rest = (spelled(text("@")).replace(b"@", escape) for escape in (b"\\ud83d", b"\\ude00"))
    thought = spelled(text("@", key="reasoning")).replace(b"@", b"\\ud83d")
    whole, thinks = spelled(text()), spelled(text(key="reasoning"))
    assert_the_same([whole, half, rest, whole, half, half, whole, half, whole])
    assert_the_same([thinks, thought, thought, whole, whole, thinks])


def test_it_is_told_who_said_it() -> None:
    line = begun(n=2)
    shapes = [text(index=0), text(index=1), text(index=1, key="reasoning")]
    spliced(line, *shapes)
    told = []
    for shape in shapes:
        assert line.splice.apply(spelled(shape)) is not None
        told.append((line.splice.last.choice, line.splice.last.key))
    assert told == [(0, "content"), (1, "content"), (1, "reasoning_content")]


@pytest.mark.parametrize(
    "other",
    [
        bare(usage=USAGE),
        chunk(CALLED),
        chunk({}, finish="stop", index=1),
        text("x", usage=USAGE),
        text("x", system_fingerprint="late"),
    ],
)
def test_anything_else_in_between_makes_it_forget(other: Any) -> None:
    line = begun(n=2)
    assert spliced(line, text(), text(), other, text()) == [False, True, False, False]


@pytest.mark.parametrize("choice", [True, False])
def test_an_unknown_key_may_come_and_go_but_not_change(choice: bool) -> None:
    def shape(value: int) -> Any:
        return text("x", choice={"x_new": value}) if choice else text("x", x_new=value)

    line = begun(n=2)
    assert spliced(line, text(), shape(1), text(), shape(1), text()) == [False, False, True, True, True]
    assert spliced(line, shape(2), text(), shape(1), text()) == [False, False, False, False]


def test_what_differs_beside_the_text_takes_the_whole_way() -> None:
    finished = text("x")
    finished["choices"][0]["finish_reason"] = "stop"
    others = [
        text("x", usage=USAGE),
        text("x", id="other"),
        chunk({"content": None}),
        chunk({"content": ["x"]}),
        finished,
    ]
    for other in others:
        line = begun()
        assert spliced(line, text(), text(), other) == [False, True, False]
    assert line.splice.apply(b"[DONE]") is None
    assert line.splice.apply(b"") is None


def test_an_ambiguous_chunk_is_not_learned() -> None:
    for more in ({"x_copy": {"content": "hi"}}, {"x_copy": "content"}):
        assert spliced(begun(), *[text(**more)] * 3) == [False] * 3
    payload = spelled(text("hi", usage={"content": "hi"})).replace(
        b'{"content":"hi"},"log', b'{"c\\u006fntent":"hi"},"log'
    )
    line = begun()
    for _ in range(3):
        line.take(payload)
    assert line.spliced == 0


def test_only_what_the_machine_edits_in_place_is_learned_unless_told_otherwise() -> None:
    line = begun(any_shape=False)
    assert spliced(line, text(), text()) == [False, True]
    alternating = [text(), text(obfuscation="x")] * 3
    assert spliced(begun(any_shape=False), *alternating) == [False] * 6


def test_a_stream_in_which_nothing_comes_again_is_given_up() -> None:
    line = begun()
    for number in range(FUTILE + 1):
        line.take(spelled(text(id=f"chatcmpl-{number}")))
    assert spliced(line, text(), text()) == [False, False]


# Reads


def test_a_read_may_be_one_event_or_several() -> None:
    line = begun()
    assert spliced(line, text("a", obfuscation="x"), text("b")) == [False, False]
    one, two = frame(spelled(text("c", obfuscation="x"))), frame(spelled(text("d")))
    before = list(line.machine.texts)
    assert documents([line.splice.apply_read(one) or b""]) == [text("c")]
    assert line.splice.apply_read(one + two) is None
    assert line.splice.apply_reads(one + two + one) == b"".join(frame(spelled(text(words))) for words in "cdc")
    assert line.machine.texts == [*before, "c", "c", "d", "c"]


@pytest.mark.parametrize(
    "end", [b"data: [DONE]\n\n", b"data: {", b": ping\n\n", b"\n", b"\n\n", b"event: x\ndata: {}\n\n"]
)
def test_of_a_read_that_has_anything_else_nothing_is_spliced(end: bytes) -> None:
    line = begun()
    spliced(line, text(), text())
    before = list(line.machine.texts)
    assert line.splice.apply_reads(frame(spelled(text())) + end) is None
    assert line.splice.apply_reads(end) is None
    assert line.machine.texts == before
