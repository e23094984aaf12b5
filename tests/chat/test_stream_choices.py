"""The stream machine: several choices, usage, and the extras that travel [nothing-lost] [usage-chunk]."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.errors import UpstreamError
from tests.chat.checker import Answer, check
from tests.chat.machine import USAGE, bare, call, chunk, deltas, fails, hold, machine, run

Document = dict[str, Any]


# Choices


def test_choices_are_introduced_in_order() -> None:
    out = run(
        [
            chunk({"content": "b"}, index=1),
            chunk({"content": "a"}, index=0),
            chunk({}, "stop", 0),
            chunk({}, "length", 1),
        ],
        n=2,
    )
    assert [piece["choices"][0]["index"] for piece in out] == [0, 1, 1, 0, 0, 1]
    assert check(out) == [Answer("a", finish="stop"), Answer("b", finish="length")]


def test_several_choices_in_one_chunk_leave_one_by_one() -> None:
    both = chunk({"content": "a"}, "stop")
    both["choices"].append({"delta": {"content": "b"}, "finish_reason": "stop"})  # its place tells its index
    assert check(run([both], n=2)) == [Answer("a", finish="stop"), Answer("b", finish="stop")]
    both["choices"][1]["index"] = 0  # an upstream that numbers them all alike
    assert check(run([both], n=2)) == [Answer("a", finish="stop"), Answer("b", finish="stop")]


def test_a_choice_that_never_ends_is_an_error() -> None:
    error = fails([chunk({"content": "a"}, "stop"), chunk({"content": "b"}, index=1)], n=2)
    assert (error.status, error.code) == (502, "upstream_truncated")


@pytest.mark.parametrize("index", [-1, 128, 1 << 70, 0.5, "x", [], {}, True])
def test_an_index_that_is_none(index: Any) -> None:
    assert fails([chunk({"content": "a"}, index=index)]).code == "upstream_malformed"


def test_an_index_spelled_otherwise() -> None:
    parts = [
        chunk({"content": "a"}, index=None),
        chunk({"content": "b"}, index="0"),
        chunk({"content": "c"}, "stop", 0.0),
    ]
    assert check(run(parts)) == [Answer("abc", finish="stop")]


def test_fan_out() -> None:
    stream = machine(sources=2, n=2)
    out = stream.feed(chunk({"content": "b"}), 1)
    out += stream.feed({**chunk({"content": "a"}), "id": "chatcmpl-2"}, 0)
    out += stream.feed(chunk({}, "stop", usage={**USAGE, "completion_tokens_details": {"reasoning_tokens": 1}}), 1)
    out += stream.done(1)
    assert stream.feed(chunk({"content": "late"}), 1) == []
    assert not stream.finished
    assert stream.usage is None
    out += stream.feed(chunk({"content": "c"}, index=3), 0)  # not asked for
    out += stream.feed(chunk({}, "length", usage={**USAGE, "completion_tokens_details": {"reasoning_tokens": 2}}), 0)
    out += stream.end(0)
    assert stream.finished
    assert check(out) == [Answer("a", finish="length"), Answer("b", finish="stop")]
    assert stream.usage is not None
    assert stream.usage["prompt_tokens"] == 3
    assert stream.usage["completion_tokens"] == 8
    assert stream.usage["completion_tokens_details"]["reasoning_tokens"] == 3


def test_fan_out_with_a_source_that_said_nothing() -> None:
    stream = machine(sources=2, n=2)
    stream.feed(chunk({"content": "a"}, "stop"), 0)
    stream.done(0)
    with pytest.raises(UpstreamError) as caught:
        stream.end(1)
    assert caught.value.code == "upstream_truncated"


# Usage


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk({"content": "a"}), chunk({}, "stop"), bare(usage=USAGE)],
        [chunk({"content": "a"}), chunk({}, "stop", usage=USAGE)],
        [
            chunk({"content": "a"}, usage={**USAGE, "completion_tokens": 1}),
            chunk({"content": "b"}, usage={**USAGE, "completion_tokens": 2}),
            chunk({}, "stop", usage=USAGE),
        ],
        [chunk({"content": "a"}), bare(usage=USAGE), chunk({}, "stop", usage=None)],
        [chunk({"content": "a"}), chunk({}, "stop"), {**bare(usage=USAGE), "choices": None}],
        [chunk({"content": "a"}), chunk({}, "stop"), {"usage": USAGE}],
        [chunk({"content": "a"}), chunk({}, "stop"), chunk({"role": "assistant", "content": ""}, usage=USAGE)],
        [chunk({"content": "a"}), chunk({}, "stop", choice={"usage": USAGE})],
        [chunk({"content": "a"}), chunk({}, "stop", x_groq={"usage": USAGE})],
    ],
)
def test_usage_is_noted_wherever_it_comes_and_never_sent(chunks: list[Document]) -> None:
    stream = machine()
    out = run(chunks, stream)
    [answer] = check(out)
    assert answer.finish == "stop"
    assert stream.usage is not None
    assert {key: stream.usage[key] for key in USAGE} == USAGE
    assert len(out) == 2 + len(answer.content)


def test_usage_on_every_chunk_of_the_fast_path() -> None:
    stream = hold()
    for count in range(1, 6):
        [piece] = stream.feed(chunk({"content": "b"}, usage={**USAGE, "completion_tokens": count}))
        assert "usage" not in piece
    assert stream.usage is not None
    assert stream.usage["completion_tokens"] == 5


@pytest.mark.parametrize("usage", [None, {}, "x", 5, [], {"prompt_tokens": "x"}])
def test_usage_that_is_none(usage: Any) -> None:
    stream = machine()
    run([chunk({"content": "a"}, usage=usage), chunk({}, "stop"), bare(usage=usage)], stream)
    assert stream.usage is None


def test_texts_are_kept_for_counting() -> None:
    stream = machine()
    parts = [{"reasoning": "r"}, {"content": "a"}, {"content": "b"}, {"refusal": "c"}, call("f", "{}")]
    run([*(chunk(part) for part in parts), chunk({}, "stop")], stream)
    assert stream.texts == ["r", "a", "b", "c", "f", "{}"]


# Extras


def test_unknown_fields_travel_at_every_depth() -> None:
    """A10, on the role chunk, on text (twice: the whole way and the fast one), on the finish."""
    stream = machine()
    kinds: list[tuple[Document, str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        ({"content": "a"}, None),
        ({"content": "b"}, None),
        ({"content": "c"}, None),
    ]
    for delta, finish in kinds:
        [piece] = stream.feed(chunk({**delta, "foo": 1}, finish, choice={"foo": {"x": 2}}, foo=[3]))
        choice = piece["choices"][0]
        assert (piece["foo"], choice["foo"], choice["delta"]["foo"]) == ([3], {"x": 2}, 1)
    [piece] = stream.feed(chunk({}, "stop", choice={"foo": {"x": 2}, "text": ""}, foo=[3]))
    assert (piece["foo"], piece["choices"][0]["foo"], piece["choices"][0]["text"]) == ([3], {"x": 2}, "")


def test_a_delta_extra_beside_a_finish_goes_before_it() -> None:
    before, finish = hold().feed(chunk({"foo": 1}, "stop"))
    assert before["choices"][0]["delta"] == {"foo": 1}
    assert finish["choices"][0]["delta"] == {}


def test_an_extra_waits_for_the_next_chunk() -> None:
    stream = machine()
    assert (
        stream.feed({"id": "", "model": "", "object": "", "created": 0, "choices": [], "prompt_filter_results": [1]})
        == []
    )
    role, text = stream.feed(chunk({"content": "a"}))
    assert role["prompt_filter_results"] == [1]
    assert "prompt_filter_results" not in text
    assert stream.feed(bare(late=1)) == []
    [text] = stream.feed(chunk({"content": "b"}))
    assert text["late"] == 1
    [text] = stream.feed(chunk({"content": "b"}))
    assert "late" not in text


def test_an_extra_after_the_end_gets_a_chunk() -> None:
    stream = hold()
    stream.feed(chunk({}, "stop"))
    [note] = stream.feed(bare(late={"x": 1}))
    assert note["late"] == {"x": 1}
    assert note["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": None}]
    assert stream.feed(bare(late={"x": 1})) == []  # known
    assert stream.feed(bare(late=None)) == []


def test_waiting_extras_do_not_overwrite_each_other() -> None:
    stream = machine()
    assert stream.feed(bare(step=1)) == []
    [role] = stream.feed(bare(step=2))
    assert role["step"] == 1
    [text] = stream.feed(chunk({"content": "a"}))
    assert text["step"] == 2
    assert stream.feed(bare(step=3)) == []
    [lone] = stream.feed(bare(step=4))
    assert (lone["step"], lone["choices"][0]["delta"]) == (3, {})
    out = stream.feed(chunk({}, "stop"))
    assert out[0]["step"] == 4


def test_an_extra_that_waits_at_the_end_is_sent() -> None:
    stream = machine(n=2)  # a second choice that never comes
    stream.feed(chunk({"content": "a"}, "stop"))
    assert stream.feed(bare(late=1)) == []
    [note] = stream.done()
    assert note["late"] == 1


def test_a_constant_extra_forces_no_chunk() -> None:
    """OpenRouter repeats `provider` on empty deltas and on its usage chunk."""
    stream = machine()
    stream.feed(chunk({"content": "a"}, provider="P", choice={"native_finish_reason": None, "tag": "t"}))
    assert stream.feed(chunk({"content": ""}, provider="P", choice={"native_finish_reason": None, "tag": "t"})) == []
    stream.feed(chunk({}, "stop", provider="P", choice={"native_finish_reason": "STOP", "tag": "t"}))
    assert (
        stream.feed(
            chunk({"content": ""}, usage=USAGE, provider="P", choice={"native_finish_reason": "STOP", "tag": "t"})
        )
        == []
    )
    assert stream.done() == []


def test_annotations_without_a_delta_are_relayed() -> None:
    stream = hold()
    note = {"index": 0, "finish_reason": None, "content_filter_results": {"hate": {"filtered": False}}}
    document = {"id": "", "object": "", "created": 0, "model": "", "choices": [note]}
    for _ in range(2):
        [piece] = stream.feed({**document, "choices": [dict(note)]})
        assert piece["choices"][0]["delta"] == {}
        assert piece["choices"][0]["content_filter_results"] == {"hate": {"filtered": False}}
        assert piece["id"] == "chatcmpl-1"


@pytest.mark.parametrize("asked", [True, False])
def test_what_rides_on_the_usage_chunk_is_not_lost(asked: bool) -> None:
    """llama.cpp's `timings`: with our usage chunk where there is one, else as any late extra."""
    stream = machine(include_usage=asked)
    stream.feed(chunk({"content": "a"}, "stop", provider="P"))
    late = stream.feed(bare(usage=USAGE, timings={"ms": 5}, provider="P"))
    assert stream.done() == []
    if asked:
        assert late == []
        assert stream.usage_envelope() == {**stream.envelope(), "timings": {"ms": 5}, "provider": "P"}
        return
    [note] = late
    assert note["timings"] == {"ms": 5}
    assert "provider" not in note  # said already
    assert note["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": None}]


