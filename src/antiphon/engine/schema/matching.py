"""Grammars tried as the native engine tries them: llama.cpp goes on without a grammar that fails, be it at once or some
tokens later, so what fails must be found before. And texts tried against a grammar."""

from __future__ import annotations

import random
import time
from typing import Final

from llguidance import LLMatcher, LLTokenizer

from antiphon.engine.schema.vocabulary import Vocabulary

BYTES: Final = "byte"  # LLGuidance's own vocabulary of bytes
STEPS: Final = 20  # tokens
CANDIDATES: Final = 6
ENDINGS: Final = frozenset(b'",:}]')
MOST_SECONDS: Final = 0.6  # of the CPU: the native engine's one thread takes as long, and all answers wait meanwhile
TOO_COMPLEX: Final = "schema is too complex."


class Matching:
    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self._bytes = LLTokenizer(BYTES)
        self._tokenizer = vocabulary.tokenizer if vocabulary else self._bytes
        self._tokens = vocabulary.tokens if vocabulary else [bytes([byte]) for byte in range(256)]
        self._control = [token for token in vocabulary.control if len(token) > 2] if vocabulary else []

    def fault(self, grammar: str) -> str:
        """Empty where the engine can go by it."""
        for token in self._control:
            if token in grammar:
                return f"'{token}' is not permitted: it is a control token of this model."
        began = time.process_time()
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0)
        said = matcher.get_error() or self._walk(matcher)
        if said:
            return first_line(said)
        return TOO_COMPLEX if time.process_time() - began > MOST_SECONDS else ""

    def accepts(self, grammar: str, text: str) -> bool:
        tokens = list(text.encode())
        matcher = LLMatcher(self._bytes, grammar, log_level=0)
        return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

    def beginnings(self, grammar: str) -> bytes:
        """Bytes that its texts may begin with."""
        allowed = LLMatcher(self._bytes, grammar, log_level=0).compute_bitmask()
        return bytes(byte for byte in range(256) if allowed[byte // 8] >> byte % 8 & 1)

    def _walk(self, matcher: LLMatcher) -> str:
        """Some tokens that it lets through. A small part of all ways, but most limits are met at the first ones."""
        chance = random.Random(0)  # noqa: S311
        for _ in range(STEPS):
            allowed = matcher.compute_bitmask()
            if matcher.is_error():
                return matcher.get_error()
            picks = [self._pick(allowed, chance) for _ in range(CANDIDATES)]
            tokens = [token for token in picks if token is not None and token < len(self._tokens)]
            if not tokens:
                return ""
            ending = (token for token in tokens if ENDINGS & set(self._tokens[token]))
            if matcher.try_consume_tokens([next(ending, tokens[0])]) != 1 or matcher.is_stopped():
                return matcher.get_error()
        return ""

    def _pick(self, allowed: bytes, chance: random.Random) -> int | None:
        """One of the bits that are set."""
        start = chance.randrange(len(allowed))
        rest = allowed[start:].lstrip(b"\0") or allowed[:start].rstrip(b"\0")
        if not rest:
            return None
        at = start + len(allowed[start:]) - len(rest) if allowed[start:].strip(b"\0") else len(rest) - 1
        bits = [bit for bit in range(8) if allowed[at] >> bit & 1]
        return at * 8 + chance.choice(bits)


def first_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines()]
    told = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")] or lines[:1]
    return told[0][:300] if told else ""
