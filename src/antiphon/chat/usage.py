"""Token counts of an answer: read what an upstream reported, add up a fan-out, fill in what a dialect promises.

Rules: total = prompt + completion; an explicit zero stays zero (R3); a count that was not reported is left out, never
invented here; keys we do not know travel [nothing-lost].
"""

from __future__ import annotations

from typing import Any, Final

from antiphon.document import Document

COMPLETION_DETAILS: Final = "completion_tokens_details"
PROMPT_DETAILS: Final = "prompt_tokens_details"

# What the openai and skytells dialects always show, zeros where unknown [usage-details].
DETAILS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        COMPLETION_DETAILS,
        ("reasoning_tokens", "audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"),
    ),
    (PROMPT_DETAILS, ("cached_tokens", "audio_tokens")),
)


def read_usage(value: object) -> Document | None:
    """The counts an upstream reported, as integers, in place; None when it reported none.

    One half may be missing and is then not there. `total_tokens` stays as it was reported: `settle_usage` writes it.
    """
    if not isinstance(value, dict):
        return None
    prompt = _count(value, "prompt_tokens", "input_tokens")
    completion = _count(value, "completion_tokens", "output_tokens")
    total = _count(value, "total_tokens")
    reasoning = _reasoning(value)
    if completion is not None and reasoning > completion:
        completion += reasoning  # it cannot be part of it
    if total is not None and prompt is None and completion is not None and total >= completion:
        prompt = total - completion  # one half left out: the total tells it
    elif total is not None and completion is None and prompt is not None and total >= prompt:
        completion = total - prompt
    if prompt is None and completion is None:
        return None
    if reasoning and prompt is not None and completion is not None and total == prompt + completion + reasoning:
        completion += reasoning  # xAI counts it beside the completion, which with everyone else holds it (E6)
    for key, number in (("prompt_tokens", prompt), ("completion_tokens", completion), ("total_tokens", total)):
        if number is None:
            value.pop(key, None)
        else:
            value[key] = number
    return value


def _reasoning(usage: Document) -> int:
    details = usage.get(COMPLETION_DETAILS)
    return (_count(details, "reasoning_tokens") or 0) if isinstance(details, dict) else 0


def add_usage(a: Document, b: Document) -> Document:
    """Two answers to one prompt (fan-out): the prompt counts once, what was generated adds up.

    A count that either of them lacks is lacking in the sum, except the prompt's.
    """
    summed = {**b, **a}
    for key in ("completion_tokens", "total_tokens"):
        summed.pop(key, None)
    prompts = [usage["prompt_tokens"] for usage in (a, b) if "prompt_tokens" in usage]
    if prompts:
        summed["prompt_tokens"] = max(prompts)
    if "completion_tokens" in a and "completion_tokens" in b:
        summed["completion_tokens"] = a["completion_tokens"] + b["completion_tokens"]
        if prompts:
            summed["total_tokens"] = summed["prompt_tokens"] + summed["completion_tokens"]
    details = _add(a.get(COMPLETION_DETAILS), b.get(COMPLETION_DETAILS))
    if details is not None:
        summed[COMPLETION_DETAILS] = details
    if _is_number(a.get("cost")) and _is_number(b.get("cost")):  # OpenRouter's price of one answer
        summed["cost"] = a["cost"] + b["cost"]
    return summed


def settle_usage(usage: Document, *, details: bool) -> Document:
    """The usage object as it is written: a fresh document, in the familiar order."""
    prompt = _count(usage, "prompt_tokens") or 0
    completion = _count(usage, "completion_tokens") or 0
    settled: Document = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    for key, value in usage.items():
        settled.setdefault(key, value)
    if details:
        for key, names in DETAILS:
            settled[key] = _fill(settled.get(key), names)
    return settled


def _fill(details: object, names: tuple[str, ...]) -> Document:
    if not isinstance(details, dict):
        return dict.fromkeys(names, 0)
    missing = {name: _count(details, name) or 0 for name in names if type(details.get(name)) is not int}
    return {**details, **missing} if missing else details


def _add(a: object, b: object) -> Document | None:
    if not isinstance(a, dict):
        return dict(b) if isinstance(b, dict) else None
    if not isinstance(b, dict):
        return dict(a)
    summed: Document = {**b, **a}
    for key in a.keys() & b.keys():
        if _is_number(a[key]) and _is_number(b[key]):
            summed[key] = a[key] + b[key]
        elif a[key] is None:
            summed[key] = b[key]
    return summed


def _count(document: Document, *names: str) -> int | None:
    for name in names:
        value = document.get(name)
        if type(value) is int and value >= 0:
            return value
        if isinstance(value, float) and value.is_integer() and value >= 0:
            return int(value)
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
