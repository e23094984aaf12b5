"""Mutations of JSON documents: wrong types, missing, extra, deep, wide, huge, odd text, odd spelling.

A document is bent as a value and written by `json`. What `json` cannot write (a number of 400 digits, a key twice, a
lone surrogate) stands in the value as a mark, and its spelling is put in its place afterwards.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

MARK = re.compile(rb'"@@(\d+)@@"')

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    10**30,
    0.5,
    -0.0,
    1e308,
    "",
    " ",
    "x",
    "0",
    "true",
    "null",
    "stop",
    "error",
    "\x00",
    "\u2028",
    "\u202e",
    "\ufeff",
    "e\u0301",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "'; --",
    "../../etc",
    "\r\nx: y",
    "a" * 300,
    [],
    {},
    [[]],
    [{}],
    [None],
    [0, 1, 2],
    ["a", 1, None],
    {"": ""},
    {"a": None},
    {"type": "text"},
    {"type": "text", "text": 1},
    {"role": "user", "content": None},
)
ODD_SPELLINGS: tuple[bytes, ...] = (
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"-1e-999",
    b"9" * 400,
    b"0." + b"1" * 400,
    b"01",
    b"+1",
    b".5",
    b"1.",
    b"0x10",
    b'"\\ud83d"',
    b'"\\udc00\\ud800"',
    b'"\\u0000"',
    b'"\\x41"',
    b'"\xff\xfe"',
    b'"\xed\xa0\x80"',
    b'"\t"',
    b'"\n"',
    b"'x'",
    b"undefined",
    b"",
    b"{",
    b"]",
    b"/**/1",
)
EXTRA_KEYS = """
model stream messages input prompt n stop user tools tool_choice functions metadata stream_options logit_bias
response_format max_tokens max_completion_tokens temperature seed store prediction modalities audio suffix
__proto__ constructor class error choices index delta message content role tool_calls function arguments name
finish_reason logprobs usage id object created refusal moderation content_filter_results x_new
""".split()  # noqa: SIM905 - words are easier to read
CHOICE_KEYS = ("message", "delta", "text", "index", "finish_reason", "logprobs", "content_filter_results")
MESSAGE_KEYS = """
content role tool_calls function_call refusal reasoning reasoning_content thinking audio annotations name tool_call_id
""".split()  # noqa: SIM905
TEXT_DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    lambda data, chance: b"\xef\xbb\xbf" + data,
    lambda data, chance: b"\xef\xbb\xbf\xef\xbb\xbf" + data,
    lambda data, chance: data[: chance.randrange(len(data) + 1)],
    lambda data, chance: data + chance.choice([b"x", b"{}", b"\x00", b"\n\n", b",", b"]", b"}"]),
    lambda data, chance: data.decode("utf-8", "replace").encode(chance.choice(["utf-16", "utf-16-le", "utf-32"])),
    lambda data, chance: data.replace(b'"', b"'"),
    lambda data, chance: b"[" + data + b"]",
    lambda data, chance: b'"' + data.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"',
    lambda data, chance: data.replace(b": ", b" :\r\n\t "),
    lambda data, chance: data.replace(b"}", b",}", 1),
    lambda data, chance: b"",
    lambda data, chance: flip_bytes(data, chance),
)


def bend(document: Any, chance: random.Random, times: int) -> bytes:
    """The document with `times` mutations, as text."""
    bent = _Bent(copy.deepcopy(document), chance)
    for _ in range(times):
        bent.mutate()
    return bent.text()


def damage_text(text: bytes, chance: random.Random) -> bytes:
    return chance.choice(TEXT_DAMAGE)(text, chance)


def flip_bytes(data: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, put in, taken out or repeated."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(out) + 1)
        match chance.randrange(4):
            case 0:
                out[at:at] = chance.randbytes(chance.randint(1, 3))
            case 1:
                del out[at : at + chance.randint(1, 20)]
            case 2:
                out[at:at] = chance.choice([b"\r\n", b"\n", b"\x00", b'"', b"{", b"\\", b"\xff", b" "])
            case _:
                out[at : at + 1] = out[at : at + 1] * chance.randint(2, 40)
    return bytes(out)


class _Bent:
    def __init__(self, document: Any, chance: random.Random) -> None:
        self._root = [document]
        self._chance = chance
        self._spellings: list[bytes] = []

    def mutate(self) -> None:
        container, key = self._chance.choice(places(self._root))
        self._chance.choice(MUTATIONS)(self, container, key)

    def text(self) -> bytes:
        written = json.dumps(self._root[0]).encode() if self._root else b""
        return MARK.sub(lambda found: self._spellings[int(found[1])], written)

    def mark(self, spelling: bytes) -> str:
        self._spellings.append(spelling)
        return f"@@{len(self._spellings) - 1}@@"

    # The mutations. `container[key]` is the place.

    def replace(self, container: Any, key: Any) -> None:
        container[key] = copy.deepcopy(self._chance.choice(ODD_VALUES))

    def spell(self, container: Any, key: Any) -> None:
        container[key] = self.mark(self._chance.choice(ODD_SPELLINGS))

    def remove(self, container: Any, key: Any) -> None:
        if container is not self._root:
            del container[key]

    def add_key(self, container: Any, key: Any) -> None:
        if isinstance(container[key], dict):
            container = container[key]
        if isinstance(container, dict):
            container[self._chance.choice(EXTRA_KEYS)] = copy.deepcopy(self._chance.choice(ODD_VALUES))

    def add_known_key(self, container: Any, key: Any) -> None:
        """A name that is known there, with a value of any type or taken from elsewhere in the document."""
        if isinstance(container[key], dict):
            container = container[key]
        if not isinstance(container, dict):
            return
        names: Sequence[str] = EXTRA_KEYS
        if "finish_reason" in container:
            names = CHOICE_KEYS
        elif "content" in container:
            names = MESSAGE_KEYS
        other, at = self._chance.choice(places(self._root))
        value = self._chance.choice((other[at], {"content": None}, {"content": "x"}, *ODD_VALUES))
        container[self._chance.choice(names)] = copy.deepcopy(value)

    def repeat_key(self, container: Any, key: Any) -> None:
        """The same name twice, with another value; or a name that some readers take for the same."""
        if not isinstance(container, dict) or key.startswith("@@"):
            return
        name = self._chance.choice((key, key, key.title(), key.upper(), key + " ", key + "\u200b"))
        spelling = json.dumps(name).encode()
        if self._chance.random() < 0.3 and name:
            spelling = b'"\\u%04x' % ord(name[0]) + json.dumps(name[1:]).encode()[1:]
        container[self.mark(spelling)] = copy.deepcopy(self._chance.choice((container[key], *ODD_VALUES)))

    def wrap(self, container: Any, key: Any) -> None:
        value = container[key]
        container[key] = self._chance.choice(([value], {"value": value}, [[value]], {"type": "x", "x": value}))

    def unwrap(self, container: Any, key: Any) -> None:
        value = container[key]
        if isinstance(value, list) and value:
            container[key] = value[0]
        elif isinstance(value, dict) and value:
            container[key] = next(iter(value.values()))

    def repeat(self, container: Any, key: Any) -> None:
        value = container[key]
        if isinstance(value, list | str) and len(value) < 1000:
            container[key] = value * self._chance.choice((0, 2, 3, 20, 130))

    def deepen(self, container: Any, key: Any) -> None:
        depth = self._chance.choice((3, 20, 60, 130, 520, 1100))
        opening, closing = self._chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
        container[key] = self.mark(opening * depth + b"1" + closing * depth)

    def widen(self, container: Any, key: Any) -> None:
        size = self._chance.choice((20, 200, 2000))
        kind = self._chance.randrange(3)
        if kind == 0:
            container[key] = list(range(size))
        elif kind == 1:
            container[key] = {f"k{number}": number for number in range(size)}
        else:
            container[key] = self.mark(b"[" + b"[]," * size + b"{}]")

    def swap(self, container: Any, key: Any) -> None:
        """Two values change places."""
        other, at = self._chance.choice(places(self._root))
        if other is container:
            container[key], container[at] = container[at], container[key]


MUTATIONS: tuple[Callable[[_Bent, Any, Any], None], ...] = (
    _Bent.replace,
    _Bent.replace,
    _Bent.replace,
    _Bent.spell,
    _Bent.remove,
    _Bent.remove,
    _Bent.add_key,
    _Bent.add_key,
    _Bent.add_known_key,
    _Bent.add_known_key,
    _Bent.repeat_key,
    _Bent.wrap,
    _Bent.unwrap,
    _Bent.repeat,
    _Bent.deepen,
    _Bent.widen,
    _Bent.swap,
)


def places(root: list[Any]) -> list[tuple[Any, Any]]:
    """Every position of a document, as container and key."""
    found: list[tuple[Any, Any]] = []
    waiting: list[Any] = [root]
    while waiting and len(found) < 400:
        container = waiting.pop()
        for key, value in container.items() if isinstance(container, dict) else enumerate(container):
            found.append((container, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    return found or [([None], 0)]
