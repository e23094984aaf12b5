"""JSON documents edited anywhere, and written in every way they can be written: also in wrong ones."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, 1.0, 0.0, 1e-5, 1e30, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**70),
    *("", "x", "stop", "tool_calls", "assistant", "user", "tool", "function", "text", "auto", "json", 'a"model":"m"'),
    *("object", "string", "a b", "x" * 65, "call_1", "\u2028é\x7f\x1f", "high", ":", " :", '":'),
    *([], {}, [{}], [1], {"a": 1}, ["a", "b"], {"type": "string"}, {"type": "text", "text": "x"}, {"name": "f\n"}),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all objects and lists in a document."""
    found = [path] if isinstance(value, dict | list) else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        found += places(item, (*path, step))
    return found


def edited(document: Any, random: Random, names: tuple[str, ...], edits: int) -> Any:
    """Some keys set, deleted or renamed, some items put in, taken out or doubled: at any depth."""
    document = deepcopy(document)
    for _ in range(edits):
        place = document
        for step in random.choice(places(document)):
            place = place[step]
        value = deepcopy(random.choice((*ODD, place)))
        if isinstance(place, list):
            _edit_list(place, value, random)
        elif place and random.random() < 0.6:
            key = random.choice(list(place))
            if random.random() < 0.4:
                del place[key]
            else:
                place[key] = value
        else:
            place[random.choice(names)] = value
    return document


def _edit_list(place: list[Any], value: Any, random: Random) -> None:
    at = random.randrange(len(place) + 1)
    deed = random.random()
    if deed < 0.3:
        place.insert(at, value)
    elif deed < 0.6 and place:
        place.insert(at, deepcopy(random.choice(place)))
    elif place:
        del place[min(at, len(place) - 1)]


class Spelling:
    """One way to write JSON. `oddity`: how often something unusual is done."""

    def __init__(self, random: Random, oddity: float) -> None:
        self.random = random
        self.oddity = oddity
        self.comma, self.colon = random.choice([(",", ":"), (",", ":"), (", ", ": "), (" ,\n", " : ")])
        self.ascii = random.random() < 0.3

    def write(self, document: Any) -> bytes:
        text = self._value(document)
        if self._oddly():
            text = self.random.choice(["\ufeff", " ", "\n"]) + text + self.random.choice(["", " \r\n", "x", "\x00"])
        body = text.encode()
        if self._oddly():
            at = self.random.randrange(len(body))
            body = body[:at] + self.random.choice([b"\xff", b"\xc3", b"\\", b'"', b"", b"1", b"\x01"]) + body[at + 1 :]
        return body

    def _oddly(self) -> bool:
        return self.random.random() < self.oddity

    def _value(self, value: Any) -> str:
        if isinstance(value, dict):
            pairs = [(self._string(key), self._value(item)) for key, item in value.items()]
            if pairs and self._oddly():
                pairs.insert(self.random.randrange(len(pairs) + 1), self._again(pairs))
            if self._oddly():
                self.random.shuffle(pairs)
            return "{" + self.comma.join(key + self._pause() + self.colon + item for key, item in pairs) + "}"
        if isinstance(value, list):
            return "[" + self.comma.join(map(self._value, value)) + "]"
        if isinstance(value, str):
            return self._string(value)
        return self._number(value) if isinstance(value, int | float) else "null"

    def _again(self, pairs: list[tuple[str, str]]) -> tuple[str, str]:
        """A key that is there already, with its own value or another."""
        key = self._string(json.loads(self.random.choice(pairs)[0]))
        return key, self.random.choice([self.random.choice(pairs)[1], self._value(self.random.choice(ODD)), "null"])

    def _pause(self) -> str:
        return self.random.choice([" ", "\t", "\n", "\r", " \n"]) if self._oddly() else ""

    def _string(self, text: str) -> str:
        written = json.dumps(text, ensure_ascii=self.ascii)
        if text and self._oddly():
            at = self.random.randrange(len(text))
            escape = f"\\u{ord(text[at]):04x}" if ord(text[at]) < 0x10000 else text[at]
            written = json.dumps(text[:at])[:-1] + escape + json.dumps(text[at + 1 :])[1:]
        return written

    def _number(self, value: float) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if self._oddly():
            return self.random.choice([f"{value:e}", f"{value}0", f"{value:g}e0", "-0", "1e400", "NaN", f"{value:.1e}"])
        return repr(value)


def strictly(body: bytes) -> Any:
    """The document, read by another decoder than ours; a key that stands twice is an error."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
        return dict(pairs)

    return json.loads(body, object_pairs_hook=once)
