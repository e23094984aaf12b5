"""What a grammar lets through, without a model: texts that it accepts, and a text drawn from it at random."""

from __future__ import annotations

import random
from typing import Any, ClassVar

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

END = 256
CLOSING = frozenset(b'"]}')


class Bytes:
    """A vocabulary of the 256 bytes."""

    eos_token_id = END
    bos_token_id = None
    tokens: ClassVar[list[bytes]] = [bytes([byte]) for byte in range(256)] + [b"<end>"]
    special_token_ids: ClassVar[list[int]] = [END]

    def __call__(self, text: Any) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


TOKENIZER = LLTokenizer(TokenizerWrapper(Bytes()))


def matcher(grammar: str) -> LLMatcher:
    made = LLMatcher(TOKENIZER, grammar, log_level=0)
    assert not made.is_error(), made.get_error()
    return made


def accepts(grammar: str, text: str) -> bool:
    wanted = list(text.encode())
    made = matcher(grammar)
    return made.try_consume_tokens(wanted) == len(wanted) and made.is_accepting()


def draw(grammar: str, seed: int, most: int = 6000) -> str:
    """A text of the grammar. Closing characters and ASCII letters are drawn more often, so that it ends."""
    chance = random.Random(seed)
    made = matcher(grammar)
    text = bytearray()
    while len(text) < most and not made.is_stopped():
        allowed = [token for token, bias in enumerate(made.compute_logit_bias()) if bias]
        assert allowed, (bytes(text), made.get_error())
        closing = [token for token in allowed if token in CLOSING or token == END]
        plain = [token for token in allowed if token < 128]
        pick = chance.choice(closing if closing and chance.random() < 0.3 else plain or allowed)
        if pick == END:
            break
        assert made.consume_token(pick), made.get_error()
        text.append(pick)
    assert made.is_accepting(), bytes(text)
    return text.decode()