def test_two_usage_chunks_that_differ_are_both_told() -> None:
    stream = machine(include_usage=True)
    stream.feed(chunk({"content": "a"}, "stop"))
    assert stream.feed(bare(usage=USAGE, timings=1)) == []
    [note] = stream.feed(bare(usage=USAGE, timings=2))
    assert (note["timings"], stream.usage_envelope()["timings"]) == (2, 1)


MODERATION = {"input": {"type": "moderation_results"}, "output": {"type": "error", "code": "x", "message": "y"}}


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk({"content": "a"}), chunk({}, "stop"), bare(moderation=MODERATION)],
        [chunk({"content": "a"}), chunk({}, "stop"), bare(moderation=MODERATION, usage=USAGE)],
        [chunk({"content": "a"}), chunk({}, "stop", moderation=MODERATION), bare(usage=USAGE)],
        [bare(moderation=MODERATION), chunk({"content": "a"}), chunk({}, "stop")],
        [
            chunk({"content": "a"}, moderation={"input": MODERATION["input"]}),
            chunk({}, "stop"),
            bare(moderation={"output": MODERATION["output"]}),
            bare(moderation={"output": MODERATION["output"]}),
        ],
    ],
)
def test_moderation_is_a_chunk_without_choices_after_the_finish(chunks: list[Document]) -> None:
    """Spec §4.5: one chunk, `choices: []`, after the finish and before usage."""
    stream = machine()
    *answer, last = run(chunks, stream)
    assert check([*answer, last]) == [Answer("a", finish="stop")]
    assert all("moderation" not in piece for piece in answer)
    assert last == {**stream.envelope(), "moderation": MODERATION}


