"""Cohere's own SDK against the scripted upstream that speaks its chat, version 2."""

# mypy: ignore-errors
from __future__ import annotations

import cohere
import verdict
from vendor_words import CLOCK, HELLO, SCHEMA, USE_BOTH, WEATHER

TOOLS = [
    {"type": "function", "function": {"name": t["name"], "description": t["description"], "parameters": t["schema"]}}
    for t in (WEATHER, CLOCK)
]
ONCE = {"max_retries": 0}
THINK = {"type": "enabled"}


def connect(base, vendor, key="sk-scripted"):
    client = cohere.ClientV2(api_key=key, base_url=base, log_warning_experimental_features=False)
    client.own_base = base
    return client


def ask(client, said=HELLO, model="scripted", stream=False, **more):
    messages = said if isinstance(said, list) else [{"role": "user", "content": said}]
    asked = {"model": model, "messages": messages, "request_options": ONCE, **more}
    if stream:
        return gather(client.chat_stream(**asked))
    answer = client.chat(**asked)
    message = answer.message
    told = {"text": "".join(c.text for c in message.content or [] if c.type == "text"), "finish": answer.finish_reason}
    told["calls"] = [[c.function.name, c.function.arguments, c.id] for c in message.tool_calls or []]
    thoughts = "".join(c.thinking for c in message.content or [] if c.type == "thinking")
    told["thought"] = thoughts or message.tool_plan or ""
    tokens = answer.usage.tokens
    return {**told, "counted": [int(tokens.input_tokens), int(tokens.output_tokens)]}


def gather(events):
    told = {"text": "", "finish": None, "calls": [], "thought": "", "counted": [], "sources": []}
    for event in events:
        message = getattr(getattr(event, "delta", None), "message", None)
        if event.type == "content-delta":
            told["text"] += message.content.text or ""
            told["thought"] += message.content.thinking or ""
        elif event.type == "tool-plan-delta":
            told["thought"] += message.tool_plan
        elif event.type == "tool-call-start":
            told["calls"].append([message.tool_calls.function.name, "", message.tool_calls.id])
        elif event.type == "tool-call-delta":
            told["calls"][-1][1] += message.tool_calls.function.arguments
        elif event.type == "citation-start":
            told["sources"].append(message.citations.sources[0].document["url"])
        elif event.type == "message-end":
            told["finish"] = event.delta.finish_reason
            tokens = event.delta.usage.tokens if event.delta.usage else None
            told["counted"] = [int(tokens.input_tokens), int(tokens.output_tokens)] if tokens else []
    return told


def saw(told):
    calls = [[name, verdict.json.loads(given or "{}")] for name, given, _ in told["calls"]]
    return {name: value for name, value in {**told, "calls": calls}.items() if name != "sources"}


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
    calls = [
        {"id": identity, "type": "function", "function": {"name": name, "arguments": given or "{}"}}
        for name, given, identity in first["calls"]
    ]
    said.append({"role": "assistant", "tool_calls": calls, "tool_plan": first["thought"]})
    said += [
        {"role": "tool", "tool_call_id": call["id"], "content": f"{call['function']['name']}: fine"} for call in calls
    ]
    return [saw(first), ask(client, said, tools=TOOLS, stream=stream, **more)["text"]]


def thinking(client):
    return loop(client, stream=False, thinking=THINK)


def streamed_thinking(client):
    return loop(client, stream=True, thinking=THINK)


def schema(client):
    return ask(client, response_format={"type": "json_object", "schema": SCHEMA})["text"]


def refusal(client):
    return ask(client, model="scripted-refusal", stream=True)["text"]


def citations(client):
    return ask(client, model="scripted-citations", stream=True)["sources"][0]


def limited(client):
    ask(client, model="scripted-error-429-retry-9")


def overloaded(client):
    ask(client, model="scripted-error-503")


def wrong_key(client):
    ask(connect(client.own_base, "cohere", "sk-wrong"))


def empty(client):
    ask(client, [])


def cut(client):
    ask(client, model="scripted-cut-after-5", stream=True)


def late_error(client):
    return ask(client, model="scripted-error-late-after-5", stream=True)["finish"]


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
    schema,
    refusal,
    citations,
    limited,
    overloaded,
    wrong_key,
    empty,
    cut,
    late_error,
    malformed,
    bad_frame,
)

verdict.main(CASES, connect)
