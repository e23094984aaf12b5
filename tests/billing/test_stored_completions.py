"""Stored completions at a gateway that runs, through OpenAI's own SDK: whole and streamed, in every dialect."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI, BadRequestError, NotFoundError
from openai.types.chat import ChatCompletion

from antiphon.upstreams.scripted import Received, Script, json_answer, sse
from tests.billing.serving import Accounted, accounted
from tests.billing.test_issued_keys import within
from tests.support.postgres import Postgres
from tests.support.raw import call
from tests.support.shapes import chunk, completion, usage_chunk

pytestmark = pytest.mark.asyncio(loop_scope="module")
KEYS = {"KEY_ONE": "sk-the-first-key", "KEY_TWO": "sk-the-second-key"}
ROWS = '[[key]]\nname = "one"\nsecret = "env:KEY_ONE"\n[[key]]\nname = "two"\nsecret = "env:KEY_TWO"\n'
PREFIXES = {
    "openai": "/openai/v1",
    "crazyrouter": "/crazyrouter/v1",
    "skytells": "/skytells/v1",
    "maritaca": "/maritaca/api",
}
ASK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Say hello"}]},
]
numbers = itertools.count(1)


def answer(received: Received) -> Script:
    """Each answer has an id of its own, as an upstream's does."""
    id, model = f"chatcmpl-{next(numbers):029d}", received.document["model"]
    if not received.document.get("stream"):
        return json_answer(completion("Hello you", id=id, model=model, x_own={"kept": True}))
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a"'}}
    more = {"index": 0, "function": {"arguments": ": 1}"}}
    chunks = [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": word}) for word in ("Hel", "lo", " y", "ou")),
        chunk({"tool_calls": [call]}),
        chunk({"tool_calls": [more]}),
        chunk({}, "tool_calls"),
        usage_chunk(),
    ]
    return sse(*({**one, "id": id, "model": model} for one in chunks))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Accounted]:
    folder = tmp_path_factory.mktemp("stored")
    async with accounted(folder, server="auth = true", more=ROWS, script=answer, environ=KEYS) as running:
        yield running


def client(gateway: Accounted, key: str = "KEY_ONE", dialect: str | None = None) -> Any:
    """Any: the tests send what its types do not know."""
    prefix = "/v1" if dialect is None else PREFIXES[dialect]
    return AsyncOpenAI(base_url=f"http://127.0.0.1:{gateway.port}{prefix}", api_key=KEYS[key], max_retries=0)


async def stored(sdk: Any, id: str) -> ChatCompletion:
    """What is kept reaches the store a moment after the answer."""
    found: list[ChatCompletion] = []

    async def is_there() -> bool:
        try:
            found.append(await sdk.chat.completions.retrieve(id))
        except NotFoundError:
            return False
        return True

    await within(1.0, is_there)
    return found[0]


async def make(sdk: Any, **more: Any) -> ChatCompletion:
    made: ChatCompletion = await sdk.chat.completions.create(model="m", messages=ASK, store=True, **more)
    await stored(sdk, made.id)
    return made


@pytest.mark.parametrize("dialect", PREFIXES)
async def test_a_whole_answer_is_stored_as_its_client_saw_it(gateway: Accounted, dialect: str) -> None:
    async with client(gateway, dialect=dialect) as sdk:
        made = await make(sdk, metadata={"run": "7"}, temperature=0.5, user="ana")
        found = await stored(sdk, made.id)
        kept, seen = found.to_dict(), made.to_dict()
        assert {name: kept[name] for name in seen} == seen
        assert kept["metadata"] == {"run": "7"}
        assert (kept["temperature"], kept["top_p"], kept["input_user"]) == (0.5, None, "ana")
        assert str(kept["request_id"]).startswith("req_")


@pytest.mark.parametrize("dialect", PREFIXES)
async def test_a_stored_stream_equals_its_accumulated_chunks(gateway: Accounted, dialect: str) -> None:
    async with client(gateway, dialect=dialect) as sdk:
        text, arguments, id = "", "", ""
        stream = await sdk.chat.completions.create(model="m", messages=ASK, store=True, stream=True)
        async for one in stream:
            id = one.id
            for choice in one.choices:
                text += choice.delta.content or ""
                for tool in choice.delta.tool_calls or ():
                    arguments += (tool.function and tool.function.arguments) or ""
        found = await stored(sdk, id)
        message = found.choices[0].message
        assert (message.role, message.content, text) == ("assistant", "Hello you", "Hello you")
        assert message.tool_calls is not None
        assert message.tool_calls[0].to_dict()["function"] == {"name": "f", "arguments": '{"a": 1}'}
        assert arguments == '{"a": 1}'
        assert found.choices[0].finish_reason == "tool_calls"
        assert found.object == "chat.completion"
        assert found.usage is not None  # though the client did not ask for it
        assert found.usage.total_tokens == 7


