"""TokenCounter with its real child process, and with children that hang, die or talk nonsense."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvloop

from antiphon.tokens.counter import CounterTimeouts, TokenCounter

ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello world"}]}
ASKED = 3 + 3 + 1 + 2  # priming, the message, "user", "Hello world"


def child(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


@pytest.fixture
async def counter() -> AsyncIterator[TokenCounter]:
    counter = TokenCounter()
    yield counter
    await counter.close()


async def test_known_family_is_exact(counter: TokenCounter) -> None:
    count = await counter.count("openai/gpt-4o", ASK, ["tiktoken", " is", " great!"])
    assert (count.prompt, count.completion, count.tokenizer) == (ASKED, 6, "o200k_base")
    count = await counter.count("gpt-4", ASK, ["你好，", "世界"])
    assert (count.prompt, count.completion, count.tokenizer) == (ASKED, 6, "cl100k_base")


async def test_pieces_of_a_stream_count_as_the_whole_text(counter: TokenCounter) -> None:
    text = "The quick brown fox jumps over the lazy dog, unbelievably."
    whole = await counter.count("gpt-4o", ASK, [text])
    pieces = await counter.count("gpt-4o", ASK, list(text))
    assert whole.completion == pieces.completion


async def test_unknown_family_is_counted_at_once_without_a_process() -> None:
    counter = TokenCounter(command=("/nonexistent",))
    count = await counter.count("sabia-3", ASK, ["a" * 40])
    assert (count.completion, count.tokenizer) == (10, "rule-of-thumb")
    assert counter._tokenizer is None
    await counter.close()


async def test_many_at_once_share_one_process(counter: TokenCounter) -> None:
    counts = await asyncio.gather(*(counter.count("gpt-4o", ASK, ["word " * n]) for n in range(100)))
    assert [count.tokenizer for count in counts] == ["o200k_base"] * 100
    assert [count.completion for count in counts[1:]] == sorted(count.completion for count in counts[1:])


async def test_the_loop_is_not_blocked_while_counting(counter: TokenCounter) -> None:
    await counter.count("gpt-4o", ASK, [])
    turns, running = 0, True

    async def live() -> None:
        nonlocal turns
        while running:
            await asyncio.sleep(0)
            turns += 1

    living = asyncio.create_task(live())
    count = await counter.count("gpt-4o", ASK, ["The quick brown fox jumps. " * 40_000])
    running = False
    await living
    assert count.completion > 200_000
    assert turns > 100  # a blocked loop makes three or so


async def test_a_killed_process_is_replaced_on_next_need(counter: TokenCounter) -> None:
    await counter.count("gpt-4o", ASK, [])
    assert counter._tokenizer is not None
    first = counter._tokenizer.pid
    os.kill(first, signal.SIGKILL)
    counts = [(await counter.count("gpt-4o", ASK, ["Hello world"])).tokenizer for _ in range(2)]
    assert counts[-1] == "o200k_base"  # the very next one may still have been sent to the dying process
    assert counter._tokenizer.pid != first


async def test_a_hanging_process_gives_way_to_the_rule_of_thumb() -> None:
    counter = TokenCounter(child("import time; time.sleep(600)"), CounterTimeouts(first=0.2))
    count = await counter.count("gpt-4o", ASK, ["a" * 40])
    assert (count.completion, count.tokenizer) == (10, "rule-of-thumb")
    await counter.close()


@pytest.mark.parametrize(
    "program",
    [
        "",
        "raise SystemExit(3)",
        "import sys; sys.stdout.write('nonsense nonsense'); sys.stdout.flush(); sys.stdin.read()",
    ],
)
async def test_a_broken_process_gives_way_to_the_rule_of_thumb(program: str) -> None:
    counter = TokenCounter(child(program))
    for _ in range(3):
        assert (await counter.count("gpt-4o", ASK, ["a" * 40])).tokenizer == "rule-of-thumb"
    await counter.close()


async def test_no_such_command() -> None:
    counter = TokenCounter(command=("/nonexistent",))
    assert (await counter.count("gpt-4o", ASK, [])).tokenizer == "rule-of-thumb"
    await counter.close()


async def test_an_idle_process_is_let_go_and_comes_back() -> None:
    counter = TokenCounter(patience=CounterTimeouts(idle=0.05))
    assert (await counter.count("gpt-4o", ASK, [])).tokenizer == "o200k_base"
    assert counter._tokenizer is not None
    async with asyncio.timeout(5):
        await counter._tokenizer._process.wait()
    assert counter._tokenizer is None
    assert (await counter.count("gpt-4o", ASK, ["Hello world"])).completion == 2
    await counter.close()


async def test_a_text_over_the_cap_is_estimated_from_a_sample() -> None:
    counter = TokenCounter(cap=10_000)
    text = "The quick brown fox jumps over the lazy dog. " * 2_000
    exact = TokenCounter()
    sampled, whole = await counter.count("gpt-4o", ASK, [text]), await exact.count("gpt-4o", ASK, [text])
    assert sampled.tokenizer == "o200k_base"
    assert sampled.completion == pytest.approx(whole.completion, rel=0.05)
    await counter.close()
    await exact.close()


async def test_lone_surrogates_and_odd_requests_never_raise(counter: TokenCounter) -> None:
    count = await counter.count("gpt-4o", {"messages": [{"role": "user", "content": "\ud800"}]}, ["\udfff"])
    assert count.tokenizer == "rule-of-thumb"
    assert (await counter.count("gpt-4o", {"messages": 3}, [])).prompt == 3


async def test_after_close_the_rule_of_thumb_answers() -> None:
    counter = TokenCounter()
    await counter.count("gpt-4o", ASK, [])
    await counter.close()
    await counter.close()
    assert (await counter.count("gpt-4o", ASK, [])).tokenizer == "rule-of-thumb"


def test_on_uvloop_and_gone_afterwards() -> None:
    async def story() -> tuple[str, int]:
        counter = TokenCounter()
        count = await counter.count("gpt-4o", ASK, ["Hello world"])
        assert counter._tokenizer is not None
        pid = counter._tokenizer.pid
        await counter.close()
        return count.tokenizer, pid

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        tokenizer, pid = runner.run(story())
    assert tokenizer == "o200k_base"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
