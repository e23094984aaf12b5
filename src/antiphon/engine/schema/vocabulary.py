"""The model's vocabulary, read from its file (GGUF), for LLGuidance: what it takes or gives up on depends on it.

llama.cpp takes `<|im_end|>` in a grammar for the control token of that name, so those are told as well.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from llguidance import LLTokenizer, TokenizerWrapper

MAGIC: Final = b"GGUF"
NUMBERS: Final[Mapping[int, str]] = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
TEXT, LIST = 8, 9  # the other kinds of values
NORMAL, CONTROL, BYTE = 1, 3, 6  # kinds of tokens
WANTED: Final = frozenset(
    f"tokenizer.ggml.{name}" for name in ("model", "tokens", "token_type", "eos_token_id", "bos_token_id")
)
LONGEST: Final = 16  # bytes of a token that is looked for
SPECIAL: Final = b"\xff"  # before a token that stands for no text, as LLGuidance has it


@dataclass(frozen=True, slots=True)
class Vocabulary:
    tokenizer: LLTokenizer
    tokens: list[bytes]
    control: tuple[str, ...]


def read_vocabulary(path: str) -> Vocabulary | None:
    """None where it is of a kind that is not known here, or the file cannot be read."""
    try:
        with open(path, "rb") as file:
            facts = read_facts(file)
        kinds = facts["tokenizer.ggml.token_type"]
        texts = [token.decode() for token in facts["tokenizer.ggml.tokens"]]
        spell = {b"gpt2": spell_bytes, b"llama": spell_pieces}[facts["tokenizer.ggml.model"]]
        tokens = [spell(text, kind) for text, kind in zip(texts, kinds, strict=True)]
        end = facts["tokenizer.ggml.eos_token_id"]
    except (OSError, KeyError, ValueError, struct.error, MemoryError):
        return None
    special = [token for token, kind in enumerate(kinds) if kind == CONTROL]
    tokenizer = LLTokenizer(TokenizerWrapper(Tokens(tokens, end, special)))
    return Vocabulary(tokenizer, tokens, tuple(texts[token] for token in special if texts[token]))


def read_facts(file: BinaryIO) -> dict[str, Any]:
    """Those that are wanted; a file has them before its weights."""
    if file.read(4) != MAGIC:
        raise ValueError("no GGUF file")
    _, _, count = struct.unpack("<IQQ", file.read(20))
    facts: dict[str, Any] = {}
    for _ in range(count):
        name = read_text(file).decode()
        value = read_value(file, *struct.unpack("<I", file.read(4)))
        if name in WANTED:
            facts[name] = value
    return facts


def read_text(file: BinaryIO) -> bytes:
    (length,) = struct.unpack("<Q", file.read(8))
    return file.read(length)


def read_value(file: BinaryIO, kind: int) -> Any:
    if kind == TEXT:
        return read_text(file)
    if kind == LIST:
        inner, count = struct.unpack("<IQ", file.read(12))
        if inner in NUMBERS:
            form = f"<{count}{NUMBERS[inner]}"
            return list(struct.unpack(form, file.read(struct.calcsize(form))))
        return [read_value(file, inner) for _ in range(count)]
    form = "<" + NUMBERS[kind]
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def byte_names() -> dict[str, int]:
    """How GPT-2's vocabulary writes bytes: those that can be seen as they are, the others from U+0100 on."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + at): byte for at, byte in enumerate(unseen)}


NAMES: Final = byte_names()


def spell_bytes(text: str, kind: int) -> bytes:
    if kind != NORMAL:
        return SPECIAL + text.encode()
    return bytes(NAMES[character] for character in text)


def spell_pieces(text: str, kind: int) -> bytes:
    """As SentencePiece writes tokens: U+2581 for a space, <0x0A> for a byte."""
    if kind == BYTE:
        return bytes([int(text[3:5], 16)])
    return text.replace("\u2581", " ").encode() if kind == NORMAL else SPECIAL + text.encode()


class Tokens:
    """What TokenizerWrapper asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, tokens: list[bytes], end: int, special: list[int]) -> None:
        self.tokens = tokens
        self.eos_token_id = end
        self.special_token_ids = special
        self._ids = {token: at for at, token in enumerate(tokens)}

    def __call__(self, text: bytes) -> list[int]:
        """The longest token that fits, then the next: another cut than the model's own, with the same text."""
        found: list[int] = []
        while text:
            length = next((size for size in range(LONGEST, 0, -1) if text[:size] in self._ids), 0)
            if not length:
                return found  # a byte without a token
            found.append(self._ids[text[:length]])
            text = text[length:]
        return found
