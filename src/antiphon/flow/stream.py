"""A streamed answer on its way: chunks in from the upstream's socket, frames out to the client's, in one call.

    upstream → machine (makes chunks regular) → gate (if the answer is judged) → writer (dialect) → client

The turn's coroutine waits for the first chunk (`ready`) and for the end (`finished`); no chunk passes through it. A
failure is a future's result, never its exception: nobody may be left to receive it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from antiphon.apis.api import ApiStream
from antiphon.chat.event import decode, is_done
from antiphon.chat.splice import Seen, Splice
from antiphon.document import Document
from antiphon.errors import UpstreamError
from antiphon.flow.gate import Gate
from antiphon.flow.gate_choice import EarlyLook, Look, Passing
from antiphon.flow.ports import Call, ChunkLag, Client
from antiphon.flow.stream_parts import ChunkWriter, GateKeeper, Machine, is_annotated
from antiphon.safety.annotation import merged_prompts
from antiphon.safety.policy import Results
from antiphon.safety.verdict import Verdict
from antiphon.sse import frame

encode = msgspec.json.Encoder().encode
TRUNCATED: Final = "upstream_truncated"
PROMPT_RESULTS: Final = "prompt_filter_results"
SAMPLED: Final = 63  # one chunk of 64 is timed

Ready = asyncio.Future[UpstreamError | None]  # an attempt's answer has begun, or its failure


def resolve(ready: Ready, failure: UpstreamError | None) -> None:
    """It may be cancelled already: the client left, and the upstream spoke before the turn's task knew."""
    if not ready.done():
        ready.set_result(failure)


