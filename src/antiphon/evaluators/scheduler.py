"""The questions that wait in the evaluator process, and the one thread that works on them.

While it computes, questions gather. The next batch is for whom the least is left to do, so that a long text, judged
piece by piece, does not keep short ones waiting; every few batches one is for whoever waits longest, so that short ones
do not keep it waiting for ever. Rules: what waits is bounded, and one more is answered "overloaded" at once; the time
of a question runs from when it was begun, and when it is over the answer is what was found until then, and FAILED;
texts that were judged before cost nothing. An early look waits for nobody: it is cheap, and done in the thread of the
loop while the other one computes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from antiphon.evaluators.backends import Backend
from antiphon.evaluators.joined import found_in, without_jailbreak
from antiphon.evaluators.verdict_cache import VerdictCache, digest
from antiphon.evaluators.wire import LONGEST_EARLY, MOST_EACH, MOST_TEXTS, Ask, EarlyAsk, Told
from antiphon.safety.verdict import FAILED, FAILURE, NOTHING, Stage, Verdict

MOST_WAITING: Final = 4096  # questions: a few dozen of each worker
MOST_CHARACTERS: Final = 32 * 1024 * 1024  # of all that wait
# Small batches: the classifier judges text by text, so a larger one gains nothing and others wait for it.
BATCH_PIECES: Final = 16
BATCH_CHARACTERS: Final = 4000
FRAME: Final = b"frame"  # of keys: the same text elsewhere has another verdict
MOST_PASSED: Final = 4  # batches in a row without the question that waits longest
REMEMBERED: Final = 16_384  # verdicts of each part: 10 MB; a conversation of 100 messages has about 120

Reply = Callable[[Told], None]
Say = Callable[[str], None]


class Piece:
    __slots__ = ("case", "halves", "index", "is_frame", "key", "name", "text")

    def __init__(
        self,
        case: Question,
        index: int,
        name: str,
        key: bytes,
        text: str,
        *,
        halves: tuple[str, str] | None = None,
        is_frame: bool = False,
    ) -> None:
        self.case = case
        self.index = index  # of its text
        self.name = name  # of the part that is to judge it
        self.key = key
        self.text = text
        self.halves = halves  # of a join
        self.is_frame = is_frame

    @property
    def is_whole(self) -> bool:
        """A text of its own, which may be a jailbreak: no join, and not the application's words."""
        return self.halves is None and not self.is_frame