async def test_a_large_request_is_stored_too(gateway: Accounted) -> None:
    async with client(gateway) as sdk:
        large = [{"role": "user", "content": "word " * 100_000 + "\u00e9"}]
        made = await sdk.chat.completions.create(model="m", messages=large, store=True)
        await stored(sdk, made.id)
        page = await sdk.chat.completions.messages.list(made.id)
        assert page.data[0].content == large[0]["content"]


async def test_what_nobody_asked_to_store_is_not_there(gateway: Accounted) -> None:
    async with client(gateway) as sdk:
        for more in ({}, {"store": False}):
            made = await sdk.chat.completions.create(model="m", messages=ASK, **more)
            after = await make(sdk)  # so that an earlier one would be there, too
            assert after.id != made.id
            with pytest.raises(NotFoundError):
                await sdk.chat.completions.retrieve(made.id)


async def test_messages_in_pages(gateway: Accounted) -> None:
    async with client(gateway) as sdk:
        made = await make(sdk)
        page = await sdk.chat.completions.messages.list(made.id)
        first, second = (message.to_dict() for message in page.data)
        assert (first["id"], first["role"], first["content"], first["content_parts"]) == (
            f"{made.id}-0",
            "system",
            "Be brief.",
            None,
        )
        assert second["content_parts"] == [{"type": "text", "text": "Say hello"}]
        assert second["content"] is None
        backward = [message.id async for message in sdk.chat.completions.messages.list(made.id, limit=1, order="desc")]
        assert backward == [f"{made.id}-1", f"{made.id}-0"]
        with pytest.raises(BadRequestError):
            await sdk.chat.completions.messages.list(made.id, after="x-0")


async def test_lists_with_filters_and_pages(gateway: Accounted) -> None:
    async with client(gateway) as sdk:
        tag = f"t{next(numbers)}"
        made = [(await make(sdk, metadata={"tag": tag, "odd": str(n % 2)})).id for n in range(5)]
        listed = sdk.chat.completions.list
        assert [one.id async for one in listed(metadata={"tag": tag}, limit=2)] == made
        assert [one.id async for one in listed(metadata={"tag": tag}, order="desc", limit=3)] == made[::-1]
        assert [one.id async for one in listed(metadata={"tag": tag, "odd": "1"})] == made[1::2]
        assert [one.id async for one in listed(metadata={"tag": tag}, model="target")] == made
        assert [one.id async for one in listed(metadata={"tag": tag}, model="other")] == []
        page = await listed(metadata={"tag": tag}, limit=2, after=made[1])
        assert ([one.id for one in page.data], page.has_more) == (made[2:4], True)
        assert page.to_dict()["first_id"] == made[2]
        assert page.data[0].choices[0].message.content == "Hello you"
        last = await listed(metadata={"tag": tag}, after=made[3])
        assert ([one.id for one in last.data], last.has_more) == (made[4:], False)


async def test_new_metadata_and_the_end(gateway: Accounted) -> None:
    async with client(gateway) as sdk:
        made = await make(sdk, metadata={"a": "1"})
        changed = await sdk.chat.completions.update(made.id, metadata={"b": "2"})
        assert changed.to_dict()["metadata"] == {"b": "2"}
        assert (await stored(sdk, made.id)).to_dict()["metadata"] == {"b": "2"}
        gone = await sdk.chat.completions.delete(made.id)
        assert (gone.id, gone.object, gone.deleted) == (made.id, "chat.completion.deleted", True)
        for again in (sdk.chat.completions.retrieve(made.id), sdk.chat.completions.delete(made.id)):
            with pytest.raises(NotFoundError):
                await again


async def test_each_key_sees_its_own_only(gateway: Accounted) -> None:
    async with client(gateway) as one, client(gateway, "KEY_TWO") as two:
        made = await make(one, metadata={"secret": "mine"})
        asks: list[Callable[[], Awaitable[object]]] = [
            lambda: two.chat.completions.retrieve(made.id),
            lambda: two.chat.completions.update(made.id, metadata={"x": "y"}),
            lambda: two.chat.completions.messages.list(made.id),
            lambda: two.chat.completions.delete(made.id),
        ]
        for ask in asks:
            with pytest.raises(NotFoundError):
                await ask()
        assert made.id not in [row.id async for row in two.chat.completions.list(limit=100)]
        with pytest.raises(BadRequestError):  # nor does a cursor tell that it exists
            await two.chat.completions.list(after=made.id)
        assert (await stored(one, made.id)).to_dict()["metadata"] == {"secret": "mine"}


