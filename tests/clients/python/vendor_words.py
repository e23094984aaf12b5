"""What every vendor's SDK is made to say."""

from __future__ import annotations

HELLO = "Hello there"
USE_BOTH = "Use get weather and the clock"
WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather.",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CLOCK = {"name": "clock", "description": "Tells the time.", "schema": {"type": "object", "properties": {}}}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
THINK = {"type": "enabled", "budget_tokens": 2000}
