"""`antiphon judge`: what the embedded evaluators find in a text, or in every line of a file, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import IO, Any, Final

from antiphon.columns import fit, printable
from antiphon.evaluators.backends import Backend, load_classifier, load_protected
from antiphon.evaluators.config import ProtectedConfig
from antiphon.safety.verdict import CATEGORIES, Severity, Stage, Verdict, worst

JUDGE: Final = (
    "Judge texts with the embedded evaluators, as the gateway does, and print their scores: 0 to 1, with 0.5 where the "
    "severity `medium` begins: where a policy blocks, it blocks from there on by default. Needs no running gateway."
)
WIDTH: Final = 40  # of a text in the table
DIGITS: Final = 4  # of a score in JSON
BATCH: Final = 32
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE, as shells count


def add_judge(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    judge = commands.add_parser("judge", help="judge a text for safety", description=JUDGE)
    judge.add_argument("texts", nargs="*", metavar="TEXT", help="what to judge")
    judge.add_argument("-f", "--file", metavar="FILE", help="judge every line of this file; - for stdin")
    judge.add_argument("--answer", action="store_true", help="judge as a model's answers, not as prompts")
    judge.add_argument("--json", action="store_true", help="print one JSON object for each text")


def run_judge(options: argparse.Namespace) -> int:
    stage = Stage.ANSWER if options.answer else Stage.PROMPT
    try:
        texts = [*options.texts, *(_lines(options.file) if options.file is not None else ())]
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        print(f"antiphon: {printable(options.file)}: {why}", file=sys.stderr)
        return 1
    if not any(text.strip() for text in texts):
        print("antiphon: nothing to judge: give a TEXT, or --file with lines that are not empty", file=sys.stderr)
        return 2
    try:
        parts = [load_classifier(), load_protected(ProtectedConfig("protected"))]
    except (ImportError, OSError, ValueError) as error:
        print(f"antiphon: the evaluators cannot be loaded: {error}", file=sys.stderr)
        return 1
    try:
        _judge(texts, stage, parts, as_json=options.json)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written at the exit
        return PIPE_CLOSED
    return 0


def _judge(texts: list[str], stage: Stage, parts: list[Backend], *, as_json: bool) -> None:
    if not as_json:
        print(_row("text", *CATEGORIES, "jailbreak" if stage is Stage.PROMPT else "protected", "note"))
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        found = [worst(list(verdicts)) for verdicts in zip(*(part.evaluator.judge(some, stage) for part in parts))]  # noqa: B905 (as many)
        for text, verdict in zip(some, found, strict=True):
            print(_json(text, verdict, stage) if as_json else _line(text, verdict, stage))
        if len(texts) > BATCH and sys.stderr.isatty():
            print(f"\r{min(start + BATCH, len(texts))} of {len(texts)}", end="", file=sys.stderr, flush=True)
    if len(texts) > BATCH and sys.stderr.isatty():
        print(file=sys.stderr)


def _lines(path: str) -> Iterator[str]:
    if path == "-":
        yield from _texts(sys.stdin)
        return
    with open(path, encoding="utf-8") as file:
        yield from _texts(file)


def _texts(file: IO[str]) -> Iterator[str]:
    return (line.rstrip("\n") for line in file if line.strip())


def _line(text: str, verdict: Verdict, stage: Stage) -> str:
    severities = verdict.severities or (Severity.SAFE,) * len(CATEGORIES)
    scores = verdict.scores or (0.0,) * len(CATEGORIES)
    cells = [f"{score:.2f} {severity.name.lower()}" for score, severity in zip(scores, severities, strict=True)]
    if stage is Stage.PROMPT:
        last = f"{verdict.jailbreak_score or 0.0:.2f} {'yes' if verdict.jailbreak else 'no'}"
    else:
        last = "code" if verdict.protected_code else "text" if verdict.protected_text else "no"
    cited = f"{verdict.citation.license} {verdict.citation.url}" if verdict.citation is not None else ""
    return _row(text, *cells, last, verdict.error or cited)


def _json(text: str, verdict: Verdict, stage: Stage) -> str:
    """With the members of our `content_filter_results`, and scores. What was not judged is left out."""
    found: dict[str, Any] = {"text": text.encode("utf-8", "replace").decode(), "stage": stage.value}
    if verdict.severities is not None:
        scores = verdict.scores or (0.0,) * len(CATEGORIES)
        for name, severity, score in zip(CATEGORIES, verdict.severities, scores, strict=True):
            found[name] = {"severity": severity.name.lower(), "score": round(score, DIGITS)}
    if verdict.jailbreak is not None and stage is Stage.PROMPT:
        found["jailbreak"] = {"detected": verdict.jailbreak, "score": round(verdict.jailbreak_score or 0.0, DIGITS)}
    if verdict.protected_text is not None:
        found["protected_material_text"] = {"detected": verdict.protected_text}
    if verdict.protected_code is not None:
        found["protected_material_code"] = {"detected": verdict.protected_code}
        if verdict.citation is not None:
            found["protected_material_code"]["citation"] = {
                "URL": verdict.citation.url,
                "license": verdict.citation.license,
            }
    if verdict.error is not None:
        found["error"] = {"code": verdict.error}
    return json.dumps(found)


def _row(text: str, *cells: str) -> str:
    shown = fit(printable(" ".join(text.split())), WIDTH)
    return f"{shown}  " + "  ".join(f"{cell:<11}" for cell in cells).rstrip()
