"""Anthropic's own SDK against the gateway's Messages API, before upstreams of every protocol."""

# mypy: ignore-errors
from __future__ import annotations

import anthropic
import vendor_anthropic as sdk
import verdict


def connect(base, upstream):
    sdk.PREFIX = f"{upstream}/"
    return sdk.connect(base, upstream)


def tool_runner(client):
    """The SDK calls the tools itself, until there is nothing to call."""

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Tells the weather.

        Args:
            city: where
        """
        return f"sunny in {city}"

    runner = client.beta.messages.tool_runner(
        model=sdk.PREFIX + "scripted",
        max_tokens=1000,
        tools=[get_weather],
        messages=[{"role": "user", "content": "Use get weather"}],
    )
    return runner.until_done().content[-1].text


def text_events(client):
    """The helper's own events, in the order in which programs see them."""
    asked = {"model": sdk.PREFIX + "scripted-reasoning", "max_tokens": 4000, "thinking": sdk.THINK}
    with client.messages.stream(messages=[{"role": "user", "content": sdk.HELLO}], **asked) as stream:
        kinds = [event.type for event in stream]
    return [kind for place, kind in enumerate(kinds) if kind != kinds[place - 1]]


async def asynchronous(client):
    other = anthropic.AsyncAnthropic(base_url=str(client.base_url), api_key="sk-any", max_retries=0)
    asked = {"model": sdk.PREFIX + "scripted", "max_tokens": 100}
    async with other.messages.stream(messages=[{"role": "user", "content": sdk.HELLO}], **asked) as stream:
        return "".join([text async for text in stream.text_stream])


def cut(client):
    sdk.ask(client, model="scripted-truncated", stream=True)


def request_id(client):
    answer = client.messages.with_raw_response.create(
        model=sdk.PREFIX + "scripted", max_tokens=100, messages=[{"role": "user", "content": sdk.HELLO}]
    )
    return answer.parse()._request_id == answer.headers["x-request-id"]


CASES = (
    *(sdk.whole, sdk.streamed, sdk.bytes_alone, sdk.tools, sdk.streamed_tools, sdk.thinking, sdk.streamed_thinking),
    *(sdk.schema, sdk.refusal, sdk.citations, sdk.counts, sdk.models, sdk.limited, sdk.overloaded, sdk.empty, cut),
    *(sdk.late_error, tool_runner, text_events, asynchronous, request_id),
)

verdict.main(CASES, connect)
