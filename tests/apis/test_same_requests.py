"""The same conversation through any API reaches the upstream as the same request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.upstreams.scripted import Received, Reply, ScriptedUpstream
from tests.support.apis import Results, Said, Turn, Wish
from tests.support.gateway import Running, gateway, to_one
from tests.support.responses_api import CLIENTS

Document = dict[str, Any]

pytestmark = pytest.mark.asyncio(loop_scope="module")
OTHERS = sorted(CLIENTS.keys() - {"chat"})
TOOLS = (
    {"name": "look", "description": "Looks.", "schema": {"type": "object", "properties": {"at": {"type": "string"}}}},
    {"name": "go_on", "description": "Goes on.", "schema": {"type": "object", "properties": {}}},
)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20).filter(str.strip)
values = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | words, lambda inner: st.lists(inner, max_size=2))
called = st.lists(st.tuples(st.sampled_from(["look", "go_on"]), st.dictionaries(words, values, max_size=2)), max_size=2)
turns = st.lists(st.tuples(words, words | st.just(""), called), max_size=3)
wishes = st.builds(
    Wish,
    system=st.just("") | words,
    tools=st.just(TOOLS),
    schema=st.none() | st.just(SCHEMA),
    effort=st.sampled_from(["", "low", "medium", "high"]),
    limit=st.integers(1, 9000),
    stops=st.lists(words, max_size=2).map(tuple),
)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def asked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Running, list[Document]]]:
    sent: list[Document] = []

    def keep(request: Received) -> Reply:
        sent.append(request.document)
        return Reply("Fine.")

    upstream = ScriptedUpstream(keep)
    url = await upstream.start()
    async with gateway(tmp_path_factory.mktemp("same"), to_one(url)) as running:
        yield running, sent
    await upstream.stop()


def conversation(name: str, said: list[tuple[str, str, list[tuple[str, Document]]]], last: str) -> list[Turn]:
    """A history as this API's clients keep it."""
    out: list[Turn] = []
    client = CLIENTS[name]
    for number, (asked, answered, calls) in enumerate(said):
        out.append(asked)
        made = [(f"call_{number}{place}", tool, given) for place, (tool, given) in enumerate(calls)]
        out.append(Said(native=client.native(answered or ("" if made else "."), made)))
        if made:
            told = tuple(f"result {place}" for place in range(len(made)))
            out += [Results(told), Said(native=client.native(".", []))]
    return [*out, last]


def plain(document: Document) -> Document:
    """Gemini and Ollama have no word for a strict schema; Responses has a word for tools that are not."""
    if "tools" in document:
        functions = [{key: value for key, value in tool["function"].items() if value} for tool in document["tools"]]
        document = {**document, "tools": [{"type": "function", "function": each} for each in functions]}
    form = document.get("response_format")
    if form:
        named = {key: value for key, value in form["json_schema"].items() if key != "strict"}
        document = {**document, "response_format": {**form, "json_schema": named}}
    return document


@pytest.mark.parametrize("name", OTHERS)
@given(said=turns, last=words, wish=wishes, stream=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_the_same_request(
    asked: tuple[Running, list[Document]], name: str, said: Any, last: str, wish: Wish, stream: bool
) -> None:
    running, sent = asked
    if name == "responses":  # it has no stop sequences
        wish = replace(wish, stops=())
    documents = []
    for each in ("chat", name):
        answer = await CLIENTS[each].post(running.port, "m", conversation(each, said, last), wish, stream=stream)
        assert answer.status == 200, answer.body
        documents.append(plain(sent[-1]))
    assert documents[0] == documents[1]
