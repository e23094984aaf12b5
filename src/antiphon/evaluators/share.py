"""What a worker asks one evaluator process in one message: some texts of one question.

A question whose texts belong to several processes has several shares; `Merge` makes one verdict of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from antiphon.chat.together import Frame, Join
from antiphon.evaluators.topic import Topic
from antiphon.safety.verdict import Stage, Verdict

if TYPE_CHECKING:
    from antiphon.evaluators.link import Link

SHORT: Final = 4_000  # characters of a share that does not wait behind longer ones
MOST_TRIES: Final = 2  # processes that a share is sent to: a text that kills them must not kill all

# Lanes: shares of one lane are sent in the order of their arrival. Turns that are under way go first.
ANSWERS, PROMPTS, LONG = range(3)
LANES: Final = (ANSWERS, PROMPTS, LONG)

Done = Callable[[Verdict], None]


class Share:
    """`keys` are those of its texts, `known` is the verdict on texts of the question that were not sent."""

    __slots__ = (
        *(
            "asked",
            "before",
            "characters",
            "done",
            "failure",
            "id",
            "is_over",
            "keys",
            "known",
            "lane",
            "limit",
            "link",
        ),
        *("sent", "texts", "topic", "tries", "work"),
    )

    def __init__(
        self,
        number: int,
        topic: Topic,
        texts: list[str],
        keys: Sequence[int],
        known: Verdict,
        done: Done,
        characters: int,
        failure: Verdict,
    ) -> None:
        self.id = number
        self.topic = topic
        self.texts = texts
        self.keys = keys
        self.known = known
        self.done = done
        self.characters = characters
        self.failure = failure  # what it becomes when there was no time for it
        self.lane = LONG if characters > SHORT else PROMPTS if topic.stage is Stage.PROMPT else ANSWERS
        self.asked = 0.0  # when
        self.limit = 0.0  # seconds to judge it, not counting those in which it waits
        self.work = 0.0  # seconds that it may take above the usual time limit
        self.link: Link | None = None  # to which it was sent; None: it waits in a lane
        self.sent = 0.0  # when
        # A process that was asked before and fell silent, by its connection: it may answer all the same.
        self.before: tuple[Link, int] | None = None
        self.tries = 0
        self.is_over = False

    def divided(self) -> tuple[list[str], list[tuple[str, str]], int]:
        """Its texts; its joins, which stand behind them; and how many of the texts, the last ones, are frames."""
        texts, joins = self.texts, []
        if texts and type(texts[-1]) is Join:
            joins = [text.parts for text in texts if type(text) is Join]
            texts = texts[: -len(joins)]
        if not texts or type(texts[-1]) is not Frame:
            return texts, joins, 0
        frames = sum(type(text) is Frame for text in texts)
        return [*texts[:-frames], *map(str, texts[-frames:])], joins, frames


class Merge:
    """Several shares become one verdict: the worst of theirs."""

    __slots__ = ("_done", "_missing", "_verdict")

    def __init__(self, shares: int, known: Verdict, done: Done) -> None:
        self._missing = shares
        self._verdict = known
        self._done = done

    def add(self, verdict: Verdict) -> None:
        self._verdict |= verdict
        self._missing -= 1
        if not self._missing:
            self._done(self._verdict)
