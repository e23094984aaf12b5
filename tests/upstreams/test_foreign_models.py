"""What one model takes: the table's rows, and the settings' over them, decide what is sent."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.upstreams.scripted import Script, json_answer
from tests.upstreams.conftest import Begin

Document = dict[str, Any]
RECEIPT = {"x-antiphon-receipt": "1"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def answer() -> Script:
    content = [{"type": "text", "text": "ok"}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    return json_answer({**message, "usage": {"input_tokens": 1, "output_tokens": 1}})


def changed(document: Document) -> set[str]:
    receipt = document["antiphon"]
    return {change["param"] for change in (*receipt["dropped"], *receipt["rewritten"])} - {"model"}


ADAPTED: list[tuple[str, Document, str, Document]] = [
    # model, what is asked, what is named, what must not be sent as it was
    ("claude-opus-4-7", {"temperature": 0.2}, "temperature", {"temperature": 0.2}),
    ("claude-opus-5-5", {"tools": [TOOL], "tool_choice": "required"}, "tool_choice", {"tool_choice": {"type": "any"}}),
    ("claude-opus-4-7", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking", {"type": "enabled"}),
    ("claude-sonnet-4-5", {"max_tokens": 10_000_000}, "max_tokens", {"max_tokens": 10_000_000}),
    ("a-model-of-next-year", {"temperature": 0.2}, "temperature", {"temperature": 0.2}),
]


@pytest.mark.parametrize(("model", "asked", "named", "unsaid"), ADAPTED)
async def test_what_a_model_would_refuse_is_adapted_and_named(
    begin: Begin, model: str, asked: Document, named: str, unsaid: Document
) -> None:
    gateway, fake = await begin("anthropic", answer(), model=model)
    told = await gateway.post(headers=RECEIPT, **asked)
    assert told.status == 200, told.body
    assert changed(told.json) == {named}
    sent = fake.requests[0].document
    assert all(sent.get(key) != value for key, value in unsaid.items())


@pytest.mark.parametrize(("model", "asked", "named", "unsaid"), ADAPTED)
async def test_or_refused_where_it_is_strict(
    begin: Begin, model: str, asked: Document, named: str, unsaid: Document
) -> None:
    gateway, fake = await begin("anthropic", answer(), model=model, server="strict = true")
    told = await gateway.post(**asked)
    assert (told.status, told.json["error"]["param"]) == (400, named)
    assert not fake.requests


async def test_an_earlier_model_takes_what_later_ones_refuse(begin: Begin) -> None:
    gateway, fake = await begin("anthropic", answer(), model="claude-sonnet-4-5-20250929")
    told = await gateway.post(headers=RECEIPT, temperature=0.2, tools=[TOOL], tool_choice="required")
    assert changed(told.json) == set()
    sent = fake.requests[0]
    assert (sent.document["temperature"], sent.document["tool_choice"]) == (0.2, {"type": "any"})
    assert sent.headers["anthropic-version"] == "2023-06-01"


async def test_the_settings_know_best(begin: Begin) -> None:
    row = '[[model]]\nname = "target"\nlike = "claude-opus-5-5"\nsampling = true\nimages = false\nmax_output = 77\n'
    gateway, fake = await begin("anthropic", answer(), more=row)
    assert (await gateway.post(temperature=0.2)).status == 200
    assert (fake.requests[0].document["temperature"], fake.requests[0].document["max_tokens"]) == (0.2, 77)
    told = await gateway.post(messages=[{"role": "user", "content": [{"type": "text", "text": "What?"}, IMAGE]}])
    assert told.status == 400
    assert told.json["error"]["param"].startswith("messages[0]")
    assert len(fake.requests) == 1


async def test_a_refused_target_gives_way_to_one_that_can(begin: Begin) -> None:
    """An image: the first target's model takes none."""
    row = '[[model]]\nname = "blind"\nimages = false\n'
    route = '[[route]]\nmodel = "two"\ntargets = [{ upstream = "up", model = "blind" }, '
    route += '{ upstream = "up", model = "claude-opus-5-5", priority = 1 }]\n'
    gateway, fake = await begin("anthropic", answer(), more=row + route)
    told = await gateway.post(model="two", messages=[{"role": "user", "content": [IMAGE]}])
    assert told.status == 200
    assert [request.document["model"] for request in fake.requests] == ["claude-opus-5-5"]
