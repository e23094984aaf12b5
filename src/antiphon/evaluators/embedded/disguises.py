"""Other readings of a text that looks disguised: encoded, reversed, shifted, run together, starred out.

Each reading is a guess that proves itself: what is decoded must be text, and words that are found again must be words
of the vocabulary. Ordinary text gives none. All work is linear in the text, and no reading is longer than the text by
more than a bound.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final
from urllib.parse import unquote

from antiphon.evaluators.embedded.segment import LONGEST_WORD, cut_into_words

MOST_READINGS: Final = 4
MOST_LAYERS: Final = 3  # an encoding inside an encoding
LONGEST: Final = 40_000  # characters that are looked at
SAMPLE: Final = 2_000  # characters that decide whether a text consists of words
MOST_STARS: Final = 12  # starred words of one text
FEWEST_WORDS: Final = 3
COMMON: Final = 12_000  # ranks of the vocabulary that count as common words
WORDS_ENOUGH: Final = 0.6  # share of common words in a text that people wrote
WORDS_FEW: Final = 0.35
LONGEST_RUN: Final = 2_000  # letters that are cut into words

_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}(?:\s+[A-Za-z0-9+/_-]{16,}={0,2})*")
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[\s,:;-]{0,2}){8,}(?![0-9A-Za-z])")
_BINARY: Final = re.compile(r"(?<!\d)(?:[01]{8}\s*){6,}(?!\d)")
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_ENTITY: Final = re.compile(r"&(?:#\d{2,7}|#[xX][0-9A-Fa-f]{2,6}|[A-Za-z]{2,8});")
_ESCAPE: Final = re.compile(
    r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-7]{3}))|U\+([0-9A-Fa-f]{4,6})\s?"
)
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]+")
_LETTERS_APART: Final = re.compile(r"(?<![^\W\d_])[^\W\d_](?:[\W_]{1,12}[^\W\d_](?![^\W\d_])){5,}")
_BETWEEN: Final = re.compile(r"[\W_]+")
_LONG_RUN: Final = re.compile(r"[A-Za-z]{16,}")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[A-Za-z]+")
_STARRED: Final = re.compile(r"(?<![\w*#•])[A-Za-z]{1,8}(?:[*#•]{1,4}[A-Za-z]{1,8}){1,6}(?![\w*#•])")
_JOINED: Final = re.compile(r"[A-Za-z]+(?:_[A-Za-z]+){2,}")
_PICTURES: Final = re.compile("[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]+")
_ITEMS: Final = re.compile(r"\"([A-Za-z',.!? ]{1,24})\"\s*,\s*")
_SPACE: Final = re.compile(r"\s+")
_VOWELS: Final = re.compile(r"[aeiouAEIOU]")
_DOUBLED: Final = re.compile(r"(?:([A-Za-z])\1)+")
_LEET_TABLES: Final = tuple(
    str.maketrans("013456789@$!|+(€£", f"o{one}easgtbgas{bang}ltcel") for one in "il" for bang in "il"
)
_LEET_WORD: Final = re.compile(r"[A-Za-z0-9@$!|+(€£/\\]{2,24}")


class Disguises:
    def __init__(self, ranks: Mapping[str, int]) -> None:
        """`ranks`: words, the most frequent first."""
        words = {word: rank for word, rank in ranks.items() if word.isascii() and word.isalpha() and word.islower()}
        self._costs = {word: math.log(rank + 2) for word, rank in words.items() if len(word) > 1 or word in "aiu"}
        self._common = frozenset(word for word, rank in words.items() if rank < COMMON)
        self._skeletons: dict[str, str] | None = None
        self._by_shape: dict[tuple[str, int], list[str]] | None = None
        # Of text that may have words of its own, and of text that has none.
        self._some_words = (self._entries, self._apart, self._starred, self._leet, self._run_together)
        self._no_words = (self._backwards, self._shifted, self._doubled, self._without_vowels, self._pig_latin)

    def readings(self, text: str) -> list[str]:
        """What else the text may say; nothing for ordinary text."""
        text = text[:LONGEST]
        found: list[str] = []
        hidden = self.decoded(text)
        if hidden is not None:
            found += hidden
        for base in (text, *found[:1]):
            ways: tuple[Callable[[str], str | None], ...] = self._some_words
            if self._share(base) <= WORDS_FEW:
                ways += self._no_words
            for way in ways:
                read = way(base)
                if read is not None and read != base and read not in found and len(found) < MOST_READINGS:
                    found.append(read[: 2 * LONGEST])
        return found

    # Encodings: what they hide is put in their place

    def decoded(self, text: str) -> list[str] | None:
        """The text with all that is encoded in it decoded, an encoding inside an encoding, too; and what runs of digits
        and letters gave alone, without the words around it. None: there is nothing."""
        read, runs = text, list[str]()
        for _ in range(MOST_LAYERS):
            before = read
            for decode in (_tags, _escapes, _entities, _percent):
                read = decode(read)
            for run, value in ((_BINARY, _from_binary), (_HEX, _from_hex), (_BASE64, _from_base64)):
                if _may_hold(run, read):
                    read = run.sub(partial(self._decode_run, value, runs), read)
            if read == before:
                break
        if read == text:
            return None
        alone = " ".join(runs)
        return [read[: 2 * LONGEST], *([alone[: 2 * LONGEST]] if alone.strip() else [])]

    def _decode_run(self, value: Callable[[str], bytes | None], runs: list[str], match: re.Match[str]) -> str:
        whole = self._text_of(value(_SPACE.sub("", match[0])))
        if whole is not None:
            runs.append(whole)
            return whole
        parts = match[0].split()
        if len(parts) == 1:
            return match[0]
        read = [self._text_of(value(part)) or part for part in parts]
        runs += [new for new, old in zip(read, parts, strict=True) if new != old]
        return " ".join(read)

    def _text_of(self, data: bytes | None) -> str | None:
        """What was decoded, if it is text: words, not noise that happens to be printable. Or another encoding."""
        if not data or len(data) < 4:
            return None
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if not all(letter.isprintable() or letter.isspace() for letter in text):
            return None
        is_encoded = len(text) >= 16 and (_BASE64.fullmatch(text.strip()) or _HEX.fullmatch(text.strip()))
        return f" {text} " if is_encoded or " " in text.strip() or self._share(text) >= WORDS_ENOUGH else None

    # Words that are spelled otherwise

    def _entries(self, text: str) -> str | None:
        """["one", "word", "per", "entry"]"""
        if len(_ITEMS.findall(text[:SAMPLE])) < FEWEST_WORDS or not _prevails(_ITEMS, text):
            return None
        return _ITEMS.sub(lambda match: match[1] + " ", text)

    def _apart(self, text: str) -> str | None:
        """Letters with anything between them; words_joined_by_underscores; pictures between words."""
        words = text.split()
        read = text
        if sum(len(word) < 3 for word in words) * 2 > len(words) or len(words) * 20 < len(text):
            read = _LETTERS_APART.sub(lambda match: self._letters(match[0]), read)
        if text.count("_") > 1 and _prevails(_JOINED, text):
            read = _JOINED.sub(lambda match: match[0].replace("_", " "), read)
        if not text.isascii() and len(_PICTURES.findall(read)) * 3 > len(words) >= 2 * FEWEST_WORDS:
            read = _PICTURES.sub(" ", read)
        return read

    def _letters(self, run: str) -> str:
        gaps = _BETWEEN.findall(run)
        usual = max(set(gaps), key=gaps.count)
        words = "".join(
            letter if gap == usual else f"{letter} " for letter, gap in zip(_each(run), [*gaps, usual], strict=False)
        )
        pieces = words.split()
        return " ".join(
            cut_into_words(piece.lower(), self._costs) if len(piece) > LONGEST_WORD else piece for piece in pieces
        )

    def _starred(self, text: str) -> str | None:
        """k*ll"""
        if not any(star in text for star in "*#•"):
            return None
        found = 0

        def read(match: re.Match[str]) -> str:
            nonlocal found
            found += 1
            return self._behind(match[0]) if found <= MOST_STARS else match[0]

        return _STARRED.sub(read, text)

    def _behind(self, word: str) -> str:
        plain = re.sub(r"[^A-Za-z]", "", word).lower()
        if plain in self._costs and len(plain) > 2:
            return plain
        hidden = re.sub(r"[^A-Za-z]", ".", word).lower()
        if "." not in hidden[1:-1] or len(plain) * 2 < len(hidden):
            return word
        shape = re.compile(hidden)
        return next((known for known in self._shaped(hidden[0], len(hidden)) if shape.fullmatch(known)), word)

    def _shaped(self, first: str, length: int) -> list[str]:
        """Words by their first letter and length, the most frequent first."""
        if self._by_shape is None:
            self._by_shape = {}
            for word in sorted(self._costs, key=self._costs.__getitem__):
                self._by_shape.setdefault((word[0], len(word)), []).append(word)
        return self._by_shape.get((first, length), [])

    def _leet(self, text: str) -> str | None:
        """Digits and signs for letters, in many words."""
        words = _LEET_WORD.findall(text[:SAMPLE])
        odd = [word for word in words if not word.isalpha() and not word.isdigit()]
        if len(odd) < FEWEST_WORDS or len(odd) * 4 < len(words):
            return None
        read = sum(self._unleet(word) != word for word in odd)
        return _LEET_WORD.sub(lambda match: self._unleet(match[0]), text) if read * 2 >= len(odd) else None

    def _unleet(self, word: str) -> str:
        bare = word.rstrip("!|+.")
        reads = {bare.lower().translate(table) for table in _LEET_TABLES}
        known = [read for read in reads if read in self._costs]
        return min(known, key=self._costs.__getitem__) if known else word

    def _run_together(self, text: str) -> str | None:
        """WordsWithoutSpaces, andwithoutcapitals: where they are a good part of the text, as names in code are not."""
        if not _prevails(_LONG_RUN, text):
            return None
        return _LONG_RUN.sub(lambda match: self._parted(match[0]), text)

    def _parted(self, run: str) -> str:
        words = [part for part in _CAMEL.split(run) if part]
        if len(words) < FEWEST_WORDS:
            words = cut_into_words(run[:LONGEST_RUN].lower(), self._costs).split()
        known = sum(len(word) for word in words if word.lower() in self._costs)
        return " ".join(words) if len(words) >= FEWEST_WORDS and known >= 0.7 * len(run) else run

    def _backwards(self, text: str) -> str | None:
        return self._better(text, lambda sample: sample[::-1]) or self._better(
            text, lambda sample: _WORD.sub(lambda match: match[0][::-1], sample)
        )

    def _shifted(self, text: str) -> str | None:
        """rot13, and the alphabet the other way round."""
        return self._better(text, lambda sample: codecs.encode(sample, "rot13")) or self._better(
            text, lambda sample: sample.translate(_ATBASH)
        )

    def _doubled(self, text: str) -> str | None:
        """kkiillll"""

        def halve(match: re.Match[str]) -> str:
            return match[0][::2] if _DOUBLED.fullmatch(match[0]) else match[0]

        return self._better(text, lambda sample: _WORD.sub(halve, sample))

    def _without_vowels(self, text: str) -> str | None:
        letters = len(_LETTER.findall(text[:SAMPLE]))
        if letters < 8 or len(_VOWELS.findall(text[:SAMPLE])) > 0.12 * letters:
            return None
        return self._better(text, lambda sample: _WORD.sub(lambda match: self._filled(match[0].lower()), sample))

    def _filled(self, word: str) -> str:
        if self._skeletons is None:
            self._skeletons = {}
            for known in sorted(self._costs, key=self._costs.__getitem__):
                self._skeletons.setdefault(_VOWELS.sub("", known), known)
        return word if word in self._common and len(word) > 2 else self._skeletons.get(_VOWELS.sub("", word), word)

    def _pig_latin(self, text: str) -> str | None:
        words = _WORD.findall(text[:SAMPLE])
        if len(words) < FEWEST_WORDS or sum(word.lower().endswith("ay") for word in words) * 2 < len(words):
            return None
        return self._better(text, lambda sample: _WORD.sub(lambda match: self._unpig(match[0].lower()), sample))

    def _unpig(self, word: str) -> str:
        if not word.endswith("ay") or len(word) < 3:
            return word
        stems = [word[:-2], *([word[:-3]] if word[-3] in "wyh" else [])]
        turned = [
            stem[-moved:] + stem[:-moved] if moved else stem for stem in stems for moved in range(min(4, len(stem)))
        ]
        known = [read for read in turned if read in self._costs]
        return min(known, key=self._costs.__getitem__) if known else word

    # How much of a text is words

    def _better(self, text: str, read: Callable[[str], str]) -> str | None:
        """The other reading, where it consists of words."""
        sample = text[:SAMPLE]
        if len(_WORD.findall(sample)) < FEWEST_WORDS:
            return None
        return read(text) if self._share(read(sample)) >= WORDS_ENOUGH else None

    def _share(self, text: str) -> float:
        """Of the letters, how many stand in common words."""
        words = _WORD.findall(text[:SAMPLE])
        letters = sum(map(len, words))
        return sum(len(word) for word in words if word.lower() in self._common) / letters if letters else 0.0


_LETTER: Final = re.compile(r"[A-Za-z]")
_LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
_ATBASH: Final = str.maketrans(_LOWER + _LOWER.upper(), _LOWER[::-1] + _LOWER[::-1].upper())


def _each(run: str) -> Iterator[str]:
    return (letter for letter in run if letter.isalpha())


def _tags(text: str) -> str:
    """Letters from a block of Unicode that nobody sees."""
    if text.isascii():
        return text
    return _TAGS.sub(lambda match: "".join(chr(ord(letter) - 0xE0000) for letter in match[0]), text)


def _prevails(run: re.Pattern[str], text: str) -> bool:
    """A third of the text at least consists of such runs."""
    sample = text[:SAMPLE]
    return sum(len(match[0]) for match in run.finditer(sample)) * 3 >= len(sample)


def _may_hold(run: re.Pattern[str], text: str) -> bool:
    """A cheap look before a costly one. Latin letters in hexadecimal have a digit each at least."""
    if run is _BASE64:
        return max(map(len, text.split()), default=0) >= 16
    digits = "01" if run is _BINARY else "34567"
    return sum(map(text.count, digits)) >= 8


def _escapes(text: str) -> str:
    if "\\" not in text and "U+" not in text:
        return text

    def read(match: re.Match[str]) -> str:
        wide, four, two, octal, named = match.groups()
        code = int(octal, 8) if octal else int(wide or four or two or named, 16)
        return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else match[0]

    return _ESCAPE.sub(read, text) if len(_ESCAPE.findall(text[:LONGEST])) >= FEWEST_WORDS else text


def _entities(text: str) -> str:
    return html.unescape(text) if len(_ENTITY.findall(text)) >= FEWEST_WORDS else text


def _percent(text: str) -> str:
    return unquote(text, errors="replace") if len(_PERCENT.findall(text)) >= FEWEST_WORDS else text


def _from_binary(run: str) -> bytes | None:
    digits = _SPACE.sub("", run)
    return bytes(int(digits[at : at + 8], 2) for at in range(0, len(digits), 8))


def _from_hex(run: str) -> bytes | None:
    digits = re.sub(r"0x|\\x|[\s,:;-]", "", run)
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None


def _from_base64(run: str) -> bytes | None:
    padded = run.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
