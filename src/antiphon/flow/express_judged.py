"""The express lane where somebody judges: a plain turn in which nothing is found keeps to it, with the annotations of
a calm verdict put between the bytes of its answer. Whatever is found, or fails, gets off: the evaluators remember what
they have judged, so that the whole way asks them again for next to nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec

from antiphon.chat.plain_answer import PlainAnswer
from antiphon.chat.plain_request import PlainRequest
from antiphon.chat.spoken import newest_first, readings
from antiphon.flow.chat_way import ChatTurn
from antiphon.flow.express import Express
from antiphon.flow.ports import Scope
from antiphon.safety.annotation import merged_prompts
from antiphon.safety.policy import Policy
from antiphon.safety.verdict import CALM, Stage, Verdict

CHOICES: Final = (b'"choices":[{', b'"choices": [{')
OWN: Final = b"_filter_results"  # an upstream's own: they are to be merged


def may_board(policy: Policy) -> bool:
    return not policy.races


@dataclass(frozen=True, slots=True)
class Calm:
    """What a policy tells where nothing was found, as bytes."""

    head: bytes  # before all of the answer
    choice: bytes  # before all of its choice

    @classmethod
    def of(cls, policy: Policy) -> Calm:
        prompt = msgspec.json.encode(merged_prompts(None, policy.prompt.decide(CALM).results))
        answer = msgspec.json.encode(policy.answer.decide(CALM).results)
        return cls(b'{"prompt_filter_results":%b,' % prompt, b'"content_filter_results":%b,' % answer)


class JudgedExpress(Express, kw_only=True):
    policy: Policy
    calm: Calm
    asked: PlainRequest
    is_gone: bool = False

    def board(self) -> bool:
        changed = self._changed()
        if changed is None:
            return False
        assert self.gateway.judge is not None

        def heard(verdict: asyncio.Future[Verdict]) -> None:
            if self.is_gone:
                return
            if verdict.result().calm:
                self._send(changed)
            else:
                self.get_off(self._turn(), None)

        self.gateway.judge.ask(Stage.PROMPT, texts_of(self.asked), self._scope()).add_done_callback(heard)
        return True

    def leave(self) -> None:
        self.is_gone = True
        super().leave()

    def _answer(self, body: bytes, plain: PlainAnswer) -> None:
        annotated = self._annotated(body)
        if annotated is None:
            self._gather().whole(body, 0)
            return
        assert self.gateway.judge is not None

        def heard(verdict: asyncio.Future[Verdict]) -> None:
            if self.is_gone:
                return
            if verdict.result().calm:
                super(JudgedExpress, self)._answer(annotated, plain)
            else:
                self._gather().whole(body, 0)

        said = plain.choices[0].message.content
        self.gateway.judge.ask(Stage.ANSWER, readings(said), self._scope()).add_done_callback(heard)

    def _annotated(self, body: bytes) -> bytes | None:
        """None: it is not plain where they stand."""
        if not self.policy.annotations:
            return body
        for choices in CHOICES:
            if body.count(choices) == 1 and OWN not in body and body.startswith(b"{"):
                at = body.index(choices) + len(choices)
                return b"".join((self.calm.head, body[1:at], self.calm.choice, body[at:]))
        return None

    def _turn(self) -> ChatTurn:
        """One that has begun has a prompt in which nothing was found; one that has not asks again."""
        turn = super()._turn()
        if self.call is not None:
            turn.policy = self.policy
            turn.prompt_verdict = CALM
            turn.prompt_results = self.policy.prompt.decide(CALM).results
        return turn

    def _scope(self) -> Scope:
        return Scope(self.lane.route.model, self.key)


def texts_of(asked: PlainRequest) -> list[str]:
    """As the whole way reads them."""
    messages = asked.messages
    texts = newest_first([message.content for message in messages], [message.role for message in messages])
    return [reading for text in texts for reading in readings(text)]
