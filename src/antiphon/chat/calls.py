"""Tool calls of one choice, from whatever fragments an upstream sends to those every client can put together.

What leaves (spec §3.5, §6 D, peers S6): indices 0, 1, 2 … in the order in which calls appear; `id`, `type` and `name`
in the first fragment and never again; arguments as strings of JSON, `{}` where a finished call had none. One fragment
at a time: the stream sends each in a chunk of its own. A whole answer's calls are mended by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from antiphon.chat.event import heal, settle_tail
from antiphon.chat.failure import malformed
from antiphon.chat.stamp import Document

_FUNCTION: Final = ("function", "arguments")
_CUSTOM: Final = ("custom", "input")
KINDS: Final = ("function", "custom")  # those that a client is to answer
_decode: Final = msgspec.json.Decoder().decode


@dataclass(slots=True)
class Fragment:
    """One entry of an upstream's `tool_calls`, read."""

    index: int | None
    id: str | None
    kind: tuple[str, str]
    name: str | None
    words: str  # a piece of the arguments (of a custom tool: of its input)
    extras: Document  # unknown keys beside `function`
    inner: Document  # unknown keys inside it

    def says(self) -> bool:
        return bool(self.name or self.words or self.extras or self.inner)


@dataclass(slots=True)
class Call:
    id: str
    given_id: str | None  # the upstream's, by which its later fragments are known
    kind: tuple[str, str]
    name: str = ""
    index: int = -1  # ours, once its first fragment has been sent
    words: list[str] = field(default_factory=list)
    tail: str = ""
    extras: Document = field(default_factory=dict)
    inner: Document = field(default_factory=dict)

    @property
    def opened(self) -> bool:
        return self.index >= 0

    def said(self) -> str:
        return "".join(self.words)

    def complete(self) -> bool:
        """Are the arguments so far a whole JSON document? Then more of them cannot belong to this call."""
        if self.kind is _CUSTOM or not self.words or not self.words[-1].rstrip().endswith("}"):
            return False
        try:
            _decode(self.said())
        except (ValueError, RecursionError):
            return False
        return True

    def fragment(self, body: Document) -> Document:
        return {"index": self.index, self.kind[0]: body}


