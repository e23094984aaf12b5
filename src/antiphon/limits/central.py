"""What is said to Redis or Valkey about one subject, and what comes back. The script is exchange.lua."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final, NamedTuple

SCRIPT: Final = files("antiphon.limits").joinpath("exchange.lua").read_bytes()
DIGEST: Final = hashlib.sha1(SCRIPT, usedforsecurity=False).hexdigest()
CHANNEL: Final = "antiphon:recall"
DONE, REFUSED, RECALLED, STALE = range(4)


class ExchangeRequest(NamedTuple):
    """See exchange.lua."""

    holder: int
    number: int
    ttl: int
    day: int
    month: int
    mode: str
    subject: int
    limits: tuple[int, ...]
    spent: tuple[int, ...]
    acknowledged: tuple[int, ...]
    needed: tuple[int, ...]
    known: tuple[int, ...]
    held: tuple[int, ...]

    def arguments(self) -> tuple[str | int, ...]:
        head = (
            f"{self.holder:x}",
            self.number,
            self.ttl,
            self.day,
            self.month,
            self.mode,
            CHANNEL,
            f"{self.subject:x}",
        )
        return (*head, *self.limits, *self.spent, *self.acknowledged, *self.needed, *self.known, *self.held)

    @property
    def key(self) -> str:
        """In braces what decides on the slot of a cluster."""
        return f"antiphon:limit:{{{self.subject:x}}}"


class ExchangeReply(NamedTuple):
    status: int
    measure: int  # from 1, of MEASURES; 0: none was in the way
    wait: int  # microseconds; below 0: waiting does not help
    holders: int
    recalled: int  # microseconds since other machines were asked to return what they do not use
    balances: tuple[int, ...]
    used: tuple[int, ...]


def read_answer(reply: object) -> ExchangeReply:
    """ValueError: that is no answer of ours."""
    if not isinstance(reply, list) or len(reply) != 21 or not all(isinstance(item, int) for item in reply):
        raise ValueError("the counters gave an answer that is none")
    status, measure, wait, holders, recalled = reply[:5]
    return ExchangeReply(status, measure, wait, holders, recalled, tuple(reply[5:13]), tuple(reply[13:]))
