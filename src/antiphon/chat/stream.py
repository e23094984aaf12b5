"""The stream machine: an upstream's chunks in, canonical chunks out, whatever comes.

Pure: no clock, no I/O. Every chunk that leaves has the same id, object, created and model, exactly one choice (but for
moderation's, the last, which has none), and no usage. Each choice begins with its role, in ascending order of index,
ends with one finish reason of the enum, and says nothing afterwards but annotations. Unknown keys travel at every
depth; where a chunk must be split they ride on one of its pieces. Anything that cannot be read is an UpstreamError, and
nothing else is ever raised.
"""

from __future__ import annotations

from typing import Any, Final

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.calls import Calls, LegacyCall
from antiphon.chat.completion import chunks
from antiphon.chat.delta import (
    SILENT,
    ChoiceState,
    Read,
    has_tokens,
    is_remark,
    read_choice,
    read_choices,
    read_index,
    remember,
    says,
)
from antiphon.chat.envelope import OWN, STICKY, Envelope
from antiphon.chat.event import TEXT_KEYS, Lenient, decode, is_done, scrub, truncated
from antiphon.chat.failure import is_failure, malformed, read_failure
from antiphon.chat.finish import CUT, LENGTH, STOP
from antiphon.chat.request import ChatRequest
from antiphon.chat.text import ThinkSplitter
from antiphon.chat.usage_collector import UsageCollector
from antiphon.document import Document

__all__ = ["ChatStream", "decode", "is_done"]

# Keys whose values the fast path would have to look at.
_WATCHED: Final = frozenset({"error", "x_groq", "moderation"})
_WATCHED_IN_CHOICE: Final = frozenset({"error", "usage"})
_CHOICE_KEYS: Final = frozenset({"index", "delta", "finish_reason", "logprobs"})
_USUAL_KEYS: Final = OWN - {"error"}
_OPENING_DELTAS: Final = ({"role": "assistant", "content": ""}, {"role": "assistant", "content": "", "refusal": None})
_NEEDED_IN_CHOICE: Final = frozenset({"delta", "finish_reason", "index"})
_NOTHING: Final[tuple[str, ...]] = ()

Shape = tuple[tuple[str, ...], tuple[str, ...]]