def test_moderation_that_holds_nothing_makes_no_chunk() -> None:
    parts = [chunk({"content": text}, moderation=None) for text in "abc"]
    out = run([*parts, chunk({}, "stop", moderation=None), bare(moderation=None), bare(moderation={})])
    assert check(out) == [Answer("abc", finish="stop")]
    [*_, note] = run([chunk({"content": "a"}, "stop"), bare(moderation="passed")])  # some vendor's own word
    assert (note["moderation"], note["choices"][0]["delta"]) == ("passed", {})


def test_moderation_between_like_text_deltas_is_not_overlooked() -> None:
    parts = [chunk({"content": text}, moderation=None) for text in "abc"]
    parts[2]["moderation"] = MODERATION
    assert run([*parts, chunk({}, "stop")])[-1]["moderation"] == MODERATION


NOTE = {"content_filter_results": {"hate": {"filtered": False}}, "content_filter_offsets": {"check_offset": 4}}
NAMELESS = {"id": "", "object": "", "created": 0, "model": ""}


def nameless(delta: Any = "absent", **choice: Any) -> Document:
    entry: Document = {"index": 0, "finish_reason": None, **choice}
    if delta != "absent":
        entry["delta"] = delta
    return {**NAMELESS, "choices": [entry]}


@pytest.mark.parametrize("delta", ["absent", None, {}, {"role": None, "content": None}])
def test_an_annotation_before_the_first_chunk_waits_for_the_id(delta: Any) -> None:
    """Azure's asynchronous filter may be quicker than the model."""
    stream = machine()
    assert stream.feed(nameless(delta, **NOTE)) == []
    assert stream.feed({**NAMELESS, "choices": [], "prompt_filter_results": [1]}) == []
    out = stream.feed(chunk({"role": "assistant", "content": ""}))
    assert [piece["id"] for piece in out] == ["chatcmpl-1"]
    assert out[0]["choices"][0]["content_filter_offsets"] == {"check_offset": 4}
    assert out[0]["prompt_filter_results"] == [1]
    out += stream.feed(chunk({"content": "a"}, "stop"))
    assert check(out + stream.done()) == [Answer("a", finish="stop")]


