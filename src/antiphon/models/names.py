"""Model names as clients and vendors spell them, and the keys under which the table knows them.

gpt-4o-2024-08-06                                               date
claude-3-5-sonnet-latest, claude-sonnet-4-5@20250929            newest; Vertex
anthropic/claude-sonnet-4.5, models/gemini-2.5-pro              OpenRouter; Gemini
projects/p/locations/l/publishers/google/models/gemini-2.5-pro  Vertex
accounts/fireworks/models/qwen3-8b                              Fireworks
us.anthropic.claude-sonnet-4-5-20250929-v1:0                    Bedrock, and the same at the end of an ARN
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST: Final = 256  # characters of a name that is looked for
MOST_PARTS: Final = 24  # of a key that may have a family; the table's have at most 10
REGION: Final = re.compile(r"(?:us-gov|us|eu|uk|apac|ap|jp|au|ca|sa|in|me|af|global|regional)\.(?=[a-z0-9]+\.)")
MAKER: Final = re.compile(
    r"(?:ai21|amazon|anthropic|cohere|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|writer|xai|zai)\."
)
VERSION: Final = re.compile(r"-v\d+(?::\d+){0,2}(?::\d+k)?$|-\d+:\d+$")  # Bedrock's: -v1:0, -v1:0:200k, -1:0
DATE: Final = re.compile(r"-(?:20\d{6}|20\d{2}-\d{2}-\d{2}|[01]\d-20\d{2}|\d{4}|00\d)$")
NEWEST: Final = re.compile(r"-(?:latest|default)$")
TAG: Final = re.compile(r":[a-z0-9_.-]+$")  # OpenRouter's :free, Ollama's :8b
# How a name tells where it is served.
VENDORS: Final = (
    ("bedrock", re.compile(rf"arn:aws[a-z-]*:bedrock:|(?:{REGION.pattern})?{MAKER.pattern}[a-z]")),
    ("vertex", re.compile(r"(?:projects/.*/)?publishers/|[a-z0-9.-]+@(?:\d{8}|default|latest)$")),
    ("fireworks", re.compile(r"accounts/fireworks/")),
    ("gemini", re.compile(r"models/gem")),
    ("azure", re.compile(r"azureml://")),
)
SEPARATORS: Final = re.compile(r"[^a-z0-9/]+")
SLASHES: Final = re.compile(r"-?/[-/]*")


def key_of(text: str) -> str:
    """`Claude-Sonnet-4.5` and `claude-sonnet-4-5` are one."""
    return SLASHES.sub("/", SEPARATORS.sub("-", text.lower())).strip("-/")


def vendor_of(name: str) -> str | None:
    """The vendor whose spelling this is. None: it may be anyone's."""
    text = _read(name)
    return next((vendor for vendor, pattern in VENDORS if pattern.match(text)), None)


def exact_keys(name: str) -> list[str]:
    """Where the row of this very model may stand, the most exact key first. The last one is the barest."""
    keys: dict[str, None] = {}
    for text in _spellings(_read(name)):
        key = key_of(text)
        for shorter in (key, _without(NEWEST, key), _without(DATE, _without(NEWEST, key))):
            if shorter:
                keys[shorter] = None
    return list(keys)


def family_keys(name: str) -> Iterator[str]:
    """Where the row of its family may stand, the longest beginning first. What is left out begins with a word: version
    4.9 is not of the family of version 4, and a model of 8b not of that of 70b."""
    keys = _untagged_keys(name)
    yield from keys
    for parts, end in _beginnings(keys):
        if parts[end][0].isalpha():
            yield "-".join(parts[:end])


def line_keys(name: str) -> Iterator[str]:
    """All its beginnings: `claude-opus-9` is of the line `claude-opus`, and of `claude`."""
    keys = _untagged_keys(name)
    yield from keys[-1:]
    for parts, end in _beginnings(keys):
        yield "-".join(parts[:end])


def _untagged_keys(name: str) -> list[str]:
    text = _read(name)
    return exact_keys(text.split(":")[1] if text.startswith("ft:") else TAG.sub("", text))


def _beginnings(keys: list[str]) -> Iterator[tuple[list[str], int]]:
    parts = keys[-1].split("-", MOST_PARTS) if keys else []
    return ((parts, end) for end in range(len(parts) - 1, 0, -1))


def _spellings(text: str) -> Iterator[str]:
    if text.startswith("arn:"):
        text = text.partition("/")[2]
    text = text.rpartition("models/")[2].replace("/versions/", "-")
    if text.startswith("ft:"):  # OpenAI's: ft:MODEL:ORGANISATION:NAME:ID
        yield ":".join(text.split(":")[:2])
        return
    yield text
    text = text.rpartition("/")[2] or text
    without_region = _cut(REGION, text)
    without_maker = _cut(MAKER, without_region)
    is_bedrock = without_maker != without_region or ":" in text
    spellings = [text, without_region, without_maker]
    if without_region != text and not text.startswith("global."):
        spellings.insert(1, f"regional.{without_region}")
    for shorter in spellings:
        yield shorter
        if is_bedrock:
            yield _without_version(shorter)


def _read(name: str) -> str:
    """ "": it is longer than any model's."""
    return name.strip().lower() if len(name) <= LONGEST else ""


def _without_version(text: str) -> str:
    """`claude-v2` is a name, without more."""
    shorter = VERSION.sub("", text)
    return shorter if "-" in shorter else text


def _cut(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.match(text)
    return text[found.end() :] if found else text


def _without(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub("", text)
