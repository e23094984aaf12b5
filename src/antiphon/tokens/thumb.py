"""The rule of thumb: about how many tokens a text is, for a model whose tokenizer is not at hand.

A token is about four ASCII characters (OpenAI's own rule for English), two letters of the alphabets that UTF-8 writes
in two bytes (Cyrillic, Greek, Arabic, accented Latin), one and a quarter characters of the scripts of three bytes
(Chinese, Japanese, Korean, Thai, Devanagari), and half an emoji. Set beside o200k and cl100k, it is within about a
quarter for ordinary prose. Characters are counted by encoding the text, so a megabyte takes about a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable

NAME = "rule-of-thumb"

# Tokens per character, in twentieths, by the length of the character in UTF-8.
ONE, TWO, THREE, FOUR = 5, 10, 16, 40
UNIT = 20


def estimate(texts: Iterable[str]) -> int:
    total = sum(_weight(text) for text in texts)
    return -(-total // UNIT)


def _weight(text: str) -> int:
    if text.isascii():
        return len(text) * ONE
    one = len(text.encode("ascii", "ignore"))
    four = len(text.encode("utf-16-le", "surrogatepass")) // 2 - len(text)
    # With the lengths known, the rest follows: one + two + three + four characters, and their bytes.
    rest = len(text) - one - four
    three = len(text.encode("utf-8", "surrogatepass")) - one - 4 * four - 2 * rest
    return one * ONE + (rest - three) * TWO + three * THREE + four * FOUR
