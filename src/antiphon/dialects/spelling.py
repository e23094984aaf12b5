"""How a dialect spells the two objects: one row of data per dialect, its columns as fields [object-fields].

Every row keeps what an upstream sent [nothing-lost]; the fields say what is added when it is missing, and the few
things that are taken away [never-added].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from antiphon.dialects.shapes import Shape


class FingerprintRule(Enum):
    """`system_fingerprint`."""

    PRESENT = "only when it has a value"  # OpenAI's schema: optional, not nullable
    NULLABLE = "always, may be null"
    DERIVED = "always 16 hex digits; derived where the upstream's has another form or none"
    ABSENT = "never"


class Logprobs(Enum):
    """`logprobs` of a choice."""

    ALWAYS = "always, may be null"
    REQUESTED = "only when the client asked for them"


class ChunkUsage(Enum):
    """The `usage` key of chunks other than the usage chunk [usage-key]."""

    ABSENT = "never"
    REQUESTED = "null when the client asked for usage"
    ALWAYS = "always null"


@dataclass(frozen=True, slots=True)
class Spelling:
    object: str | None  # of a completion; None: the operator's choice [maritaca-object]
    fingerprint: FingerprintRule
    chunk_fingerprint: FingerprintRule
    logprobs: Logprobs
    chunk_usage: ChunkUsage
    usage_details: bool  # both details objects always there, zeros where unknown [usage-details]
    full_message: bool  # message.refusal and message.annotations always there
    text_always: bool  # message.content is a string even where there is no text
    function_call_finish: bool  # knows the finish reason `function_call` [function-call-finish]
    filter_results: bool  # skytells' safety fields, and the opening chunk with the prompt's [skytells-opening]
    obfuscates: bool  # answers `include_obfuscation` [obfuscation-asked]
    completion: Shape  # what `strict` leaves
    chunk: Shape


@dataclass(frozen=True, slots=True)
class WriteOptions:
    strict: bool
    target: str  # upstream and model: what a derived fingerprint is made of
    judged: bool = False  # by our evaluators: what they left open is off by policy
    maritaca_object: str = "chat_completion"
    entropy: Callable[[int], str] | None = None  # so many random characters, for `obfuscation`; None: never
