"""One choice of an upstream's chunk, read: text in strings, reasoning in one place, a finish reason of the enum.

`read_choice` takes the entry apart; `ChoiceState` is what the machine remembers of a choice between its entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from antiphon.chat.calls import Calls, LegacyCall
from antiphon.chat.event import heal, settle_tail
from antiphon.chat.failure import is_error, malformed, read_failure
from antiphon.chat.finish import read_finish, settle_finish
from antiphon.chat.request import ChatRequest
from antiphon.chat.text import ThinkSplitter, flatten
from antiphon.document import Document

# Empty values of these say nothing and are not sent; `role` is the machine's own to send.
SILENT: Final = frozenset({"refusal", "tool_calls", "function_call", "audio", "reasoning", "reasoning_content"})
NATIVE: Final = "native_finish_reason"
MAX_CHOICES: Final = 128
# Unknown keys of a choice that describe the text of its delta. All others of an entry that ends the choice belong to
# the end (vLLM's `stop_reason`, SGLang's `matched_stop`).
_OF_TEXT: Final = frozenset(
    {
        *("content_filter_results", "content_filter_result", "content_filter_offsets"),  # Azure, Skytells
        *("token_ids", "prompt_token_ids"),  # vLLM
        *("text", "token", "token_id", "tokens", "text_offset", "top_tokens"),  # Together, TGI
    }
)
_TOKENS: Final = ("content", "refusal")
_SCALARS: Final = (str, int, float)


@dataclass(slots=True)
class ChoiceState:
    """A choice under way."""

    index: int
    calls: Calls
    legacy: LegacyCall
    think: ThinkSplitter | None
    finish: str | None = None
    streamed: bool = False  # a real `delta` has come: a `message` now is a copy of the whole, not a piece
    audio_over: bool = False  # its audio has said when it expires, which is its last word (E8)
    opening: Document = field(default_factory=dict)  # extras on its role chunk, until its next entry
    tokens: Document | None = None  # logprobs whose text has not come yet
    tails: dict[str, str] = field(default_factory=dict)  # text key -> a character cut in two
    sent: Document = field(default_factory=dict)  # scalar extras the client has seen on this choice
    part_numbers: dict[int, int] | None = None  # the upstream's `index` of a content part -> ours
    parts: int = 0  # content parts sent so far
    whole: bool = False  # the choice of a whole answer: its content parts need no `index`

    def number(self, parts: list[Document]) -> list[Document]:
        """Content parts with the `index` by which accumulators put the lists of several deltas together."""
        return parts if self.whole else [{"index": self._place_of(part), **_without_index(part)} for part in parts]

    def _place_of(self, part: Document) -> int:
        own = part.get("index")
        numbers = self.part_numbers or {}
        if type(own) is int and own in numbers:
            return numbers[own]
        place, self.parts = self.parts, self.parts + 1
        if type(own) is int:
            self.part_numbers = {**numbers, own: place}
        return place

    def flush(self) -> Document:
        """The text still held back when the choice ends."""
        text: Document = {}
        if self.think is not None:
            content, reasoning = self.think.close()
            text = {key: piece for key, piece in (("reasoning_content", reasoning), ("content", content)) if piece}
        for key, tail in self.tails.items():
            text[key] = text.get(key, "") + settle_tail(tail)
        self.tails = {}
        return text

    def settle(self, reason: str, request: ChatRequest) -> str:
        """The finish reason that the client is told."""
        calls = self.calls
        return settle_finish(
            reason, request, called=calls.called, legacy_called=self.legacy.called, foreign=calls.foreign
        )

    def take_tokens(self, more: Document | None = None) -> Document | None:
        """The logprobs that waited, and these."""
        held, self.tokens = self.tokens, None
        if held is None or more is None:
            return held or more
        return {**held, **more, **{key: [*(held[key] or ()), *(more[key] or ())] or None for key in _TOKENS}}


@dataclass(slots=True)
class Read:
    """What one entry says."""

    extras: Document  # unknown keys of the choice
    aside: Document  # unknown keys of its delta
    reason: str | None
    logprobs: Document | None
    role: bool = False  # it says who speaks
    blank: str | None = ""  # `content` of the role chunk, where this entry is the choice's first
    null_refusal: bool = False  # it says `refusal: null`
    text: Document = field(default_factory=dict)  # content, refusal, reasoning, audio
    tool_calls: object = None
    function_call: object = None

    def says_nothing(self, state: ChoiceState) -> bool:
        return not says(self.extras, state.sent) and not says(self.aside, state.sent)

    def take_native(self) -> Document:
        """The vendor's word for the finish, which stands beside it and nowhere else."""
        return {NATIVE: self.extras.pop(NATIVE)} if NATIVE in self.extras else {}

    def take_ending(self) -> Document:
        """The extras of an entry that ends its choice, without those that describe its text."""
        return {key: self.extras.pop(key) for key in self.extras.keys() - _OF_TEXT}


def read_choices(value: object, n: int) -> list[Any]:
    """Null and missing are none [missing-delta]; one object is a list of one. All n with one index: places tell."""
    if not value:
        return []
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list) or len(value) > MAX_CHOICES:
        raise malformed()
    if len(value) == n > 1 and all(isinstance(choice, dict) and choice.get("index") == 0 for choice in value):
        return [{**choice, "index": place} for place, choice in enumerate(value)]
    return value


def read_index(value: object) -> int:
    if isinstance(value, str) and len(value) <= 3 and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not 0 <= value < MAX_CHOICES:
        raise malformed()
    return value


