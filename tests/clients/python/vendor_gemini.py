"""Google's own SDK against the scripted upstream that speaks Gemini's protocol."""

# mypy: ignore-errors
from __future__ import annotations

import verdict
from google import genai
from google.genai import types
from vendor_words import CLOCK, HELLO, SCHEMA, USE_BOTH, WEATHER

DECLARED = [
    {"name": tool["name"], "description": tool["description"], "parameters_json_schema": tool["schema"]}
    for tool in (WEATHER, CLOCK)
]
TOOLS = {"tools": [{"function_declarations": DECLARED}], "automatic_function_calling": {"disable": True}}
THINK = {"thinking_config": {"include_thoughts": True}}

PREFIX = ""  # before every model's name


def connect(base, vendor, key="sk-scripted"):
    once = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=base.removesuffix("/v1beta"), retry_options=once)
    return genai.Client(api_key=key, http_options=options)


def ask(client, said=HELLO, model="scripted", stream=False, **config):
    asked = {"model": PREFIX + model, "contents": said, "config": config}
    if not stream:
        return [client.models.generate_content(**asked)]
    return list(client.models.generate_content_stream(**asked))


def parts_of(answers):
    return [part for answer in answers for part in answer.candidates[0].content.parts or []]


def saw(answers):
    parts, last = parts_of(answers), answers[-1]
    told = {"text": "".join(part.text or "" for part in parts if not part.thought)}
    told["finish"] = last.candidates[0].finish_reason.value
    told["calls"] = [[part.function_call.name, part.function_call.args] for part in parts if part.function_call]
    told["thought"] = "".join(part.text for part in parts if part.thought)
    usage = last.usage_metadata
    return {**told, "counted": [usage.prompt_token_count, usage.candidates_token_count]}


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
    said = [types.Content(role="user", parts=[types.Part(text=USE_BOTH)])]
    first = ask(client, said, stream=stream, **TOOLS, **more)
    calls = [part.function_call for part in parts_of(first) if part.function_call]
    results = [
        types.Part.from_function_response(name=call.name, response={"output": f"{call.name}: fine"}) for call in calls
    ]
    said += [types.Content(role="model", parts=parts_of(first)), types.Content(role="user", parts=results)]
    return [saw(first), saw(ask(client, said, stream=stream, **TOOLS, **more))["text"]]


def thinking(client):
    return loop(client, stream=False, **THINK)


def streamed_thinking(client):
    return loop(client, stream=True, **THINK)


def changed_thinking(client):
    first = ask(client, USE_BOTH, **TOOLS)
    parts = parts_of(first)
    parts[0].thought_signature = b"another"
    said = [types.Content(role="user", parts=[types.Part(text=USE_BOTH)]), types.Content(role="model", parts=parts)]
    answers = [types.Part.from_function_response(name=p.function_call.name, response={"output": "x"}) for p in parts]
    ask(client, [*said, types.Content(role="user", parts=answers)], **TOOLS)


def schema(client):
    config = {"response_mime_type": "application/json", "response_json_schema": SCHEMA}
    return saw(ask(client, **config))["text"]


def refusal(client):
    return ask(client, model="scripted-refusal", stream=True)[-1].candidates[0].finish_reason.value


def blocked(client):
    answer = ask(client, model="scripted-blocked", stream=True)[-1]
    return [answer.candidates, answer.prompt_feedback.block_reason.value]


def citations(client):
    last = ask(client, model="scripted-citations", stream=True)[-1].candidates[0]
    return last.grounding_metadata.grounding_chunks[0].web.uri


def counts(client):
    return client.models.count_tokens(model=PREFIX + "scripted", contents=HELLO).total_tokens


def models(client):
    return [m.display_name for m in client.models.list() if m.display_name in ("scripted", "scripted-cut")]


def limited(client):
    ask(client, model="scripted-error-429-retry-9")


def overloaded(client):
    ask(client, model="scripted-error-503")


def wrong_key(client):
    ask(connect(client._api_client._http_options.base_url, "gemini", "sk-wrong"))


def empty(client):
    ask(client, [types.Content(role="user", parts=[])])


def cut(client):
    ask(client, model="scripted-cut-after-2", stream=True)


def late_error(client):
    ask(client, model="scripted-error-late-after-2", stream=True)


def malformed(client):
    ask(client, model="scripted-malformed-after-2", stream=True)


def bad_frame(client):
    ask(client, model="scripted-bad-frame-after-2", stream=True)


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