class Calls:
    """The calls of one choice. `names` are the request's tools: they tell a whole name from the beginning of one."""

    __slots__ = ("_by_id", "_by_index", "_calls", "_names", "_new_id", "_opened", "_texts")

    def __init__(self, names: frozenset[str], new_id: Callable[[], str], texts: list[str]) -> None:
        self._names = names
        self._new_id = new_id
        self._texts = texts
        self._calls: list[Call] = []
        self._by_index: dict[int, Call] = {}
        self._by_id: dict[str, Call] = {}
        self._opened = 0

    @property
    def called(self) -> bool:
        return self._opened > 0

    def take(self, value: object, *, lenient: bool = False) -> list[Document]:
        """The fragments to send for one delta's `tool_calls`."""
        out: list[Document] = []
        for entry in read_entries(value):
            fragment = read_fragment(entry)
            call = self._find(fragment) or self._new(fragment)
            self._bind(call, fragment)
            if (lenient or call.tail) and fragment.words:
                fragment.words, call.tail = heal(call.tail + fragment.words)
            self._add(call, fragment, out)
        return out

    def close(self, *, whole: bool) -> list[Document]:
        """What is still to be sent when the choice ends. `whole`: it was not cut, so empty arguments mean `{}`."""
        out: list[Document] = []
        for call in self._calls:
            if call.tail:
                self._add(call, Fragment(None, None, call.kind, None, settle_tail(call.tail), {}, {}), out)
                call.tail = ""
            if not call.opened and (call.name or call.words):
                self._open(call, out)
            if call.opened and whole and _lacks(call.kind, call.said()):
                self._say(call, "{}", {}, {}, out)
        return out

    # Which call a fragment belongs to.

    def _find(self, fragment: Fragment) -> Call | None:
        last = self._calls[-1] if self._calls else None
        if fragment.index is not None:
            return self._find_by_index(fragment, fragment.index, last)
        if fragment.id is not None:
            call = self._by_id.get(fragment.id)
            return None if call is None or self._restarts(call, fragment) else call
        if last is None or fragment.name is None or not last.opened:
            return last
        return last if fragment.name == last.name and not last.complete() else None

    def _find_by_index(self, fragment: Fragment, index: int, last: Call | None) -> Call | None:
        call = self._by_index.get(index)
        if call is not None:
            if fragment.id is not None and fragment.name is None:
                return self._by_id.get(fragment.id, call)
            return None if self._replaces(call, fragment) else call
        if fragment.name is not None:
            return None
        if fragment.id is not None:
            return self._by_id.get(fragment.id)
        # Arguments under a number never seen: an upstream that counts wrongly goes on with its last call.
        return last if fragment.words and last is not None and last.opened and not last.complete() else None

    def _replaces(self, call: Call, fragment: Fragment) -> bool:
        """Does a fragment with this call's index begin another one? (litellm#33678: every call has index 0)"""
        name, known = fragment.name, call.given_id
        if name is None or not call.name:
            return False
        if fragment.id is not None and known is not None:
            return fragment.id != known or self._restarts(call, fragment)
        if name == call.name:
            return self._restarts(call, fragment)
        return bool(call.words) or not self._continues(call, name)

    def _restarts(self, call: Call, fragment: Fragment) -> bool:
        """The same id, or none: another name after arguments, or a new document though this call's is complete."""
        if fragment.name is None or not call.name:
            return False
        if fragment.name != call.name:
            return bool(call.words)
        if not fragment.words.lstrip().startswith("{") or not call.complete():
            return False
        return fragment.id is None or fragment.words != call.said()  # with its id, the whole call once more

    def _continues(self, call: Call, name: str) -> bool:
        """Is `name` the rest of a name that was cut, rather than another tool's?"""
        return call.name not in self._names or name not in self._names or call.name + name in self._names

    def _new(self, fragment: Fragment) -> Call:
        taken = fragment.id is None or fragment.id in self._by_id
        call = Call(
            id=self._new_id() if taken or fragment.id is None else fragment.id,
            given_id=fragment.id,
            kind=fragment.kind,
        )
        self._calls.append(call)
        return call

    def _bind(self, call: Call, fragment: Fragment) -> None:
        if fragment.index is not None:
            self._by_index[fragment.index] = call
        if fragment.id is not None:
            call.given_id = call.given_id or fragment.id
            self._by_id[fragment.id] = call

    # What is sent.

    def _add(self, call: Call, fragment: Fragment, out: list[Document]) -> None:
        if fragment.name == call.name and fragment.words == call.said() and call.complete():
            return  # the whole call once more, as some send at the end
        more = self._rename(call, fragment)
        if fragment.words:
            call.words.append(fragment.words)
        if not call.opened:
            call.extras.update(fragment.extras)
            call.inner.update(fragment.inner)
            if call.name and (call.words or self._is_whole(call.name)):
                self._open(call, out)
            return
        if more:
            out.append(call.fragment({"name": more}))
            self._texts.append(more)
        if fragment.words or _says(fragment.extras, call.extras) or _says(fragment.inner, call.inner):
            self._say(call, fragment.words, fragment.extras, fragment.inner, out)

    def _rename(self, call: Call, fragment: Fragment) -> str:
        """Takes in a name that comes, or comes on; returns what is to be sent of it after the first fragment."""
        name = fragment.name
        if not name or name == call.name or (call.words and call.name):
            return ""
        if not call.opened:
            whole = name in self._names and call.name + name not in self._names
            call.name = name if whole else call.name + name
            return ""
        call.name += name
        return name

    def _is_whole(self, name: str) -> bool:
        """A declared tool's name, or one that begins none: an unknown tool's is taken as it comes."""
        return name in self._names or not any(declared.startswith(name) for declared in self._names)

    def _open(self, call: Call, out: list[Document]) -> None:
        call.index = self._opened
        self._opened += 1
        self._texts.append(call.name)
        kind, key = call.kind
        body = {**call.inner, "name": call.name, key: ""}
        out.append({"index": call.index, "id": call.id, "type": kind, kind: body, **call.extras})
        if call.words:
            self._say(call, call.said(), {}, {}, out)

    def _say(self, call: Call, words: str, extras: Document, inner: Document, out: list[Document]) -> None:
        call.extras.update(extras)
        call.inner.update(inner)
        if words:
            self._texts.append(words)
        out.append({**call.fragment({**inner, call.kind[1]: words}), **extras})


class LegacyCall:
    """`delta.function_call`, the ancestor of tool calls: one call, no id, no index (D13)."""

    __slots__ = ("_began", "_calls", "called")

    def __init__(self, texts: list[str]) -> None:
        self._calls = Calls(frozenset(), str, texts)
        self._began = False  # its arguments have; a name now is a repetition
        self.called = False

    def take(self, value: object, *, lenient: bool = False) -> list[Document]:
        if value is None or value == {}:
            return []
        if not isinstance(value, dict):
            raise malformed()
        if self._began and self.called:
            value = {key: item for key, item in value.items() if key != "name"}
        self._began = self._began or value.get("arguments") not in (None, "")
        return self._bare(self._calls.take([{"index": 0, "id": "function_call", "function": value}], lenient=lenient))

    def close(self, *, whole: bool) -> list[Document]:
        return self._bare(self._calls.close(whole=whole))

    def _bare(self, fragments: list[Document]) -> list[Document]:
        self.called = self._calls.called
        return [fragment["function"] for fragment in fragments]