FAULTS: list[tuple[str, str, Any, int, str | None, str]] = [
    ("GET", "?limit=0", None, 400, "limit", "integer_below_min_value"),
    ("GET", "?limit=101", None, 400, "limit", "integer_above_max_value"),
    ("GET", "?limit=x", None, 400, "limit", "invalid_type"),
    ("GET", "?order=up", None, 400, "order", "invalid_value"),
    ("GET", "?after=chatcmpl-none", None, 400, "after", "invalid_value"),
    ("GET", "/chatcmpl-none", None, 404, "completion_id", "not_found"),
    ("DELETE", "/chatcmpl-none", None, 404, "completion_id", "not_found"),
    ("POST", "/chatcmpl-none", {"metadata": {"a": "b"}}, 404, "completion_id", "not_found"),
    ("POST", "/chatcmpl-none", {}, 400, "metadata", "missing_required_parameter"),
    ("POST", "/chatcmpl-none", {"metadata": []}, 400, "metadata", "invalid_type"),
    ("POST", "/chatcmpl-none", {"metadata": {"a" * 65: "b"}}, 400, "metadata", "property_name_above_max_length"),
    ("GET", "/chatcmpl-none/messages", None, 404, "completion_id", "not_found"),
    ("GET", "/chatcmpl-none/other", None, 404, None, "unknown_url"),
    ("PUT", "/chatcmpl-none", None, 405, None, "method_not_supported"),
    ("DELETE", "", None, 405, None, "method_not_supported"),
]


@pytest.mark.parametrize(("method", "rest", "body", "status", "param", "code"), FAULTS)
async def test_faults(
    gateway: Accounted, method: str, rest: str, body: Any, status: int, param: str | None, code: str
) -> None:
    headers = {"authorization": f"Bearer {KEYS['KEY_ONE']}"}
    answered = await call(gateway.port, method, f"/v1/chat/completions{rest}", body, headers=headers)
    error = answered.json["error"]
    assert (answered.status, error["param"], error["code"]) == (status, param, code)


async def test_without_a_key_nothing_is_told(gateway: Accounted) -> None:
    for path in ("", "/chatcmpl-x", "/chatcmpl-x/messages"):
        assert (await gateway.get(f"/v1/chat/completions{path}")).status == 401


async def test_without_accounts_there_are_none(tmp_path: Path) -> None:
    off = {"ANTIPHON_ACCOUNTS__ENABLED": "false"}
    async with accounted(tmp_path, script=answer, environ=off) as gateway:
        assert (await gateway.post(store=True)).status == 200
        for path in ("/chatcmpl-x", "/chatcmpl-x/messages"):
            assert (await gateway.get(f"/v1/chat/completions{path}")).status == 404
        assert (await gateway.get("/v1/chat/completions")).status == 405


async def test_what_is_answered_while_the_store_is_out_is_there_when_it_is_back(
    tmp_path: Path, postgres: Postgres
) -> None:
    async with accounted(tmp_path, store=postgres.database(), script=answer) as gateway:
        first = (await gateway.post(store=True)).json["id"]

        async def is_there(id: str) -> bool:
            return (await gateway.get(f"/v1/chat/completions/{id}")).status == 200

        await within(2.0, lambda: is_there(first))
        postgres.stop()
        try:
            second = await gateway.post(store=True)
            assert second.status == 200  # nobody waits for the store
            out = await gateway.get(f"/v1/chat/completions/{first}")
            assert (out.status, out.json["error"]["code"]) == (503, "overloaded")
            assert out.headers["retry-after"] == "1"
        finally:
            postgres.start()
        await within(5.0, lambda: is_there(second.json["id"]))
        assert await is_there(first)


async def test_the_accounts_process_may_die(tmp_path: Path) -> None:
    async with accounted(tmp_path, script=answer) as gateway:
        made = [(await gateway.post(store=True)).json["id"]]

        async def all_are_there() -> bool:
            paths = [f"/v1/chat/completions/{id}" for id in made]
            return {(await gateway.get(path)).status for path in paths} == {200}

        await within(3.0, all_are_there)
        os.kill(gateway.child(is_accounts), signal.SIGKILL)
        made += [(await gateway.post(store=True)).json["id"] for _ in range(10)]
        await within(3.0, all_are_there)


def is_accounts(pid: int) -> bool:
    """It alone has the store's file open."""
    folder = Path(f"/proc/{pid}/fd")
    return any("accounts.db" in os.readlink(file) for file in folder.iterdir())