def test_annotations_that_wait_keep_their_order() -> None:
    stream = machine()
    notes: list[Document] = [{"content_filter_offsets": {"end_offset": n}} for n in (1, 2, 3)]
    for note in notes[:2]:
        assert stream.feed(nameless(**note)) == []
    out = stream.feed({**nameless(**notes[2]), "id": "chatcmpl-1"})
    assert [piece["choices"][0]["content_filter_offsets"] for piece in out] == [
        note["content_filter_offsets"] for note in notes
    ]
    assert deltas(out) == [{"role": "assistant", "content": ""}, {}, {}]
    assert {piece["id"] for piece in out} == {"chatcmpl-1"}


def test_an_annotation_waits_no_longer_than_for_text_where_there_is_never_an_id() -> None:
    stream = machine()
    assert stream.feed(nameless(**NOTE)) == []
    role, text = stream.feed(nameless({"content": "a"}))
    assert role["choices"][0]["content_filter_offsets"] == {"check_offset": 4}
    assert (text["choices"][0]["delta"], text["id"]) == ({"content": "a"}, "chatcmpl-made")
    assert len(stream.feed(nameless(**NOTE))) == 1


def test_nothing_but_annotations_is_a_cut_answer() -> None:
    assert fails([nameless(**NOTE)]).code == "upstream_truncated"


VERDICT = {"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}
ROLE = {"role": "assistant", "content": ""}


def test_what_stands_beside_a_role_rides_on_ours() -> None:
    for first in ([], [chunk({}, choice=VERDICT)]):  # skytells opens with an empty delta
        out = run([*first, chunk(ROLE, choice=VERDICT), chunk({"content": "a"}, choice=VERDICT), chunk({}, "stop")])
        assert deltas(out) == [ROLE, {"content": "a"}, {}]
        assert out[0]["choices"][0]["content_filter_results"] == VERDICT["content_filter_results"]


def test_what_stands_beside_a_role_and_is_new_is_sent() -> None:
    stream = machine()
    stream.feed(chunk({}, choice=VERDICT))
    other = {"content_filter_results": {"hate": {"filtered": False, "severity": "low"}}}
    [note] = stream.feed(chunk(ROLE, choice=other))
    assert (note["choices"][0]["delta"], note["choices"][0]["content_filter_results"]) == (
        {},
        other["content_filter_results"],
    )
    assert len(stream.feed(chunk(ROLE, choice=VERDICT))) == 1  # no longer what the role chunk said


@pytest.mark.parametrize("refusal", [{}, {"refusal": None}])
@pytest.mark.parametrize("delta", [{"content": ""}, {"content": None}, {"content": "Hi"}, {}])
@pytest.mark.parametrize(
    "more", [{}, {"usage": None}, {"usage": USAGE}, {"obfuscation": "x"}, {"service_tier": "auto"}]
)
@pytest.mark.parametrize("then", [{"content": "a"}, {"reasoning": "a"}, {"role": "assistant", "content": "b"}])
def test_the_usual_beginning_is_the_beginning_that_took_the_whole_way(
    refusal: Document, delta: Document, more: Document, then: Document
) -> None:
    """A null error says nothing, but is not usual."""

    def play(extra: Document) -> Any:
        stream = machine()
        first = {**extra, **chunk({"role": "assistant", **delta, **refusal}, **more)}
        out = (
            stream.feed(first) + stream.feed(chunk(dict(then))) + stream.feed(chunk({}, finish="stop")) + stream.done()
        )
        return out, stream.usage, stream.texts

    assert play({}) == play({"error": None})
