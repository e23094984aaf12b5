"""Makes a turn's relay: a guarded one where its policy wants the answer judged."""

from __future__ import annotations

from antiphon.flow.gateway import Gateway
from antiphon.flow.guarded import GuardedRelay
from antiphon.flow.judge import terms
from antiphon.flow.machine import Machine, Scribe
from antiphon.flow.relay import Ready, Relay
from antiphon.flow.turn import AnyTurn
from antiphon.flow.voice import Form


def relay(turn: AnyTurn, gateway: Gateway, machine: Machine, writer: Scribe, ready: Ready, form: Form, n: int) -> Relay:
    def first() -> None:
        turn.first = gateway.clock()

    guarded = terms(turn, gateway, form)
    if guarded is None:
        return Relay(machine, writer, turn.client, ready, first)
    return GuardedRelay(machine, writer, turn.client, ready, first, terms=guarded, n=n, prompt=turn.prompt_results)
