"""Whole turns before the judge: what is blocked, what is told, and what nobody may see."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon.safety.verdict import FAILURE, LATE, SAFE, UNSUPPORTED_LANGUAGE, Severity, Stage, Verdict
from antiphon.upstreams.scripted import cut, hang, json_answer, sse
from tests.support.judge import WordJudge
from tests.support.raw import call, connect, request
from tests.support.shapes import chunk, completion, hello
from tests.turns.conftest import Start
from tests.turns.test_fast_path import WHOLE, full

CALM = {"filtered": False, "severity": "safe"}
CLEAR = {"detected": False, "filtered": False}
FOUR = dict.fromkeys(("hate", "self_harm", "sexual", "violence"), CALM)
PROMPT = {**FOUR, "jailbreak": CLEAR}
ANSWER = {**FOUR, "protected_material_code": CLEAR, "protected_material_text": CLEAR}
VIOLENT = {"filtered": True, "severity": "high"}
ASK = [{"role": "user", "content": "Please kill them"}]
DIALECTS = ("openai", "crazyrouter", "skytells", "maritaca")
FILTER = '[safety]\nmode = "filter"'  # what else only skytells does (decision 22)


def said(*words: str, finish: str = "stop") -> Any:
    return sse(chunk({"role": "assistant", "content": ""}), *(chunk({"content": w}) for w in words), chunk({}, finish))


def path(dialect: str) -> str:
    return f"/{dialect}/v1/chat/completions"


def text(chunks: list[Any], index: int = 0) -> str:
    choices = [choice for each in chunks for choice in each["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def finishes(chunks: list[Any], index: int = 0) -> list[str]:
    choices = [choice for each in chunks for choice in each["choices"] if choice["index"] == index]
    return [choice["finish_reason"] for choice in choices if choice["finish_reason"]]


# Prompts


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_blocked_prompt_is_a_400_and_nothing_is_sent(start: Start, dialect: str, stream: bool) -> None:
    running, upstream = await start(json_answer(completion()), judge=WordJudge(), more=FILTER)
    answer = await running.post(path(dialect), messages=ASK, stream=stream)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/json"
    error = answer.json["error"]
    assert error["code"] == "content_filter"
    assert error["type"] == "invalid_request_error"
    assert error["innererror"]["code"] == "ResponsibleAIPolicyViolation"
    assert error["innererror"]["content_filter_result"] == {**PROMPT, "violence": VIOLENT}
    if dialect != "crazyrouter":  # which has no param
        assert error["param"] == "prompt"
    if dialect == "skytells":
        assert error["error_id"] == "CONTENT_POLICY_VIOLATION"
        assert error["innererror"]["content_filter_results"] == error["innererror"]["content_filter_result"]
    assert not upstream.requests


async def test_without_annotations_the_error_is_bare(start: Start) -> None:
    more = f"{FILTER}\nannotations = false\nblock_status = 451"
    running, _ = await start(json_answer(completion()), judge=WordJudge(), more=more)
    answer = await running.post(messages=ASK)
    assert answer.status == 451
    assert answer.json["error"].keys() == {"message", "type", "param", "code"}
    assert "innererror" in (await running.post(path("skytells"), messages=ASK)).json["error"]


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "tool"])
async def test_every_message_is_judged(start: Start, role: str) -> None:
    judge = WordJudge()
    running, _ = await start(json_answer(completion()), judge=judge, more=FILTER)
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    guilty: dict[str, Any] = {"role": role, "content": "kill them"}
    messages = [{"role": "user", "content": "Hi"}, guilty, {"role": "user", "content": "Go on"}]
    if role == "tool":
        guilty["tool_call_id"] = "c1"
        messages.insert(1, {"role": "assistant", "content": None, "tool_calls": [call]})
    assert (await running.post(messages=messages)).status == 400
    assert judge.asked[0][0] is Stage.PROMPT


async def test_so_are_parts_and_the_arguments_of_calls(start: Start) -> None:
    running, _ = await start(json_answer(completion()), judge=WordJudge(), more=FILTER)
    parts = [{"type": "text", "text": "Hello."}, {"type": "text", "text": "kill them"}]
    assert (await running.post(messages=[{"role": "user", "content": parts}])).status == 400
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": "kill them"}'}}
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    assert (await running.post(messages=history)).status == 400


async def test_a_prompt_in_two_messages_is_judged_as_one(start: Start) -> None:
    judge = WordJudge(words={"kill\nthem": "violence"})
    running, _ = await start(json_answer(completion()), judge=judge, more=FILTER)
    messages = [{"role": "user", "content": "kill"}, {"role": "user", "content": "them"}]
    assert (await running.post(messages=messages)).status == 400


async def test_an_unknown_model_comes_before_the_judge(start: Start) -> None:
    judge = WordJudge()
    running, _ = await start(json_answer(completion()), judge=judge)
    assert (await running.post(model="other", messages=ASK)).status == 404
    assert not judge.asked


@pytest.mark.parametrize("stream", [False, True])
async def test_in_a_race_the_upstream_is_asked_at_once_and_nothing_of_it_leaves(start: Start, stream: bool) -> None:
    script = said("Hello") if stream else json_answer(completion())
    more = f'{FILTER}\nprompt = "race"'
    running, upstream = await start(script, script, judge=WordJudge(delay=0.2), more=more)
    answer = await running.post(messages=ASK, stream=stream)
    assert answer.status == 400
    assert answer.json["error"]["code"] == "content_filter"
    assert len(upstream.requests) == 1
    answer = await running.post(stream=stream)
    assert answer.status == 200
    if stream:
        assert text(answer.chunks) == "Hello"
        assert answer.chunks[0]["prompt_filter_results"][0]["content_filter_results"] == PROMPT
    else:
        assert answer.json["prompt_filter_results"][0]["content_filter_results"] == PROMPT


# By default


@pytest.mark.parametrize("dialect", ["openai", "crazyrouter", "maritaca"])
async def test_by_default_a_finding_is_told_and_nothing_is_blocked(start: Start, dialect: str) -> None:
    running, upstream = await start(json_answer(completion("kill them")), said("kill them"), judge=WordJudge())
    told = {"filtered": False, "severity": "high"}
    answer = (await running.post(path(dialect), messages=ASK)).json
    choice = answer["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("kill them", "stop")
    assert choice["content_filter_results"] == {**ANSWER, "violence": told}
    assert answer["prompt_filter_results"][0]["content_filter_results"] == {**PROMPT, "violence": told}
    chunks = (await running.post(path(dialect), messages=ASK, stream=True)).chunks
    assert (text(chunks), finishes(chunks)) == ("kill them", ["stop"])
    assert chunks[0]["prompt_filter_results"][0]["content_filter_results"] == {**PROMPT, "violence": told}
    assert chunks[-1]["choices"][0]["content_filter_results"] == {**ANSWER, "violence": told}
    assert len(upstream.requests) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_by_default_skytells_blocks(start: Start, stream: bool) -> None:
    script = said("kill them") if stream else json_answer(completion("kill them"))
    running, upstream = await start(script, judge=WordJudge())
    assert (await running.post(path("skytells"), messages=ASK, stream=stream)).status == 400
    assert not upstream.requests
    answer = await running.post(path("skytells"), stream=stream)
    choice = answer.chunks[-1]["choices"][0] if stream else answer.json["choices"][0]
    assert choice["finish_reason"] == "content_filter"


async def test_by_default_a_request_may_ask_for_a_block(start: Start) -> None:
    running, _ = await start(judge=WordJudge())
    refused = await running.post(messages=ASK, moderation={"policy": {"input": {"mode": "block"}}})
    assert (refused.status, refused.json["error"]["code"]) == (400, "content_filter")


# Whole answers


async def test_a_blocked_answer_has_no_text_and_says_why(start: Start) -> None:
    document = completion("I will kill them all")
    document["choices"][0]["message"]["reasoning_content"] = "because"
    running, _ = await start(json_answer(document), judge=WordJudge(), more=FILTER)
    answer = await running.post()
    assert answer.status == 200
    choice = answer.json["choices"][0]
    assert choice["finish_reason"] == "content_filter"
    assert choice["message"] == {"role": "assistant", "content": None, "refusal": None, "annotations": []}
    assert choice["content_filter_results"] == {**ANSWER, "violence": VIOLENT}
    assert answer.json["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": PROMPT}]
    assert answer.json["usage"]["completion_tokens"] == document["usage"]["completion_tokens"]


async def test_one_of_two_choices_is_blocked(start: Start) -> None:
    document = completion("kill them")
    other = {"index": 1, "message": {"role": "assistant", "content": "Peace"}, "finish_reason": "stop"}
    document["choices"].append(other)
    running, _ = await start(json_answer(document), judge=WordJudge(), more=FILTER)
    first, second = (await running.post(n=2)).json["choices"]
    assert first["finish_reason"] == "content_filter"
    assert (second["finish_reason"], second["message"]["content"]) == ("stop", "Peace")
    assert second["content_filter_results"] == ANSWER


async def test_tool_calls_of_a_blocked_answer_are_dropped(start: Start) -> None:
    document = completion(None)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"q": "kill them"}'}}
    document["choices"][0].update(finish_reason="tool_calls")
    document["choices"][0]["message"]["tool_calls"] = [call]
    running, _ = await start(json_answer(document), judge=WordJudge(), more=FILTER)
    choice = (await running.post()).json["choices"][0]
    assert choice["finish_reason"] == "content_filter"
    assert "tool_calls" not in choice["message"]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_harmless_answer_is_annotated_in_every_dialect(start: Start, dialect: str) -> None:
    running, _ = await start(json_answer(completion()), judge=WordJudge())
    answer = (await running.post(path(dialect))).json
    assert answer["choices"][0]["content_filter_results"] == ANSWER
    assert answer["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": PROMPT}]


@pytest.mark.parametrize("mode", ["filter", "annotate"])
@pytest.mark.parametrize("words", ["Hello", "kill them"])
async def test_the_fast_path_tells_the_same_as_the_whole_way(start: Start, mode: str, words: str) -> None:
    """The second one has a field that is not plain, so it takes the whole way."""
    answer = json_answer(full("stop", content=words))
    judge = WordJudge()
    running, _ = await start(*[answer] * 2, judge=judge, more=f'[safety]\nmode = "{mode}"')
    plain = await running.post()
    whole = await running.post(**WHOLE)
    assert plain.json == whole.json
    if words == "Hello":
        assert plain.body == whole.body, "the order of the keys"
        assert [stage for stage, _ in judge.asked] == [Stage.PROMPT, Stage.ANSWER] * 2
    blocked = mode == "filter" and words != "Hello"
    assert plain.json["choices"][0]["finish_reason"] == ("content_filter" if blocked else "stop")


async def test_annotations_are_a_switch_of_their_own_but_in_skytells(start: Start) -> None:
    answers = [json_answer(completion())] * 2 + [json_answer(completion("kill them"))]
    running, _ = await start(*answers, judge=WordJudge(), more=f"{FILTER}\nannotations = false")
    answer = (await running.post()).json
    assert "prompt_filter_results" not in answer
    assert "content_filter_results" not in answer["choices"][0]
    assert (await running.post(path("skytells"))).json["choices"][0]["content_filter_results"] == ANSWER
    assert (await running.post()).json["choices"][0]["finish_reason"] == "content_filter"


async def test_an_upstreams_own_findings_are_kept_and_the_worse_wins(start: Start) -> None:
    document = completion("kill them not")
    own = {
        "hate": {"filtered": True, "severity": "medium"},
        "violence": {"filtered": False, "severity": "low"},
        "profanity": {"detected": True, "filtered": False},
    }
    document["choices"][0]["content_filter_results"] = own
    document["prompt_filter_results"] = [{"prompt_index": 0, "content_filter_results": {"sexual": CALM, "x": 1}}]
    running, _ = await start(
        json_answer(document), judge=WordJudge(severity=Severity.MEDIUM), more='[safety]\nmode = "annotate"'
    )
    answer = (await running.post()).json
    results = answer["choices"][0]["content_filter_results"]
    assert results["hate"] == {"filtered": True, "severity": "medium"}
    assert results["violence"] == {"filtered": False, "severity": "medium"}
    assert results["profanity"] == {"detected": True, "filtered": False}
    assert results["protected_material_code"] == CLEAR
    assert answer["prompt_filter_results"][0]["content_filter_results"] == {**PROMPT, "x": 1}


async def test_a_citation_goes_with_protected_code(start: Start) -> None:
    running, _ = await start(
        json_answer(completion("static int rpl_fflush")), judge=WordJudge(words={"rpl_fflush": "code"})
    )
    choice = (await running.post()).json["choices"][0]
    assert choice["finish_reason"] == "stop"  # annotated, not filtered, by default
    assert choice["content_filter_results"]["protected_material_code"] == {
        "detected": True,
        "filtered": False,
        "citation": {"URL": "https://example.org/x", "license": "GPL-3.0-only"},
    }


async def test_a_list_blocks_in_azures_words(start: Start) -> None:
    running, _ = await start(json_answer(completion()), judge=WordJudge(words={"hello": "list"}))
    answer = await running.post()
    assert answer.status == 400
    results = answer.json["error"]["innererror"]["content_filter_result"]
    assert results["custom_blocklists"] == {"filtered": True, "details": [{"id": "blocklist", "filtered": True}]}


# Streams


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_blocked_stream_ends_with_its_verdict(start: Start, dialect: str) -> None:
    running, _ = await start(said("I will ki", "ll th", "em all"), judge=WordJudge(), more=FILTER)
    answer = await running.post(path(dialect), stream=True, stream_options={"include_usage": True})
    assert answer.status == 200
    chunks = answer.chunks
    assert text(chunks) == ""
    assert finishes(chunks) == ["content_filter"]
    last = next(c for c in chunks if c["choices"] and c["choices"][0]["finish_reason"])["choices"][0]
    assert last["delta"] == {}
    assert last["content_filter_results"] == {**ANSWER, "violence": VIOLENT}
    assert chunks[-1]["usage"]["completion_tokens"] > 0
    assert answer.body.endswith(b"data: [DONE]\n\n")
    assert b"kill" not in answer.body
    assert b"I will" not in answer.body


async def test_skytells_stream_carries_the_verdicts_where_seed_3_has_them(start: Start) -> None:
    running, _ = await start(sse(*hello()), judge=WordJudge())
    chunks = (await running.post(path("skytells"), stream=True)).chunks
    assert chunks[0]["choices"][0]["delta"] == {}
    assert chunks[0]["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": PROMPT}]
    assert all("prompt_filter_results" not in each for each in chunks[1:])
    assert all(each["choices"][0]["content_filter_results"] == ANSWER for each in chunks if each["choices"])


@pytest.mark.parametrize("dialect", ["openai", "crazyrouter", "maritaca"])
async def test_elsewhere_the_prompts_verdict_rides_on_the_role_chunk(start: Start, dialect: str) -> None:
    running, _ = await start(sse(*hello()), judge=WordJudge())
    chunks = (await running.post(path(dialect), stream=True)).chunks
    assert [c["choices"][0]["delta"] for c in chunks] == [
        {"role": "assistant", "content": ""},
        {"content": "Hel"},
        {"content": "lo"},
        {},
    ]
    assert chunks[0]["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": PROMPT}]
    assert all("prompt_filter_results" not in each for each in chunks[1:])
    assert [each["choices"][0].get("content_filter_results") for each in chunks] == [ANSWER, None, None, ANSWER]


@pytest.mark.parametrize("mode", ["filter", "annotate"])
async def test_every_delta_has_its_own_by_setting(start: Start, mode: str) -> None:
    """Where nothing is held, a delta leaves before anybody has judged it, and says so."""
    more = f'[safety]\nmode = "{mode}"\nannotations = "every"'
    running, _ = await start(sse(*hello()), judge=WordJudge(), more=more)
    told = [each["choices"][0]["content_filter_results"] for each in (await running.post(stream=True)).chunks]
    assert [each for each in told if "error" not in each] == [ANSWER] * (4 if mode == "filter" else 2)
    assert ["error" in each for each in told[1:3]] == [mode == "annotate"] * 2


async def test_a_stream_that_is_cut_says_what_it_had_and_then_the_error(start: Start) -> None:
    script = sse(chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo"}), cut(), done=False)
    running, _ = await start(script, judge=WordJudge())
    answer = await running.post(stream=True)
    assert text([c for c in answer.chunks if "choices" in c]) == "Hello"
    assert answer.chunks[-1]["error"]["code"] == "upstream_truncated"


async def test_async_mode_over_the_wire(start: Start) -> None:
    words = ["Peace and quiet. "] * 40
    running, _ = await start(said(*words), judge=WordJudge(), more='[safety]\nstream = "async"')
    chunks = (await running.post(path("skytells"), stream=True)).chunks
    assert text(chunks) == "".join(words)
    told = [c["choices"][0] for c in chunks if "content_filter_offsets" in c["choices"][0]]
    assert told[-1]["content_filter_offsets"]["end_offset"] == len("Hello") + len("".join(words))
    assert all(choice["content_filter_results"] == ANSWER for choice in told)
    unjudged = [c["choices"][0]["content_filter_results"] for c in chunks if c["choices"][0]["delta"].get("content")]
    error = {"code": "content_filter_error", "message": "The contents are not filtered"}
    assert unjudged == [{**ANSWER, "error": error}] * 40


async def test_a_gone_client_ends_a_guarded_turn(start: Start) -> None:
    judge = WordJudge(delay=60)
    running, upstream = await start(sse(*hello()[:2], hang()), judge=judge, more='[safety]\nprompt = "race"')
    wire = await connect(running.port)
    document = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    await wire.send(request("POST", "/v1/chat/completions", json.dumps(document).encode()))
    await asyncio.wait_for(upstream.received(1), 5)
    wire.close()
    await asyncio.wait_for(upstream.requests[0].closed.wait(), 1)


# The judge fails


class Failing(WordJudge):
    def judge(self, text: str) -> Verdict:
        return FAILURE


@pytest.mark.parametrize("stream", [False, True])
async def test_open_by_default_and_visibly(start: Start, stream: bool) -> None:
    script = said("Hello") if stream else json_answer(completion())
    running, _ = await start(script, judge=Failing())
    answer = await running.post(path("skytells"), stream=stream, messages=ASK)
    assert answer.status == 200
    first = answer.chunks[0] if stream else answer.json
    error = {"code": "content_filter_error", "message": "The contents are not filtered"}
    assert first["prompt_filter_results"][0]["content_filter_results"] == {**PROMPT, "error": error}
    choices = [c["choices"][0] for c in answer.chunks] if stream else answer.json["choices"]
    assert choices[-1]["content_filter_results"] == {**ANSWER, "error": error}
    assert choices[-1]["finish_reason"] == "stop"


@pytest.mark.parametrize("stream", [False, True])
async def test_closed_by_setting(start: Start, stream: bool) -> None:
    running, upstream = await start(json_answer(completion()), judge=Failing(), more='[safety]\non_failure = "closed"')
    answer = await running.post(stream=stream)
    assert answer.status == 503
    assert answer.json["error"]["code"] == "content_filter_error"
    assert answer.json["error"]["type"] == "server_error"
    assert int(answer.headers["retry-after"]) >= 1
    assert not upstream.requests


@pytest.mark.parametrize("stream", [False, True])
async def test_closed_for_an_answer(start: Start, stream: bool) -> None:
    script = said("Hello") if stream else json_answer(completion())
    running, _ = await start(script, judge=WordJudge(fails_at={0}), more='[safety]\non_failure = "closed"')
    answer = await running.post(stream=stream)
    choice = answer.chunks[-1]["choices"][0] if stream else answer.json["choices"][0]
    assert choice["finish_reason"] == "content_filter"
    assert choice["content_filter_results"]["error"]["code"] == "content_filter_error"


class Late(WordJudge):
    def judge(self, text: str) -> Verdict:
        return LATE


@pytest.mark.parametrize(
    ("policy", "status", "code"),
    [
        ('mode = "filter"', 503, "content_filter_error"),
        ('too_long = "refuse"', 503, "content_filter_error"),
        ("", 200, None),
        ('mode = "filter"\ntoo_long = "unjudged"', 200, None),
    ],
)
async def test_a_long_prompt_without_time_is_not_called_safe(
    start: Start, policy: str, status: int, code: str | None
) -> None:
    running, upstream = await start(json_answer(completion()), judge=Late(), more=f"[safety]\n{policy}")
    answer = await running.post()
    assert answer.status == status
    if code is not None:
        assert answer.json["error"]["code"] == code
        assert answer.headers["retry-after"] == "1"
        assert not upstream.requests
    else:
        results = answer.json["prompt_filter_results"][0]["content_filter_results"]
        assert results["error"]["code"] == "content_filter_error"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ('mode = "filter"', 400),
        ('too_long = "refuse"', 400),
        ("", 200),
        ('mode = "filter"\ntoo_long = "unjudged"', 200),
    ],
)
async def test_a_prompt_over_max_text(start: Start, policy: str, status: int, stream: bool) -> None:
    judge = WordJudge()
    script = said("Hello") if stream else json_answer(completion())
    running, upstream = await start(script, script, judge=judge, more=f"[safety]\nmax_text = 20\n{policy}")
    long = [{"role": "user", "content": "x" * 11}, {"role": "user", "content": "y" * 11}]
    answer = await running.post(messages=long, stream=stream)
    assert answer.status == status
    assert not any(stage is Stage.PROMPT for stage, _ in judge.asked)
    if status == 400:
        error = answer.json["error"]
        assert (error["code"], error["param"], error["type"]) == (
            "prompt_too_long",
            "prompt",
            "invalid_request_error",
        )
        assert not upstream.requests
    else:
        first = answer.chunks[0] if stream else answer.json
        assert first["prompt_filter_results"][0]["content_filter_results"]["error"]["code"] == "content_filter_error"
    assert (await running.post(stream=stream)).status == 200


class Foreign(WordJudge):
    def judge(self, text: str) -> Verdict:
        return Verdict(severities=SAFE, error=UNSUPPORTED_LANGUAGE)


async def test_a_language_that_nobody_reads_is_no_failure(start: Start) -> None:
    running, _ = await start(json_answer(completion()), judge=Foreign(), more='[safety]\non_failure = "closed"')
    answer = await running.post()
    assert answer.status == 200
    results = answer.json["choices"][0]["content_filter_results"]
    assert results["error"]["code"] == "unsupported_language"
    assert results["hate"] == CALM


# Policies


@pytest.mark.parametrize(
    ("settings", "severity", "blocked"),
    [
        ("[safety]", Severity.HIGH, False),  # annotated
        (FILTER, Severity.LOW, False),
        (FILTER, Severity.MEDIUM, True),
        ('[safety]\npreset = "moderate"', Severity.LOW, False),
        ('[safety]\npreset = "moderate"', Severity.MEDIUM, True),
        ('[safety]\npreset = "strict"', Severity.LOW, True),
        ('[safety]\npreset = "minimal"', Severity.MEDIUM, False),
        ('[safety]\npreset = "minimal"', Severity.HIGH, True),
        ('[safety]\npreset = "annotate-only"', Severity.HIGH, False),
        ('[safety]\nmode = "annotate"', Severity.HIGH, False),
        ('[safety]\nthreshold = "off"', Severity.HIGH, False),
        ('[safety]\nthreshold = "high"', Severity.MEDIUM, False),
        ('[safety]\nthreshold = "high"', Severity.HIGH, True),
        ('[safety.prompt]\nviolence = "high"', Severity.MEDIUM, False),
        ('[safety.prompt]\nviolence = "high"', Severity.HIGH, True),
        ('[safety.prompt]\nhate = "high"', Severity.HIGH, False),
        ('[safety.prompt]\nviolence = "annotate"', Severity.HIGH, False),
        (f'{FILTER}\n[safety.prompt]\nhate = "off"', Severity.HIGH, True),
        (f'{FILTER}\n[safety.answer]\nviolence = "off"', Severity.HIGH, True),
        ("[safety]\nenabled = false", Severity.HIGH, False),
    ],
)
async def test_thresholds(start: Start, settings: str, severity: Severity, blocked: bool) -> None:
    running, _ = await start(json_answer(completion()), judge=WordJudge(severity=severity), more=settings)
    assert (await running.post(messages=ASK)).status == (400 if blocked else 200)


async def test_what_is_off_has_no_key_but_in_skytells(start: Start) -> None:
    running, _ = await start(
        *[json_answer(completion())] * 2,
        judge=WordJudge(),
        more='[safety.answer]\nhate = "off"\nprotected_material_text = "off"',
    )
    results = (await running.post()).json["choices"][0]["content_filter_results"]
    assert results.keys() == ANSWER.keys() - {"hate", "protected_material_text"}
    assert (await running.post(path("skytells"))).json["choices"][0]["content_filter_results"] == ANSWER


@pytest.mark.parametrize(
    ("word", "detected", "blocked"), [("annotate", True, False), ("filter", True, True), ("off", None, False)]
)
async def test_jailbreaks(start: Start, word: str, detected: bool | None, blocked: bool) -> None:
    running, _ = await start(
        json_answer(completion()),
        judge=WordJudge(words={"hello": "jailbreak"}),
        more=f'[safety.prompt]\njailbreak = "{word}"',
    )
    answer = await running.post()
    assert answer.status == (400 if blocked else 200)
    if not blocked:
        results = answer.json["prompt_filter_results"][0]["content_filter_results"]
        assert results.get("jailbreak", {}).get("detected") == detected


async def test_of_server_key_and_route_the_strictest_counts(start: Start) -> None:
    more = """
