"""What holds for every foreign protocol: failover, dialects, safety, rows of one protocol on several hosts."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from antiphon.flow.ports import Scope
from antiphon.safety.verdict import Severity, Stage
from antiphon.upstreams.catalog import CATALOG
from antiphon.upstreams.scripted import Script, ScriptedUpstream, error, json_answer, sse
from tests.protocols import anthropic_recordings as anthropic
from tests.protocols import aws_frames as aws
from tests.protocols import cohere_streams as cohere
from tests.protocols import gemini_recordings as gemini
from tests.support.foreign import base, finishes, row, said, settings
from tests.support.gateway import gateway
from tests.support.judge import WordJudge
from tests.support.shapes import completion, hello
from tests.upstreams.conftest import Begin

Document = dict[str, Any]
FILTER = '[safety]\nmode = "filter"'
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
DIALECTS = {
    "openai": "/openai/v1/chat/completions",
    "crazyrouter": "/crazyrouter/v1/chat/completions",
    "skytells": "/skytells/v1/chat/completions",
    "maritaca": "/maritaca/api/chat/completions",
}


def claude(*words: str) -> Script:
    data = anthropic.wire([anthropic.start(), *anthropic.text(0, *words), *anthropic.end("end_turn")])
    return sse(data, done=False)


def streams(*words: str) -> dict[str, Script]:
    """The same answer in each protocol."""
    finish = cohere.event("message-end", delta={"finish_reason": "COMPLETE", "usage": {}})
    spoken = b"".join(cohere.text(word) for word in words)
    frames = b"".join(aws.text(word) for word in words)
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    return {
        "anthropic": claude(*words),
        "gemini": sse(gemini.frames([*(gemini.text(word) for word in words), gemini.end()]), done=False),
        "cohere": sse(cohere.start() + cohere.begin() + spoken + cohere.stop() + finish, done=False),
        "bedrock": sse(aws.start() + frames + aws.stop(0) + aws.end() + aws.metadata(), done=False, headers=headers),
    }


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("protocol", sorted(streams()))
async def test_every_protocol_in_every_dialect(begin: Begin, protocol: str, dialect: str) -> None:
    running, _ = await begin(protocol, streams("Good ", "day", "!")[protocol])
    answer = await running.post(DIALECTS[dialect], stream=True)
    assert answer.status == 200
    assert said(answer) == "Good day!"
    assert finishes(answer) == ["stop"]


@pytest.mark.parametrize("protocol", sorted(streams()))
async def test_a_stream_is_judged_before_it_leaves(begin: Begin, protocol: str) -> None:
    scripts = streams("I will ", "kill ", "them", " all.")
    running, _ = await begin(protocol, scripts[protocol], judge=WordJudge(), more=FILTER)
    answer = await running.post(stream=True)
    assert "them" not in said(answer)
    assert finishes(answer) == ["content_filter"]


async def test_thinking_that_comes_back_is_judged(begin: Begin) -> None:
    judge = WordJudge()
    running, fake = await begin("anthropic", judge=judge, more=FILTER)
    blocks = [{"type": "thinking", "thinking": "I shall kill them", "signature": "c2ln", "index": 0}]
    parts = [
        {
            "type": "search_result",
            "source": "https://x.test",
            "title": "t",
            "content": [{"type": "text", "text": "slur"}],
        }
    ]
    histories: list[list[Document]] = [
        [{"role": "assistant", "content": "Hm.", "thinking_blocks": blocks}, {"role": "user", "content": "Go on"}],
        [{"role": "user", "content": parts}],
        [{"role": "assistant", "content": "Hm.", "content_parts": parts}, {"role": "user", "content": "Go on"}],
    ]
    for messages in histories:
        answer = await running.post(messages=[{"role": "user", "content": "Hi"}, *messages])
        assert (answer.status, answer.json["error"]["code"]) == (400, "content_filter")
    assert not fake.requests
    assert {stage for stage, _ in judge.asked} == {Stage.PROMPT}


@pytest.mark.parametrize("dialect", ["openai", "maritaca"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_failover_between_protocols(tmp_path: Path, dialect: str, streamed: bool) -> None:
    """From Anthropic to an upstream that speaks the OpenAI protocol, and back."""
    whole = json_answer(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": "Good day"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }
    )
    early = sse(anthropic.wire([anthropic.start(), OVERLOADED]), done=False)
    failing = early if streamed else json_answer(OVERLOADED, 529)
    async with AsyncExitStack() as stack:
        first = ScriptedUpstream([failing, claude("Good day") if streamed else whole])
        second = ScriptedUpstream([sse(*hello()) if streamed else json_answer(completion("Hello")), error(500)])
        for fake in (first, second):
            await fake.start()
            stack.push_async_callback(fake.stop)
        text = settings(
            row("anthropic", base(first), name="claude"),
            row("openai", second.url, name="gpt"),
            targets='[{ upstream = "claude", model = "claude-x" }, { upstream = "gpt", model = "g", priority = 1 }]',
            more='[[route]]\nmodel = "back"\ntargets = [{ upstream = "gpt", model = "g" }, '
            '{ upstream = "claude", model = "claude-x", priority = 1 }]\n',
        )
        running = await stack.enter_async_context(gateway(tmp_path, text, {}))
        answer = await running.post(DIALECTS[dialect], stream=streamed, temperature=0.3)
        assert answer.status == 200
        assert (said(answer) if streamed else answer.json["choices"][0]["message"]["content"]).startswith("Hello")
        assert second.requests[0].document["temperature"] == 0.3
        assert second.requests[0].document["messages"] == [{"role": "user", "content": "Hello"}]
        answer = await running.post(DIALECTS[dialect], model="back", stream=streamed)
        assert (said(answer) if streamed else answer.json["choices"][0]["message"]["content"]) == "Good day"


async def test_after_the_first_chunk_there_is_no_second_try(tmp_path: Path, begin: Begin) -> None:
    broken = anthropic.wire([anthropic.start(), *anthropic.text(0, "Good "), OVERLOADED])
    running, fake = await begin("anthropic", sse(broken, done=False))
    answer = await running.post(stream=True)
    assert answer.chunks[-1]["error"]["code"] == "overloaded"
    assert len(fake.requests) == 1


async def test_an_endpoint_that_the_upstream_has_not_is_refused(begin: Begin) -> None:
    running, fake = await begin("anthropic")
    answer = await running.post("/v1/embeddings", input="x")
    assert (answer.status, answer.json["error"]["code"]) == (404, "unsupported_endpoint")
    assert not fake.requests


async def test_claude_on_vertex_and_azure(begin: Begin) -> None:
    vertex, fake = await begin("anthropic-vertex", claude("Hi"), model="claude-opus-5-5", prefix="/v1/projects/p")
    assert said(await vertex.post(stream=True)) == "Hi"
    [asked] = fake.requests
    assert asked.path == "/v1/projects/p/publishers/anthropic/models/claude-opus-5-5:streamRawPredict"
    assert asked.headers["authorization"] == "Bearer sk-secret"
    assert asked.document["anthropic_version"] == "2026-10-21"
    assert "model" not in asked.document


async def test_claude_on_azure(begin: Begin) -> None:
    azure, fake = await begin("anthropic-azure", claude("Hi"), model="claude-opus-5-5", prefix="/anthropic")
    assert said(await azure.post(stream=True)) == "Hi"
    [asked] = fake.requests
    assert (asked.path, asked.headers["api-key"]) == ("/anthropic/v1/messages", "sk-secret")


async def test_a_credential_may_be_sent_another_way(begin: Begin) -> None:
    """Entra's tokens, on Azure."""
    upstream = 'credential = "env:KEY"\nauth = "bearer"\n'
    azure, fake = await begin("anthropic-azure", claude("Hi"), prefix="/anthropic", upstream=upstream)
    assert said(await azure.post(stream=True)) == "Hi"
    assert fake.requests[0].headers["authorization"] == "Bearer sk-secret"
    assert "api-key" not in fake.requests[0].headers


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("speaks", ["openai", "anthropic", "gemini", "bedrock", "cohere"])
async def test_the_shipped_fake_answers_in_each_protocol(tmp_path: Path, speaks: str, streamed: bool) -> None:
    fake = f'name = "up"\nprotocol = "scripted"\nspeaks = "{speaks}"\n'
    if speaks in ("bedrock", "anthropic", "gemini", "cohere"):
        fake += 'credential = "env:KEY"\n'
    text = settings(fake, targets='[{ upstream = "up", model = "fake-1" }]')
    async with gateway(tmp_path, text, {"KEY": "sk-secret-1"}) as running:
        answer = await running.post(stream=streamed)
        assert answer.status == 200, answer.body
        assert said(answer) if streamed else answer.json["choices"][0]["message"]["content"]


