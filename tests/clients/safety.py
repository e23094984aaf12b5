"""What every library must make of what is blocked or annotated, whatever the embedded classifier thinks of the text."""

from __future__ import annotations

from typing import Any

from tests.clients.cases import HARMLESS, TEXT

CATEGORIES = {"hate", "self_harm", "sexual", "violence"}
IN_PROMPT = CATEGORIES | {"jailbreak"}
IN_ANSWER = CATEGORIES | {"protected_material_code", "protected_material_text"}
LISTED = {"filtered": True, "details": [{"id": "forbidden", "filtered": True}]}
MODERATED = [[False, False, 13], [True, True, 13]]  # flagged, for violence, and how many categories there are


def expect_prompt_refused(saw: Any) -> None:
    """The verdict that stands in the error."""
    assert saw["found"].keys() == IN_PROMPT | {"custom_blocklists"}
    assert saw["found"]["custom_blocklists"] == LISTED


def expect_blocked(saw: Any, dialect: str, choices: int = 1) -> None:
    """The first choice; a second is left alone."""
    assert [text or "" for text in saw["text"]] == ["", TEXT][:choices]
    assert saw["finish"] == ["content_filter", "stop"][:choices]
    assert saw["calls"] == 0
    expect_findings(saw, dialect, 1)


def expect_findings(saw: Any, dialect: str, blocked: int = 0) -> None:
    """Of the prompt once, of each choice at its end; in skytells on every chunk."""
    (prompt,) = saw["prompt"]
    assert prompt["prompt_index"] == 0
    assert_nothing_filtered(prompt["content_filter_results"], IN_PROMPT)
    for found in saw["answer"][:blocked]:
        assert found.keys() == IN_ANSWER | {"custom_blocklists"}
        assert found["custom_blocklists"] == LISTED
    for found in saw["answer"][blocked:]:
        assert_nothing_filtered(found, IN_ANSWER)
    assert dialect != "skytells" or saw.get("all annotated", True)


def assert_nothing_filtered(found: Any, names: set[str]) -> None:
    assert found.keys() == names
    assert [name for name in names if found[name]["filtered"]] == []


def expect_told_later(saw: Any) -> None:
    """The text at once, its verdict in a chunk of its own."""
    assert (saw["text"], saw["finish"], saw["usage"]) == (TEXT, ["stop"], [[9, 5, 14]])
    for told in saw["told"]:
        assert_nothing_filtered(told["content_filter_results"], IN_ANSWER)
    assert saw["told"][-1]["content_filter_offsets"]["end_offset"] == len("Hi" + TEXT)


def expect_counted(usage: Any) -> None:
    """By the upstream, or by the gateway where the upstream was told to stop before it said so."""
    prompt, completion, total = usage
    assert prompt > 0
    assert completion > 0
    assert total == prompt + completion


def expect_blocked_late(saw: Any, dialect: str) -> None:
    """What had been read stays, and nothing of what was blocked follows."""
    (text,) = saw["text"]
    assert text
    assert HARMLESS.startswith(text)
    assert saw["finish"] == ["content_filter"]
    expect_findings(saw, dialect, 1)