safety = { preset = "minimal" }
[[key]]
name = "tight"
secret = "env:TIGHT"
safety = { preset = "strict" }
[[route]]
model = "other"
targets = [{ upstream = "up" }]
[[route]]
model = "free"
targets = [{ upstream = "up" }]
safety = { mode = "annotate", override = true }
[safety]
preset = "annotate_only"
"""
    running, _ = await start(
        *[json_answer(completion())] * 6,
        judge=WordJudge(severity=Severity.MEDIUM),
        more=more,
        environ={"TIGHT": "sk-tight"},
    )
    key = {"authorization": "Bearer sk-tight"}
    assert (await running.post(model="m", messages=ASK)).status == 200  # minimal
    assert (await running.post(model="m", messages=ASK, headers=key)).status == 400  # the key's is stricter
    assert (await running.post(model="free", messages=ASK, headers=key)).status == 200  # the route has the last word
    assert (await running.post(model="other", messages=ASK)).status == 200  # the server's: annotates only
    assert (await running.post(model="other", messages=ASK, headers=key)).status == 400


# Receipts, moderation


async def test_the_receipt_tells_the_verdicts(start: Start) -> None:
    running, _ = await start(json_answer(completion("kill them")), said("kill them"), judge=WordJudge(), more=FILTER)
    receipt = {"x-antiphon-receipt": "1"}
    told = (await running.post(headers=receipt)).json["antiphon"]["safety"]
    assert told["blocked"] == "answer"
    assert told["prompt"] == PROMPT
    assert told["answer"] == [{"index": 0, **ANSWER, "violence": VIOLENT}]
    chunks = (await running.post(headers=receipt, stream=True)).chunks
    assert chunks[-1]["antiphon"]["safety"] == told
    error = (await running.post(headers=receipt, messages=ASK)).json
    assert error["antiphon"]["safety"]["blocked"] == "prompt"


async def test_moderation_scores_and_does_not_block(start: Start) -> None:
    running, _ = await start(json_answer(completion()), judge=WordJudge(), more='[safety]\nmode = "annotate"')
    answer = await running.post(messages=ASK, moderation={"model": "omni-moderation-latest"})
    told = answer.json["moderation"]
    assert told["input"]["type"] == told["output"]["type"] == "moderation_results"
    assert told["input"]["results"][0]["flagged"] is True
    assert told["input"]["results"][0]["categories"]["violence"] is True
    assert told["output"]["results"][0]["flagged"] is False


async def test_moderation_may_ask_for_a_block(start: Start) -> None:
    policy = {"input": {"mode": "block"}, "output": {"mode": "block"}}
    more = '[safety]\nmode = "annotate"'
    running, _ = await start(said("kill them"), judge=WordJudge(), more=more)
    assert (await running.post(messages=ASK, moderation={"policy": policy})).status == 400
    asked: dict[str, Any] = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "moderation": {"policy": policy},
    }
    chunks = (await running.post(**asked)).chunks
    assert finishes(chunks) == ["content_filter"]
    moderated, usage = chunks[-2:]
    assert moderated["choices"] == usage["choices"] == []
    assert moderated["moderation"]["output"]["results"][0]["flagged"] is True
    assert "usage" in usage


async def test_an_upstreams_own_moderation_is_left_alone(start: Start) -> None:
    own = {
        "input": {"type": "error", "code": "x", "message": "y"},
        "output": {"type": "error", "code": "x", "message": "y"},
    }
    running, _ = await start(json_answer({**completion(), "moderation": own}), judge=WordJudge())
    assert (await running.post(moderation={"model": "m"})).json["moderation"] == own


# Legacy completions


async def test_text_completions_are_judged_too(start: Start) -> None:
    whole = {"object": "text_completion", "choices": [{"index": 0, "text": "kill them", "finish_reason": "stop"}]}
    pieces = [
        {"object": "text_completion", "choices": [{"index": 0, "text": t, "finish_reason": f}]}
        for t, f in (("I ki", None), ("ll them", "stop"))
    ]
    running, _ = await start(json_answer(whole), sse(*pieces), judge=WordJudge(), more=FILTER)
    ask = {"model": "m", "prompt": "Hi"}

    async def post(**more: Any) -> Any:
        return await call(running.port, "POST", "/v1/completions", {**ask, **more})

    assert (await post(prompt=["Hi", "kill them"])).status == 400
    choice = (await post()).json["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == ("", "content_filter")
    chunks = (await post(stream=True)).chunks
    assert "".join(c["choices"][0]["text"] for c in chunks) == ""
    assert chunks[-1]["choices"][0]["finish_reason"] == "content_filter"


@pytest.mark.parametrize("prompt", [[15496, 995], [[15496], [995]]])
async def test_tokens_are_not_called_safe(start: Start, prompt: list[Any]) -> None:
    """Nobody reads them here. Who answers only what was judged does not answer them."""
    whole = {"object": "text_completion", "choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}]}
    running, _ = await start(json_answer(whole), judge=WordJudge())
    answer = await call(running.port, "POST", "/v1/completions", {"model": "m", "prompt": prompt})
    results = answer.json["prompt_filter_results"][0]["content_filter_results"]
    assert results["error"]["code"] == "content_filter_error"
    assert "violence" not in results
    running, upstream = await start(json_answer(whole), judge=WordJudge(), more='[safety]\non_failure = "closed"')
    refused = await call(running.port, "POST", "/v1/completions", {"model": "m", "prompt": prompt})
    assert (refused.status, refused.json["error"]["code"]) == (503, "content_filter_error")
    assert not upstream.requests


# /v1/moderations


async def test_moderations_in_openais_shape(start: Start) -> None:
    running, _ = await start(judge=WordJudge())

    async def post(**document: Any) -> Any:
        return await call(running.port, "POST", "/v1/moderations", document)

    answer = (await post(input=["Hello", "kill them"], model="omni-moderation-latest")).json
    assert answer["id"].startswith("modr-")
    first, second = answer["results"]
    assert (first["flagged"], second["flagged"]) == (False, True)
    assert len(second["categories"]) == len(second["category_scores"]) == 13
    assert [name for name, found in second["categories"].items() if found] == ["violence"]
    assert second["categories"]["illicit"] is None
    assert second["category_applied_input_types"]["violence"] == ["text"]
    assert (await post(input=[{"type": "text", "text": "kill them"}])).json["results"][0]["flagged"] is True
    for wrong, param in (
        ({}, "input"),
        ({"input": ""}, "input"),
        ({"input": 3}, "input"),
        ({"input": [{"type": "image_url", "image_url": {"url": "x"}}]}, "input[0].type"),
    ):
        refused = await post(**wrong)
        assert refused.status == 400
        assert refused.json["error"]["param"] == param


async def test_moderations_without_evaluators(start: Start) -> None:
    running, _ = await start()
    answer = await call(running.port, "POST", "/v1/moderations", {"input": "x"})
    assert (answer.status, answer.json["error"]["code"]) == (404, "evaluators_off")


async def test_moderations_when_the_evaluators_fail(start: Start) -> None:
    running, _ = await start(judge=Failing())
    answer = await call(running.port, "POST", "/v1/moderations", {"input": "x"})
    assert (answer.status, answer.json["error"]["code"]) == (503, "content_filter_error")
