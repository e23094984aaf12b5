"""Which encoding a model's family uses. Data; OpenAI's own list is tiktoken's model table (0.14.0, 2026)."""

from __future__ import annotations

import re

O200K = "o200k_base"
CL100K = "cl100k_base"

# Matched against the start of the bare name, first row first: "gpt-4o" before "gpt-4".
FAMILIES: tuple[tuple[str, str], ...] = (
    ("gpt-4o", O200K),
    ("gpt-4.1", O200K),
    ("gpt-4.5", O200K),
    ("gpt-5", O200K),
    ("gpt-oss", O200K),
    ("chatgpt-4o", O200K),
    ("o1", O200K),
    ("o3", O200K),
    ("o4", O200K),
    ("codex-", O200K),
    ("computer-use-preview", O200K),
    ("gpt-4", CL100K),
    ("gpt-3.5", CL100K),
    ("gpt-35", CL100K),  # Azure's spelling
    ("davinci-002", CL100K),
    ("babbage-002", CL100K),
    ("text-embedding-3", CL100K),
    ("text-embedding-ada-002", CL100K),
)

# A family's name ends where its version begins: "o1-mini" is of the family "o1", "o100" and "gpt-4x" are not.
_VERSION = re.compile(r"(?![a-z0-9])|(?<=-)")


def encoding_for(model: str) -> str | None:
    """The encoding's name, or None where the family is not known."""
    name = bare(model)
    for prefix, encoding in FAMILIES:
        if name.startswith(prefix) and _VERSION.match(name, len(prefix)):
            return encoding
    return None


def bare(model: str) -> str:
    """The name without vendor prefixes: "openai/gpt-4o", "ft:gpt-4o:team::x", "openrouter/openai/o3" and so on."""
    name = model.strip().lower()
    _, tuned, base = name.partition("ft:")
    if tuned:
        return base.partition(":")[0]
    return name.rsplit("/", 1)[-1].removeprefix("openai.")  # Bedrock says "openai.gpt-oss-20b-1:0"
