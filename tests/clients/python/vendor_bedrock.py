"""AWS's own SDK against the scripted upstream that speaks Bedrock's Converse. It signs; the upstream verifies."""

# mypy: ignore-errors
from __future__ import annotations

import boto3
import verdict
from botocore.config import Config
from vendor_words import CLOCK, HELLO, SCHEMA, THINK, USE_BOTH, WEATHER

TOOLS = {
    "tools": [
        {"toolSpec": {"name": t["name"], "description": t["description"], "inputSchema": {"json": t["schema"]}}}
        for t in (WEATHER, CLOCK)
    ]
}
ARN = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/"


def connect(base, vendor, secret="own/secret"):
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=base,
        region_name="eu-west-1",
        aws_access_key_id="AKIDSCRIPTED",
        aws_secret_access_key=secret,
        config=Config(retries={"max_attempts": 0}),
    )


def ask(client, said=HELLO, model="scripted", stream=False, **more):
    messages = said if isinstance(said, list) else [{"role": "user", "content": [{"text": said}]}]
    asked = {"modelId": ARN + model, "messages": messages, **more}
    if not stream:
        return client.converse(**asked)
    return gather(client.converse_stream(**asked)["stream"])


def gather(events):
    """The events of a stream as one answer."""
    blocks, answer = {}, {}
    for event in events:
        for name, told in event.items():
            if name == "contentBlockStart":
                blocks[told["contentBlockIndex"]] = {"toolUse": {**told["start"]["toolUse"], "input": ""}}
            elif name == "contentBlockDelta":
                add(blocks.setdefault(told["contentBlockIndex"], {}), told["delta"])
            elif name in ("messageStop", "metadata"):
                answer |= told
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = verdict.json.loads(block["toolUse"]["input"] or "{}")
    return {**answer, "output": {"message": {"role": "assistant", "content": list(blocks.values())}}}


def add(block, delta):
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "reasoningContent" in delta:
        thought = block.setdefault("reasoningContent", {"reasoningText": {}})["reasoningText"]
        for key, piece in delta["reasoningContent"].items():
            thought[key] = thought.get(key, "") + piece
    elif "citation" in delta:
        block.setdefault("citations", []).append(delta["citation"])


def saw(answer):
    content = answer["output"]["message"]["content"]
    told = {"text": "".join(b["text"] for b in content if "text" in b), "finish": answer["stopReason"]}
    told["calls"] = [[b["toolUse"]["name"], b["toolUse"]["input"]] for b in content if "toolUse" in b]
    thoughts = [b["reasoningContent"]["reasoningText"]["text"] for b in content if "reasoningContent" in b]
    usage = answer["usage"]
    return {**told, "thought": "".join(thoughts), "counted": [usage["inputTokens"], usage["outputTokens"]]}


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
    said = [{"role": "user", "content": [{"text": USE_BOTH}]}]
    first = ask(client, said, toolConfig=TOOLS, stream=stream, **more)
    message = first["output"]["message"]
    uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    results = [
        {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": f"{use['name']}: fine"}]}} for use in uses
    ]
    said += [message, {"role": "user", "content": results}]
    return [saw(first), saw(ask(client, said, toolConfig=TOOLS, stream=stream, **more))["text"]]


def thinking(client):
    return loop(client, stream=False, additionalModelRequestFields={"thinking": THINK})


def streamed_thinking(client):
    return loop(client, stream=True, additionalModelRequestFields={"thinking": THINK})


def changed_thinking(client):
    message = ask(client, model="scripted-reasoning")["output"]["message"]
    message["content"][0]["reasoningContent"]["reasoningText"]["text"] = "another thought"
    hello = {"role": "user", "content": [{"text": HELLO}]}
    ask(client, [hello, message, hello])


def schema(client):
    text = verdict.json.dumps(SCHEMA)
    form = {"type": "json_schema", "structure": {"jsonSchema": {"schema": text, "name": "answer"}}}
    return saw(ask(client, outputConfig={"textFormat": form}))["text"]


def refusal(client):
    return ask(client, model="scripted-refusal", stream=True)["stopReason"]


def blocked(client):
    return saw(ask(client, model="scripted-blocked", stream=True))["finish"]


def citations(client):
    block = ask(client, model="scripted-citations", stream=True)["output"]["message"]["content"][0]
    return block["citations"][0]["location"]["web"]["url"]


def limited(client):
    ask(client, model="scripted-error-429-retry-9")


def overloaded(client):
    ask(client, model="scripted-error-503")


def wrong_key(client):
    ask(connect(client.meta.endpoint_url, "bedrock", "other/secret"))


def empty(client):
    ask(client, [{"role": "user", "content": []}])


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
    blocked,
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
