"""Stored responses at a gateway that runs, through OpenAI's own SDK: kept, gone on from, listed and deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from antiphon.upstreams.scripted import Received, Script, json_answer, sse
from tests.billing.serving import Accounted, accounted
from tests.support.raw import call
from tests.support.responses import check_response
from tests.support.shapes import chunk, completion, hello, usage_chunk

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEYS = {"KEY_ONE": "sk-the-first-key", "KEY_TWO": "sk-the-second-key"}
ROWS = '[[key]]\nname = "one"\nsecret = "env:KEY_ONE"\n[[key]]\nname = "two"\nsecret = "env:KEY_TWO"\n'
TOOL: Any = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}


def answer(received: Received) -> Script:
    document = received.document
    if document.get("tools") and document["messages"][-1]["role"] != "tool":
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        if document.get("stream"):
            return sse(chunk({"role": "assistant", "tool_calls": [call]}), chunk({}, "tool_calls"), usage_chunk())
        whole = completion(None, "tool_calls")
        del call["index"]
        whole["choices"][0]["message"]["tool_calls"] = [call]
        return json_answer(whole)
    return sse(*hello()) if document.get("stream") else json_answer(completion("Hello you"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Accounted]:
    folder = tmp_path_factory.mktemp("responses")
    async with accounted(folder, server="auth = true", more=ROWS, script=answer, environ=KEYS) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sdks(gateway: Accounted) -> AsyncIterator[Any]:
    """`responses` of two clients, each with a key of its own."""
    url = f"http://127.0.0.1:{gateway.port}/v1"
    async with (
        AsyncOpenAI(base_url=url, api_key=KEYS["KEY_ONE"], max_retries=0) as one,
        AsyncOpenAI(base_url=url, api_key=KEYS["KEY_TWO"], max_retries=0) as two,
    ):
        yield one.responses, two.responses


def asked(gateway: Accounted) -> list[Any]:
    """The messages of the newest request upstream."""
    messages: list[Any] = gateway.upstream.requests[-1].document["messages"]
    return messages


@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_is_kept_as_the_client_got_it(sdks: Any, stream: bool) -> None:
    responses = sdks[0]
    if stream:
        async for event in await responses.create(model="m", input="Hi", stream=True, metadata={"a": "b"}):
            last = event
        made = last.response
    else:
        made = await responses.create(model="m", input="Hi", metadata={"a": "b"})
    assert made.store is True
    kept = await responses.retrieve(made.id)
    assert kept.model_dump() == made.model_dump()
    check_response(kept.model_dump(mode="json"))
    with pytest.raises(NotFoundError):
        await sdks[1].retrieve(made.id)


async def test_a_conversation_goes_on(gateway: Accounted, sdks: Any) -> None:
    responses = sdks[0]
    first = await responses.create(model="m", input="One", instructions="Be brief.")
    second = await responses.create(model="m", input="Two", previous_response_id=first.id)
    await responses.create(model="m", input="Three", previous_response_id=second.id, stream=False)
    assert asked(gateway) == [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Hello you"},
        {"role": "user", "content": "Two"},
        {"role": "assistant", "content": "Hello you"},
        {"role": "user", "content": "Three"},
    ]
    assert second.previous_response_id == first.id


async def test_the_output_of_a_call_follows_it(gateway: Accounted, sdks: Any) -> None:
    responses = sdks[0]
    first = await responses.create(model="m", input="Look", tools=[TOOL])
    output: Any = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "42"}
    for items in (
        {"previous_response_id": first.id, "input": [output]},
        {
            "input": [
                {"role": "user", "content": "Look"},
                {"type": "item_reference", "id": first.output[0].id},
                output,
            ]
        },
    ):
        await responses.create(model="m", tools=[TOOL], **items)
        assert [message["role"] for message in asked(gateway)] == ["user", "assistant", "tool"]
        assert asked(gateway)[1]["tool_calls"][0]["id"] == "call_1"


async def test_the_items_of_an_input(sdks: Any) -> None:
    responses = sdks[0]
    items: Any = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Two"},
    ]
    made = await responses.create(model="m", input=items)
    listed = await responses.input_items.list(made.id, order="asc", limit=2)
    assert [item.content[0].text for item in listed.data] == ["One", "Yes?"]
    assert listed.has_more is True
    rest = await responses.input_items.list(made.id, order="asc", after=listed.data[-1].id)
    assert [item.content[0].text for item in rest.data] == ["Two"]
    newest = await responses.input_items.list(made.id)
    assert [item.content[0].text for item in newest.data] == ["Two", "Yes?", "One"]


async def test_what_is_deleted_or_not_kept_is_not_found(sdks: Any) -> None:
    responses = sdks[0]
    made = await responses.create(model="m", input="Hi")
    with pytest.raises(BadRequestError, match="synchronous"):
        await responses.cancel(made.id)
    await responses.delete(made.id)
    unkept = await responses.create(model="m", input="Hi", store=False)
    assert unkept.store is False
    for id in (made.id, unkept.id, "resp_1"):
        with pytest.raises(NotFoundError):
            await responses.retrieve(id)
        with pytest.raises(NotFoundError):
            await responses.delete(id)
        with pytest.raises(BadRequestError) as caught:
            await responses.create(model="m", input="Hi", previous_response_id=id)
        assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")
    reference: Any = {"type": "item_reference", "id": unkept.output[0].id}
    with pytest.raises(BadRequestError) as caught:
        await responses.create(model="m", input=[reference, {"role": "user", "content": "Hi"}])
    assert caught.value.param == "input[0].id"


async def test_an_item_is_referred_to_once(gateway: Accounted, sdks: Any) -> None:
    """Else a small request would become one of any size."""
    made = await sdks[0].create(model="m", input="Hi")
    [given] = (await sdks[0].input_items.list(made.id)).data
    first, second = ({"type": "item_reference", "id": id} for id in (given.id, made.output[0].id))
    await sdks[0].create(model="m", input=[first, second, {"role": "user", "content": "More"}])
    assert [message["content"] for message in asked(gateway)] == ["Hi", "Hello you", "More"]
    with pytest.raises(BadRequestError, match="Duplicate") as caught:
        await sdks[0].create(model="m", input=[first, second, first])
    assert caught.value.param == "input[2].id"


@pytest.mark.parametrize("id", [5, {}, [], ""])
async def test_an_items_own_id_may_be_odd(gateway: Accounted, id: Any) -> None:
    headers = {"authorization": f"Bearer {KEYS['KEY_ONE']}"}
    items = [{"type": "message", "role": "user", "content": "Hi", "id": id}]
    made = await call(gateway.port, "POST", "/v1/responses", {"model": "m", "input": items}, headers=headers)
    if made.status == 200:
        listed = await call(gateway.port, "GET", f"/v1/responses/{made.json['id']}/input_items", headers=headers)
        assert (listed.status, listed.json["data"][0]["content"][0]["text"]) == (200, "Hi")
    else:
        assert (made.status, made.json["error"]["param"]) == (400, "input[0].id")


async def test_anothers_response_is_not_gone_on_from(sdks: Any) -> None:
    made = await sdks[0].create(model="m", input="Secret")
    with pytest.raises(BadRequestError):
        await sdks[1].create(model="m", input="Hi", previous_response_id=made.id)


async def test_a_key_is_needed(gateway: Accounted) -> None:
    answer = await call(gateway.port, "GET", "/v1/responses/resp_1")
    assert answer.status == 401
