"""What a settings value may be. A kind reads a decoded TOML value into ours, or raises `Wrong`.

A `Wrong` message continues "'key' …" and never quotes a value that could be a secret.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum, auto

from antiphon.accounts.places import SQLITE, check_url, sqlite_path
from antiphon.settings.faults import Wrong, quoted
from antiphon.settings.secret import Secret, find_secret, resolve, sendable

LONGEST_NAME = 256
MOST_SUGGESTIONS = 100  # of one kind: a file of thousands of faults is still refused quickly
DEAREST = 1_000_000  # dollars for a million tokens
LONGEST_WAIT = 31_536_000  # a year, in seconds: no timer of ours overflows
TYPES: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "a table"),
    (datetime, "a date"),
    (date, "a date"),
    (time, "a time"),
)
LONGEST_PLACE = 100
PLACE = re.compile(rf"(?=.{{1,{LONGEST_PLACE}}}\Z)[A-Za-z0-9](?:[A-Za-z0-9.:-]*[A-Za-z0-9])?")
PARAMETER = re.compile(r"[a-z][a-z0-9_.]*")


@dataclass(frozen=True, slots=True)
class Site:
    """What a value may depend on besides itself."""

    environ: Mapping[str, str]
    folder: str  # of the settings file: what relative paths are relative to
    protocols: Collection[str]
    cores: int


class Form(Enum):
    """How an environment variable's text becomes a value of the kind."""

    TEXT = auto()  # as it stands, quotes optional
    SECRET = auto()  # as it stands
    SWITCH = auto()  # true, false, 1, 0, yes, no, on, off
    VALUE = auto()  # TOML, else the text as it stands


@dataclass(frozen=True, slots=True)
class ValueType:
    read: Callable[[object, Site], object]
    form: Form = Form.TEXT


def name_type(value: object) -> str:
    return next((name for kind, name in TYPES if isinstance(value, kind)), "something else")


def need_text(value: object, wanted: str = "a string") -> str:
    if not isinstance(value, str):
        raise Wrong(f"must be {wanted}, not {name_type(value)}")
    return value


def closest(word: str, known: Collection[str]) -> str | None:
    """What `word` was surely meant to be. Slips of the hand rarely change the first letter."""
    near = get_close_matches(word.lower(), [other for other in known if other[:1] == word[:1].lower()], 1, 0.6)
    return next(iter(near or get_close_matches(word.lower(), known, 1, 0.8)), None)


def suggest(word: str, known: Collection[str]) -> str:
    """The end of a sentence: "; did you mean 'url'?", or nothing."""
    close = closest(word, known)
    return f"; did you mean '{close}'?" if close else ""


class Suggestions:
    """`suggest` for one set of names that may be large: each word is sought once, and only so many words."""

    def __init__(self, known: Collection[str]) -> None:
        self.known = known
        self._found: dict[str, str] = {}

    def find(self, word: str) -> str:
        if word not in self._found and len(self._found) < MOST_SUGGESTIONS:
            self._found[word] = suggest(word, self.known)
        return self._found.get(word, "")


def _read_switch(value: object, site: Site) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"must be true or false, not {name_type(value)}")
    return value


def _read_name(value: object, site: Site) -> str:
    text = need_text(value)
    if not text.strip():
        raise Wrong("must not be empty")
    if text != text.strip() or not text.isprintable():
        raise Wrong("must not hold control characters, nor spaces at its ends")
    if len(text) > LONGEST_NAME:
        raise Wrong(f"must not be longer than {LONGEST_NAME} characters")
    return text


def _read_target_model(value: object, site: Site) -> str:
    text = _read_name(value, site)
    if text.count("*") > 1:
        raise Wrong("must not hold more than one '*'")
    return text


def _read_parameter(value: object, site: Site) -> str:
    text = need_text(value)
    if not PARAMETER.fullmatch(text):
        raise Wrong(f"must name request parameters, such as 'n' or 'logprobs', not {quoted(text)}")
    if text in ("model", "messages"):
        raise Wrong(f"names {quoted(text)}, without which there is no request")
    return text


def _read_pattern(value: object, site: Site) -> str:
    """Whether it can be compiled is judged where the library for that is (evaluators.py)."""
    text = need_text(value)
    if not text:
        raise Wrong("must not be empty")
    return text