def tool_names(tools: object) -> frozenset[str]:
    """The names of the request's tools, which tell a whole name from a cut one."""
    names = set()
    for tool in tools if isinstance(tools, list) else ():
        for kind, _ in (_FUNCTION, _CUSTOM):
            body = tool.get(kind) if isinstance(tool, dict) else None
            if isinstance(body, dict) and isinstance(body.get("name"), str):
                names.add(body["name"])
    return frozenset(names)


def mend_calls(value: object, new_id: Callable[[], str], texts: list[str], *, whole: bool) -> list[Document]:
    """The calls of a whole answer. Each entry is a call, so there is nothing to put together."""
    calls: list[Document] = []
    ids: set[str] = set()
    for entry in read_entries(value):
        fragment = read_fragment(entry)
        if not (fragment.id or fragment.says()):
            continue
        id = new_id() if fragment.id is None or fragment.id in ids else fragment.id
        ids.add(id)
        if _is_foreign(entry):
            calls.append({**entry, "id": id})
            continue
        kind = fragment.kind
        call = {"id": id, "type": kind[0], kind[0]: _mend_body(fragment, texts, whole), **fragment.extras}
        calls.append({**call, "index": entry["index"]} if "index" in entry else call)  # no key of OpenAI's; it travels
    return calls


def mend_function_call(value: object, texts: list[str], *, whole: bool) -> Document | None:
    """The legacy call of a whole answer; None where there is none."""
    if not value:
        return None
    fragment = read_fragment({"function": value})
    return _mend_body(fragment, texts, whole) if fragment.says() else None


def _mend_body(fragment: Fragment, texts: list[str], whole: bool) -> Document:
    name, words = fragment.name or "", fragment.words
    if whole and _lacks(fragment.kind, words):
        words = "{}"
    texts += (name, words)
    return {**fragment.inner, "name": name, fragment.kind[1]: words}


def _is_foreign(entry: Document) -> bool:
    """A call of a vendor's own kind, with a body of its own (Zhipu's `web_browser`)."""
    kind = entry.get("type")
    own = ("function", "custom", "name", "arguments", "input")
    return isinstance(kind, str) and kind not in ("", *own) and all(entry.get(key) is None for key in own)


def _lacks(kind: tuple[str, str], words: str) -> bool:
    """Arguments of a finished call are JSON, also where the model gave none (D5)."""
    return kind is _FUNCTION and not words.strip()


def _says(extras: Document, sent: Document) -> bool:
    return any(value is not None and sent.get(key) != value for key, value in extras.items())


def read_entries(value: object) -> list[Document]:
    """Null and "" are none; one object stands for a list of one."""
    if not value:
        return []
    entries = [value] if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise malformed()
    entries = [entry for entry in entries if entry is not None]
    if not all(isinstance(entry, dict) for entry in entries):
        raise malformed()
    return entries


def read_fragment(entry: Document) -> Fragment:
    custom = entry.get("type") == "custom" or (isinstance(entry.get("custom"), dict) and not entry.get("function"))
    kind = _CUSTOM if custom else _FUNCTION
    key = kind[1]
    body = entry.get(kind[0])
    known = {"index", "id", "type", "function", "custom"}
    if body is None and ("name" in entry or key in entry):  # written flat, without `function`
        body = {name: entry[name] for name in ("name", key) if name in entry}
        known |= {"name", key}
    if body is not None and not isinstance(body, dict):
        raise malformed()
    body = body or {}
    name = body.get("name")
    return Fragment(
        index=_read_index(entry.get("index")),
        id=_read_id(entry.get("id")),
        kind=kind,
        name=name if isinstance(name, str) and name else None,
        words=_read_words(body.get(key)),
        extras={name: value for name, value in entry.items() if name not in known},
        inner={name: value for name, value in body.items() if name not in ("name", key)},
    )


def _read_index(value: object) -> int | None:
    """Only a label to tell fragments apart, so any number will do; some send it as a string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _read_id(value: object) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if type(value) is int and abs(value) < 1 << 64 else None


def _read_words(value: Any) -> str:
    """Arguments given as an object, not as a string, become one (A8)."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
