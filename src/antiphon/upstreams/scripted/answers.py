"""The front of the scripted upstream when no test scripts it: which path gets which answer."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import unquote

from antiphon.upstreams.scripted import faults
from antiphon.upstreams.scripted.received import Received
from antiphon.upstreams.scripted.reply import compose
from antiphon.upstreams.scripted.script import Script, error, json_answer
from antiphon.upstreams.scripted.spelling import Answer

Document = dict[str, Any]

BORN = 1767225600  # 2026-01-01: models do not change their age


def answer(request: Received) -> Script:
    """Never raises: a request that it cannot read is answered with 400."""
    if request.path.endswith("/chat/completions"):
        return _chat(request) if request.method == "POST" else error(405)
    _, models, name = request.path.partition("/models")
    if models and request.method == "GET":
        return _models(unquote(name.strip("/")))
    return error(404)


def _chat(request: Received) -> Script:
    document = request.document
    if not isinstance(document.get("messages"), list):
        return error(400)
    try:
        replies = tuple(compose(document))
    except (TypeError, ValueError, AttributeError, RecursionError):
        return error(400)  # shapes that no validated request has
    return faults.find(document.get("model"))(Answer(document, replies, int(time.time())))


def _models(name: str) -> Script:
    rows = {"scripted": "echoes what it is told", **{model: fault.what for model, fault in faults.FAULTS.items()}}
    data: list[Document] = [
        {"id": model, "object": "model", "created": BORN, "owned_by": "antiphon", "description": what}
        for model, what in rows.items()
    ]
    if not name:
        return json_answer({"object": "list", "data": data})
    return next((json_answer(row) for row in data if row["id"] == name), error(404))
