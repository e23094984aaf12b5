"""Anthropic's own SDK against the scripted upstream that speaks its protocol."""

# mypy: ignore-errors
from __future__ import annotations

import anthropic
import verdict
from vendor_words import CLOCK, HELLO, SCHEMA, THINK, USE_BOTH, WEATHER

TOOLS = [{"name": tool["name"], "input_schema": tool["schema"]} for tool in (WEATHER, CLOCK)]

PREFIX = ""  # before every model's name


def connect(base, vendor):
    return anthropic.Anthropic(base_url=base, api_key="sk-scripted", max_retries=0)


def ask(client, said=HELLO, model="scripted", stream=False, **more):
    messages = said if isinstance(said, list) else [{"role": "user", "content": said}]
    asked = {"model": PREFIX + model, "max_tokens": 4000, "messages": messages, **more}
    if not stream:
        return client.messages.create(**asked)
    with client.messages.stream(**asked) as events:
        return events.get_final_message()


def saw(message):
    blocks = {kind: [b for b in message.content if b.type == kind] for kind in ("text", "thinking", "tool_use")}
    told = {"text": "".join(b.text for b in blocks["text"]), "finish": message.stop_reason}
    told["calls"] = [[b.name, b.input] for b in blocks["tool_use"]]
    told["thought"] = "".join(b.thinking for b in blocks["thinking"])
    return {**told, "counted": [message.usage.input_tokens, message.usage.output_tokens]}


def whole(client):
    return saw(ask(client))


def streamed(client):
    return saw(ask(client, stream=True))


def bytes_alone(client):
    return saw(ask(client, model="scripted-bytes", stream=True))


def tools(client):
    return loop(client, stream=False)


def streamed_tools(client):
    return loop(client, stream=True)


def loop(client, stream, **more):
    said = [{"role": "user", "content": USE_BOTH}]
    first = ask(client, said, tools=TOOLS, stream=stream, **more)
    results = [
        {"type": "tool_result", "tool_use_id": b.id, "content": f"{b.name}: fine"}
        for b in first.content
        if b.type == "tool_use"
    ]
    said += [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    return [saw(first), saw(ask(client, said, tools=TOOLS, stream=stream, **more))["text"]]


def thinking(client):
    return loop(client, stream=False, thinking=THINK)


def streamed_thinking(client):
    return loop(client, stream=True, thinking=THINK)


def changed_thinking(client):
    first = ask(client, thinking=THINK)
    blocks = [block.model_dump(exclude_none=True) for block in first.content]
    blocks[0]["thinking"] = "another thought"
    said = [{"role": "user", "content": HELLO}, {"role": "assistant", "content": blocks}]
    ask(client, [*said, {"role": "user", "content": "Go on"}], thinking=THINK)


def schema(client):
    return saw(ask(client, output_config={"format": {"type": "json_schema", "schema": SCHEMA}}))["text"]


def refusal(client):
    message = ask(client, model="scripted-refusal", stream=True)
    return [message.stop_reason, message.stop_details.explanation]


def citations(client):
    return ask(client, model="scripted-citations", stream=True).content[0].citations[0].url


def counts(client):
    return client.messages.count_tokens(
        model=PREFIX + "scripted", messages=[{"role": "user", "content": HELLO}]
    ).input_tokens


def models(client):
    return [model.id for model in client.models.list() if model.id in ("scripted", "scripted-cut")]


def limited(client):
    ask(client, model="scripted-error-429-retry-9")


def overloaded(client):
    ask(client, model="scripted-error-529")


def wrong_key(client):
    ask(client.with_options(api_key="sk-wrong"))


def empty(client):
    ask(client, [])


def cut(client):
    ask(client, model="scripted-cut-after-5", stream=True)


def late_error(client):
    ask(client, model="scripted-error-late-after-5", stream=True)


def malformed(client):
    ask(client, model="scripted-malformed-after-5", stream=True)


def bad_frame(client):
    ask(client, model="scripted-bad-frame-after-5", stream=True)


CASES = (
    whole,
    streamed,
    bytes_alone,
    tools,
    streamed_tools,
    thinking,
    streamed_thinking,
    changed_thinking,
    schema,
    refusal,
    citations,
    counts,
    models,
    limited,
    overloaded,
    wrong_key,
    empty,
    cut,
    late_error,
    malformed,
    bad_frame,
)

if __name__ == "__main__":
    verdict.main(CASES, connect)
