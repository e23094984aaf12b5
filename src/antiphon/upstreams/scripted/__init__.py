"""The scripted upstream: the shipped fake, a real server on a real socket that speaks the OpenAI protocol.

Without scripts it answers every chat request sensibly and always alike, or with the fault that the model's name asks
for (`faults`). With scripts it does exactly what a test tells it, byte by byte (`script`). Its small HTTP is its own,
so that it cannot agree with the gateway by sharing a fault with it.
"""

from __future__ import annotations

from antiphon.upstreams.scripted.faults import FAULTS
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.script import (
    Ending,
    Script,
    Send,
    Step,
    Wait,
    cut,
    error,
    hang,
    json_answer,
    raw,
    reset,
    sse,
    wait,
)
from antiphon.upstreams.scripted.server import ScriptedUpstream

__all__ = [
    "FAULTS",
    "Ending",
    "Received",
    "Script",
    "ScriptedUpstream",
    "Send",
    "Step",
    "Wait",
    "cut",
    "error",
    "hang",
    "json_answer",
    "raw",
    "reset",
    "sse",
    "wait",
]
