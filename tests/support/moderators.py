"""Moderation services for tests: real servers on real sockets that speak each vendor's protocol.

What a text holds is said by the text: "violence", "hate", "jailbreak" and "protected". Texts named in `FAULTS` are
answered with that fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antiphon.upstreams.scripted import Received, Script, cut, error, hang, json_answer, raw
from tests.support.shapes import completion

Answerer = Callable[[Received], Script]
CREDENTIAL = "sk-vendor-secret"

FAULTS: dict[str, Script] = {
    "please hang": raw(hang()),
    "please fail": error(500),
    "please limit": error(429),
    "please refuse": error(401),
    "please cut": raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{", cut()),
    "please babble": raw(b"SMTP ready\r\n\r\n", cut()),
    "please no json": json_answer(b"<html>"),
    "please other json": json_answer({"hello": []}),
    "please a list": json_answer([1, 2]),
    "please null": json_answer(b"null"),
    "please deep": json_answer(b"[" * 100_000),
    "please large": json_answer(b'{"x": "' + b"x" * 2_000_000 + b'"}'),
}


def faulty(text: str) -> Script | None:
    return next((script for words, script in FAULTS.items() if words in text), None)


def openai(request: Received) -> Script:
    assert request.method == "POST"
    assert request.path == "/v1/moderations"
    assert request.headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert request.document["model"] == "omni-moderation-latest"
    texts = request.document["input"]
    names = ("hate", "self-harm", "sexual", "violence")
    results = [
        {
            "flagged": any(name in text for name in names),
            "categories": {**{name: name in text for name in names}, "illicit": None},
            "category_scores": {name: 0.9 if name in text else 0.001 for name in names},
        }
        for text in texts
    ]
    return faulty(" ".join(texts)) or json_answer({"id": "modr-1", "model": "omni", "results": results})


def azure(request: Received) -> Script:
    assert request.query == "api-version=2024-09-01"
    assert request.headers["ocp-apim-subscription-key"] == CREDENTIAL
    document = request.document
    text = str(document.get("text", document.get("userPrompt")))
    assert len(text) <= (1000 if request.path.endswith("detectProtectedMaterial") else 10_000)
    answers: dict[str, Any] = {
        "/contentsafety/text:analyze": {
            "blocklistsMatch": [],
            "categoriesAnalysis": [
                {"category": name, "severity": 4 if name.lower() in text else 0}
                for name in document.get("categories", ())
            ],
        },
        "/contentsafety/text:shieldPrompt": {
            "userPromptAnalysis": {"attackDetected": "jailbreak" in text},
            "documentsAnalysis": [],
        },
        "/contentsafety/text:detectProtectedMaterial": {
            "protectedMaterialAnalysis": {"detected": "protected" in text},
        },
    }
    return faulty(text) or json_answer(answers[request.path])


def own(request: Received) -> Script:
    assert request.path == "/judge"
    assert request.headers["authorization"] == f"Bearer {CREDENTIAL}"
    text = request.document["text"]
    found: dict[str, Any] = {"violence": {"severity": "medium" if "violence" in text else "safe", "filtered": False}}
    if request.document["stage"] == "prompt":
        found["jailbreak"] = {"detected": "jailbreak" in text, "filtered": False}
    return faulty(text) or json_answer({"content_filter_results": found})


def guard(request: Received) -> Script:
    """A chat model that was made for this."""
    assert request.path == "/v1/chat/completions"
    (message,) = request.document["messages"]
    assert request.document["temperature"] == 0
    text = message["content"].partition("<BEGIN CONVERSATION>")[2].partition("<END CONVERSATION>")[0]
    said = "unsafe\nS1" if "violence" in text else "safe"
    return faulty(text) or json_answer(completion(said))


MODERATORS: dict[str, tuple[Answerer, str]] = {  # kind -> (how it answers, its settings but for the URL)
    "openai": (openai, 'credential = "env:VENDOR"\nurl = "{url}/v1"'),
    "azure": (azure, 'credential = "env:VENDOR"\nurl = "{url}"'),
    "http": (own, 'credential = "env:VENDOR"\nurl = "{url}/judge"'),
    "chat": (guard, 'model = "guard"\nurl = "{url}/v1"'),
}