async def test_gemini_on_vertex(begin: Begin) -> None:
    running, fake = await begin("vertex", streams("Hi")["gemini"], model="gemini-3-flash", prefix="/v1beta1/x")
    assert said(await running.post(stream=True)) == "Hi"
    [asked] = fake.requests
    assert asked.path == "/v1beta1/x/models/gemini-3-flash:streamGenerateContent"
    assert asked.headers["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize("streamed", [False, True])
async def test_azure_deployments(begin: Begin, streamed: bool) -> None:
    running, fake = await begin(
        "azure-deployments",
        sse(*hello()) if streamed else json_answer(completion("Hello")),
        model="my deployment/1",
        prefix="/openai",
        upstream='credential = "env:KEY"\napi_version = "2024-10-21"\n',
    )
    assert (await running.post(stream=streamed)).status == 200
    [asked] = fake.requests
    assert asked.path == "/openai/deployments/my%20deployment%2F1/chat/completions"
    assert asked.query == "api-version=2024-10-21"
    assert asked.headers["api-key"] == "sk-secret"


async def test_an_upstream_that_speaks_openai_may_be_signed_too(begin: Begin) -> None:
    signing = 'region = "eu-west-1"\naccess_key_id = "env:KEY"\nsecret_access_key = "env:KEY"\n'
    running, fake = await begin(
        "bedrock-mantle",
        json_answer(completion("Hello")),
        json_answer(completion("Hello")),
        prefix="/v1",
        upstream=signing,
    )
    assert (await running.post()).json["choices"][0]["message"]["content"] == "Hello"
    [asked] = fake.requests
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=sk-secret/")


def test_the_page_names_every_vendor_and_its_url() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "upstreams.md").read_text(encoding="utf-8")
    lines = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("| `")}
    assert lines.keys() - {"protocol"} == CATALOG.keys() - {"scripted", "embedded"}
    for name, vendor in CATALOG.items():
        if vendor.url is not None:
            assert f"`{vendor.url.replace('{api_host}', '{host}')}`" in lines[name]


async def test_a_model_behind_a_foreign_protocol_can_judge(begin: Begin) -> None:
    """The evaluator `chat` asks the target of a route, whatever it speaks."""
    content = [{"type": "text", "text": "unsafe\nS1"}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    guard = json_answer({**message, "usage": {"input_tokens": 1, "output_tokens": 1}})
    running, fake = await begin("anthropic", guard, more='[[safety.evaluator]]\nkind = "chat"\nroute = "m"\n')
    judge = running.worker.judge
    assert judge is not None
    verdict = await judge.ask(Stage.PROMPT, ["some violence"], Scope())
    assert Severity.MEDIUM in (verdict.severities or ())
    assert fake.requests[0].path == "/v1/messages"
