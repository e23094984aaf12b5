"""Every field of both objects in every dialect [object-fields]: what a dialect adds, what travels, what strict leaves.

Cells: R always, N always but may be null, o only when it has a value, p passed on, - never added, x taken away.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from antiphon.dialects import Writer

Document = dict[str, Any]

NAMES = ("openai", "crazyrouter", "skytells", "maritaca")

COMPLETION = """
id                                                                  R R R R
object                                                              R R R R
created                                                             R R R R
model                                                               R R R R
system_fingerprint                                                  o N N R
service_tier                                                        o p - o
metadata                                                            o - - -
moderation                                                          o - - -
usage                                                               R R R R
usage.prompt_tokens                                                 R R R R
usage.completion_tokens                                             R R R R
usage.total_tokens                                                  R R R R
usage.completion_tokens_details                                     R p R o
usage.completion_tokens_details.reasoning_tokens                    R p R o
usage.completion_tokens_details.audio_tokens                        R p R o
usage.completion_tokens_details.accepted_prediction_tokens          R p R o
usage.completion_tokens_details.rejected_prediction_tokens          R p R o
usage.completion_tokens_details.text_tokens                         o p o o
usage.prompt_tokens_details                                         R p R o
usage.prompt_tokens_details.cached_tokens                           R p R o
usage.prompt_tokens_details.audio_tokens                            R p R o
usage.prompt_tokens_details.text_tokens                             o p o o
usage.prompt_tokens_details.image_tokens                            o p o o
usage.prompt_tokens_details.cache_write_tokens                      o p o o
prompt_filter_results                                               - p R -
prompt_filter_results.prompt_index                                  - p R -
prompt_filter_results.content_filter_results.hate.severity          - p R -
prompt_filter_results.content_filter_results.self_harm.filtered     - p R -
prompt_filter_results.content_filter_results.sexual.severity        - p R -
prompt_filter_results.content_filter_results.violence.severity      - p R -
prompt_filter_results.content_filter_results.jailbreak.detected     - p R -
choices                                                             R R R R
choices.index                                                       R R R R
choices.finish_reason                                               R R R R
choices.logprobs                                                    N o N N
choices.logprobs.content.token                                      o o o o
choices.logprobs.content.top_logprobs.bytes                         o o o o
choices.content_filter_results                                      - p R -
choices.content_filter_results.hate.severity                        - p R -
choices.content_filter_results.self_harm.severity                   - p R -
choices.content_filter_results.sexual.filtered                      - p R -
choices.content_filter_results.violence.filtered                    - p R -
choices.content_filter_results.protected_material_code.detected     - p R -
choices.content_filter_results.protected_material_code.citation.URL - p o -
choices.content_filter_results.protected_material_text.filtered     - p R -
choices.message                                                     R R R R
choices.message.role                                                R R R R
choices.message.content                                             N N N R
choices.message.refusal                                             N p N -
choices.message.annotations                                         R p R -
choices.message.annotations.url_citation.title                      o p o -
choices.message.tool_calls                                          o o o o
choices.message.tool_calls.id                                       o o o o
choices.message.tool_calls.type                                     o o o o
choices.message.tool_calls.function.name                            o o o o
choices.message.tool_calls.function.arguments                       o o o o
choices.message.function_call                                       o p - -
choices.message.function_call.name                                  o p - -
choices.message.audio                                               o p - -
choices.message.audio.transcript                                    o p - -
choices.message.reasoning_content                                   - p - -
"""

CHUNK = """
id                                                              R R R R
object                                                          R R R R
created                                                         R R R R
model                                                           R R R R
system_fingerprint                                              o x N R
service_tier                                                    o p - o
usage                                                           - - N -
moderation                                                      o - - -
prompt_filter_results                                           - p x -
choices                                                         R R R R
choices.index                                                   R R R R
choices.finish_reason                                           N N N N
choices.logprobs                                                N x N N
choices.delta                                                   R R R R
choices.delta.role                                              o o o o
choices.delta.content                                           o o o o
choices.delta.refusal                                           o p o -
choices.delta.tool_calls                                        o o o o
choices.delta.tool_calls.index                                  o o o o
choices.delta.tool_calls.id                                     o o o o
choices.delta.tool_calls.type                                   o o o o
choices.delta.tool_calls.function.name                          o o o o
choices.delta.tool_calls.function.arguments                     o o o o
choices.delta.function_call                                     o p - -
choices.delta.audio                                             o p - -
choices.delta.audio.expires_at                                  o p - -
choices.delta.reasoning_content                                 - p - -
choices.content_filter_results                                  - p R -
choices.content_filter_results.hate.severity                    - p R -
choices.content_filter_results.protected_material_text.detected - p R -
choices.content_filter_offsets                                  - p o -
choices.content_filter_offsets.check_offset                     - p o -
"""

_SEVERITY = {"filtered": False, "severity": "low"}
_DETECTION = {"detected": False, "filtered": False}
_CATEGORIES = {name: dict(_SEVERITY) for name in ("hate", "self_harm", "sexual", "violence")}
_TOKEN = {
    "token": "Hi",
    "logprob": -0.5,
    "bytes": None,
    "top_logprobs": [{"token": "Hi", "logprob": -0.5, "bytes": [72]}],
}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_CHOICE_EXTRA = {
    "logprobs": {"content": [_TOKEN], "refusal": None},
    "content_filter_results": {
        **_CATEGORIES,
        "protected_material_code": {
            "detected": True,
            "filtered": False,
            "citation": {"URL": "https://x.example", "license": "MIT"},
        },
        "protected_material_text": _DETECTION,
    },
    "content_filter_offsets": {"check_offset": 1, "start_offset": 2, "end_offset": 3},
}
_TEXT = {
    "role": "assistant",
    "content": "Hi",
    "refusal": "No",
    "function_call": {"name": "f", "arguments": "{}"},
    "audio": {"id": "a", "expires_at": 1, "data": "", "transcript": "t"},
    "reasoning_content": "hm",
}
_TOP = {
    "system_fingerprint": "fp_1",
    "service_tier": "default",
    "moderation": {"input": {}, "output": {}},
    "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {**_CATEGORIES, "jailbreak": _DETECTION}}],
}


def everything(completion: Document) -> Document:
    """An upstream that sends every field of the table, each with a value."""
    document = {**completion, **deepcopy(_TOP), "metadata": {"k": "v"}}
    document["choices"][0].update(deepcopy(_CHOICE_EXTRA))
    annotation = {
        "type": "url_citation",
        "url_citation": {"start_index": 0, "end_index": 1, "url": "https://x.example", "title": "t"},
    }
    message = {**deepcopy(_TEXT), "annotations": [annotation], "tool_calls": [deepcopy(_CALL)]}
    document["choices"][0]["message"] = message
    document["usage"].update(
        completion_tokens_details={
            "reasoning_tokens": 1,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
            "text_tokens": 1,
        },
        prompt_tokens_details={
            "cached_tokens": 1,
            "audio_tokens": 0,
            "text_tokens": 1,
            "image_tokens": 0,
            "cache_write_tokens": 0,
        },
    )
    return document


def everything_in_a_chunk(chunk: Document) -> Document:
    document = {**chunk, **deepcopy(_TOP)}
    document["choices"][0].update(deepcopy(_CHOICE_EXTRA))
    document["choices"][0]["delta"] = {**deepcopy(_TEXT), "tool_calls": [{"index": 0, **deepcopy(_CALL)}]}
    return document


def cells(table: str) -> list[Any]:
    return [
        pytest.param(name, line.split()[0], cell, id=f"{name}:{line.split()[0]}={cell}")
        for line in table.strip().splitlines()
        for name, cell in zip(NAMES, line.split()[1:], strict=True)
    ]


def has(document: Any, path: str) -> bool:
    """Is there a field at this path? A list stands for its first item."""
    for key in path.split("."):
        if isinstance(document, list) and document:
            document = document[0]
        if not isinstance(document, dict) or key not in document:
            return False
        document = document[key]
    return True


@pytest.mark.parametrize(("dialect", "path", "cell"), cells(COMPLETION))
class TestCompletion:
    def test_added(
        self, dialect: str, path: str, cell: str, render: Callable[..., Document], bare_completion: Document
    ) -> None:
        assert has(render(dialect, bare_completion), path) == (cell in "RN")

    def test_travels(
        self, dialect: str, path: str, cell: str, render: Callable[..., Document], bare_completion: Document
    ) -> None:
        assert has(render(dialect, everything(bare_completion)), path)

    def test_strict(
        self, dialect: str, path: str, cell: str, render: Callable[..., Document], bare_completion: Document
    ) -> None:
        assert has(render(dialect, everything(bare_completion), strict=True), path) == (cell != "-")


@pytest.mark.parametrize(("dialect", "path", "cell"), cells(CHUNK))
class TestChunk:
    def test_added(
        self, dialect: str, path: str, cell: str, make_writer: Callable[..., Writer], bare_chunk: Document
    ) -> None:
        present = cell in "RN" or path == "choices.delta.content"
        assert has(make_writer(dialect).chunk(bare_chunk), path) == present

    def test_travels(
        self, dialect: str, path: str, cell: str, make_writer: Callable[..., Writer], bare_chunk: Document
    ) -> None:
        written = make_writer(dialect).chunk(everything_in_a_chunk(bare_chunk))
        assert has(written, path) == (cell != "x" and (path != "usage" or cell == "N"))

    def test_strict(
        self, dialect: str, path: str, cell: str, make_writer: Callable[..., Writer], bare_chunk: Document
    ) -> None:
        written = make_writer(dialect, strict=True).chunk(everything_in_a_chunk(bare_chunk))
        assert has(written, path) == (cell not in "x-")


EXACT = {
    "openai": {"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"},
    "crazyrouter": {"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"},
    "skytells": {
        "id",
        "object",
        "created",
        "model",
        "choices",
        "usage",
        "system_fingerprint",
        "service_tier",
        "prompt_filter_results",
    },
    "maritaca": {"id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"},
}
EXACT_CHOICE = {
    "openai": {"index", "message", "logprobs", "finish_reason"},
    "crazyrouter": {"index", "message", "finish_reason"},
    "skytells": {"index", "message", "logprobs", "finish_reason", "content_filter_results"},
    "maritaca": {"index", "message", "logprobs", "finish_reason"},
}


@pytest.mark.parametrize("dialect", NAMES)
def test_one_reply_of_openai_in_all_dialects(
    dialect: str, render: Callable[..., Document], bare_completion: Document
) -> None:
    """A1, I1: the field sets, exactly, of an ordinary reply."""
    bare_completion.update(system_fingerprint="fp_1", service_tier="default")
    bare_completion["choices"][0]["logprobs"] = None
    bare_completion["choices"][0]["message"].update(refusal=None, annotations=[])
    written = render(dialect, bare_completion)
    assert set(written) == EXACT[dialect]
    assert set(written["choices"][0]) == EXACT_CHOICE[dialect]
    assert set(written["choices"][0]["message"]) == {"role", "content", "refusal", "annotations"}


@pytest.mark.parametrize(
    ("dialect", "object_", "fingerprint"),
    [
        ("openai", "chat.completion", "absent"),
        ("crazyrouter", "chat.completion", None),
        ("skytells", "chat.completion", None),
    ],
)
def test_a_null_fingerprint(
    dialect: str,
    object_: str,
    fingerprint: str | None,
    render: Callable[..., Document],
    bare_completion: Document,
) -> None:
    written = render(dialect, {**bare_completion, "system_fingerprint": None})
    assert written.get("system_fingerprint", "absent") == fingerprint
    assert written["object"] == object_
