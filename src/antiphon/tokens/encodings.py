"""OpenAI's encodings, built from the rank files in `data/` alone, so that no download is ever tried.

Imported by the child process only: tiktoken and the ranks cost about 100 MB. The patterns and special tokens are those
of tiktoken's definitions (tiktoken_ext/openai_public.py, 0.14.0).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

import tiktoken

from antiphon.tokens.families import CL100K, O200K

_CASED = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


@dataclass(frozen=True, slots=True)
class Definition:
    pattern: str
    special: dict[str, int]


DEFINITIONS: dict[str, Definition] = {
    O200K: Definition(
        pattern="|".join(
            (
                rf"[^\r\n\p{{L}}\p{{N}}]?{_CASED[0]}*{_CASED[1]}+{_ENDINGS}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_CASED[0]}+{_CASED[1]}*{_ENDINGS}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        special={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
    CL100K: Definition(
        pattern="|".join(
            (
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            )
        ),
        special={
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
}

# A longer run is cut: tiktoken's matcher overflows its stack on a few megabytes of spaces (0.14.0).
BLOCK = 50_000


def load(name: str) -> tiktoken.Encoding:
    definition = DEFINITIONS[name]
    data = resources.files("antiphon.tokens").joinpath("data", f"{name}.tiktoken").read_bytes()
    ranks = {}
    for line in data.splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return tiktoken.Encoding(name, pat_str=definition.pattern, mergeable_ranks=ranks, special_tokens=definition.special)


def count(encoding: tiktoken.Encoding, text: str) -> int:
    """Special tokens in the text are text, as they are for OpenAI."""
    return sum(len(encoding.encode_ordinary(block)) for block in blocks(text))


def blocks(text: str) -> Iterator[str]:
    """Pieces of at most BLOCK characters, cut in front of a space between two words where there is one.

    No pattern matches across such a place, so the sum over the pieces is the count of the whole.
    """
    start = 0
    while len(text) - start > BLOCK:
        cut = text.rfind(" ", start + 1, start + BLOCK)
        while cut > start and (text[cut - 1].isspace() or text[cut + 1].isspace()):
            cut = text.rfind(" ", start + 1, cut)
        if cut <= start:
            cut = start + BLOCK
        yield text[start:cut]
        start = cut
    yield text[start:]
