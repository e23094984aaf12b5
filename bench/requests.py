"""Requests as applications send them: a pool of many for each case, no two the same, drawn from a fixed seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from bench import material
from bench.cases import Body, Case
from bench.gateways import KEY, Gateway

SEED = 20261116
POOL, HISTORY_POOL = 1024, 256
HISTORY_BYTES = 20_000
Document = dict[str, Any]


def pool(case: Case, port: int, gateway: Gateway | None = None, upstream: int = 0) -> Iterator[bytes]:
    """Whole requests, head and body. No gateway: for the mock itself."""
    random = Random(SEED)
    count = {Body.REPEATED: 1, Body.HISTORY: HISTORY_POOL}.get(case.body, POOL)
    for _ in range(count):
        document = _document(case, random)
        document["model"] = gateway.model if gateway else "mock-model"
        # Three in four as the SDKs write it (Python's and JavaScript's), one as Python's json.dumps does.
        if random.random() < 0.75:
            body = json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
        else:
            body = json.dumps(document).encode()
        yield _head(case, random, len(body), port, gateway, upstream) + body


def first(case: Case, port: int, gateway: Gateway | None = None, upstream: int = 0) -> bytes:
    return next(pool(case, port, gateway, upstream))


# Heads


def _head(case: Case, random: Random, length: int, port: int, gateway: Gateway | None, upstream: int) -> bytes:
    own = gateway.headers if gateway else {}
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Authorization": f"Bearer {KEY}",
        "Accept": "*/*",
        "User-Agent": "loadgen/1",
        **{name: value.replace("@upstream@", str(upstream)) for name, value in own.items()},
        "Content-Length": str(length),
    }
    path = gateway.path if gateway else "/v1/chat/completions"
    rows = list(_differing(headers, random).items() if case.heads else headers.items())
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in rows), "", ""]
    return "\r\n".join(lines).encode()


def _differing(headers: dict[str, str], random: Random) -> dict[str, str]:
    """As official clients of several versions send them; the order differs as well."""
    minor, patch = random.randrange(40, 99), random.randrange(12)
    more = {
        "User-Agent": random.choice(("OpenAI/Python", "OpenAI/JS", "AsyncOpenAI/Python")) + f" 1.{minor}.{patch}",
        "X-Stainless-Lang": random.choice(("python", "js")),
        "X-Stainless-Package-Version": f"1.{minor}.{patch}",
        "X-Stainless-OS": random.choice(("Linux", "MacOS", "Windows")),
        "X-Stainless-Retry-Count": str(random.randrange(3)),
        "traceparent": f"00-{random.getrandbits(128):032x}-{random.getrandbits(64):016x}-01",
    }
    chosen = random.sample(list(more.items()), random.randrange(3, len(more)))
    rows = [*(headers | dict(chosen) | {"X-Client-Request-Id": "bench-0000000000"}).items()]
    random.shuffle(rows)
    return dict(rows)


# Bodies


def _document(case: Case, random: Random) -> Document:
    if case.body is Body.REPEATED:
        return _repeated(case)
    two = case.two_choices and random.random() < 0.5
    marker = case.marker.replace("]", " choices=2]") if two else case.marker
    document: Document = {
        "messages": [{"role": random.choice(("system", "developer")), "content": material.instruction(random)}],
        **_settings(random),
        **({"n": 2} if two else {}),
        **({"stream": True} if case.stream else {}),
    }
    if case.body is not Body.PLAIN:
        marker = _add_tools(case, random, document, marker)
    elif random.random() < 0.3:
        document["messages"] += _exchanges(random, random.randrange(1, 3))
    document["messages"].append({"role": "user", "content": f"{material.question(random)} {marker}"})
    return document


def _repeated(case: Case) -> Document:
    return {
        "messages": [
            {"role": "system", "content": material.INSTRUCTION},
            {"role": "user", "content": f"{material.QUESTION} {case.marker}".strip()},
        ],
        "temperature": 0.7,
        "max_tokens": 256,
        "stream": case.stream,
    }


def _settings(random: Random) -> Document:
    chosen: Document = {"temperature": round(random.uniform(0, 1.5), random.randrange(1, 4))}
    chosen[random.choice(("max_tokens", "max_completion_tokens"))] = random.randrange(64, 4096)
    usual = {
        "top_p": round(random.uniform(0.5, 1), 2),
        "seed": random.randrange(1 << 31),
        "user": f"user-{random.getrandbits(48):012x}",
        "presence_penalty": round(random.uniform(-1, 1), 1),
        "frequency_penalty": round(random.uniform(-1, 1), 1),
        "stop": f"END-{random.randrange(100)}",
    }
    return chosen | {name: value for name, value in usual.items() if random.random() < 0.2}


def _exchanges(random: Random, count: int) -> list[Document]:
    return [
        {"role": role, "content": text}
        for _ in range(count)
        for role, text in (("user", material.question(random)), ("assistant", material.answer(random)))
    ]


def _add_tools(case: Case, random: Random, document: Document, marker: str) -> str:
    """-> the marker: a part of the answers are calls, some of them of two tools."""
    tools = material.tools(random)
    names = [tool["function"]["name"] for tool in tools]
    document["tools"] = tools
    calls: list[str] = []
    match random.choice(("none", "auto", "auto", "called", "required", "named")):
        case "auto":
            document["tool_choice"] = "auto"
        case "called":
            document["parallel_tool_calls"] = True
            calls = random.sample(names, 2)
        case "required":
            document["tool_choice"] = "required"
            calls = [random.choice(names)]
        case "named":
            document["tool_choice"] = {"type": "function", "function": {"name": names[0]}}
            calls = [names[0]]
    if case.body is Body.HISTORY:
        _fill_history(random, document, names)
    elif random.random() < 0.5:
        document["messages"] += _called(random, names)
    return marker.replace("]", "".join(f" call={name}" for name in calls) + "]")


def _fill_history(random: Random, document: Document, names: list[str]) -> None:
    messages = document["messages"]
    size = HISTORY_BYTES + random.randrange(-1500, 1500)
    while size > 0:
        more = _called(random, names) if random.random() < 0.25 else _exchanges(random, 1)
        messages += more
        size -= len(json.dumps(more, ensure_ascii=False).encode())


def _called(random: Random, names: list[str]) -> list[Document]:
    """A question, the call of a tool, its result, and what the assistant made of it."""
    call = f"call_{random.getrandbits(96):024x}"
    function = {"name": random.choice(names), "arguments": json.dumps(material.arguments(random))}
    return [
        {"role": "user", "content": material.question(random)},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": call, "content": json.dumps(material.result(random))},
        {"role": "assistant", "content": material.answer(random)},
    ]