class Stream:
    """Receives one attempt's streamed answer."""

    __slots__ = (
        "_client",
        "_closing",
        "_failure",
        "_gate",
        "_has_begun",
        "_is_client_slow",
        "_is_direct",
        "_is_stalled",
        "_keeper",
        "_lag",
        "_loop",
        "_opening",
        "_repeats",
        "_splice",
        "_text_key",
        "_timer",
        "_waiting",
        "_write",
        "api",
        "calls",
        "finished",
        "held",
        "machine",
        "on_first",
        "ready",
        "writer",
    )

    def __init__(
        self,
        machine: Machine,
        writer: ChunkWriter,
        client: Client,
        ready: Ready,
        on_first: Callable[[], None],
        keeper: GateKeeper | None = None,
        lag: ChunkLag | None = None,
        api: ApiStream | None = None,
    ) -> None:
        """`keeper`: None where nobody judges the answer. `lag`: None where nobody asks how long chunks take. `api`:
        writes the chunks in another API."""
        self.machine = machine
        self.writer = writer
        self.calls: list[Call] = []
        self.ready = ready
        self._loop = ready.get_loop()
        self.finished: Ready = self._loop.create_future()
        self.on_first = on_first
        self._client = client
        self._write: Callable[[bytes], None] = client.write
        self._is_direct = False
        self._has_begun = False
        self.api = api
        # What a gate holds is written in another API when it leaves: only then is known what stands around it.
        self._repeats = writer.repeats and (api is None or (keeper is None and bool(api.text_keys)))
        self._text_key = ""  # of the text that the last deltas added to, in another API
        self._splice = Splice(machine.texts, any_shape=machine.repeats)
        self._keeper = keeper
        self._gate = keeper.gate if keeper is not None else None
        self._lag = lag
        self.held = 0.0  # seconds that the gate held the first chunk
        self._opening: Document | None = None  # the envelope of an opening chunk that waits for its first chunk
        self._waiting: list[Passing] | None = [] if keeper is not None and keeper.prompt is None else None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._failure: UpstreamError | None = None
        self._is_stalled = False  # by the gate
        self._is_client_slow = False

    @property
    def gate(self) -> Gate | None:
        return self._gate

    # What the upstream's call sends

    def spliced(self, read: bytes) -> bool:
        """Hot: nearly every read of a stream. Saves the 0.5 us of finding the event in it."""
        if self._lag is not None and not len(self.machine.texts) & SAMPLED:
            return self._timed(self._lag, read)
        out = self._splice.apply_read(read)
        if self._gate is not None:
            if out is None:
                return False
            self._pass_text(self._gate, out)
            return True
        if out is None:
            out = self._splice.apply_reads(read)
            if out is None:
                return False
        self._write(out)
        return True

    def _timed(self, lag: ChunkLag, read: bytes) -> bool:
        self._lag = None
        began = lag.clock()
        passed = self.spliced(read)
        if passed:
            lag.note(lag.clock() - began)
        self._lag = lag
        return passed

    def _pass_text(self, gate: Gate, written: bytes) -> None:
        last = self._splice.last
        passing = gate.take_text(last.choice, last.key, self.machine.texts[-1], written, self._loop.time())
        if type(passing) is bytes and self._waiting is None:
            self._write(passing)
        elif passing is not None:
            self._send_ready([passing])
        if gate.looks or gate.is_full or (gate.wake_at is not None and self._timer is None):
            self._serve(gate)

    def events(self, payloads: list[bytes], source: int) -> None:
        """Once per read of the upstream's socket that is not so usual."""
        if self.finished.done():
            return
        out: list[bytes] = []
        over = False
        try:
            for payload in payloads:
                spliced = self._splice.apply(payload) if type(payload) is bytes else None  # not an event with a name
                if spliced is not None:
                    self._put_text(spliced, out)
                elif is_done(payload):
                    over = True
                    break
                else:
                    self._take(payload, source, out)
        except UpstreamError as error:
            return self._fail_after(out, error, source)
        if out:
            self._write(out[0] if len(out) == 1 else b"".join(out))
            if not self._is_direct:
                self._is_direct = True
                self._write = self._client.direct  # saves a call for every chunk to come
        if self._gate is not None:
            self._serve(self._gate)
        if over:
            self.done(source)

    def _put_text(self, written: bytes, out: list[bytes]) -> None:
        gate = self._gate
        if gate is None:
            out.append(written)
            return
        last = self._splice.last
        passing = gate.take_text(last.choice, last.key, self.machine.texts[-1], written, self._loop.time())
        if passing is not None:
            self._put(passing, out)

    def chunks(self, documents: list[Document], source: int, size: int) -> None:
        """Once per read of the socket of an upstream that speaks a foreign protocol."""
        if self.finished.done():
            return
        self._splice.forget()
        out: list[bytes] = []
        try:
            for document in documents:
                self._pass(self.machine.feed(document, source), out, size // len(documents))
        except UpstreamError as error:
            return self._fail_after(out, error, source)
        self._send(out)
        if self._gate is not None:
            self._serve(self._gate)

    def _take(self, payload: bytes, source: int, out: list[bytes], *, last: bool = False) -> None:
        """The whole way of one event."""
        document = decode(payload, last=last)
        chunks = self.machine.feed(document, source)
        gate = self._gate
        seen = self._splice.see(payload, document, chunks) if self._repeats else None
        if seen is not None and gate is not None and gate.usual_results is not None and is_annotated(chunks[0]):
            self._splice.forget()  # an upstream's own findings are to be merged with ours, chunk by chunk
            seen = None
        written = b"" if seen is None or gate is None else self._usual_frame(gate, chunks[0])
        self._pass(chunks, out, len(payload))
        if seen is not None:
            self._learn(seen, out[-1] if gate is None else written)

    def _learn(self, seen: Seen, sent: bytes) -> None:
        if self.api is None:
            self._splice.learn(seen, sent)
            return
        if seen.key != self._text_key:  # another text: bytes around the one before no longer hold
            self._text_key = seen.key
            self._splice.forget()
        name = self.api.text_keys.get(seen.key)
        if name is not None:
            self._splice.learn(seen, sent, name)

    def _usual_frame(self, gate: Gate, chunk: Document) -> bytes:
        """The frame of this text delta where nothing is found in it."""
        results = gate.usual_results
        [choice] = chunk["choices"]
        copy = {
            **chunk,
            "choices": [dict(choice) if results is None else {**choice, "content_filter_results": results}],
        }
        return frame(encode(self.writer.chunk(copy)))

    def _pass(self, chunks: list[Document], out: list[bytes], weight: int = 0) -> None:
        """Chunks of the machine, to the gate and to the client. `weight`: bytes that they came in."""
        if chunks and not self._has_begun:
            self._begin(chunks)
        gate = self._gate
        for chunk in chunks:
            if gate is None:
                self._put(chunk, out)
            else:
                for passing in gate.take(chunk, self._loop.time(), weight // len(chunks)):
                    self._put(passing, out)

    @property
    def complete(self) -> bool:
        return self.machine.complete

    def done(self, source: int) -> None:
        """[DONE]: whatever the upstream may still send, nobody reads it."""
        self.calls[source].linger()
        self._close(self.machine.done, source)

    def cut_short(self) -> None:
        """The answer ends here, with `length`."""
        if self.finished.done() or not self._has_begun or self._closing:
            return
        self._splice.forget()
        for call in self.calls:
            call.cancel()
        self._close(lambda source: self.machine.cut_short(), 0)

    def end(self, rest: list[bytes], source: int) -> None:
        if self.finished.done():
            return
        out: list[bytes] = []
        try:
            for payload in rest:
                if not is_done(payload):
                    self._take(payload, source, out, last=True)
        except UpstreamError as error:
            if error.code != TRUNCATED:
                return self._fail_after(out, error, source)
            # Cut inside an event: the machine knows whether anything was still to come.
        self._send(out)
        self._close(self.machine.end, source)

    def whole(self, body: bytes, source: int) -> None:
        """An upstream that answers JSON though it was asked to stream."""
        try:
            self.answered(decode(body), source)
        except UpstreamError as error:
            self.fail(error, source)

    def answered(self, document: Document, source: int) -> None:
        self.chunks(self.machine.replay(document), source, 0)
        self.done(source)

    def _fail_after(self, out: list[bytes], error: UpstreamError, source: int) -> None:
        self._send(out)
        self.fail(error, source)

    def fail(self, error: UpstreamError, source: int) -> None:
        if self.finished.done():
            return
        self._cut()
        self._conclude(error)

    def _close(self, close: Callable[[int], list[Document]], source: int) -> None:
        if self.finished.done():
            return
        out: list[bytes] = []
        try:
            self._pass(close(source), out)
        except UpstreamError as error:
            return self._fail_after(out, error, source)
        self._send(out)
        if self.machine.finished:
            self._conclude(None)

    # What leaves

    def _begin(self, first: list[Document]) -> None:
        """The answer begins. `first`: what the first event gave; an opening chunk takes its filter results over."""
        self._has_begun = True
        self.on_first()
        if self._gate is not None:
            self.held = -self._loop.time()
        resolve(self.ready, None)
        choices = {choice["index"]: choice for chunk in reversed(first) for choice in chunk["choices"]}
        envelope = {**self.machine.envelope(), "choices": list(choices.values())}
        for name in ("prompt_annotations", PROMPT_RESULTS):  # Azure's older name and its own
            if name in first[0]:
                envelope[PROMPT_RESULTS] = first[0][name]
        self._opening = envelope

    def _put(self, passing: Passing, out: list[bytes]) -> None:
        if self._waiting is not None:
            self._waiting.append(passing)
            return
        if isinstance(passing, bytes):
            out.append(passing)
            return
        opening, self._opening = self._opening, None
        if opening is not None:
            if self._gate is not None:
                self.held += self._loop.time()
            self._show_prompt(opening)
            out.extend(map(self.frame, self.writer.opening(opening)))
            self._show_prompt(passing)
        written = self.writer.chunk(passing)
        if not self.writer.has_emptied(written):
            out.append(self.frame(written))

    def frame(self, written: Document) -> bytes:
        return frame(encode(written)) if self.api is None else self.api.take(written)

    def _show_prompt(self, chunk: Document) -> None:
        keeper = self._keeper
        if keeper is not None and keeper.shows_prompt and keeper.prompt is not None:
            chunk[PROMPT_RESULTS] = merged_prompts(chunk.get(PROMPT_RESULTS), keeper.prompt)

    def _send(self, out: list[bytes]) -> None:
        if out:
            self._client.write(b"".join(out))

    # The gate

    def open_gate(self, prompt: Results) -> None:
        """The prompt's verdict is there: what waited for it may leave."""
        if self._waiting is None or self._keeper is None:
            return
        self._keeper.prompt = prompt
        waiting, self._waiting = self._waiting, None
        self._send_ready(waiting)

    def _send_ready(self, ready: list[Passing]) -> None:
        """Chunks that leave later than they came."""
        if self.finished.done():
            return
        out: list[bytes] = []
        for passing in ready:
            if type(passing) is bytes and self._waiting is None:
                out.append(passing)
            else:
                self._put(passing, out)
        if out:
            self._send(out)
        self._settle()

    def _serve(self, gate: Gate) -> None:
        """Asks what the gate wants to know, and wakes it in time. The upstream waits while too much is unjudged."""
        keeper = self._keeper
        if keeper is not None and gate.looks:
            try:
                for look in gate.take_looks():
                    if isinstance(look, Look):
                        keeper.asker.judge(look, partial(self._judged, look))
                    elif not keeper.asker.judge_early(look, partial(self._judged_early, look)):
                        gate.adaptive = False
            except Exception as error:
                self._break_off(keeper, error)
                return
        if gate.wake_at is not None and self._timer is None:
            self._timer = self._loop.call_at(gate.wake_at, self._wake)
        if gate.is_full and not self._is_stalled:
            self._is_stalled = True
            self._pause_calls()
        elif self._is_stalled and not gate.is_full:
            self._is_stalled = False
            if not self._is_client_slow:
                self._resume_calls()

    def _judged(self, look: Look, verdict: Verdict) -> None:
        self._step(lambda gate: gate.judged(look, verdict, self._loop.time()))

    def _judged_early(self, look: EarlyLook, risky: bool) -> None:
        self._step(lambda gate: gate.judged_early(look, self._loop.time(), risky=risky))

    def _wake(self) -> None:
        self._timer = None
        self._step(lambda gate: gate.wake(self._loop.time()))

    def _step(self, step: Callable[[Gate], list[Passing]]) -> None:
        """What the judge or the timer asks for. Nobody else would end the turn if it failed."""
        gate, keeper = self._gate, self._keeper
        if gate is None or keeper is None or self.finished.done():
            return
        try:
            self._send_ready(step(gate))
            self._serve(gate)
        except Exception as error:
            self._break_off(keeper, error)

    def _break_off(self, keeper: GateKeeper, error: Exception) -> None:
        """By our own fault the answer is not judged. What the gate holds never leaves."""
        self._cut()
        self._finish(keeper.on_fault(error))

    # The end

    def _conclude(self, failure: UpstreamError | None) -> None:
        """All has been said, or the attempt has failed. What the gate holds is judged and leaves first."""
        if self._gate is None or (failure is not None and not self._has_begun):
            self._finish(failure)
            return
        self._closing, self._failure = True, failure
        self._send_ready(self._gate.end(self._loop.time()))
        self._serve(self._gate)

    def _settle(self) -> None:
        gate, keeper = self._gate, self._keeper
        if gate is None or keeper is None or self._waiting is not None or self.finished.done() or not gate.is_idle:
            return
        if self._closing:  # a failure is no news where a block has ended every choice
            self._finish(None if gate.is_silenced(keeper.choices) else self._failure)
        elif gate.is_silenced(keeper.choices):
            self._cut()
            self._finish(None)

    def _finish(self, failure: UpstreamError | None) -> None:
        self._stop_timer()
        if not self.finished.done():
            self.finished.set_result(failure)
        resolve(self.ready, failure)

    def close(self) -> None:
        """The client has gone: nothing more is read or sent."""
        if self._gate is not None:
            self._gate.stop()
            self._stop_timer()
        self._cut()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self) -> None:
        self._splice.forget()
        for call in self.calls:
            call.cancel()

    # The client reads too slowly, or reads on

    def pause(self) -> None:
        self._is_client_slow = True
        self._pause_calls()

    def resume(self) -> None:
        self._is_client_slow = False
        if not self._is_stalled:
            self._resume_calls()

    def _pause_calls(self) -> None:
        for call in self.calls:
            call.pause()

    def _resume_calls(self) -> None:
        for call in self.calls:
            call.resume()
