"""The rules for what a client is told of a mutated answer. Each breach is a finding."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from fuzz.answer_cases import Answer
from fuzz.answer_truth import foreign_words, read_truth, words_in
from fuzz.error_shapes import error_fault, shape_fault
from fuzz.strict_response import Response, ResponseReader

OWN_FAULT = b"could not read the upstream's answer"
SORRY = b"The server had an error while processing your request"


@dataclass(slots=True)
class Told:
    """What a client makes of the gateway's answer."""

    whole: bool = False  # it looks like a complete answer
    text: str = ""
    finish: Any = None
    faults: list[tuple[str, str]] = field(default_factory=list)


def judge(answer: Answer, reader: ResponseReader, ended: str, in_time: bool, turns: int) -> list[tuple[str, str]]:
    found = []
    if turns > 1:
        found.append(("one turn of the upstream for each request", f"{turns} turns"))
    if not in_time:
        return [*found, ("the client is answered in time", f"nothing for a {answer.form} answer")]
    if reader.fault:
        return [*found, ("answers are strict HTTP", reader.fault)]
    response = reader.responses[0] if reader.responses else reader.open
    if response is None:
        return [*found, ("the client is answered", f"{ended} without an answer")]
    if OWN_FAULT in response.body or SORRY in response.body:
        found.append(("no fault of our own", f"status {response.status}"))
    if response.status >= 400:
        return found + _error_breaches(answer, response)
    if response.status != 200:
        found.append(("the status is 200 or an error", str(response.status)))
    if not response.complete and not _is_stream(response):
        found.append(("a whole answer is complete", "cut"))
    told = _read_stream(response, answer) if _is_stream(response) else _read_whole(response, answer)
    return found + told.faults + _truth_breaches(answer, told)


def _error_breaches(answer: Answer, response: Response) -> list[tuple[str, str]]:
    found = []
    if response.status == 500:
        found.append(("never 500", bytes(response.body[:200]).decode("utf-8", "replace")))
    if not response.complete:
        found.append(("errors are complete", str(response.status)))
    elif fault := error_fault(response, answer.dialect):
        found.append(("errors have the dialect's shape", f"{fault}, status {response.status}"))
    return found


def _truth_breaches(answer: Answer, told: Told) -> list[tuple[str, str]]:
    found = []
    truth = read_truth(answer)
    text = told.text
    foreign = [word for word in foreign_words(text, answer.number) if word.encode() not in answer.framed.plain]
    if foreign and "gzip damaged" not in answer.labels:  # else a number may have changed
        found.append(("no text of another turn", foreign[0]))
    arrived = words_in(text, answer.number)
    if not _is_subsequence(arrived, truth.words):
        found.append(("text is neither invented, repeated nor reordered", f"{arrived[:6]}"))
    if not told.whole or answer.endpoint == "embeddings":
        return found
    if not truth.may_finish:
        found.append(("a cut answer is no success", f"finish_reason {told.finish!r}, none was sent"))
    if answer.form == "whole" and not answer.framed.complete:
        found.append(("a cut answer is no success", "its HTTP body was incomplete"))
    if not _is_subsequence(truth.owed, arrived):
        found.append(("no text is lost", f"{len(arrived)} words came, {len(truth.owed)} were owed"))
    return found


def _is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


def _is_stream(response: Response) -> bool:
    return response.headers.get(b"content-type", b"").startswith(b"text/event-stream")


def _read_whole(response: Response, answer: Answer) -> Told:
    told = Told()
    try:
        document = json.loads(bytes(response.body))
    except ValueError:
        told.faults.append(("answers are JSON", repr(bytes(response.body[:100]))))
        return told
    if answer.endpoint == "embeddings":
        if not isinstance(document, dict) or not isinstance(document.get("data"), list):
            told.faults.append(("embeddings have data", repr(bytes(response.body[:100]))))
        return told
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        told.faults.append(("a completion has choices", repr(bytes(response.body[:100]))))
        return told
    first = next((choice for choice in choices if choice.get("index") == 0), choices[0])
    told.finish = first.get("finish_reason")
    told.whole = True
    text = first.get("text") if answer.endpoint == "completions" else _said(first, "message", told)
    told.text = text if isinstance(text, str) else ""
    if not isinstance(told.finish, str) or not told.finish:
        told.faults.append(("a complete answer has a finish_reason", repr(told.finish)))
    usage = document.get("usage")
    if not isinstance(usage, dict) or not isinstance(usage.get("total_tokens"), int):
        told.faults.append(("a complete answer has usage", repr(usage)[:100]))
    return told


def _said(entry: dict[str, Any], name: str, told: Told) -> str:
    spoken = entry.get(name)
    if not isinstance(spoken, dict):
        told.faults.append((f"a choice has a {name}", repr(spoken)[:100]))
        return ""
    content = spoken.get("content")
    if not isinstance(content, str | None):
        told.faults.append(("content is a string or null", repr(content)[:100]))
        return ""
    return content or ""


def _read_stream(response: Response, answer: Answer) -> Told:
    told = Told()
    *frames, rest = bytes(response.body).split(b"\n\n")
    if rest and response.complete:
        told.faults.append(("a stream ends with an empty line", repr(rest[:80])))
    ids: set[object] = set()
    done = failed = False
    for frame in frames:
        if frame.startswith(b":"):
            continue
        if done or not frame.startswith(b"data: ") or b"\n" in frame:
            told.faults.append(("streams are made of data frames, [DONE] last", repr(frame[:80])))
            break
        if frame == b"data: [DONE]":
            done = True
            continue
        failed = _take_frame(frame[6:], answer, told, ids) or failed
    if len(ids) > 1:
        told.faults.append(("a stream has one id", repr(sorted(map(str, ids)))[:100]))
    if response.complete and not done:
        told.faults.append(("a complete stream says [DONE]", repr(bytes(response.body[-80:]))))
    told.whole = response.complete and done and not failed
    if told.whole and not told.finish:
        told.faults.append(("a complete answer has a finish_reason", repr(told.finish)))
    return told


def _take_frame(data: bytes, answer: Answer, told: Told, ids: set[object]) -> bool:
    """True: it is an error event."""
    try:
        document = json.loads(data)
    except ValueError:
        told.faults.append(("events are JSON", repr(data[:100])))
        return False
    if isinstance(document, dict) and "error" in document and "choices" not in document:
        if fault := shape_fault(document, answer.dialect):
            told.faults.append(("errors have the dialect's shape", f"{fault}, in a stream"))
        return True
    if not isinstance(document, dict) or not isinstance(document.get("choices"), list):
        told.faults.append(("chunks have choices", repr(data[:100])))
        return False
    ids.add(json.dumps(document.get("id")))
    for entry in document["choices"]:
        if not isinstance(entry, dict) or entry.get("index") != 0:
            continue
        text = entry.get("text") if answer.endpoint == "completions" else _said(entry, "delta", told)
        told.text += text if isinstance(text, str) else ""
        if entry.get("finish_reason") is not None:
            if told.finish is not None:
                told.faults.append(("a choice finishes once", repr(entry["finish_reason"])[:60]))
            told.finish = entry["finish_reason"]
    return False
