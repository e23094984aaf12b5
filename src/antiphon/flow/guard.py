"""The guard of a stream: chunks in as the upstream sends them, chunks out as they may leave.

`Guard` holds text back until its window was judged: not one character of a blocked window leaves. `Watch` lets text go
at once and tells its verdict afterwards (`content_filter_offsets`). Both look at each choice apart: what blocks one
leaves the others alone. A look is one question to the judge, which answers in a bounded time or says that it failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from antiphon.chat.spoken import readings
from antiphon.flow.ports import Document, Judge, Scope
from antiphon.flow.voice import CONTENT_FILTER, Form, Held, Passing, Voice
from antiphon.safety.annotation import merged
from antiphon.safety.policy import Decision, Policy, Results
from antiphon.safety.track import Look, Track
from antiphon.safety.verdict import CALM, Stage, Verdict

RESULTS: Final = "content_filter_results"
SOON: Final = 0.002  # seconds by which a timer may be early
MOST_HELD: Final = 256 * 1024  # characters of a choice
WATCHED: Final = 32  # tokens between two looks of the asynchronous mode
AHEAD: Final = 256  # characters that its text may be ahead of its verdict


@dataclass(frozen=True, slots=True)
class Terms:
    """What a guard goes by."""

    policy: Policy
    judge: Judge
    scope: Scope
    form: Form
    tells: bool  # the client wants annotations
    prompt_size: int  # characters: offsets count from the prompt's beginning


class Guard:
    def __init__(self, terms: Terms, envelope: Callable[[], Document], emit: Callable[[list[Passing]], None]) -> None:
        """`emit`: takes chunks that may leave, later than `take` was called; an empty list: something was settled."""
        self._terms = terms
        self._side = terms.policy.answer
        self._envelope = envelope
        self._emit = emit
        self._reach = terms.judge.reach(terms.scope)
        self._loop = asyncio.get_running_loop()
        self._half = terms.policy.hold.ms / 2000  # seconds
        self._calm = self._side.decide(CALM).results
        self._voices: dict[int, Voice] = {}
        self._after: list[Document] = []  # chunks without choices, which come last
        self._ending = False
        self.full = False  # so much is held that the upstream should wait for the judge

    def take(self, chunk: Document) -> Sequence[Passing]:
        """What may leave now."""
        choices = chunk["choices"]
        if not choices:
            if self.idle:
                return [chunk]
            self._after.append(chunk)
            return []
        out: list[Passing] = []
        for choice in choices:
            self._hear(choice, chunk if len(choices) == 1 else {**chunk, "choices": [choice]}, out)
        return out

    def hear_text(self, index: int, words: str, written: bytes) -> bool:
        """A text delta that is `written` already, as if nothing were found in it. True: it may leave now."""
        voice = self._voices[index]
        if voice.blocked:
            return False
        track = voice.track
        track.add(words, "content")
        voice.held.append(Held(written, track.size, self._loop.time()))
        if voice.looking:
            self._check_room(voice)
        elif voice.timer is None or track.due:
            self._advance(voice)
        return False

    def calm(self, chunk: Document) -> Document:
        """The chunk as it leaves if nothing is found in it."""
        return self._told(chunk, self._calm)

    def end(self) -> None:
        """The upstream is done: what is held was all there is."""
        self._ending = True
        for voice in self._voices.values():
            if not voice.silent:
                self._advance(voice)

    def stop(self) -> None:
        for voice in self._voices.values():
            voice.block()

    @property
    def idle(self) -> bool:
        return not any((voice.looking or voice.held) and not voice.blocked for voice in self._voices.values())

    def silenced(self, n: int) -> bool:
        """Nothing can follow, because of a block: the upstream need not go on."""
        voices = self._voices.values()
        return len(voices) >= n and all(voice.silent for voice in voices) and self.blocked

    def results(self) -> dict[int, Results]:
        """The worst of each choice, for the receipt."""
        return {index: self._side.decide(voice.worst).results for index, voice in sorted(self._voices.items())}

    def verdicts(self) -> list[Verdict]:
        return [voice.worst for _, voice in sorted(self._voices.items())]

    @property
    def blocked(self) -> bool:
        """Of what was said, not because nobody listens any more."""
        return any(voice.filtered for voice in self._voices.values())

    # One choice

    def _voice(self, index: int) -> Voice:
        voice = self._voices.get(index)
        if voice is None:
            track = Track(self._terms.policy.hold.tokens, self._reach)
            voice = self._voices[index] = Voice(index, track, self._calm)
        return voice

    def _hear(self, choice: Document, chunk: Document, out: list[Passing]) -> None:
        voice = self._voice(choice["index"])
        if voice.blocked:
            return
        speaks = False
        for kind, words in self._terms.form.words(choice):
            speaks = True
            voice.track.add(words, kind)
        finishes = choice["finish_reason"] is not None
        if not (speaks or finishes or voice.held):
            out.append(self._told(chunk, voice.results))
            return
        voice.finished = voice.finished or finishes
        voice.held.append(Held(chunk, voice.track.size, self._loop.time()))
        if voice.looking:
            self._check_room(voice)
        else:
            self._advance(voice, out)

    def _check_room(self, voice: Voice) -> None:
        """Only while the judge is asked can much come together."""
        if voice.track.size - voice.track.cleared > MOST_HELD:
            self.full = True

    def _advance(self, voice: Voice, out: list[Passing] | None = None) -> None:
        """Looks where it is time to; lets go what may leave. `out`: where to put it, if not to be sent from here."""
        if voice.looking or voice.blocked:
            return
        over = voice.finished or self._ending
        if over or voice.track.due:
            if voice.track.unseen:
                self._look(voice, whole=over)
                return
            if over:
                self._let_go(voice, voice.track.size, out)
                return
        self._set_timer(voice)

    def _look(self, voice: Voice, *, whole: bool) -> None:
        voice.stop()
        look = voice.track.look(whole=whole)
        voice.looking = True
        voice.looked = self._loop.time()
        asked = self._terms.judge.ask(Stage.ANSWER, readings(look.text), self._terms.scope)
        asked.add_done_callback(partial(self._judged, voice, look))

    def _judged(self, voice: Voice, look: Look, asked: asyncio.Future[Verdict]) -> None:
        voice.looking = False
        if voice.blocked or asked.cancelled():
            return
        verdict = asked.result()
        voice.worst |= verdict
        if verdict.calm:
            self._clear(voice, look, self._calm)
            return
        decision = self._side.decide(verdict)
        if decision.blocked:
            voice.filtered = True
            voice.block()
            self.full = False
            self._send([self._block(voice)])
            return
        self._clear(voice, look, decision.results)

    def _clear(self, voice: Voice, look: Look, results: Results) -> None:
        voice.results = results
        voice.track.clear(look)
        self._let_go(voice, max(voice.track.cleared, self._aged(voice, look.end)))
        self._advance(voice)

    def _let_go(self, voice: Voice, cleared: int, out: list[Passing] | None = None) -> None:
        ready: list[Passing] = []
        while voice.held and voice.held[0].end <= cleared:
            ready.append(self._annotated(voice.held.popleft().chunk, voice))
        self.full = False
        if out is not None:
            out += ready
        elif ready:
            self._send(ready)

    def _annotated(self, chunk: Passing, voice: Voice) -> Passing:
        if isinstance(chunk, bytes):
            if voice.results is self._calm or not self._terms.tells:
                return chunk
            chunk = read_frame(chunk)
        is_last = chunk["choices"][0]["finish_reason"] is not None
        return self._told(chunk, self._side.decide(voice.worst).results if is_last else voice.results)

    def _send(self, ready: list[Passing]) -> None:
        if self._after and self.idle:
            ready += self._after
            self._after = []
        self._emit(ready)

    def _block(self, voice: Voice) -> Document:
        choice = {**self._terms.form.silence(voice.index), "finish_reason": CONTENT_FILTER}
        return self._told({**self._envelope(), "choices": [choice]}, self._side.decide(voice.worst).results)

    def _told(self, chunk: Document, results: Results) -> Document:
        if self._terms.tells:
            choice = chunk["choices"][0]
            choice[RESULTS] = merged(choice.get(RESULTS), results)
        return chunk

    # Time

    # Text that comes slowly is looked at every half of `hold.ms`, and leaves with the first look that is half of that
    # time later than it: so it waits for `hold.ms` at most, and was seen with all that was said in the half after it.
    # Were all of it let go at once, a word would be cut in two wherever the time happens to be over.

    def _set_timer(self, voice: Voice) -> None:
        if voice.timer is None and voice.held:
            due = max(voice.held[0].since, voice.looked if voice.track.unseen else 0.0) + self._half
            voice.timer = self._loop.call_at(due, self._late, voice)

    def _late(self, voice: Voice) -> None:
        voice.timer = None
        if voice.looking or voice.blocked:
            return  # the verdict lets it go
        if voice.track.unseen:
            self._look(voice, whole=False)
        else:
            self._let_go(voice, self._aged(voice, voice.track.asked))
            self._set_timer(voice)

    def _aged(self, voice: Voice, seen: int) -> int:
        """How far the text that was `seen` has waited for long enough."""
        before = self._loop.time() - self._half + SOON
        return max((held.end for held in voice.held if held.since <= before and held.end <= seen), default=0)


def read_frame(frame: bytes) -> Document:
    """What `sse.frame` has put in it."""
    document: Document = msgspec.json.decode(frame[frame.index(b":") + 1 :])
    return document


class Watch(Guard):
    """The asynchronous mode. Text leaves at once, but not more than AHEAD characters before its verdict."""

    def _voice(self, index: int) -> Voice:
        voice = self._voices.get(index)
        if voice is None:
            voice = self._voices[index] = Voice(index, Track(WATCHED), self._calm)
        return voice

    def hear_text(self, index: int, words: str, written: bytes) -> bool:
        voice = self._voices[index]
        if voice.blocked:
            return False
        voice.track.add(words, "content")
        leaves = self._leaves(voice, written)
        if not voice.looking and (voice.timer is None or voice.track.due):
            self._advance(voice)
        return leaves

    def calm(self, chunk: Document) -> Document:
        return chunk

    @property
    def idle(self) -> bool:
        return not any((voice.looking or voice.track.unseen) and not voice.blocked for voice in self._voices.values())

    def _hear(self, choice: Document, chunk: Document, out: list[Passing]) -> None:
        voice = self._voice(choice["index"])
        if voice.blocked:
            return
        for kind, words in self._terms.form.words(choice):
            voice.track.add(words, kind)
        finishes = choice["finish_reason"] is not None
        voice.finished = voice.finished or finishes
        if self._leaves(voice, chunk):
            voice.ended = voice.finished
            out.append(chunk)
        self._advance(voice)

    def _leaves(self, voice: Voice, chunk: Passing) -> bool:
        """False: it is held, because the judge is too far behind."""
        track = voice.track
        if not voice.held and track.size - track.cleared <= AHEAD:
            return True
        voice.held.append(Held(chunk, track.size, 0.0))
        self._check_room(voice)
        return False

    def _advance(self, voice: Voice, out: list[Passing] | None = None) -> None:
        if voice.looking or voice.blocked or not voice.track.unseen:
            return
        if voice.finished or self._ending or voice.held or voice.track.due:
            self._look(voice, whole=True)
        elif voice.timer is None:
            voice.timer = self._loop.call_later(2 * self._half, self._late, voice)

    def _late(self, voice: Voice) -> None:
        voice.timer = None
        if not voice.looking and not voice.blocked and voice.track.unseen:
            self._look(voice, whole=True)

    def _judged(self, voice: Voice, look: Look, asked: asyncio.Future[Verdict]) -> None:
        voice.looking = False
        if voice.blocked or asked.cancelled():
            return
        verdict = asked.result()
        voice.worst |= verdict
        decision = self._side.decide(verdict)
        voice.track.clear(look)
        self.full = False
        ready: list[Passing] = []
        if decision.blocked:
            voice.filtered = True
            voice.block()
        if decision.blocked or self._terms.tells:  # before what was held: of that it comes early
            ready.append(self._late_verdict(voice, decision, look))
        while voice.held and voice.held[0].end - voice.track.cleared <= AHEAD:
            ready.append(voice.held.popleft().chunk)
        voice.ended = voice.finished and not voice.held
        self._send(ready)
        self._advance(voice)

    def _late_verdict(self, voice: Voice, decision: Decision, look: Look) -> Document:
        """Azure's chunk of annotations, but with a delta and an envelope, which clients need (spec §4.3)."""
        start = self._terms.prompt_size
        choice = self._terms.form.silence(voice.index)
        choice["finish_reason"] = CONTENT_FILTER if decision.blocked and not voice.ended else None
        choice[RESULTS] = decision.results
        choice["content_filter_offsets"] = {
            "check_offset": start + look.end,  # no later one ends before it
            "start_offset": start + look.start,
            "end_offset": start + look.end,
        }
        return {**self._envelope(), "choices": [choice]}
