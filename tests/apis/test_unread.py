"""Fields inside of objects that the gateway does not know: the receipt names each by its path [fields-named]."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.apis.unread import UNREAD
from tests.apis.conftest import KEY, Api
from tests.apis.test_odd_requests import ASKED, changed

Document = dict[str, Any]

pytestmark = pytest.mark.asyncio(loop_scope="module")
GEMINI = "/v1beta/models/scripted:generateContent"
PLACES: dict[str, list[tuple[Any, ...]]] = {
    "/v1/messages": [
        ("system", 0),
        ("messages", 0),
        ("messages", 0, "content", 0),
        ("messages", 1, "content", 3),
        ("messages", 2, "content", 0),
        ("tool_choice",),
        ("output_config", "format"),
    ],
    GEMINI: [
        ("systemInstruction", "parts", 0),
        ("contents", 0),
        ("contents", 0, "parts", 0),
        ("contents", 0, "parts", 1, "inlineData"),
        ("contents", 1, "parts", 1, "functionCall"),
        ("contents", 2, "parts", 0, "functionResponse"),
        ("tools", 0, "functionDeclarations", 0),
    ],
    "/api/chat": [("messages", 0), ("messages", 1, "tool_calls", 0, "function"), ("tools", 0)],
    "/api/chat/inference": [("messages", 0)],
}


def written(path: str, place: tuple[Any, ...]) -> str:
    """A path as the API writes it."""
    at = "[{}]" if path == GEMINI else ".{}"
    steps = "".join(at.format(step) if isinstance(step, int) else f".{step}" for step in place)
    return f"{steps[1:]}.newField"


def added(document: Document, places: list[tuple[Any, ...]]) -> Document:
    for place in places:
        found: Any = document
        for step in place:
            found = found[step]
        document = changed(document, place, {**found, "newField": "x"})
    return document


@pytest.mark.parametrize("path", PLACES)
async def test_the_receipt_names_them(api: Api, path: str) -> None:
    headers = {"authorization": f"Bearer {KEY}", "x-antiphon-receipt": "1"}
    plain = await api.post(path, ASKED[path], headers)
    answer = await api.post(path, added(ASKED[path], PLACES[path]), headers)
    unread = [
        {change["param"] for change in each.json["antiphon"]["dropped"] if change["reason"] == UNREAD}
        for each in (plain, answer)
    ]
    assert unread == [set(), {written(path, place) for place in PLACES[path]}]


async def test_tools_and_parts_of_geminis_own_are_not_named(api: Api) -> None:
    """They travel as they are."""
    parts = [{"text": "x"}, {"executableCode": {"language": "PYTHON", "code": "1"}}]
    asked = {"contents": [{"role": "model", "parts": parts}, {"parts": [{"text": "y"}]}]}
    answer = await api.post(GEMINI, asked, {"authorization": f"Bearer {KEY}", "x-antiphon-receipt": "1"})
    assert UNREAD not in answer.body.decode()


@pytest.mark.parametrize(
    "choice", [{"type": "function", "name": "look"}, {"type": "allowed_tools", "mode": "auto", "tools": []}]
)
async def test_a_choice_of_responses(api: Api, choice: Document) -> None:
    tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    asked = {"model": "scripted", "input": "Hello", "tools": [tool], "tool_choice": {**choice, "newField": "x"}}
    answer = await api.post("/v1/responses", asked, {"authorization": f"Bearer {KEY}", "x-antiphon-receipt": "1"})
    assert "tool_choice.newField" in {change["param"] for change in answer.json["antiphon"]["dropped"]}
