"""The gate of a stream: chunks in as the upstream sends them, chunks out as they may leave.

A pure machine: it has no clock, no timer and no I/O. The caller passes `now`, asks the questions and sends the chunks:

    ready = gate.take(chunk, now)             chunks that may leave
    ready = gate.judged(look, verdict, now)   … because a question was answered
    gate.wake(now)                            it is `gate.wake_at`: looks may be due
    ready = gate.end(now)                     … because the upstream is done
    gate.looks                                questions to ask now: see to them after each of the above

Each choice is judged apart: what blocks one leaves the others alone. Each text of a choice (content, refusal, a
reasoning field, the arguments of a call) has a window of its own (`safety.window`). One look covers what all texts of a
choice have got since the last one; there is at most one look under way for each choice.

    mode    text leaves                                   a look is due
    OPEN    at once                                       after OPEN_LOOK characters, and at the end
    HOLD    when it was judged with what follows it       when the window is full, every half of `hold.ms`, at the end
    ASYNC   at once, at most AHEAD characters ahead       after ASYNC_LOOK characters, after `hold.ms`, at the end

HOLD may be adaptive: then an early look at the end of the text lets it leave at once, unless it is risky. A risk is
settled by a whole look only. `gate_choice` has the table of a choice's states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Final

import msgspec

from antiphon.document import Document
from antiphon.flow.gate_choice import EarlyLook, GateChoice, GateEvent, GateState, Held, Look, Passing
from antiphon.flow.ports import Texts
from antiphon.safety.annotation import merged
from antiphon.safety.policy import Annotations, Decision, Policy, Results
from antiphon.safety.verdict import CLEAN, FAILURE, NOTHING, Verdict
from antiphon.safety.window import TextWindow

RESULTS: Final = "content_filter_results"
CONTENT_FILTER: Final = "content_filter"
SOON: Final = 0.002  # seconds by which a wake-up may be early
MOST_UNJUDGED: Final = 256 * 1024  # characters of a choice; then the upstream has to wait
MOST_WEIGHT: Final = 1024 * 1024  # bytes of chunks that wait; then what was judged leaves, though more may follow
MOST_EARLY: Final = 64  # chunks that wait; with more there are no early looks
TAIL: Final = 64  # characters that stay back at least, so that no phrase is cut in two
LEAST_LOOK: Final = 64  # new characters that a full window has room for at least
OPEN_LOOK: Final = 512  # new characters of a look
ASYNC_LOOK: Final = 128
AHEAD: Final = 256  # characters that text may be ahead of its verdict
EARLY: Final = 200  # characters at the end of a text that an early look reads
EARLY_NEW: Final = 40  # … of which so many may be new: of more than a few words it sees the last ones only


class GateMode(Enum):
    OPEN = "nothing is held: nothing can be blocked"
    HOLD = "text is held until it was judged"
    ASYNC = "text leaves at once, its verdict follows"


@dataclass(frozen=True, slots=True)
class GateRules:
    """What a gate goes by."""

    policy: Policy
    texts: Texts  # how to read the chunks of this endpoint
    annotations: Annotations
    prompt_size: int = 0  # characters; ASYNC counts its offsets from the prompt's beginning
    reach: int = 0  # characters of the longest finding that is known to be possible

    @property
    def mode(self) -> GateMode:
        if self.policy.asynchronous:
            return GateMode.ASYNC
        return GateMode.HOLD if self.policy.answer.blocks else GateMode.OPEN


class Gate:
    def __init__(self, rules: GateRules, envelope: Callable[[], Document]) -> None:
        """`envelope`: a chunk without choices, for the chunks that the gate makes itself."""
        policy = rules.policy
        self.mode = rules.mode
        self.looks: list[Look | EarlyLook] = []  # questions that the caller is to ask
        self.wake_at: float | None = None  # when `wake` is to be called
        self.is_full = False  # so much is unjudged that the upstream should wait
        self.adaptive = (
            self.mode is GateMode.HOLD and policy.hold.adaptive
        )  # the caller clears it where no early look is
        self._rules = rules
        self._side = policy.answer
        self._envelope = envelope
        self._clean = self._side.clean.results
        self._unjudged = self._side.decide(FAILURE).results
        self._window = policy.hold.characters
        self._tail = max(rules.reach, min(TAIL, self._window // 2))
        self._least = max(min(LEAST_LOOK, self._window // 4), 1)
        self._back = max(self._window - self._least, self._tail)
        self._room = {GateMode.OPEN: OPEN_LOOK, GateMode.HOLD: self._window, GateMode.ASYNC: ASYNC_LOOK}[self.mode]
        self._is_timed = self.mode is not GateMode.OPEN
        self._pause = policy.hold.ms / (2000 if self.mode is GateMode.HOLD else 1000)  # seconds between two timed looks
        self._choices: dict[int, GateChoice] = {}
        self._after: list[Document] = []  # chunks without choices, which come last
        self._ending = False
        self.blocked = False  # a verdict has ended a choice

    # What the caller does

    def take(self, chunk: Document, now: float, weight: int = 0) -> list[Passing]:
        """A chunk of the upstream, of about `weight` bytes. Returns the chunks that may leave now."""
        choices = chunk["choices"]
        if not choices:
            if self.is_idle:
                return [chunk]
            self._after.append(chunk)
            return []
        out: list[Passing] = []
        for choice in choices:
            one = chunk if len(choices) == 1 else {**chunk, "choices": [choice]}
            self._take(choice, one, now, weight // len(choices), out)
        return out

    def take_text(self, index: int, field: str, words: str, frame: bytes, now: float) -> Passing | None:
        """Hot: a text delta whose frame is written already, with `usual_results` in it. None: it is held."""
        choice = self._choices[index]
        if choice.state is GateState.BLOCKED:
            return None
        window = choice.add(field, words, now)
        size = window.size
        held = Held(frame, ((window, size - len(words), size),), choice.size, False)
        leaves: Passing | None = None
        if choice.held or (self.mode is not GateMode.OPEN and not self._may_leave(choice, held)):
            choice.held.append(held)
        else:
            leaves = frame if choice.is_quiet else self._annotated(choice, held)
        if choice.looks:
            self.is_full = self.is_full or choice.size - choice.judged > MOST_UNJUDGED
        elif choice.size - choice.asked >= choice.room or (self._is_timed and self.wake_at is None):
            self._advance(choice, now)
        if self.adaptive:
            self._look_early(choice)
        return leaves

    def judged(self, look: Look, verdict: Verdict, now: float) -> list[Passing]:
        """The judge has answered a look."""
        choice = look.choice
        choice.looks = False
        if choice.state is GateState.BLOCKED:
            return []
        choice.judged = look.end
        choice.worst |= verdict
        decision = self._side.decide(verdict)
        if decision.blocked:
            return self._finished(self._block(choice, look, decision))
        self._set_full()
        self._release(choice)
        if self.mode is GateMode.ASYNC:
            out: list[Passing] = [self._late(choice, look, decision)] if self._rules.annotations else []
        else:
            choice.current = verdict
            choice.untold = verdict if choice.untold is NOTHING else choice.untold | verdict
            choice.is_quiet = choice.told is not None and self._is_quiet(choice)
            if choice.is_quiet:  # it is what the client was told last
                choice.untold = NOTHING
            out = []
        out += self._drain(choice)
        self._advance(choice, now)
        self._look_early(choice)
        return self._finished(out)

    def judged_early(self, look: EarlyLook, now: float, *, risky: bool) -> list[Passing]:
        """The first stage has answered an early look. A risk asks for a whole look."""
        choice, window = look.choice, look.window
        choice.early = False
        if choice.state is GateState.BLOCKED:
            return []
        out: list[Passing] = []
        if risky:
            window.last_risk = look.end
            if look.end > window.seen:
                window.risk = look.end
        if window.risk:
            if choice.unseen and not choice.looks:
                self._look(choice, now)
        elif not risky:
            window.released = max(window.released, look.end)
            self._set_room(choice)
            out = self._drain(choice)
        if window.size > look.end:
            self._look_early(choice)
        return self._finished(out)

    def wake(self, now: float) -> list[Passing]:
        """Time has passed: takes the looks that are due by it. Nothing leaves by time alone."""
        self.wake_at = None
        for choice in self._choices.values():
            self._advance(choice, now)
        return []

    def end(self, now: float) -> list[Passing]:
        """The upstream is done, or has failed: nothing follows."""
        self._ending = True
        out: list[Passing] = []
        for choice in self._choices.values():
            self._advance(choice, now)
            self._release(choice)
            out += self._drain(choice)
        return self._finished(out)

    def stop(self) -> None:
        """Nobody listens any more."""
        for choice in self._choices.values():
            choice.held.clear()
            choice.unseen.clear()
            choice.state = GateState.BLOCKED
        self.wake_at = None

    def take_looks(self) -> list[Look | EarlyLook]:
        looks, self.looks = self.looks, []
        return looks

    @property
    def usual_results(self) -> Results | None:
        """What a text delta carries where nothing was found. None: nothing."""
        if self._rules.annotations is not Annotations.EVERY:
            return None
        return self._clean if self.mode is GateMode.HOLD else self._unjudged

    @property
    def is_idle(self) -> bool:
        return all(choice.is_settled for choice in self._choices.values())

    def is_silenced(self, n: int) -> bool:
        """Of the n choices nothing more can come, because of a block: the upstream need not go on."""
        choices = self._choices.values()
        return self.blocked and len(choices) >= n and all(choice.is_silent for choice in choices)

    @property
    def results(self) -> dict[int, Results]:
        """The worst of each choice, for the receipt."""
        return {index: self._worst(choice) for index, choice in sorted(self._choices.items())}

    @property
    def verdicts(self) -> list[Verdict]:
        return [_verdict(choice) for _, choice in sorted(self._choices.items())]

    # Chunks in

    def _take(self, entry: Document, chunk: Document, now: float, weight: int, out: list[Passing]) -> None:
        choice = self._choices.get(entry["index"])
        if choice is None:
            choice = self._choices[entry["index"]] = GateChoice(entry["index"], self._room)
        if choice.state is GateState.BLOCKED:
            return
        needs: list[tuple[TextWindow, int, int]] = []
        for field, words in self._rules.texts.words(entry):
            window = choice.add(field, words, now)
            # A call that opens without arguments waits for its first ones: half a call is of no use.
            needs.append((window, window.size - len(words), window.size if words else window.size + 1))
        finishes = entry["finish_reason"] is not None
        choice.held.append(Held(chunk, needs, choice.size, finishes, weight))
        choice.weight += weight
        if finishes:
            choice.move(GateEvent.FINISH_CAME)
        if finishes or choice.weight > MOST_WEIGHT:
            self._release(choice)
        out += self._drain(choice)
        self._advance(choice, now)
        self._look_early(choice)

    def _may_leave(self, choice: GateChoice, held: Held) -> bool:
        if self.mode is GateMode.ASYNC:
            return held.end - choice.judged <= AHEAD
        if held.finishes and choice.judged != choice.size:
            return False
        if self.mode is GateMode.OPEN:
            return True
        for window, _, end in held.needs:  # noqa: SIM110 (a generator would cost each chunk two more frames)
            if end > window.released and not window.settled:
                return False
        return True

    # Looks

    def _advance(self, choice: GateChoice, now: float) -> None:
        """Takes a look where one is due, else says when."""
        if choice.looks or not choice.unseen:
            self.is_full = self.is_full or choice.size - choice.judged > MOST_UNJUDGED
            return
        over = self._ending or choice.state is not GateState.OPEN or choice.weight > MOST_WEIGHT
        if over or choice.size - choice.asked >= choice.room or self._is_time(choice, now):
            self._look(choice, now)
        if self._is_timed:
            self._set_wake()

    def _set_full(self) -> None:
        self.is_full = any(
            choice.size - choice.judged > MOST_UNJUDGED
            for choice in self._choices.values()
            if choice.state is not GateState.BLOCKED
        )

    def _set_room(self, choice: GateChoice) -> None:
        if self.mode is GateMode.HOLD:
            back = sum(window.held_back for window in choice.windows.values())
            choice.room = max(self._window - back, self._least)

    def _is_time(self, choice: GateChoice, now: float) -> bool:
        return self._is_timed and now + SOON >= self._due(choice)

    def _due(self, choice: GateChoice) -> float:
        """When time asks for a look. Never, where it could neither release nor block anything."""
        if self.mode is GateMode.HOLD and not self.adaptive:
            for window in choice.windows.values():
                if window.size - window.released > self._tail:
                    break
            else:
                return inf
        return max(choice.since, choice.looked) + self._pause

    def _look(self, choice: GateChoice, now: float) -> None:
        room = AHEAD if self.mode is GateMode.ASYNC else choice.room
        start = choice.asked
        new: dict[TextWindow, list[str]] = {}
        while choice.unseen and room > 0:
            window, words = choice.unseen.popleft()
            if len(words) > room:
                choice.unseen.appendleft((window, words[room:]))
                words = words[:room]
            new.setdefault(window, []).append(words)
            room -= len(words)
            choice.asked += len(words)
        texts = [window.look("".join(words), self._back) for window, words in new.items()]
        choice.looks, choice.looked, choice.since = True, now, now
        self.looks.append(Look(choice, texts, start, choice.asked))

    def _look_early(self, choice: GateChoice) -> None:
        """Only where one text grows, by a few words: all else waits for the whole look."""
        if not self.adaptive or choice.early or choice.state is GateState.BLOCKED or len(choice.held) > MOST_EARLY:
            return
        growing = {window for held in choice.held for window, _, end in held.needs if end > window.released}
        if len(growing) != 1:
            return
        [window] = growing
        if window.size == window.last_risk:  # it was found risky, and nothing has come since
            return
        if window.size - max(window.early_asked, window.seen) > EARLY_NEW:
            window.risk = window.size  # nobody has read it
            return
        words = "".join(words for each, words in choice.unseen if each is window)
        choice.early, window.early_asked = True, window.size
        self.looks.append(EarlyLook(choice, window.newest(words, EARLY), window, window.size))

    def _set_wake(self) -> None:
        """Only text that nobody looks at yet can be waited for."""
        waiting = [each for each in self._choices.values() if each.unseen and not each.looks]
        due = min(map(self._due, waiting), default=inf)
        self.wake_at = None if due == inf else due

    # What may leave

    def _release(self, choice: GateChoice) -> None:
        """After a clean look. The end of each text stays back, unless nothing can follow it."""
        if self.mode is not GateMode.HOLD or choice.looks:
            return
        over = self._ending or choice.state is not GateState.OPEN or choice.weight > MOST_WEIGHT
        over = over and choice.judged == choice.size
        for window in choice.windows.values():
            if window.seen >= window.risk:
                window.risk = 0
            if over or (window.seen == window.size and self._is_overtaken(choice, window)):
                window.settle()
            else:
                window.hold_back(self._tail, self._back)
        self._set_room(choice)

    def _is_overtaken(self, choice: GateChoice, window: TextWindow) -> bool:
        """Has another text gone on for a whole window? Reasoning may be over where content begins, and may not."""
        return choice.asked - window.last >= self._window

    def _drain(self, choice: GateChoice) -> list[Passing]:
        """Takes out what may leave, in order."""
        out: list[Passing] = []
        while choice.held and self._may_leave(choice, choice.held[0]):
            held = choice.held.popleft()
            choice.weight -= held.weight
            if choice.is_quiet and type(held.chunk) is bytes:  # saves a call for nearly every one
                out.append(held.chunk)
                continue
            out.append(self._annotated(choice, held))
            if held.finishes:
                choice.move(GateEvent.FINISH_LEFT)
        if choice.held and self.mode is GateMode.HOLD and _length(choice.held[0]) > self._window:
            out += self._split(choice)
        return out

    def _split(self, choice: GateChoice) -> list[Passing]:
        """The released part of the first chunk that waits, where the chunk can be cut in two."""
        held = choice.held[0]
        if len(held.needs) != 1 or held.finishes:
            return []
        [(window, start, end)] = held.needs
        chunk = read_frame(held.chunk) if isinstance(held.chunk, bytes) else held.chunk
        at = window.released - start
        parts = self._rules.texts.split(chunk["choices"][0], at) if 0 < at < end - start else None
        if parts is None:
            return []
        first, rest = ({**chunk, "choices": [part]} for part in parts)
        choice.held[0] = held._replace(chunk=rest, needs=((window, window.released, end),))
        return [self._annotated(choice, held._replace(chunk=first))]

    def _block(self, choice: GateChoice, look: Look, decision: Decision) -> list[Passing]:
        """Takes back what was not released, and ends the choice."""
        out = self._split(choice) if choice.held and self.mode is GateMode.HOLD else []
        ended = choice.state is GateState.ENDED
        self.blocked = True
        choice.judged = choice.size  # nothing of it is asked about any more
        choice.held.clear()
        choice.unseen.clear()
        choice.move(GateEvent.BLOCK)
        self._set_full()
        if self.mode is GateMode.ASYNC and self._rules.annotations:
            return [self._late(choice, look, decision, finish=None if ended else CONTENT_FILTER)]
        if ended:
            return []
        entry = {**self._rules.texts.silence(choice.index), "finish_reason": CONTENT_FILTER}
        chunk = {**self._envelope(), "choices": [entry]}
        return [*out, self._told(choice, chunk, self._side.decide(choice.worst).results)]

    def _late(self, choice: GateChoice, look: Look, decision: Decision, finish: str | None = None) -> Document:
        """ASYNC: Azure's chunk of annotations, but with the delta and the envelope that clients need."""
        start = self._rules.prompt_size
        entry = self._rules.texts.silence(choice.index)
        entry["finish_reason"] = finish
        entry[RESULTS] = decision.results
        entry["content_filter_offsets"] = {
            "check_offset": start + look.end,  # no later one ends before it
            "start_offset": start + look.start,
            "end_offset": start + look.end,
        }
        return {**self._envelope(), "choices": [entry]}

    def _finished(self, out: list[Passing]) -> list[Passing]:
        """Chunks without choices follow when nothing waits any more."""
        if self._after and self.is_idle:
            out += self._after
            self._after = []
        return out

    # What the client is told

    def _annotated(self, choice: GateChoice, held: Held) -> Passing:
        """The chunk with what is to be told on it."""
        annotations, chunk = self._rules.annotations, held.chunk
        if annotations is Annotations.NONE:
            return chunk
        if choice.is_quiet and not held.finishes and (annotations is Annotations.CHANGES or isinstance(chunk, bytes)):
            return chunk
        results = self._worst(choice) if held.finishes else self._results(choice, has_text=bool(held.needs))
        choice.untold = NOTHING
        if annotations is Annotations.EVERY or held.finishes or results != choice.told:
            if isinstance(chunk, bytes):
                chunk = read_frame(chunk)
                if annotations is Annotations.EVERY:
                    del chunk["choices"][0][RESULTS]  # the usual ones
            chunk = self._told(choice, chunk, results)
        choice.is_quiet = self._is_quiet(choice)
        return chunk

    def _told(self, choice: GateChoice, chunk: Document, results: Results) -> Document:
        if self._rules.annotations:
            entry = chunk["choices"][0]
            entry[RESULTS] = merged(entry.get(RESULTS), results)
            choice.told = results
        return chunk

    def _results(self, choice: GateChoice, *, has_text: bool = True) -> Results:
        """What the next chunk of the choice is told with."""
        untold = choice.untold
        if self.mode is GateMode.HOLD:
            verdict = choice.current if untold is NOTHING else untold
            return self._clean if verdict is NOTHING else self._side.decide(verdict).results
        if has_text and (self._rules.annotations is Annotations.EVERY or choice.told is None):
            return self._side.decide(untold | FAILURE).results  # nobody has judged this text yet
        if untold is NOTHING:
            return self._clean if choice.told is None else choice.told
        return self._side.decide(untold).results

    def _is_quiet(self, choice: GateChoice) -> bool:
        """Is the next text delta told with nothing but the usual?"""
        if self._rules.annotations is not Annotations.EVERY:
            return self._results(choice) == choice.told
        return self._results(choice) == self.usual_results

    def _worst(self, choice: GateChoice) -> Results:
        return self._side.decide(_verdict(choice)).results


def read_frame(frame: bytes) -> Document:
    """The chunk in a frame that `sse.frame` has made."""
    document: Document = msgspec.json.decode(frame[frame.index(b":") + 1 :])
    return document


def _verdict(choice: GateChoice) -> Verdict:
    """On all that the choice has said. What nobody has judged is no clean text; a choice that says nothing is clean."""
    if not choice.size:
        return CLEAN
    return choice.worst if choice.judged == choice.size else choice.worst | FAILURE


def _length(held: Held) -> int:
    return sum(end - start for _, start, end in held.needs)