def is_remark(choice: object) -> bool:
    """An entry that only annotates: no delta, no end, nothing that begins an answer."""
    if not isinstance(choice, dict):
        return choice is None
    delta = choice.get("delta")
    if isinstance(delta, dict) and any(value is not None for value in delta.values()):
        return False
    said = ("message", "finish_reason", "logprobs", "error")
    return (not delta or isinstance(delta, dict)) and not any(choice.get(key) for key in said)


def read_choice(choice: Document, state: ChoiceState, *, lenient: bool) -> Read:
    """Empties `choice` and its delta of what is known: what is left of them are the extras."""
    error = choice.pop("error", None)
    if is_error(error):
        raise read_failure({"error": error})
    delta = _read_change(choice, state)
    word, inner = choice.pop("finish_reason", None), delta.pop("finish_reason", None)
    reason, native = read_finish(word or (inner if isinstance(inner, str) else None))
    if native is not None and choice.get(NATIVE) is None:
        choice[NATIVE] = native
    read = Read(choice, delta, reason, _read_logprobs(choice.pop("logprobs", None)))
    read.role = bool(delta.pop("role", None))
    read.tool_calls, read.function_call = delta.pop("tool_calls", None), delta.pop("function_call", None)
    _read_text(read, state, lenient)
    audio = delta.pop("audio", None)
    if audio:
        read.text["audio"] = audio
        state.audio_over = isinstance(audio, dict) and audio.get("expires_at") is not None
    return read


def _read_change(choice: Document, state: ChoiceState) -> Document:
    """The choice's delta; a `message` in its place where the upstream streams none."""
    delta = choice.pop("delta", None)
    if delta is None and isinstance(choice.get("message"), dict) and not state.streamed:
        message: Document = choice.pop("message")
        return message
    if isinstance(delta, dict):
        state.streamed = True
        return delta
    if isinstance(delta, str):
        return {"content": delta}
    if delta:
        raise malformed()
    return {}


def _read_logprobs(value: object) -> Document | None:
    """Both keys, each a list of tokens or null, and all four of every token, as OpenAI's schema requires (vLLM leaves
    out `refusal`). A bare list is the content's."""
    if value is None:
        return None
    if isinstance(value, list):
        value = {"content": value}
    if not isinstance(value, dict):
        return None
    for key in _TOKENS:
        tokens = value.get(key)
        value[key] = _records(tokens) if isinstance(tokens, list) else None
        for token in value[key] or ():
            token.setdefault("bytes", None)
            rivals = token.get("top_logprobs")
            token["top_logprobs"] = rivals if isinstance(rivals, list) else []
            for rival in _records(token["top_logprobs"]):
                rival.setdefault("bytes", None)
    return value


def _records(values: list[Any]) -> list[Document]:
    return [value for value in values if isinstance(value, dict)]


def _without_index(part: Document) -> Document:
    return {key: value for key, value in part.items() if key != "index"}


def _read_text(read: Read, state: ChoiceState, lenient: bool) -> None:
    delta = read.aside
    pieces = _read_reasoning(delta)
    content = delta.pop("content", "")
    read.null_refusal = "refusal" in delta and delta["refusal"] is None
    pieces["content"] = content if isinstance(content, str) else ""
    refusal = delta.pop("refusal", None)
    pieces["refusal"] = refusal if isinstance(refusal, str) else _words(refusal)
    if content is None:
        read.blank = None
    elif not isinstance(content, str):
        flat = flatten(content)
        pieces["content"] = flat.text or ""
        if flat.reasoning and flat.reasoning != pieces["reasoning_content"]:
            pieces["reasoning_content"] += flat.reasoning
        pieces["refusal"] += flat.refusal or ""
        read.blank = None if flat.text is None else ""
        if flat.rest:
            delta.setdefault("content_parts", state.number(flat.rest))
    if state.think is not None:
        pieces["content"], thought = state.think.feed(pieces["content"])
        pieces["reasoning_content"] += thought
    if lenient or state.tails:
        _heal(pieces, state)
    read.text = {key: words for key, words in pieces.items() if words}


def _heal(pieces: dict[str, str], state: ChoiceState) -> None:
    for key, words in pieces.items():
        pieces[key], tail = heal(state.tails.pop(key, "") + words)
        if tail:
            state.tails[key] = tail


def _words(value: object) -> str:
    return flatten(value).text or ""


def _read_reasoning(delta: Document) -> dict[str, str]:
    """`reasoning` (vLLM, Ollama, OpenRouter) is `reasoning_content`; both stay only where they differ."""
    own = delta.pop("reasoning_content", "")
    if not isinstance(own, str):
        own = _words(own)
    if "reasoning" not in delta:
        return {"reasoning_content": own}
    other = delta["reasoning"]
    if other is None or isinstance(other, str):
        delta.pop("reasoning", None)
    if not isinstance(other, str) or not other or other == own:
        return {"reasoning_content": own}
    return {"reasoning_content": own, "reasoning": other} if own else {"reasoning_content": other}


def says(extras: Document, sent: Document) -> bool:
    """Do these extras tell the client anything? Empty values do not, nor a scalar that it has seen already."""
    return any(
        value is not None
        and value not in ("", [], {})
        and not (isinstance(value, _SCALARS) and key in sent and sent[key] == value)
        for key, value in extras.items()
    )


def remember(extras: Document, sent: Document) -> None:
    sent.update({key: value for key, value in extras.items() if isinstance(value, _SCALARS)})


def has_tokens(logprobs: Any) -> bool:
    return bool(logprobs) and any(bool(value) for value in logprobs.values())
