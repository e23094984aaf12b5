"""Ollama's own client and Maritaca's `maritalk` against the gateway, before upstreams of every protocol."""

# mypy: ignore-errors
from __future__ import annotations

import maritalk
import ollama
import verdict
from vendor_words import HELLO, SCHEMA, USE_BOTH


def connect(base, upstream):
    return base, f"{upstream}/", ollama.Client(host=base)


def ask(connected, said=HELLO, model="scripted", stream=False, **more):
    _, prefix, client = connected
    messages = said if isinstance(said, list) else [{"role": "user", "content": said}]
    answered = client.chat(model=prefix + model, messages=messages, stream=stream, **more)
    return list(answered) if stream else [answered]


def saw(pieces):
    last = pieces[-1]
    told = {"text": "".join(piece.message.content or "" for piece in pieces), "finish": last.done_reason}
    calls = [call for piece in pieces for call in piece.message.tool_calls or ()]
    told["calls"] = [[call.function.name, dict(call.function.arguments)] for call in calls]
    return {**told, "thought": "".join(piece.message.thinking or "" for piece in pieces), "counted": last.eval_count}


def whole(connected):
    return saw(ask(connected))


def streamed(connected):
    return saw(ask(connected, stream=True))


def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"{city}: fine"


def clock() -> str:
    """Tells the time."""
    return "clock: fine"


def tools(connected):
    return loop(connected, stream=False)


def streamed_tools(connected):
    return loop(connected, stream=True)


def loop(connected, stream, **more):
    said = [{"role": "user", "content": USE_BOTH}]
    first = ask(connected, said, stream=stream, tools=[get_weather, clock], **more)
    message = next(piece.message for piece in first if piece.message.tool_calls)
    said.append(message)
    known = {"get_weather": get_weather, "clock": clock}
    for call in message.tool_calls:
        name = call.function.name
        said.append({"role": "tool", "tool_name": name, "content": known[name](**call.function.arguments)})
    return [saw(first), saw(ask(connected, said, stream=stream, tools=[get_weather, clock], **more))["text"]]


def thinking(connected):
    return saw(ask(connected, model="scripted-reasoning", think="low", stream=True, options={"num_predict": 9000}))


def schema(connected):
    return saw(ask(connected, format=SCHEMA))["text"]


def generated(connected):
    _, prefix, client = connected
    return client.generate(model=prefix + "scripted", prompt=HELLO).response


def models(connected):
    listed = [model.model for model in connected[2].list().models]
    return [bool(listed), connected[2].show(listed[0]).capabilities]


def limited(connected):
    ask(connected, model="scripted-error-429")


def cut(connected):
    ask(connected, model="scripted-truncated", stream=True)


def maritalk_whole(connected):
    base, prefix, _ = connected
    model = maritalk.MariTalk(key="sk-any", api_url=f"{base}/api", model=prefix + "scripted")
    return model.generate(HELLO)["answer"]


def maritalk_streamed(connected):
    base, prefix, _ = connected
    model = maritalk.MariTalk(key="sk-any", api_url=f"{base}/api", model=prefix + "scripted")
    return "".join(piece["text"] for piece in model.generate([{"role": "user", "content": HELLO}], stream=True))


async def maritalk_asynchronous(connected):
    base, prefix, _ = connected
    model = maritalk.MariTalk(key="sk-any", api_url=f"{base}/api", model=prefix + "scripted")
    pieces = model.generate(HELLO, stream=True, return_async_generator=True)
    return "".join([piece["text"] async for piece in pieces])


def maritalk_refused(connected):
    base, _, _ = connected
    maritalk.MariTalk(key="sk-any", api_url=f"{base}/api", model="nobody").generate(HELLO)


CASES = (
    *(whole, streamed, tools, streamed_tools, thinking, schema, generated, models, limited, cut),
    *(maritalk_whole, maritalk_streamed, maritalk_asynchronous, maritalk_refused),
)

verdict.main(CASES, connect)
