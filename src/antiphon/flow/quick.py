"""A turn on the fast path: callbacks instead of a task. It leaves the path wherever something is not usual.

send the request → the answer comes → send it to the client
with a judge: ask about the prompt (first, where it could be blocked) … ask about the answer … annotate it
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from antiphon.chat.moderated_text import readings
from antiphon.chat.plain_answer import PlainAnswer, annotated, judged_texts, says_once
from antiphon.document import Document
from antiphon.errors import AntiphonError, UpstreamError
from antiphon.flow.endpoints.chat import CHAT, ChatTurn, chat_fold
from antiphon.flow.fast_path import FastTarget, fast_answer
from antiphon.flow.gateway import Gateway
from antiphon.flow.gather import Gather
from antiphon.flow.judge import annotations_for, find_policy, note_answer
from antiphon.flow.ports import Call, Upstream
from antiphon.flow.stream import Stream
from antiphon.flow.turn import CLIENT_CLOSED, OUR_FAULT, Attempt
from antiphon.safety.annotation import merged_prompts
from antiphon.safety.verdict import CLEAN, Stage, Verdict

Begun = tuple[Upstream, Gather | Stream]  # an attempt: ended already, or a stream under way


class QuickTurn(msgspec.Struct):
    """One turn on the fast path, and the receiver of its answer."""

    turn: ChatTurn
    gateway: Gateway
    target: FastTarget
    request_body: bytes  # to send
    finish: Callable[[ChatTurn, int], None]
    """Ends the turn with this status."""
    fall_back: Callable[[ChatTurn, Begun | None], None]
    """Goes on with the whole way. None: the request was not sent yet."""
    call: Call | None = None
    gather: Gather | None = None
    body: bytes = b""  # the answer, while it is judged
    plain: PlainAnswer | None = None
    verdict: Verdict | None = None  # on the answer
    is_over: bool = False

    def ask(self) -> bool:
        """Begins a turn that may be judged. False: it has to take the whole way."""
        turn = self.turn
        policy = turn.policy = find_policy(turn, self.gateway)
        if policy is None:
            self.send()
            return True
        if policy.max_text is not None:  # the whole way counts
            return False
        if policy.prompt.blocks:
            if policy.races:
                return False
        else:  # it can be judged meanwhile
            self.send()
        self._ask(Stage.PROMPT, CHAT.texts.prompt(turn.request, policy.judge_tools), self._judged_prompt)
        return True

    def cancel(self) -> None:
        """The client is gone."""
        if self.is_over:
            return
        self.is_over = True
        if self.call is not None:
            self.call.cancel()
        if self.gather is not None:
            self.gather.close()
        error = self.turn.error
        self.finish(self.turn, CLIENT_CLOSED if error is None else error.status)

    def break_off(self, error: Exception) -> None:
        """The turn ends by our own fault."""
        self.gateway.ledger.error("a turn failed by our own fault", error, self.turn.id)
        if not self.turn.client.is_closed:
            self.turn.error = AntiphonError(OUR_FAULT)
            self.turn.client.fail(self.turn.error, None)
        self.cancel()

    def send(self) -> None:
        turn, target = self.turn, self.target
        model, protocol = target.model or turn.request.model, target.upstream.protocol
        turn.attempts.append(Attempt(target.route.targets[0], model, self.gateway.clock(), protocol))
        self.call = target.upstream.open(self.request_body, turn.headers, stream=False, receiver=self, source=0)

    # The judge

    def _ask(self, stage: Stage, texts: list[str], done: Callable[[Verdict], None]) -> None:
        judge = self.gateway.judge
        assert judge is not None
        if not texts:
            done(CLEAN)
            return
        later = partial(self._later, done)
        known = judge.ask_now(stage, [each for text in texts for each in readings(text)], self.turn.scope, later)
        if known is not None:
            done(known)

    def _later(self, done: Callable[[Verdict], None], verdict: Verdict) -> None:
        """A verdict that comes by itself. Nobody else would end the turn if what follows failed."""
        try:
            done(verdict)
        except Exception as error:
            self.break_off(error)

    def _judged_prompt(self, verdict: Verdict) -> None:
        turn = self.turn
        assert turn.policy is not None
        if self.is_over or turn.prompt_verdict is not None:
            return
        decision = turn.policy.prompt.decide(verdict)
        turn.prompt_verdict, turn.prompt_results = verdict, decision.results
        if self.call is not None:
            self._complete()
        elif decision.blocked:
            self.is_over = True
            self.fall_back(turn, None)
        else:
            self.send()

    def _judged_answer(self, verdict: Verdict) -> None:
        if not self.is_over:
            self.verdict = verdict
            self._complete()

    # The answer

    def whole(self, body: bytes, source: int) -> None:
        plain = fast_answer(body, self.turn.request, self.turn.dialect)
        if plain is None:
            self._leave().whole(body, 0)
        elif self.turn.policy is None:
            self._answer(body, plain)
        else:
            self.turn.attempts[-1].close("answered", self.gateway.clock())  # what follows is not the upstream's time
            self.body, self.plain = body, plain
            try:
                self._ask(Stage.ANSWER, judged_texts(plain), self._judged_answer)
            except Exception as error:
                self.break_off(error)

    def _complete(self) -> None:
        """Answers when both verdicts are there."""
        turn, body, plain, verdict = self.turn, self.body, self.plain, self.verdict
        if turn.prompt_results is None or plain is None or verdict is None or turn.policy is None:
            return
        decision = turn.policy.answer.decide(verdict)
        changed: bytes | None = body
        if annotations_for(turn):
            changed = annotated(body, plain, merged_prompts(None, turn.prompt_results), decision.results)
        elif not says_once(body, plain):
            changed = None
        if decision.blocked or changed is None:
            self._leave().whole(body, 0)
            return
        note_answer(turn, 0, verdict, decision)
        self._answer(changed, plain)

    def _answer(self, body: bytes, plain: PlainAnswer) -> None:
        turn = self.turn
        usage = plain.usage
        turn.usage = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        if usage.prompt_tokens_details.cached_tokens:
            turn.usage["prompt_tokens_details"] = {"cached_tokens": usage.prompt_tokens_details.cached_tokens}
        if usage.completion_tokens_details.reasoning_tokens:
            reasoning = usage.completion_tokens_details.reasoning_tokens
            turn.usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
        turn.usage_source = "reported"
        turn.finish = plain.choices[0].finish_reason
        self.is_over = True
        turn.client.answer(body)
        self.finish(turn, 200)

    @property
    def complete(self) -> bool:
        return False

    def spliced(self, read: bytes) -> bool:
        return False

    def events(self, payloads: list[bytes], source: int) -> None:
        self._leave().events(payloads, 0)

    def chunks(self, documents: list[Document], source: int, size: int) -> None:
        self._leave().chunks(documents, 0, size)

    def answered(self, document: Document, source: int) -> None:
        self._leave().answered(document, 0)

    def end(self, rest: list[bytes], source: int) -> None:
        self._leave().end(rest, 0)

    def fail(self, error: UpstreamError, source: int) -> None:
        self._leave().fail(error, 0)

    def _leave(self) -> Gather:
        """The receiver of an answer that is not plain. With all of it, the turn takes the whole way."""
        if self.gather is None:
            turn = self.turn
            upstream = self.target.upstream

            def done(failure: UpstreamError | None) -> None:
                self.is_over = True
                turn.failure = failure
                self.fall_back(turn, (upstream, gather))

            gather = self.gather = Gather(1, done, partial(chat_fold, turn, self.gateway, 1, False))
            if self.call is not None:
                gather.calls.append(self.call)
        return self.gather
