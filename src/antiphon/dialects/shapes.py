"""The fields each dialect's objects have: rows of data [object-fields]. Used only by `strict`.

A Shape names the known keys of an object (or of each object in a list). None beside a key: its value is kept whole,
because it is a leaf or a map whose keys are free (metadata, moderation).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from antiphon.document import Document

Shape: TypeAlias = "Mapping[str, Shape | None]"


def prune(document: Document, shape: Shape) -> None:
    """Removes, at every depth, the keys that the shape does not know."""
    for key in [key for key in document if key not in shape]:
        del document[key]
    for key, inner in shape.items():
        if inner is None or key not in document:
            continue
        value = document[key]
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, dict):
                prune(item, inner)


def _known(*leaves: str, **nested: Shape) -> Shape:
    return {**dict.fromkeys(leaves), **nested}


# -- parts that all dialects share

USAGE: Final = _known(
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    completion_tokens_details=_known(
        "reasoning_tokens", "audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens", "text_tokens"
    ),
    prompt_tokens_details=_known("cached_tokens", "audio_tokens", "text_tokens", "image_tokens", "cache_write_tokens"),
)
_TOKEN: Final = _known("token", "logprob", "bytes", top_logprobs=_known("token", "logprob", "bytes"))
_LOGPROBS: Final = _known(content=_TOKEN, refusal=_TOKEN)
_FUNCTION: Final = _known("name", "arguments")
_CALL: Final = _known("id", "type", function=_FUNCTION, custom=_known("name", "input"))
_CALL_FRAGMENT: Final[Shape] = {"index": None, **_CALL}
_AUDIO: Final = _known("id", "expires_at", "data", "transcript")
_ANNOTATION: Final = _known("type", url_citation=_known("start_index", "end_index", "url", "title"))
_OFFSETS: Final = _known("check_offset", "start_offset", "end_offset")

# `antiphon` is our own [receipt-on-request]: known wherever we put it.
_ENVELOPE: Final = ("id", "object", "created", "model", "system_fingerprint", "antiphon")

# -- skytells' filter results [skytells-filter-keys], with `error` and a citation

_SEVERITY: Final = _known("filtered", "severity")
_DETECTION: Final = _known("detected", "filtered", citation=_known("URL", "license"))
_ERROR: Final = _known("code", "message")
_CATEGORIES: Final[Shape] = {"hate": _SEVERITY, "self_harm": _SEVERITY, "sexual": _SEVERITY, "violence": _SEVERITY}
_CHOICE_RESULTS: Final[Shape] = {
    **_CATEGORIES,
    "protected_material_code": _DETECTION,
    "protected_material_text": _DETECTION,
    "error": _ERROR,
}
_PROMPT_RESULTS: Final = _known(
    "prompt_index", content_filter_results={**_CATEGORIES, "jailbreak": _DETECTION, "error": _ERROR}
)

# -- openai

OPENAI_COMPLETION: Final = _known(
    *_ENVELOPE,
    "service_tier",
    "metadata",
    "moderation",
    usage=USAGE,
    choices=_known(
        "index",
        "finish_reason",
        logprobs=_LOGPROBS,
        message=_known(
            "role",
            "content",
            "refusal",
            annotations=_ANNOTATION,
            tool_calls=_CALL,
            function_call=_FUNCTION,
            audio=_AUDIO,
        ),
    ),
)
OPENAI_CHUNK: Final = _known(
    *_ENVELOPE,
    "service_tier",
    "obfuscation",
    "moderation",
    usage=USAGE,
    choices=_known(
        "index",
        "finish_reason",
        logprobs=_LOGPROBS,
        delta=_known("role", "content", "refusal", tool_calls=_CALL_FRAGMENT, function_call=_FUNCTION, audio=_AUDIO),
    ),
)

# -- crazyrouter: "pass through" rows are known too; filter results are another vendor's there, kept whole

CRAZYROUTER_COMPLETION: Final = _known(
    *_ENVELOPE,
    "service_tier",
    "prompt_filter_results",
    usage=USAGE,
    choices=_known(
        "index",
        "finish_reason",
        "content_filter_results",
        logprobs=_LOGPROBS,
        message=_known(
            "role",
            "content",
            "refusal",
            "reasoning_content",
            annotations=_ANNOTATION,
            tool_calls=_CALL,
            function_call=_FUNCTION,
            audio=_AUDIO,
        ),
    ),
)
CRAZYROUTER_CHUNK: Final = _known(
    *_ENVELOPE,
    "service_tier",
    "obfuscation",
    "prompt_filter_results",
    usage=USAGE,
    choices=_known(
        "index",
        "finish_reason",
        "content_filter_results",
        logprobs=_LOGPROBS,
        content_filter_offsets=_OFFSETS,
        delta=_known(
            "role",
            "content",
            "refusal",
            "reasoning_content",
            tool_calls=_CALL_FRAGMENT,
            function_call=_FUNCTION,
            audio=_AUDIO,
        ),
    ),
)

# -- skytells

SKYTELLS_COMPLETION: Final = _known(
    *_ENVELOPE,
    usage=USAGE,
    prompt_filter_results=_PROMPT_RESULTS,
    choices=_known(
        "index",
        "finish_reason",
        logprobs=_LOGPROBS,
        content_filter_results=_CHOICE_RESULTS,
        message=_known("role", "content", "refusal", annotations=_ANNOTATION, tool_calls=_CALL),
    ),
)
SKYTELLS_CHUNK: Final = _known(
    *_ENVELOPE,
    usage=USAGE,
    prompt_filter_results=_PROMPT_RESULTS,
    choices=_known(
        "index",
        "finish_reason",
        logprobs=_LOGPROBS,
        content_filter_results=_CHOICE_RESULTS,
        content_filter_offsets=_OFFSETS,
        delta=_known("role", "content", "refusal", tool_calls=_CALL_FRAGMENT),
    ),
)

# -- maritaca

MARITACA_COMPLETION: Final = _known(
    *_ENVELOPE,
    "service_tier",
    usage=USAGE,
    choices=_known("index", "finish_reason", logprobs=_LOGPROBS, message=_known("role", "content", tool_calls=_CALL)),
)
MARITACA_CHUNK: Final = _known(
    *_ENVELOPE,
    "service_tier",
    usage=USAGE,
    choices=_known(
        "index", "finish_reason", logprobs=_LOGPROBS, delta=_known("role", "content", tool_calls=_CALL_FRAGMENT)
    ),
)
