"""A gateway in front of a scripted upstream that speaks a foreign protocol."""

from __future__ import annotations

import json
from typing import Any

from antiphon.upstreams.scripted import ScriptedUpstream
from tests.support.raw import Answer

Document = dict[str, Any]


def base(upstream: ScriptedUpstream) -> str:
    """The URL without the `/v1` of OpenAI clients."""
    return upstream.url.removesuffix("/v1")


def settings(*rows: str, targets: str, server: str = "", more: str = "") -> str:
    """`rows`: [[upstream]] tables; `targets`: of the route "m"."""
    tables = "".join(f"[[upstream]]\n{row}\n" for row in rows)
    return f"""
[server]
listen = "127.0.0.1:0"
access_log = "off"
error_log = "off"
{server}
{tables}
[[route]]
model = "m"
targets = {targets}
{more}
"""


def row(protocol: str, url: str, *, name: str = "up", more: str = "") -> str:
    return f'name = "{name}"\nprotocol = "{protocol}"\nurl = {json.dumps(url)}\n{more}'


def said(answer: Answer, key: str = "content") -> str:
    """The text of a stream."""
    deltas = [choice["delta"] for chunk in answer.chunks for choice in chunk["choices"]]
    return "".join(delta.get(key) or "" for delta in deltas)


def finishes(answer: Answer) -> list[str]:
    return [
        choice["finish_reason"] for chunk in answer.chunks for choice in chunk["choices"] if choice["finish_reason"]
    ]


def in_stream_error(answer: Answer) -> Document:
    """The error with which a stream ended."""
    last = answer.chunks[-1]
    assert "error" in last, answer.body
    return dict(last["error"])
