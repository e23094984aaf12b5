"""The scripted upstream: the shipped fake, a real server on a real socket that speaks OpenAI's protocol or another
vendor's (`language`).

Without scripts it answers every chat request sensibly and always alike, or with the fault that the model's name asks
for (`faults`). With scripts it does exactly what a test tells it, byte by byte (`script`). Its small HTTP is its own,
so that it cannot agree with the gateway by sharing a fault with it.
"""

from __future__ import annotations

from antiphon.upstreams.scripted.answers import LANGUAGES
from antiphon.upstreams.scripted.faults import FAULTS
from antiphon.upstreams.scripted.language import Credential
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.reply import Reply, ScriptedCall
from antiphon.upstreams.scripted.script import (
    Ending,
    Script,
    ScriptWait,
    Send,
    Step,
    cut,
    error,
    hang,
    json_answer,
    raw,
    reset,
    sse,
    stream,
    wait,
)
from antiphon.upstreams.scripted.server import ScriptedUpstream

__all__ = [
    "FAULTS",
    "LANGUAGES",
    "Credential",
    "Ending",
    "Received",
    "Reply",
    "Script",
    "ScriptWait",
    "ScriptedCall",
    "ScriptedUpstream",
    "Send",
    "Step",
    "cut",
    "error",
    "hang",
    "json_answer",
    "raw",
    "reset",
    "sse",
    "stream",
    "wait",
]