def processes_for(cores: int) -> int:
    """Evaluator processes where nobody says how many. One core of two is left to the workers and to what else runs;
    more than eight are worth their memory only to those who ask for them."""
    return min(max(1, cores // 2), 8)


def _read_count(value: object, auto: int, most: int) -> int:
    if value == "auto":
        return auto
    if isinstance(value, str):
        raise Wrong(f"must be an integer or 'auto', not {quoted(value)}")
    return _read_whole(value, 1, most)


def _read_whole(value: object, least: int, most: int | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Wrong(f"must be an integer, not {name_type(value)}")
    if value < least:
        raise Wrong(f"must be {least} or more")
    if most is not None and value > most:
        raise Wrong(f"must be {most} or less")
    return value


def _read_seconds(value: object, zero: bool, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"must be a number of seconds, not {name_type(value)}")
    if math.isnan(value) or value < 0 or (value == 0 and not zero):
        raise Wrong("must be 0 or more seconds" if zero else "must be more than 0 seconds")
    if value < least:
        raise Wrong(f"must be at least {least:g} s")
    if value > LONGEST_WAIT:
        raise Wrong(f"must be {LONGEST_WAIT} seconds or less")
    return float(value)


def _read_dollars(value: object, site: Site) -> int:
    """-> micro-dollars. What stands in the file counts, digit by digit, not the float that it became."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"must be a number of dollars, not {name_type(value)}")
    if not 0 <= value <= DEAREST:  # nor is nan
        raise Wrong(f"must be from 0 to {DEAREST} dollars for a million tokens")
    micros = Decimal(repr(value)) * 1_000_000
    if micros != int(micros):
        raise Wrong("must not have more than 6 decimals")
    return int(micros)


def _read_secret(value: object, site: Site) -> Secret:
    if isinstance(value, Secret):  # straight from a variable: see environment.py
        return sendable(value.reveal())
    text = find_secret(need_text(value), site.environ, site.folder)
    if text is None:
        raise Wrong("must be written env:NAME or file:PATH: secrets do not stand in the settings file")
    return sendable(text)


def _read_store(value: object, site: Site) -> Secret:
    """A store's URL. It may hold a password, so it may also be kept elsewhere, as a secret is; no message quotes it."""
    url = read_secret_url(value, site).reveal()
    try:
        check_url(url)
    except ValueError as error:
        raise Wrong(str(error)) from None
    return Secret(SQLITE + resolve(sqlite_path(url), site.environ, site.folder) if url.startswith(SQLITE) else url)


def read_secret_url(value: object, site: Site) -> Secret:
    if isinstance(value, Secret):
        return value
    text = need_text(value, "a URL, env:NAME or file:PATH")
    found = find_secret(text, site.environ, site.folder)
    return Secret(_read_name(text if found is None else found, site))


def _read_protocol(value: object, site: Site) -> str:
    text = need_text(value)
    if text in site.protocols:
        return text
    known = sorted(site.protocols)
    raise Wrong(f"must be one of {', '.join(known)}, not {quoted(text)}{suggest(text, known)}")


def _read_place(value: object, site: Site) -> str:
    """It becomes part of a URL."""
    text = need_text(value)
    if not PLACE.fullmatch(text):
        raise Wrong(f"must be letters, digits, '-', '.' and ':', at most {LONGEST_PLACE}, not {quoted(text)}")
    return text


def whole(least: int, most: int | None = None) -> ValueType:
    return ValueType(lambda value, site: _read_whole(value, least, most), Form.VALUE)


def seconds(*, zero: bool = False, least: float = 0.0) -> ValueType:
    return ValueType(lambda value, site: _read_seconds(value, zero, least), Form.VALUE)


def one_of(*words: str) -> ValueType:
    def read(value: object, site: Site) -> str:
        text = need_text(value)
        if text not in words:
            raise Wrong(f"must be one of {', '.join(words)}, not {quoted(text)}{suggest(text, words)}")
        return text

    return ValueType(read)


def one_of_numbers(*numbers: int) -> ValueType:
    def read(value: object, site: Site) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value not in numbers:
            raise Wrong(f"must be one of {', '.join(map(str, numbers))}")
        return value

    return ValueType(read, Form.VALUE)


def switch_or(word: str) -> ValueType:
    """A switch with a third position."""

    def read(value: object, site: Site) -> bool | str:
        if isinstance(value, bool):
            return value
        if value == word:
            return word
        shown = quoted(value) if isinstance(value, str) else name_type(value)
        raise Wrong(f"must be true, false or '{word}', not {shown}")

    return ValueType(read, Form.SWITCH)


def flag(word: str, other: str) -> ValueType:
    """Two words that stand for true and false."""
    words = one_of(word, other)
    return ValueType(lambda value, site: words.read(value, site) == word)


SWITCH = ValueType(_read_switch, Form.SWITCH)
DOLLARS = ValueType(_read_dollars, Form.VALUE)
NAME = ValueType(_read_name)
TARGET_MODEL = ValueType(_read_target_model)
PARAMETER_NAME = ValueType(_read_parameter)
PATTERN = ValueType(_read_pattern)
WORKERS = ValueType(lambda value, site: _read_count(value, site.cores, 1024), Form.VALUE)
PROCESSES = ValueType(lambda value, site: _read_count(value, processes_for(site.cores), 256), Form.VALUE)
SECRET = ValueType(_read_secret, Form.SECRET)
STORE = ValueType(_read_store, Form.SECRET)
PROTOCOL = ValueType(_read_protocol)
PLACE_NAME = ValueType(_read_place)
