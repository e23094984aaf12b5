"""Tool calls of one choice, from whatever fragments an upstream sends to those every client can put together.

What leaves [calls-in-order]: indices 0, 1, 2 … in the order in which calls appear; `id`, `type` and `name`
in the first fragment and never again; arguments as strings of JSON, `{}` where a finished call had none. An empty
object before the real arguments is removed. One fragment at a time: the stream sends each in a chunk of its own. The
calls of a whole answer follow the same rules. A call of a vendor's own kind (a foreign call) travels as it comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from antiphon.chat.event import heal, settle_tail
from antiphon.chat.failure import malformed
from antiphon.chat.fragment import FUNCTION, Fragment, read_entries, read_fragment
from antiphon.document import Document

_EMPTY: Final = re.compile(r"\s*\{\s*\}\s*")
_decode: Final = msgspec.json.Decoder().decode


@dataclass(slots=True)
class ToolCall:
    id: str
    given_id: str | None  # the upstream's, by which its later fragments are known
    kind: tuple[str, str]
    name: str = ""
    index: int = -1  # ours, once its first fragment has been sent
    words: list[str] = field(default_factory=list)
    held: str = ""  # an empty object: dropped if another object follows, else sent
    tail: str = ""
    extras: Document = field(default_factory=dict)
    inner: Document = field(default_factory=dict)

    @property
    def opened(self) -> bool:
        return self.index >= 0

    @property
    def foreign(self) -> bool:
        return not self.kind[1]

    def said(self) -> str:
        return "".join(self.words) + self.held

    def complete(self) -> bool:
        """Are the arguments so far a whole JSON document? Then more of them cannot belong to this call."""
        last = self.held or (self.words[-1] if self.words else "")
        return self.kind is FUNCTION and last.rstrip().endswith("}") and _is_json(self.said())

    def sift(self, words: str) -> str:
        """What can be sent of these words. An empty object that may precede the real arguments is held back."""
        if self.words or self.kind is not FUNCTION:
            return words
        words, self.held = self.held + words, ""
        while empty := _EMPTY.match(words):
            if empty.end() == len(words):
                self.held = words
                return ""
            if words[empty.end()] != "{":
                break
            words = words[empty.end() :]
        return words

    def fragment(self, body: Document) -> Document:
        return {"index": self.index, self.kind[0]: body}

    def folded(self) -> Document:
        """The call as it stands in a whole answer."""
        kind, key = self.kind
        body = {} if self.foreign else {kind: {**self.inner, "name": self.name, key: self.said()}}
        return {"id": self.id, "type": kind, **body, **self.extras}


class Calls:
    """The calls of one choice. `names` are the request's tools: they tell a whole name from the beginning of one."""

    __slots__ = (
        "_by_id",
        "_by_index",
        "_calls",
        "_names",
        "_new_id",
        "_opened",
        "_texts",
        "called",
        "foreign",
        "unparsed",
    )

    def __init__(self, names: frozenset[str], new_id: Callable[[], str], texts: list[str]) -> None:
        self._names = names
        self._new_id = new_id
        self._texts = texts
        self._calls: list[ToolCall] = []
        self._by_index: dict[int, ToolCall] = {}
        self._by_id: dict[str, ToolCall] = {}
        self._opened = 0
        self.called = False  # a call that the client is to answer has been sent
        self.foreign = False  # a call of a vendor's own kind has been sent
        self.unparsed: list[str] = []  # names of finished calls whose arguments are not JSON

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

    def take_whole(self, value: object) -> None:
        """The calls of a whole answer: each entry is one. Nothing is sent; `folded` returns them after `close`."""
        for entry in read_entries(value):
            fragment = read_fragment(entry)
            if not (fragment.id or fragment.says()):
                continue
            call = self._new(fragment)
            self._bind(call, fragment)
            call.name, call.inner, call.extras = fragment.name or "", fragment.inner, fragment.extras
            self._count(call)
            if words := call.sift(fragment.words):
                call.words.append(words)
                self._texts.append(words)
            if "index" in entry:  # no key of OpenAI's in a whole answer; it travels
                call.extras = {**call.extras, "index": entry["index"]}

    def folded(self) -> list[Document]:
        return [call.folded() for call in self._calls if call.opened]

    def close(self, *, whole: bool) -> list[Document]:
        """What is still to be sent when the choice ends. `whole`: it was not cut, so empty arguments mean `{}`."""
        out: list[Document] = []
        for call in self._calls:
            if call.tail:
                self._add(call, Fragment(None, None, call.kind, None, settle_tail(call.tail), {}, {}), out)
                call.tail = ""
            if not call.opened and (call.name or call.said() or call.foreign):
                self._open(call, out)
            if call.held:
                self._finish_words(call, call.held, out)
            if call.opened and whole and call.kind is FUNCTION:
                if not call.said().strip():  # arguments of a finished call are JSON, also where it had none
                    self._finish_words(call, "{}", out)
                elif not _is_json(call.said()):
                    self.unparsed.append(call.name)
        return out

    def _finish_words(self, call: ToolCall, words: str, out: list[Document]) -> None:
        call.held = ""
        call.words.append(words)
        self._say(call, words, {}, {}, out)

    # Which call a fragment belongs to.

    def _find(self, fragment: Fragment) -> ToolCall | None:
        if not fragment.kind[1]:
            return self._find_foreign(fragment)
        last = self._calls[-1] if self._calls else None
        if fragment.index is not None:
            return self._find_by_index(fragment, fragment.index, last)
        if fragment.id is not None:
            call = self._by_id.get(fragment.id)
            return None if call is None or self._restarts(call, fragment) else call
        if last is None or fragment.name is None or not last.opened:
            return last
        return last if fragment.name == last.name and not last.complete() else None

    def _find_foreign(self, fragment: Fragment) -> ToolCall | None:
        known = self._by_index.get(-1 if fragment.index is None else fragment.index)
        call = known if fragment.id is None else self._by_id.get(fragment.id)
        return call if call is not None and call.kind == fragment.kind else None

    def _find_by_index(self, fragment: Fragment, index: int, last: ToolCall | None) -> ToolCall | None:
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
        goes_on = fragment.words and last is not None and last.opened and (last.held or not last.complete())
        return last if goes_on else None

    def _replaces(self, call: ToolCall, fragment: Fragment) -> bool:
        """Does a fragment with this call's index begin another one? (litellm#33678: every call has index 0)"""
        name, known = fragment.name, call.given_id
        if name is None or not call.name:
            return name is not None and call.foreign and call.opened
        if fragment.id is not None and known is not None:
            return fragment.id != known or self._restarts(call, fragment)
        if name == call.name:
            return self._restarts(call, fragment)
        return bool(call.said()) or not self._continues(call, name)

    def _restarts(self, call: ToolCall, fragment: Fragment) -> bool:
        """The same id, or none: another name after arguments, or a new document though this call's is complete."""
        if fragment.name is None or not call.name:
            return False
        if fragment.name != call.name:
            return bool(call.said())
        if not fragment.words.lstrip().startswith("{") or not call.complete():
            return False
        if fragment.id is not None and call.held:
            return False  # the same call goes on after its empty object
        return fragment.id is None or fragment.words != call.said()  # with its id, the whole call once more

    def _continues(self, call: ToolCall, name: str) -> bool:
        """Is `name` the rest of a name that was cut, rather than another tool's?"""
        return call.name not in self._names or name not in self._names or call.name + name in self._names

    def _new(self, fragment: Fragment) -> ToolCall:
        taken = fragment.id is None or fragment.id in self._by_id
        call = ToolCall(
            id=self._new_id() if taken or fragment.id is None else fragment.id,
            given_id=fragment.id,
            kind=fragment.kind,
        )
        self._calls.append(call)
        return call

    def _bind(self, call: ToolCall, fragment: Fragment) -> None:
        if fragment.index is not None:
            self._by_index[fragment.index] = call
        if fragment.id is not None:
            call.given_id = call.given_id or fragment.id
            self._by_id[fragment.id] = call
        if fragment.name and call.foreign and not call.opened:
            call.kind = fragment.kind  # an odd `type` came before the function did

    # What is sent.

    def _add(self, call: ToolCall, fragment: Fragment, out: list[Document]) -> None:
        if fragment.name == call.name and fragment.words == call.said() and call.complete():
            return  # the whole call once more, as some send at the end
        more = self._rename(call, fragment)
        words = call.sift(fragment.words) if fragment.words else ""
        if words:
            call.words.append(words)
        if not call.opened:
            call.extras.update(fragment.extras)
            call.inner.update(fragment.inner)
            if call.foreign:
                ready = bool(call.extras)
            else:
                ready = bool(call.name) and (bool(call.said()) or self._is_whole(call.name))
            if ready:
                self._open(call, out)
            return
        if more:
            out.append(call.fragment({"name": more}))
            self._texts.append(more)
        if words or _says(fragment.extras, call.extras) or _says(fragment.inner, call.inner):
            self._say(call, words, fragment.extras, fragment.inner, out)

    def _rename(self, call: ToolCall, fragment: Fragment) -> str:
        """Takes in a name that comes, or comes on; returns what is to be sent of it after the first fragment."""
        name = fragment.name
        if not name or name == call.name or (call.name and call.said()):
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

    def _open(self, call: ToolCall, out: list[Document]) -> None:
        self._count(call)
        kind, key = call.kind
        if call.foreign:
            out.append({"index": call.index, "id": call.id, "type": kind, **call.extras})
            return
        body = {**call.inner, "name": call.name, key: ""}
        out.append({"index": call.index, "id": call.id, "type": kind, kind: body, **call.extras})
        if call.words:
            self._say(call, "".join(call.words), {}, {}, out)

    def _count(self, call: ToolCall) -> None:
        call.index = self._opened
        self._opened += 1
        if call.foreign:
            self.foreign = True
        else:
            self.called = True
            self._texts.append(call.name)

    def _say(self, call: ToolCall, words: str, extras: Document, inner: Document, out: list[Document]) -> None:
        call.extras.update(extras)
        call.inner.update(inner)
        if words:
            self._texts.append(words)
        body = {"index": call.index} if call.foreign else call.fragment({**inner, call.kind[1]: words})
        out.append({**body, **extras})