class ChatStream:
    """One answer. Feed it chunks; `done` or `end` once per source.

    `sources` > 1 is a fan-out: source s carries choice s, whatever index it gives it.
    """

    replay = staticmethod(chunks)

    def __init__(self, request: ChatRequest, stamp: AnswerDefaults, *, sources: int = 1, think: bool = False) -> None:
        self.finished = False
        self.texts: list[str] = []
        self.unparsed: list[str] = []  # names of finished calls whose arguments are not JSON
        self._request = request
        self._stamp = stamp
        self._sources = sources
        self._think = think
        self._names = request.tool_names
        self._choices: list[ChoiceState] = []
        self._open: set[int] = set()  # choices introduced and not finished
        self._ended: set[int] = set()  # sources
        self._own_index: dict[int, int] = {}  # fan-out: the index a source gives its choice
        self._tally = UsageCollector(sources)
        self._envelope = Envelope(stamp)
        self._early: list[tuple[Document, int, bool]] = []  # chunks before the first with an id, and their `_read`
        self._moderation: dict[int, Document] = {}  # by source; it leaves after everything else [end-order]
        self._closing: Document = {}  # extras of the upstream's usage chunk, for ours
        # The last chunk's keys, when it was a text delta: the next one is likely the same (see `feed`).
        self._shape: tuple[str, ...] | None = None
        self._choice_shape = _NOTHING
        self._has_logprobs = False
        self._has_extras = False
        self._drops = _NOTHING
        self._fixed: Document = {}

    def feed(self, chunk: Document, source: int = 0) -> list[Document]:
        """The canonical chunks for one of the upstream's; often one, sometimes none. Edits `chunk`.

        A text delta shaped like the last one, nearly every chunk of a stream, is edited in place: about 1 us against
        10 us for the whole way. Whatever differs in the least takes the whole way.
        """
        if tuple(chunk) == self._shape and type(chunk) is dict:
            try:
                [choice] = chunk["choices"]
                delta, index = choice["delta"], choice["index"]
                text = delta["content"]
                if (
                    tuple(choice) == self._choice_shape
                    and choice["finish_reason"] is None
                    and type(text) is str
                    and text
                    and type(index) is int
                    and index in self._open
                    and (len(delta) == 1 or _is_plain(delta))
                    and not (self._has_logprobs and choice["logprobs"] is not None)
                ):
                    return self._relay_text(chunk, choice, text)
            except (TypeError, ValueError, KeyError):
                pass  # not the shape it seemed; nothing has been edited
        try:
            return self._feed(chunk, source)
        except RecursionError:  # nested deeper than anyone means it
            raise malformed() from None

    def _relay_text(self, chunk: Document, choice: Document, text: str) -> list[Document]:
        choice["delta"] = {"content": text}
        for key in self._drops:
            value = chunk.pop(key)
            if value is not None and key != "obfuscation":
                self._drop(key, value)
        chunk.update(self._fixed)
        self.texts.append(text)
        if self._has_extras:
            remember(
                {key: choice[key] for key in choice if key not in _CHOICE_KEYS}, self._choices[choice["index"]].sent
            )
            self._envelope.remember({key: chunk[key] for key in chunk if key not in OWN})
        return [chunk]

    def done(self, source: int = 0) -> list[Document]:
        """The upstream said [DONE]."""
        self._shape = None
        if self.finished or source in self._ended:
            return []
        self._ended.add(source)
        return self._close() if len(self._ended) >= self._sources else []

    def end(self, source: int = 0) -> list[Document]:
        """The upstream's bytes ended. A finish for every choice asked for is enough [done-optional]."""
        if source not in self._ended and self._sources == 1 and len(self._choices) < self._request.n:
            raise truncated()
        return self.done(source)

    def cut_short(self) -> list[Document]:
        """Ends every choice that runs with `length`: nobody hears more of the upstream."""
        self._shape = None
        out: list[Document] = []
        for index in sorted(self._open):
            self._finish(self._choices[index], LENGTH, {}, out)
        self._ended.update(range(self._sources))
        return out + self._close()

    @property
    def finishes(self) -> list[str]:
        """The finish reasons of the choices, as far as they have one."""
        return [state.finish for state in self._choices if state.finish is not None]

    @property
    def complete(self) -> bool:
        """Every choice asked for has finished: nothing but formalities can follow."""
        return not self._open and len(self._choices) >= max(self._request.n, self._sources)

    @property
    def repeats(self) -> bool:
        return self._sources == 1 and not self._think

    @property
    def moderated(self) -> bool:
        return bool(self._moderation)

    @property
    def usage(self) -> Document | None:
        return self._tally.total(len(self._choices))

    @property
    def upstream_id(self) -> str | None:
        return self._envelope.upstream_id

    def envelope(self) -> Document:
        return {**self._envelope.seal(), "choices": []}

    def usage_envelope(self) -> Document:
        """The envelope of our usage chunk: what rode on the upstream's own rides on it (llama.cpp's `timings`)."""
        return {**self._envelope.seal(), **self._closing, "choices": []}

    # The whole way.

    def _feed(self, chunk: Document, source: int) -> list[Document]:
        if source in self._ended or self.finished:
            return []
        is_first = not (self._choices or self._early or self._envelope.pending) and self._sources == 1
        if is_first and _opens_as_usual(chunk):
            return [self._open_choice(chunk)]
        lenient = isinstance(chunk, Lenient)
        if lenient:
            chunk = scrub(chunk, keep=TEXT_KEYS)
        if is_failure(chunk):
            raise read_failure(chunk)
        self._envelope.note(chunk)
        if not self._envelope.fixed and self._is_early(chunk):
            self._early.append((chunk, source, lenient))
            return []
        shape = None if lenient else self._shape_of(chunk)
        out = self._read_early() if self._early else []
        out += self._read(chunk, source, lenient)
        self._learn(shape)
        return out

    def _open_choice(self, chunk: Document) -> Document:
        """The usual first chunk: it says who speaks, and nothing else."""
        self._envelope.note(chunk)
        shape = self._shape_of(chunk)
        out: list[Document] = []
        fresh = self._introduce(0, out)
        assert fresh is not None
        fresh["choices"][0]["delta"] = chunk["choices"][0]["delta"]
        self._choices[0].streamed = True
        self._learn(shape)
        return fresh

    def _is_early(self, chunk: Document) -> bool:
        """Azure's filters can be quicker than its first real chunk. No role may leave with an id made up for them."""
        choices = read_choices(chunk.get("choices"), self._request.n)
        return not self._envelope.named and all(is_remark(choice) for choice in choices)

    def _read_early(self) -> list[Document]:
        early, self._early = self._early, []
        out = [piece for waiting in early for piece in self._read(*waiting)]
        if out and self._envelope.pending.keys().isdisjoint(out[0]):
            self._envelope.ride({}, out[0])
        return out

    def _read(self, chunk: Document, source: int, lenient: bool) -> list[Document]:
        choices = read_choices(chunk.get("choices"), self._request.n)
        reported = self._tally.note(chunk, source, bare=not choices, finished=len(self._choices) - len(self._open))
        out: list[Document] = []
        for position, choice in enumerate(choices):
            if choice is not None:
                self._take(choice, position, source, lenient, out)
        extras = {key: value for key, value in chunk.items() if key not in OWN}
        if lenient:
            extras = scrub(extras)
        if isinstance(extras.get("moderation"), dict):
            self._moderation.setdefault(source, {}).update(extras.pop("moderation"))
        self._place(extras, reported, out)
        return scrub(out) if lenient else out

    def _take(self, choice: Any, position: int, source: int, lenient: bool, out: list[Document]) -> None:
        """One choice of one chunk."""
        if not isinstance(choice, dict):
            raise malformed()
        index = self._index_of(choice.pop("index", None), position, source)
        if index is None:
            return
        self._tally.note(choice, source, bare=False, finished=0)
        fresh = self._introduce(index, out)
        state = self._choices[index]
        read = read_choice(choice, state, lenient=lenient)
        if fresh is not None:
            role = fresh["choices"][0]["delta"]
            role["content"] = read.blank
            if read.null_refusal:
                role["refusal"] = None
        if state.finish is not None:
            # Annotations go on (Azure's asynchronous filter); text, calls and further ends do not.
            read.take_native()
            if not read.says_nothing(state):
                out.append(self._piece(state, read.aside, extras=read.extras))
            return
        self._relay(state, read, self._deltas(state, read, lenient), fresh, out)

    def _deltas(self, state: ChoiceState, read: Read, lenient: bool) -> list[Document]:
        """What the entry adds, one delta per piece: text first, then each fragment of a call."""
        calls: list[Document] = []
        if read.tool_calls is not None:
            calls += ({"tool_calls": [call]} for call in state.calls.take(read.tool_calls, lenient=lenient))
        if read.function_call is not None:
            calls += ({"function_call": call} for call in state.legacy.take(read.function_call, lenient=lenient))
        if read.text:
            self.texts += (words for key, words in read.text.items() if key != "audio")
            return [{**read.text, **read.aside}, *calls]
        if calls:
            calls[0] = {**calls[0], **read.aside}
        elif read.reason is not None and says(read.aside, state.sent):
            return [read.aside]  # the finish chunk's delta is empty
        return calls

    def _relay(
        self, state: ChoiceState, read: Read, deltas: list[Document], fresh: Document | None, out: list[Document]
    ) -> None:
        """Sends an entry's pieces. Its extras ride on the last, or on the role chunk made for it. Where an entry has
        text and the end, each of them takes its own."""
        opening, state.opening = state.opening, {}
        if deltas:
            ending = read.take_ending() if read.reason is not None else {}
            out += (self._piece(state, delta) for delta in deltas[:-1])
            logprobs = state.take_tokens(read.logprobs)
            out.append(self._piece(state, deltas[-1], logprobs=logprobs, extras=read.extras))
            if read.reason is not None:
                self._finish(state, read.reason, ending, out)
            return
        if has_tokens(read.logprobs):  # half a character, a marker of thinking: their text is yet to come
            state.tokens = state.take_tokens(read.logprobs)
        if read.reason is not None:
            self._finish(state, read.reason, read.extras, out)
        elif fresh is not None:
            choice = fresh["choices"][0]
            choice["delta"].update(read.aside)
            choice.update(read.extras)
            remember(read.extras, state.sent)
            state.opening = read.extras
        elif not read.says_nothing(state) and not (read.role and _repeats(read, opening)):
            out.append(self._piece(state, read.aside, extras=read.extras))

    def _finish(self, state: ChoiceState, reason: str, extras: Document, out: list[Document]) -> None:
        text = state.flush()
        if text or state.tokens:
            self.texts += text.values()
            out.append(self._piece(state, text, logprobs=state.take_tokens()))
        whole = reason not in CUT
        out += (self._piece(state, {"tool_calls": [call]}) for call in state.calls.close(whole=whole))
        out += (self._piece(state, {"function_call": call}) for call in state.legacy.close(whole=whole))
        self.unparsed += (*state.calls.unparsed, *state.legacy.unparsed)
        state.finish = state.settle(reason, self._request)
        self._open.discard(state.index)
        out.append(self._piece(state, {}, finish=state.finish, extras=extras))

    def _close(self) -> list[Document]:
        out: list[Document] = []
        if not self._choices or (self._sources > 1 and len(self._choices) < self._sources):
            raise truncated()
        for index in sorted(self._open):
            if not self._choices[index].audio_over:
                raise truncated()
            self._finish(self._choices[index], STOP, {}, out)
        if self._envelope.pending:
            self._carry(out)
        out += self._moderated()
        self.finished = True
        return out

    def _moderated(self) -> list[Document]:
        verdicts: list[Document] = []
        for verdict in self._moderation.values():
            if verdict and verdict not in verdicts:
                verdicts.append(verdict)
        return [{**self._envelope.seal(), "moderation": verdict, "choices": []} for verdict in verdicts]

    # Choices.

    def _index_of(self, value: object, position: int, source: int) -> int | None:
        """None: a choice that a fan-out's source was not asked for."""
        index = position if value is None else read_index(value)
        if self._sources > 1:
            return source if self._own_index.setdefault(source, index) == index else None
        return index

    def _introduce(self, index: int, out: list[Document]) -> Document | None:
        """Role chunks for this choice and every one below that has none: SDKs' accumulators need the order."""
        fresh = None
        for new in range(len(self._choices), index + 1):
            state = ChoiceState(
                index=new,
                calls=Calls(self._names, self._stamp.new_call_id, self.texts),
                legacy=LegacyCall(self.texts),
                think=ThinkSplitter() if self._think else None,
            )
            self._choices.append(state)
            self._open.add(new)
            fresh = self._piece(state, {"role": "assistant", "content": ""})
            out.append(fresh)
        return fresh

    def _piece(
        self,
        state: ChoiceState,
        delta: Document,
        *,
        finish: str | None = None,
        logprobs: Document | None = None,
        extras: Document | None = None,
    ) -> Document:
        choice: Document = {"index": state.index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        if extras:
            choice.update(extras)
            remember(extras, state.sent)
        return self._envelope.around(choice)

    # Top-level extras.

    def _place(self, extras: Document, reported: bool, out: list[Document]) -> None:
        """They ride on the first piece; without one they wait, unless nothing more is to come."""
        envelope = self._envelope
        if out:
            envelope.ride(extras, out[0])
            return
        over = not self._open and len(self._choices) >= max(self._request.n, self._sources)
        closing = self._closing
        if reported and over and self._request.include_usage:
            told = {key: value for key, value in extras.items() if closing.get(key, value) == value}
            closing.update(told)
            extras = {key: value for key, value in extras.items() if key not in told}
        news = envelope.news(extras)
        if envelope.clashes(news):
            self._introduce(0, out)
            self._carry(out)
        envelope.pending.update(news)
        if over and envelope.pending:
            self._carry(out)

    def _carry(self, out: list[Document]) -> None:
        """A chunk for what waits: one that is there and carries nothing yet, or an empty one."""
        if not out:
            out.append(self._piece(self._choices[0], {}))
        self._envelope.ride({}, out[-1])

    # The fast path's knowledge.

    def _shape_of(self, chunk: Document) -> Shape | None:
        choices = chunk.get("choices")
        if self._sources > 1 or self._think or type(choices) is not list or len(choices) != 1:
            return None
        choice = choices[0]
        if type(choice) is not dict or not choice.keys() >= _NEEDED_IN_CHOICE:
            return None
        if not _WATCHED.isdisjoint(chunk) or not _WATCHED_IN_CHOICE.isdisjoint(choice):
            return None
        return tuple(chunk), tuple(choice)

    def _learn(self, shape: Shape | None) -> None:
        envelope = self._envelope
        self._shape = None
        if shape is None or envelope.pending or not envelope.fixed:
            return
        for state in self._choices:
            if state.tails or state.tokens:
                return
        self._shape, self._choice_shape = shape
        self._has_logprobs = "logprobs" in self._choice_shape
        self._has_extras = not (_CHOICE_KEYS.issuperset(self._choice_shape) and OWN.issuperset(self._shape))
        self._fixed = envelope.fixed
        dropped = ("usage", "obfuscation", *(key for key in STICKY if key not in envelope.fixed))
        self._drops = tuple(key for key in self._shape if key in dropped)

    def _drop(self, key: str, value: Any) -> None:
        if key == "usage":
            self._tally.note({"usage": value}, 0, bare=False, finished=0)
        else:
            self._envelope.note({key: value})


def _opens_as_usual(chunk: Document) -> bool:
    if type(chunk) is not dict or not _USUAL_KEYS.issuperset(chunk) or chunk.get("usage") is not None:
        return False
    choices = chunk.get("choices")
    if type(choices) is not list or len(choices) != 1:
        return False
    [choice] = choices
    return (
        type(choice) is dict
        and _CHOICE_KEYS.issuperset(choice)
        and choice.get("index") == 0
        and type(choice["index"]) is int
        and choice.get("delta") in _OPENING_DELTAS
        and choice.get("finish_reason") is None
        and choice.get("logprobs") is None
    )


def _is_plain(delta: Document) -> bool:
    """Nothing beside `content` but a role and known keys that say nothing."""
    for key, value in delta.items():
        if key != "content" and key != "role" and (value or key not in SILENT):
            return False
    return True


def _repeats(read: Read, opening: Document) -> bool:
    """Does an upstream's role chunk say what ours, made for the empty delta before it, has said? (Skytells)"""
    return not says(read.aside, {}) and all(opening.get(key) == value for key, value in read.extras.items())
