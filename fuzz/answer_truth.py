"""What the upstream said, read apart from the gateway: the text that is due to the client, and whether it ended."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from fuzz.answer_cases import Answer

LINE_END = re.compile(rb"\r\n|\n|\r")
FINISH = re.compile(rb'"(?:f|\\u0066|F)(?:inish_reason|INISH_REASON)[^"]*"\s*:\s*+(?!null\b)', re.ASCII)


@dataclass(slots=True)
class Truth:
    words: list[str] = field(default_factory=list)  # every word that was sent, in order
    owed: list[str] = field(default_factory=list)  # those that must arrive if the answer is told to be whole
    may_finish: bool = False  # a finish reason was sent, however spelled


def words_in(text: str, number: int) -> list[str]:
    return re.findall(rf"a{number}w\d+ ", text)


def foreign_words(text: str, number: int) -> list[str]:
    return [word for word in re.findall(r"a\d+w\d+ ", text) if not word.startswith(f"a{number}w")]


def read_truth(answer: Answer) -> Truth:
    framed = answer.framed
    truth = Truth(words_in(framed.plain.decode("utf-8", "replace"), answer.number))
    truth.may_finish = FINISH.search(framed.plain) is not None
    if not framed.exact or any(label.startswith(("type", "header b'content-encoding")) for label in answer.labels):
        return truth
    texts = _stream_texts(framed.plain, answer) if answer.form == "stream" else _whole_texts(framed.plain, answer)
    truth.owed = words_in("".join(texts), answer.number)
    return truth


def events(plain: bytes) -> list[bytes]:
    """The data of each event (WHATWG HTML §9.2); an event that is not ended by an empty line is none."""
    out = []
    data: list[bytes] = []
    *lines, _ = LINE_END.split(plain.removeprefix(b"\xef\xbb\xbf"))
    for line in lines:
        if not line and data:
            out.append(b"\n".join(data))
            data = []
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
    return out


def _stream_texts(plain: bytes, answer: Answer) -> list[str]:
    texts: list[str] = []
    for data in events(plain):
        if data.strip() == b"[DONE]":
            break
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            break
        if not isinstance(document, dict) or document.get("error"):
            break
        finished = _take(document, answer, texts)
        if finished:
            break
    return texts


def _whole_texts(plain: bytes, answer: Answer) -> list[str]:
    texts: list[str] = []
    try:
        document = json.loads(plain.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return texts
    if isinstance(document, dict) and not document.get("error"):
        _take(document, answer, texts)
    return texts


def _take(document: dict[str, Any], answer: Answer, texts: list[str]) -> bool:
    """Adds the text of the first choice; True: it is finished."""
    choices = document.get("choices")
    if isinstance(choices, dict):  # one, without its list
        choices = [choices]
    for position, entry in enumerate(choices if isinstance(choices, list) else []):
        index = entry.get("index", position) if isinstance(entry, dict) else None
        if index != 0 or isinstance(index, bool | float):
            continue
        text = entry.get("text") if answer.endpoint == "completions" else _content(entry)
        if isinstance(text, str):
            texts.append(text)
        inner = entry.get("delta")
        reason = entry.get("finish_reason") or (inner.get("finish_reason") if isinstance(inner, dict) else None)
        if (
            reason.get("type") if isinstance(reason, dict) else reason
        ):  # whatever it is: a value that no row has is an end
            return True
    return False


def _content(entry: dict[str, Any]) -> object:
    for name in ("delta", "message"):
        spoken = entry.get(name)
        if isinstance(spoken, dict) and isinstance(spoken.get("content"), str):
            return spoken["content"]
    return None
