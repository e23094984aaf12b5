"""Our own recordings of ConverseStream: every documented event, and what peers fell over."""

from __future__ import annotations

from typing import Any

from tests.protocols.aws_frames import (
    arguments,
    delta,
    end,
    event,
    metadata,
    start,
    stop,
    text,
    thought,
    tool,
)

GUARDRAIL: dict[str, Any] = {
    "guardrail": {
        "inputAssessment": {
            "gr1": {
                "contentPolicy": {
                    "filters": [
                        {"type": "HATE", "confidence": "LOW", "action": "NONE"},
                        {"type": "INSULTS", "confidence": "HIGH", "action": "BLOCKED"},
                        {"type": "PROMPT_ATTACK", "confidence": "MEDIUM", "action": "BLOCKED"},
                    ]
                }
            }
        },
        "outputAssessments": {
            "gr1": [
                {
                    "contentPolicy": {"filters": [{"type": "VIOLENCE", "confidence": "MEDIUM", "action": "NONE"}]},
                    "topicPolicy": {"topics": [{"name": "Loans", "type": "DENY", "action": "BLOCKED"}]},
                    "wordPolicy": {
                        "customWords": [{"match": "hush", "action": "BLOCKED"}],
                        "managedWordLists": [{"match": "darn", "type": "PROFANITY", "action": "NONE"}],
                    },
                    "sensitiveInformationPolicy": {
                        "piiEntities": [{"match": "ann@x.io", "type": "EMAIL", "action": "ANONYMIZED"}],
                        "regexes": [{"name": "badge", "match": "B-7", "action": "NONE"}],
                    },
                }
            ]
        },
    }
}

PLAIN = start() + text("The sea ") + text("is 𝄞 wide.") + stop(0) + end() + metadata()
TWO_CALLS = (
    start()
    + text("I look.")
    + stop(0)
    + tool(1, "tooluse_A-1", "weather")
    + arguments(1, "")
    + arguments(1, '{"city":')
    + arguments(1, '"Köln"}')
    + stop(1)
    + tool(2, "functions.clock:1", "clock")
    + stop(2)
    + end("tool_use")
    + metadata()
)
THINKING = (
    start()
    + thought(0, text="They ask ")
    + thought(0, text="for the time.")
    + thought(0, signature="c2ln+/==")
    + stop(0)
    + thought(1, redactedContent="aGlkZGVu")
    + stop(1)
    + tool(2, "t1", "clock")
    + arguments(2, "{}")
    + stop(2)
    + end("tool_use")
    + metadata()
)
UNSIGNED = (
    start() + text("") + stop(0) + thought(1, text="Hm.") + stop(1) + text("Hi.", 2) + stop(2) + end() + metadata()
)
SERVER_TOOL = (
    start()
    + tool(0, "s1", "nova_code_interpreter", type="server_tool_use")
    + arguments(0, '{"snippet":')
    + arguments(0, '"6*7"}')
    + stop(0)
    + event(
        "contentBlockStart",
        {"contentBlockIndex": 1, "start": {"toolResult": {"toolUseId": "s1", "status": "success", "type": "result"}}},
    )
    + delta(1, {"toolResult": [{"json": {"stdOut": "42"}}]})
    + stop(1)
    + text("It is 42.", 2)
    + stop(2)
    + end()
    + metadata()
)
CITED = (
    start()
    + text("Before. ")
    + stop(0)
    + text("Paris is large.", 1)
    + delta(1, {"citation": {"title": "Cities", "location": {"web": {"url": "https://c.example/p", "domain": "c"}}}})
    + delta(
        1,
        {
            "citation": {
                "title": "Atlas",
                "source": "atlas",
                "sourceContent": [{"text": "Paris"}],
                "location": {"documentPage": {"documentIndex": 0, "start": 3, "end": 4}},
            }
        },
    )
    + stop(1)
    + end()
    + metadata()
)
BLOCKED = start() + text("Sorry.") + stop(0) + end("guardrail_intervened") + metadata(trace=GUARDRAIL)
EARLY_METADATA = start() + text("a") + stop(0) + metadata() + end()
UNKNOWN_EVENTS = (
    event("heartbeat", {}) + start() + event("novelty", {"x": 1}) + delta(0, {"hologram": {}}) + text("a") + end()
)
LATE_FIELDS = (
    start()
    + text("a")
    + end("stop_sequence", additionalModelResponseFields={"stop_sequence": "###"})
    + metadata(
        serviceTier={"type": "flex"},
        performanceConfig={"latency": "optimized"},
        usage={
            "inputTokens": 5,
            "outputTokens": 4,
            "totalTokens": 2009,
            "cacheReadInputTokens": 1500,
            "cacheReadInputTokenCount": 1500,
            "cacheWriteInputTokens": 500,
            "cacheWriteInputTokenCount": 500,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 400}, {"ttl": "1h", "inputTokens": 100}],
            "serverToolUsage": {},
        },
    )
)

RECORDINGS = {
    "plain": PLAIN,
    "two calls": TWO_CALLS,
    "thinking": THINKING,
    "unsigned": UNSIGNED,
    "server tool": SERVER_TOOL,
    "cited": CITED,
    "blocked": BLOCKED,
    "early metadata": EARLY_METADATA,
    "unknown events": UNKNOWN_EVENTS,
    "late fields": LATE_FIELDS,
}
