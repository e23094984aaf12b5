"""Does the packaged model come to an end? Everyday prompts with many seeds and no sampling parameters, by HTTP.

Prints how many answers went on past the limit, and how long the others are. Minutes on a small machine.

usage: python -m bench.endings [--seeds N] [--limit TOKENS] [--parameters JSON] [--texts FILE]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = Path(sysconfig.get_path("scripts")) / "antiphon"
SLOTS = 2
PATIENCE = 900  # seconds for one answer
PROMPTS = (
    "Write a haiku about the sea.",
    "Explain recursion in one sentence.",
    "What is the capital of France?",
    "Give me a recipe for pancakes.",
    "Write a short story about a lost dog.",
    "How do I tie a tie?",
    "Summarize the plot of Romeo and Juliet.",
    "Tell me a joke.",
    "What are three benefits of exercise?",
    "Write an email asking my boss for a day off.",
    "Translate 'good morning' into Spanish.",
    "Explain photosynthesis to a child.",
    "Write a Python function that reverses a string.",
    "What should I pack for a weekend trip?",
    "How does a vaccine work?",
    "Name five fruits that are red.",
    "Write a poem about autumn.",
    "What is the difference between weather and climate?",
    "Plan a birthday party for a ten-year-old.",
    "Hello! How are you today?",
)


@dataclass(frozen=True, slots=True)
class Ending:
    prompt: str
    seed: int
    tokens: int
    reason: str
    text: str


@contextmanager
def gateway() -> Iterator[int]:
    """`antiphon serve` with built-in settings on a free port, judged by nobody; yields the port."""
    own = {
        "ANTIPHON_SAFETY__ENABLED": "false",
        "ANTIPHON_SERVER__ACCESS_LOG": "off",
        "ANTIPHON_ENGINE__SLOTS": str(SLOTS),
    }
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, **own, "ANTIPHON_ENGINE__QUEUE_TIMEOUT": str(PATIENCE), "XDG_STATE_HOME": folder}
        command = [str(COMMAND), "serve", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder, env=environ, text=True) as process:
            try:
                assert process.stdout is not None
                found = next(
                    filter(None, (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in process.stdout)), None
                )
                if found is None:
                    raise SystemExit("bench: the gateway did not start")
                yield int(found[1])
            finally:
                process.terminate()


def ask(port: int, prompt: str, seed: int, limit: int, parameters: dict[str, Any]) -> Ending:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    messages = [{"role": "user", "content": prompt}]
    body = {"model": "smollm2-135m-instruct", "messages": messages, "seed": seed, "max_tokens": limit + 1, **parameters}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    if "error" in answer:
        raise SystemExit(f"bench: {answer['error']['message']}")
    choice = answer["choices"][0]
    tokens = answer["usage"]["completion_tokens"]
    return Ending(prompt, seed, tokens, choice["finish_reason"], choice["message"]["content"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.endings", description="Does the packaged model end?")
    parser.add_argument("--seeds", type=int, default=5, help="for each of the twenty prompts")
    parser.add_argument("--limit", type=int, default=500, help="tokens")
    parser.add_argument("--parameters", type=json.loads, default={}, metavar="JSON", help="of the request, to compare")
    parser.add_argument("--texts", metavar="FILE", help="write the answers there, one JSON object a line")
    options = parser.parse_args(arguments)
    with gateway() as port, ThreadPoolExecutor(SLOTS) as threads:
        asked = [
            threads.submit(ask, port, prompt, seed, options.limit, options.parameters)
            for seed in range(options.seeds)
            for prompt in PROMPTS
        ]
        endings = [each.result() for each in asked]
    if options.texts:
        lines = (json.dumps({name: getattr(ending, name) for name in Ending.__slots__}) for ending in endings)
        Path(options.texts).write_text("".join(f"{line}\n" for line in lines))
    report(endings, options.limit)
    return 0


def report(endings: list[Ending], limit: int) -> None:
    past = [ending for ending in endings if ending.reason == "length"]
    for ending in past:
        print(f"past {limit}: seed {ending.seed}, {ending.prompt}")
    sizes = sorted(ending.tokens for ending in endings)
    middle, most = sizes[len(sizes) // 2], sizes[len(sizes) * 9 // 10]
    print(
        f"{len(past)} of {len(endings)} answers past {limit} tokens; "
        f"shortest {sizes[0]}, median {middle}, 90 % within {most}, longest {sizes[-1]}"
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