class LegacyCall:
    """`delta.function_call`, the ancestor of tool calls: one call, no id, no index [legacy-call]."""

    __slots__ = ("_began", "_calls", "_texts", "called")

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._calls: Calls | None = None  # until there is one: few answers have any
        self._began = False  # its arguments have; a name now is a repetition
        self.called = False

    @property
    def unparsed(self) -> list[str]:
        return self._calls.unparsed if self._calls is not None else []

    def folded(self) -> Document | None:
        """The call as it stands in a whole answer."""
        calls = self._calls.folded() if self._calls is not None else []
        return calls[0]["function"] if calls else None

    def take(self, value: object, *, lenient: bool = False) -> list[Document]:
        if not value:
            return []
        if not isinstance(value, dict):
            raise malformed()
        if self._began and self.called:
            value = {key: item for key, item in value.items() if key != "name"}
        self._began = self._began or value.get("arguments") not in (None, "")
        if self._calls is None:
            self._calls = Calls(frozenset(), str, self._texts)
        fragments = self._calls.take([{"index": 0, "id": "function_call", "function": value}], lenient=lenient)
        return self._bare(self._calls, fragments)

    def close(self, *, whole: bool) -> list[Document]:
        return self._bare(self._calls, self._calls.close(whole=whole)) if self._calls is not None else []

    def _bare(self, calls: Calls, fragments: list[Document]) -> list[Document]:
        self.called = calls.called
        return [fragment["function"] for fragment in fragments]


def _is_json(words: str) -> bool:
    try:
        _decode(words)
    except (ValueError, RecursionError):
        return False
    return True


def _says(extras: Document, sent: Document) -> bool:
    return any(value is not None and sent.get(key) != value for key, value in extras.items())
