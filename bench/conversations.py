"""What judging a conversation costs: CPU time of an evaluator process for an ordinary turn, for the first turn of a
conversation with 20 KB of history and tool results, and for each further turn of it.

    python -m bench.conversations [--data FOLDER] [--count 20]     (or ANTIPHON_SAFETY_DATA=FOLDER)

The process is a real one, asked as a worker asks it; its CPU clock is read before a turn and after it. No two
conversations share a text. Tool results are pieces of this checkout's source; the rest is made by bench/material.py or,
with a data folder, taken from its harmless prompts, answers and system prompts, which cost more: they are longer and
speak of more things.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import uvloop

from antiphon.chat.moderated_text import prompt_texts, readings
from antiphon.evaluators.client import EvaluatorClient
from antiphon.evaluators.composite import Composite, Coverage, LocalMember
from antiphon.evaluators.config import EvaluatorConfig, environment
from antiphon.flow.ports import Scope
from antiphon.safety.verdict import Stage
from bench import material
from bench.processes import cpu_seconds

SOURCE = Path(__file__).parent.parent / "src"
LONG = 20_000  # characters of a long conversation
FURTHER = 4  # turns after its first
SCOPE = Scope("m", "k")

Message = dict[str, Any]
Write = Callable[[], str]


@dataclass(frozen=True, slots=True)
class Words:
    """Where texts come from."""

    system: Write
    question: Write
    answer: Write
    result: Write


def written(random: Random) -> Words:
    def some(write: Callable[[Random], str], count: int) -> str:
        return " ".join(write(random) for _ in range(count))

    return Words(
        lambda: some(material.instruction, 20) + f" Case {random.random()}.",
        lambda: some(material.question, 1),
        lambda: some(material.answer, 2),
        lambda: piece(random),
    )


def read(folder: Path, random: Random) -> Words:
    def choose(name: str, shortest: int, longest: int) -> Write:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in lines]
        fitting = [text for text in texts if shortest < len(text)]
        random.shuffle(fitting)
        left = iter(fitting * 100)
        return lambda: next(left)[:longest]

    return Words(
        choose("dev2/system_prompts", 2_000, 8_000),
        choose("dev_benign", 0, 1_500),
        choose("dev2/benign_answers_new", 0, 1_500),
        lambda: piece(random),
    )


def piece(random: Random, length: int = 1_500) -> str:
    source = random.choice(sorted(SOURCE.rglob("*.py"))).read_text()
    start = random.randrange(max(1, len(source) - length))
    return source[start : start + length]


def call(random: Random) -> Message:
    arguments = json.dumps({"path": f"src/{random.randrange(10**9)}.py", "line": random.randrange(900)})
    function = {"name": "read", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


def ordinary(words: Words) -> list[Message]:
    return [{"role": "system", "content": material.INSTRUCTION}, {"role": "user", "content": words.question()}]


def long(words: Words, random: Random) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": words.system()}]
    while sum(len(message["content"] or "") for message in messages) < LONG:
        messages.append({"role": "user", "content": words.question()})
        if random.random() < 0.5:
            messages += [call(random), {"role": "tool", "content": words.result()}]
        else:
            messages.append({"role": "assistant", "content": words.answer()})
    return [*messages, {"role": "user", "content": words.question()[:300]}]


def further(words: Words, random: Random, number: int) -> list[Message]:
    if number % 2:
        return [
            {"role": "assistant", "content": words.answer()[:400]},
            {"role": "user", "content": words.question()[:300]},
        ]
    return [call(random), {"role": "tool", "content": words.result()[:400]}]


@contextmanager
def evaluator(room: str) -> Iterator[tuple[int, str]]:
    """-> (its process, its socket)"""
    orders = EvaluatorConfig(room, ("embedded",))
    orders.write()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(orders.sockets[0])
    listener.listen()
    told, tell = os.pipe()
    life, live = os.pipe()
    shared = [listener.fileno(), tell, life]
    process = subprocess.Popen(
        [sys.executable, "-m", "antiphon.evaluators", orders.file, *map(str, shared)],
        pass_fds=shared,
        env=environment(os.environ),
    )
    try:
        yield process.pid, orders.sockets[0]
    finally:
        process.kill()
        process.wait()
        listener.close()
        for descriptor in (told, tell, life, live):
            os.close(descriptor)


async def measure(words: Words, random: Random, count: int) -> dict[str, list[float]]:
    """For each kind of turn its costs in milliseconds."""
    found: dict[str, list[float]] = {"ordinary turn": [], "first turn, 20 KB": [], "each further turn": []}
    with tempfile.TemporaryDirectory() as room, evaluator(room) as (pid, path):
        client = EvaluatorClient([path], 30.0, print)
        panel = Composite(client, [LocalMember("embedded", Coverage())])
        panel.start()

        async def turn(kind: str, messages: list[Message]) -> None:
            texts = [each for text in prompt_texts({"messages": messages}) for each in readings(text)]
            before = cpu_seconds(pid)
            await panel.ask(Stage.PROMPT, texts, SCOPE)
            found[kind].append(1000 * (cpu_seconds(pid) - before))

        await panel.ask(Stage.PROMPT, ["Are you ready?"], SCOPE)
        for _ in range(5 * count):
            await turn("ordinary turn", ordinary(words))
        for _ in range(count):
            messages = long(words, random)
            await turn("first turn, 20 KB", messages)
            for number in range(FURTHER):
                messages += further(words, random, number)
                await turn("each further turn", messages)
        await panel.close()
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.conversations", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("ANTIPHON_SAFETY_DATA"))
    parser.add_argument("--count", type=int, default=20, help="long conversations")
    options = parser.parse_args(arguments)
    random = Random(4)
    words = read(Path(options.data), random) if options.data else written(random)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(measure(words, random, options.count))
    print("| evaluator CPU, ms | mean | median | p90 | most |\n|---|---|---|---|---|")
    for kind, costs in found.items():
        tenth = statistics.quantiles(costs, n=10)[-1]
        figures = (statistics.mean(costs), statistics.median(costs), tenth, max(costs))
        print(f"| {kind} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
