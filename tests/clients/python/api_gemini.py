"""Google's own SDK against the gateway's Gemini API, before upstreams of every protocol."""

# mypy: ignore-errors
from __future__ import annotations

import vendor_gemini as sdk
import verdict


def connect(base, upstream):
    sdk.PREFIX = f"{upstream}/"
    return sdk.connect(base, upstream)


def automatic_calls(client):
    """The SDK calls the function itself."""

    def get_weather(city: str) -> str:
        """Tells the weather."""
        return f"sunny in {city}"

    answer = client.models.generate_content(
        model=sdk.PREFIX + "scripted", contents="Use get weather", config={"tools": [get_weather]}
    )
    return answer.text


CASES = (
    *(sdk.whole, sdk.streamed, sdk.bytes_alone, sdk.tools, sdk.streamed_tools, sdk.thinking, sdk.streamed_thinking),
    *(sdk.schema, sdk.refusal, sdk.counts, sdk.models, sdk.limited, sdk.overloaded, sdk.empty, sdk.cut, sdk.late_error),
    automatic_calls,
)

verdict.main(CASES, connect)