class Question:
    """One question, until it is answered."""

    __slots__ = (
        *("_each", "_reply", "characters", "id", "is_begun", "left", "missing", "pieces", "seconds", "stage", "timer"),
        "verdict",
    )

    def __init__(self, ask: Ask, reply: Reply) -> None:
        self.id = ask.id
        self.stage = ask.stage
        self.seconds = ask.seconds
        self.is_begun = False
        self.timer: asyncio.TimerHandle | None = None
        self.characters = sum(map(len, ask.texts)) + sum(len(first) + len(second) for first, second in ask.joins)
        self.pieces: deque[Piece] = deque()  # not yet begun
        self.left = 0  # characters of these
        self.missing = 0  # pieces without a verdict
        self.verdict = NOTHING
        count = len(ask.texts) + len(ask.joins)
        self._each = [NOTHING] * count if 1 < count <= MOST_EACH else None
        self._reply = reply

    def find(self, index: int, verdict: Verdict) -> None:
        """On the text of that index."""
        self.verdict |= verdict
        if self._each is not None:
            self._each[index] |= verdict

    def add(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self.left += len(piece.text)
        self.missing += 1

    def begin(self) -> Piece:
        piece = self.pieces.popleft()
        self.left -= len(piece.text)
        return piece

    def answer(self) -> None:
        self._reply(Told(self.id, self.verdict, each=None if self.verdict.error == FAILED else self._each))


class JudgedTogether(NamedTuple):
    """What can be judged in one call."""

    name: str  # by whom
    stage: Stage
    jailbreaks: bool  # whether anybody asks for them


class Scheduler:
    def __init__(self, parts: Mapping[str, Backend], say: Say) -> None:
        self._parts = parts
        self._say = say
        self._memories = {name: VerdictCache(REMEMBERED) for name in parts}
        self._open: dict[Question, None] = {}  # oldest first
        self._characters = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="compute")
        self._loop = asyncio.get_running_loop()
        self._reported: set[tuple[str, str]] = set()
        self._passed = 0  # batches since the oldest question had its turn
        self.began: float | None = None  # when the batch in work did

    def __len__(self) -> int:
        return len(self._open)

    def take(self, ask: Ask, reply: Reply) -> None:
        case = Question(ask, reply)
        if len(ask.texts) + len(ask.joins) > MOST_TEXTS:
            case.verdict = FAILURE
        else:
            self._divide(case, ask)
        if not case.missing:
            case.answer()
        elif len(self._open) >= MOST_WAITING or self._characters + case.characters > MOST_CHARACTERS:
            reply(Told(case.id, case.verdict | FAILURE, overloaded=True))
        else:
            self._open[case] = None
            case.timer = self._loop.call_later(ask.waits + ask.seconds, self._expire, case)
            self._characters += case.characters
            self._work()

    @property
    def early_parts(self) -> list[str]:
        """Those that can look early."""
        return [name for name, part in self._parts.items() if part.early is not None]

    def look_early(self, ask: EarlyAsk) -> bool:
        """Whether the end of a text is risky, as it is where that cannot be told."""
        return len(ask.text) > LONGEST_EARLY or any(self._is_risky(name, ask.text) for name in ask.parts)

    def _is_risky(self, name: str, text: str) -> bool:
        part = self._parts.get(name)
        if part is None or part.early is None:
            return True
        try:
            return part.early(text)
        except Exception as error:
            self._report_fault(name, error)
            return True

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _divide(self, case: Question, ask: Ask) -> None:
        """Into pieces; what is known already needs none."""
        for name in ask.parts:
            part = self._parts.get(name)
            if part is None:
                case.verdict |= FAILURE
                continue
            first_frame = len(ask.texts) - ask.frames
            for index, text in enumerate(ask.texts):
                is_frame = index >= first_frame
                for piece in part.pieces(text):
                    key = digest(case.stage, piece) + (FRAME if is_frame else b"")
                    self._add(Piece(case, index, name, key, piece, is_frame=is_frame))
            for index, (first, second) in enumerate(ask.joins, len(ask.texts)):
                key = digest(case.stage, first) + digest(case.stage, second)
                self._add(Piece(case, index, name, key, f"{first} {second}", halves=(first, second)))

    def _add(self, piece: Piece) -> None:
        known = self._memories[piece.name].find(piece.key)
        if known is not None:
            piece.case.find(piece.index, known)
        else:
            piece.case.add(piece)

    # One batch after the other

    def _work(self) -> None:
        if self.began is not None:
            return
        groups = self._batch()
        if groups:
            self.began = self._loop.time()
            judging = self._loop.run_in_executor(self._thread, self._judge, groups)
            judging.add_done_callback(lambda done: self._judged(groups, done))

    def _batch(self) -> dict[JudgedTogether, list[Piece]]:
        groups: dict[JudgedTogether, list[Piece]] = {}
        pieces = characters = 0
        for case in self._turn():
            while case.pieces:
                # A long piece has a batch to itself: what is short would be answered only when that is done.
                size = len(case.pieces[0].text)
                if pieces == BATCH_PIECES or (pieces and characters + size > BATCH_CHARACTERS):
                    return groups
                piece = case.begin()
                known = self._memories[piece.name].find(piece.key)  # another question may have asked the same
                if known is not None:
                    self._settle(piece, known)
                else:
                    group = JudgedTogether(piece.name, case.stage, piece.is_whole)
                    groups.setdefault(group, []).append(piece)
                    self._begin(case)
                    pieces += 1
                    characters += size
        return groups

    def _begin(self, case: Question) -> None:
        """From here on its time runs."""
        if not case.is_begun:
            case.is_begun = True
            if case.timer is not None:
                case.timer.cancel()
            case.timer = self._loop.call_later(case.seconds, self._expire, case)

    def _turn(self) -> list[Question]:
        """Those with pieces to begin, in the order in which they are served."""
        waiting = [case for case in self._open if case.pieces]
        oldest = waiting[0] if waiting else None
        if self._passed < MOST_PASSED:
            # By powers of two: among those of about the same size the older goes first, whose time is over sooner.
            waiting.sort(key=lambda case: case.left.bit_length())
        self._passed = self._passed + 1 if waiting and waiting[0] is not oldest else 0
        return waiting

    def _judge(self, groups: dict[JudgedTogether, list[Piece]]) -> dict[JudgedTogether, list[Verdict] | Exception]:
        """In the thread. A part that fails, fails alone."""
        found: dict[JudgedTogether, list[Verdict] | Exception] = {}
        for group, pieces in groups.items():
            name, stage, jailbreaks = group
            try:
                evaluator = self._parts[name].evaluator
                verdicts = evaluator.judge([piece.text for piece in pieces], stage, jailbreaks=jailbreaks)
                if len(verdicts) != len(pieces):
                    raise ValueError("verdicts are missing")
                pairs = zip(pieces, verdicts, strict=True)
                found[group] = [
                    without_jailbreak(verdict) if piece.is_frame else found_in(piece.halves, verdict, evaluator, stage)
                    for piece, verdict in pairs
                ]
            except Exception as error:
                found[group] = error
        return found

    def _judged(
        self,
        groups: dict[JudgedTogether, list[Piece]],
        done: asyncio.Future[dict[JudgedTogether, list[Verdict] | Exception]],
    ) -> None:
        self.began = None
        if done.cancelled():
            return
        for group, found in done.result().items():
            if isinstance(found, Exception):
                self._report_fault(group.name, found)
                for piece in groups[group]:
                    self._settle(piece, FAILURE)
            else:
                memory = self._memories[group.name]
                for piece, verdict in zip(groups[group], found, strict=True):
                    memory.keep(piece.key, verdict)
                    self._settle(piece, verdict)
        self._work()

    def _settle(self, piece: Piece, verdict: Verdict) -> None:
        case = piece.case
        case.find(piece.index, verdict)
        case.missing -= 1
        if not case.missing:
            self._close(case)

    def _expire(self, case: Question) -> None:
        case.verdict |= FAILURE
        self._close(case)

    def _close(self, case: Question) -> None:
        if case in self._open:
            del self._open[case]
            self._characters -= case.characters
            if case.timer is not None:
                case.timer.cancel()
            case.answer()

    def _report_fault(self, name: str, error: Exception) -> None:
        """Once for each kind of error: texts are never said."""
        kind = (name, type(error).__name__)
        if kind not in self._reported:
            self._reported.add(kind)
            self._say(f"antiphon: the evaluator '{name}' failed: {type(error).__name__}")
