"""A stream that is judged on its way: a Relay whose chunks pass a guard before they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from antiphon.chat.event import decode
from antiphon.errors import UpstreamError
from antiphon.flow.guard import Guard, Terms, Watch
from antiphon.flow.machine import Machine, Scribe
from antiphon.flow.ports import Client, Document
from antiphon.flow.relay import Ready, Relay, encode
from antiphon.flow.voice import Passing
from antiphon.safety.annotation import merged_prompts
from antiphon.safety.policy import Results
from antiphon.sse import frame

PROMPT_RESULTS: Final = "prompt_filter_results"


class GuardedRelay(Relay):
    __slots__ = (
        "_closing",
        "_failure",
        "_n",
        "_opening",
        "_prompt",
        "_repeats",
        "_slow",
        "_speaker",
        "_stalled",
        "_tells",
        "_waiting",
        "guard",
    )

    def __init__(
        self,
        machine: Machine,
        writer: Scribe,
        client: Client,
        ready: Ready,
        on_first: Callable[[], None],
        *,
        terms: Terms,
        n: int,
        prompt: Results | None,
    ) -> None:
        """`n`: so many choices were asked for. `prompt`: what was found in the prompt; None: that is still to come, and
        nothing leaves before `open_gate`."""
        super().__init__(machine, writer, client, ready, on_first)
        kind = Watch if terms.policy.asynchronous else Guard
        self.guard = kind(terms, machine.envelope, self._released)
        self._learns = False  # not what left: the guard holds it
        self._repeats = writer.repeats
        self._speaker = 0  # the choice of the text delta that was learned last
        self._n = n
        self._tells = terms.tells
        self._prompt = prompt
        self._opening: Document | None = None
        self._waiting: list[Passing] | None = [] if prompt is None else None  # for the gate
        self._closing = False
        self._failure: UpstreamError | None = None
        self._stalled = False  # by us
        self._slow = False  # the client

    def open_gate(self, prompt: Results) -> None:
        if self._waiting is None:
            return
        self._prompt = prompt
        waiting, self._waiting = self._waiting, None
        self._released(waiting)

    # On the way

    def events(self, payloads: list[bytes], source: int) -> None:
        super().events(payloads, source)
        if self.guard.blocked:
            self._settle()

    def spliced(self, read: bytes) -> bool:
        """Hot: a text delta like the last one is written already; what it waits for is its verdict."""
        sent = self._reads.apply(read)
        if sent is None:
            return False
        if self.guard.hear_text(self._speaker, self.machine.texts[-1], sent):
            if self._waiting is None:
                self._write(sent)
            else:
                self._waiting.append(sent)
        elif self.guard.full and not self._stalled:
            self._stall()
        return True

    def _let_pass(self, spliced: bytes, out: list[bytes]) -> None:
        if self.guard.hear_text(self._speaker, self.machine.texts[-1], spliced):
            self._let_out(spliced, out)
        elif self.guard.full and not self._stalled:
            self._stall()

    def _take(self, payload: bytes, source: int, out: list[bytes], *, last: bool = False) -> None:
        self._forget()
        document = decode(payload, last=last)
        chunks = self.machine.feed(document, source)
        if chunks and not self._left:
            self._open(chunks, out)
        is_text = self._repeats and len(chunks) == 1 and chunks[0] is document  # a text delta, edited in place
        written = self._written(document) if is_text else b""
        for chunk in chunks:
            self._put(chunk, out)
        if is_text:
            self._learn(payload, written)
            self._speaker = document["choices"][0]["index"]

    def _written(self, chunk: Document) -> bytes:
        """As the chunk leaves if nothing is found in it."""
        [choice] = chunk["choices"]
        calm = self.guard.calm({**chunk, "choices": [dict(choice)]})
        return frame(encode(self.writer.chunk(calm)))

    def _open(self, first: list[Document], out: list[bytes]) -> None:
        self._opening = self._begin(first)

    def _put(self, chunk: Document, out: list[bytes]) -> None:
        for ready in self.guard.take(chunk):
            self._let_out(ready, out)
        if self.guard.full and not self._stalled:
            self._stall()

    def _stall(self) -> None:
        self._stalled = True
        super().pause()

    def _let_out(self, chunk: Passing, out: list[bytes]) -> None:
        if self._waiting is not None:
            self._waiting.append(chunk)
            return
        if isinstance(chunk, bytes):
            out.append(chunk)
            return
        opening, self._opening = self._opening, None
        if opening is not None:
            self._tell_prompt(opening)
            out.extend(frame(encode(each)) for each in self.writer.opening(opening))
            self._tell_prompt(chunk)
        super()._put(chunk, out)

    def _tell_prompt(self, chunk: Document) -> None:
        if self._tells and self._prompt is not None:
            chunk[PROMPT_RESULTS] = merged_prompts(chunk.get(PROMPT_RESULTS), self._prompt)

    def _released(self, ready: list[Passing]) -> None:
        """By the guard, or the gate: later than it came."""
        if self.finished.done():
            return
        out: list[bytes] = []
        for chunk in ready:
            self._let_out(chunk, out)
        self._send(out)
        if self._stalled and not self.guard.full:
            self._stalled = False
            if not self._slow:
                super().resume()
        self._settle()

    # The end

    def _conclude(self, failure: UpstreamError | None) -> None:
        if failure is not None and not self._left:
            super()._conclude(failure)
            return
        self._closing, self._failure = True, failure
        self.guard.end()
        self._settle()

    def _settle(self) -> None:
        if self.finished.done() or self._waiting is not None or not self.guard.idle:
            return
        if self._closing:
            super()._conclude(self._failure)
        elif self.guard.silenced(self._n):
            self._cut()
            super()._conclude(None)

    def close(self) -> None:
        self.guard.stop()
        super().close()

    def pause(self) -> None:
        self._slow = True
        super().pause()

    def resume(self) -> None:
        self._slow = False
        if not self._stalled:
            super().resume()
