"""Streams as Gemini and Vertex send them, in our own words: every documented event, and what others stumbled over."""

from __future__ import annotations

from typing import Any

import msgspec

Document = dict[str, Any]
SIGNATURE = "c2lnbmF0dXJlIG9mIGEgdGhvdWdodA=="
COUNTS = {
    "promptTokenCount": 13,
    "candidatesTokenCount": 7,
    "totalTokenCount": 25,
    "thoughtsTokenCount": 5,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 13}],
}


def event(parts: list[Document] | None = None, finish: str | None = None, **more: Any) -> Document:
    """`candidate` holds more keys of the candidate, the rest go to the top level."""
    candidate: Document = {"content": {"role": "model"}, "index": 0, **more.pop("candidate", {})}
    if parts is not None:
        candidate["content"]["parts"] = parts
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-3-flash", "responseId": "r-Id_1", **more}


def bare(event: Document) -> Document:
    """Vertex: no index."""
    for candidate in event["candidates"]:
        candidate.pop("index", None)
    return {**event, "createTime": "2026-11-01T10:00:00.123456Z"}


def text(words: str, **more: Any) -> Document:
    return event([{"text": words}], **more)


def end(finish: str = "STOP", **more: Any) -> Document:
    return event([{"text": ""}], finish, usageMetadata=COUNTS, **more)


def call(name: str, args: Document, **more: Any) -> Document:
    return {"functionCall": {"name": name, "args": args}, **more}


def piece(path: str, *, more: bool = False, **value: Any) -> Document:
    """One piece of streamed arguments."""
    arg: Document = {"jsonPath": path, **value}
    if more:
        arg["willContinue"] = True
    return bare(event([{"functionCall": {"partialArgs": [arg], "willContinue": True}}]))


def frames(events: list[Document], newline: bytes = b"\r\n") -> bytes:
    return b"".join(b"data: " + msgspec.json.encode(one) + newline * 2 for one in events)


def streamed_call(name: str, **more: Any) -> Document:
    return bare(event([{"functionCall": {"name": name, "willContinue": True}, **more}]))


ENDED_CALL = bare(event([{"functionCall": {}}]))

RECORDINGS: dict[str, list[Document]] = {
    "text": [
        text("Grüße aus ", usageMetadata={**COUNTS, "promptTokenCount": 15}),
        text("北京 🎉\u2028", usageMetadata=COUNTS),
        end(),
    ],
    "signature_on_an_empty_last_part": [
        event([{"text": "Three rivers", "thought": True}]),
        text("The Rhine"),
        text(" is one."),
        event([{"text": "", "thoughtSignature": SIGNATURE}], "STOP", usageMetadata=COUNTS),
    ],
    "call_then_stop": [
        event([call("get_weather", {"city": "Zürich"}, thoughtSignature=SIGNATURE)]),
        end(),
    ],
    "parallel_calls": [
        event([{"text": "Both at once.", "thought": True}]),
        event([call("add", {"a": 1, "b": 2}, thoughtSignature=SIGNATURE), call("add", {"a": 3, "b": 4})]),
        event([{"functionCall": {"id": "k3x9", "name": "now", "args": {}}}], "STOP", usageMetadata=COUNTS),
    ],
    "streamed_arguments": [
        streamed_call("book", thoughtSignature=SIGNATURE),
        piece("$.city", stringValue="Ber", more=True),
        piece("$.city", stringValue="lin", more=True),
        piece("$.city", stringValue=""),
        piece("$.nights", numberValue=3),
        piece("$.rooms[0].name", stringValue="attic"),
        piece("$.rooms[0].wide", boolValue=True),
        piece("$.rooms[1]['a key']", nullValue="NULL_VALUE"),
        ENDED_CALL,
        bare(event([call("now", {})])),
        streamed_call("last"),
        piece("$.x", stringValue="y"),
        bare(end()),
    ],
    "call_without_arguments": [
        bare(event([{"functionCall": {"name": "ping"}, "thoughtSignature": SIGNATURE}])),
        bare(end()),
    ],
    "length": [text("On and"), event(None, "MAX_TOKENS", usageMetadata=COUNTS)],
    "safety": [
        text("Well, "),
        event(
            None,
            "SAFETY",
            usageMetadata=COUNTS,
            candidate={
                "safetyRatings": [
                    {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"},
                    {"category": "HARM_CATEGORY_HARASSMENT", "probability": "HIGH", "blocked": True},
                    {"category": "HARM_CATEGORY_SEXUALLY_EXPLICIT", "probability": "NEGLIGIBLE"},
                ]
            },
        ),
    ],
    "rated": [
        text("a"),
        text("b", candidate={"safetyRatings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"}]}),
        text("c", candidate={"safetyRatings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"}]}),
        text("d", candidate={"safetyRatings": []}),
        end(),
    ],
    "sound": [
        event([{"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "YQ=="}}]),
        event([{"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "Yg=="}}] * 2),
        end(),
    ],
    "armor": [{"candidates": [{"finishReason": "MODEL_ARMOR", "finishMessage": "A template did not allow it."}]}],
    "blocked_prompt": [
        {
            "promptFeedback": {
                "blockReason": "SAFETY",
                "safetyRatings": [
                    {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
                ],
            },
            "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4},
            "modelVersion": "gemini-3-flash",
            "responseId": "r-Id_1",
        }
    ],
    "grounded": [
        text("Es ist 21 °C. "),
        event(
            [{"text": "Morgen regnet es."}],
            "STOP",
            usageMetadata={**COUNTS, "toolUsePromptTokenCount": 40},
            candidate={
                "groundingMetadata": {
                    "groundingChunks": [
                        {"web": {"uri": "https://weather.example/a", "title": "weather.example"}},
                        {"web": {"uri": "https://sky.example/b", "title": "sky.example"}},
                    ],
                    "groundingSupports": [
                        {"segment": {"endIndex": 14, "text": "Es ist 21 °C."}, "groundingChunkIndices": [0]},
                        {"segment": {"startIndex": 15, "endIndex": 32}, "groundingChunkIndices": [0, 1]},
                    ],
                    "webSearchQueries": ["weather"],
                }
            },
        ),
    ],
    "code_and_image": [
        event([{"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": SIGNATURE}]),
        event([{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}]),
        text("It is 1."),
        event([{"inlineData": {"mimeType": "image/png", "data": "aW1n"}, "thoughtSignature": SIGNATURE}]),
        end(),
    ],
    "unknown_things": [
        {"heartbeat": 1},
        text("a", candidate={"freshKey": {"deep": [1]}}),
        event([{"text": "b", "newPartKey": True}]),
        event([{"brandNew": {"x": 1}}]),
        end("FRESH_REASON"),
    ],
    "trailing_usage": [
        text("Hi."),
        event(None, "STOP"),
        {"usageMetadata": COUNTS, "modelVersion": "gemini-3-flash", "responseId": "r-Id_1"},
    ],
    "usage_before_the_end_only": [
        text("Hi", usageMetadata={"trafficType": "ON_DEMAND"}),
        text(".", usageMetadata=COUNTS),
        event(None, "STOP"),
    ],
    "continuation": [
        text("Half of"),
        event(None, "CONTINUATION", usageMetadata=COUNTS, candidate={"continuationToken": "dG9rZW4="}),
    ],
    "logprobs": [
        text(
            "Yes",
            candidate={
                "logprobsResult": {
                    "chosenCandidates": [{"token": "Yes", "tokenId": 9, "logProbability": -0.1}],
                    "topCandidates": [{"candidates": [{"token": "Yes", "logProbability": -0.1}]}],
                }
            },
        ),
        end(),
    ],
}
