"""The words in a conversation and in an answer: all that can be judged, and nothing else.

Of a prompt each message is a text of its own, and so is a prediction. Tools and schemas are the application's own: they
are read only where a policy asks for it (`tool_words`). Of an answer: content, refusal, reasoning, the arguments of
calls, and what was said aloud.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from antiphon.chat.outline import Outline
from antiphon.chat.spelled import LARGEST, spelled
from antiphon.chat.together import EDGE, FRAMES, Frame, Join, joins
from antiphon.document import Document

DEEPEST = 4
ALONE = 2 * EDGE  # characters of an only message that has no edges to join
# Escapes of JSON. A backslash before anything else says nothing.
SHORT = (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\b", " "), ("\\f", " "))
CUT_CODE = re.compile(r"\\(?!u[0-9a-fA-F]{4})")
BY_LINES = range(600, 100_000)  # characters of a text of which only the lines with escapes are read again
NEAR = 3  # lines on both sides of such a line
BACKSLASH, CODE = "\uffff", "\ufffe"  # no characters: no text has them
# OpenRouter's and others' ways to spell reasoning; and parts of a content that are no text to us.
THOUGHTS = ("reasoning_details", "thinking", "thoughts", "thinking_blocks", "content_parts")
# Values under these keys are no text: `"type": "reasoning.text"`, a signature, reasoning that is encrypted.
LABELS = frozenset(
    {
        *("type", "format", "id", "index", "status", "provider", "signature", "thought_signature", "encrypted_content"),
        *(
            "tool_use_id",
            "data",
            "url",
            "image_url",
            "b64_json",
            "file_data",
            "file_id",
            "filename",
            "mime_type",
            "media_type",
        ),
    }
)
PART_LABELS = LABELS - {"data", "file_data"}  # documents may be text: `"source": {"type": "text", "data": …}`
# Parts of a content whose fields we know. Of others, a vendor's own, everything may be text.
KNOWN_PARTS = (None, "text", "refusal", "image_url", "input_audio", "file")
LONGEST_WORD = 256
SELF_DESCRIPTIONS = ("name", "title", "description")
SCHEMA_VALUES = ("enum", "default", "const", "examples")
# Fields of a request that are no part of chat, and that an upstream may read all the same.
BESIDE_MESSAGES = ("prompt", "suffix", "input", "instructions", "system")
VENDOR_TEXTS = ("documents", "promptVariables")  # what Cohere's and Bedrock's models read besides messages
MOST_ARGUMENTS = 1_000_000  # characters of a large request's calls whose values are read together
TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


def prompt_texts(document: Document, outline: Outline | None = None) -> list[str]:
    """Of a checked request, the newest first: if time is short, the oldest were judged before. `outline`: of a light
    one; its texts are light, too."""
    messages = document["messages"]
    texts = ["\n".join(message_words(message)) for message in messages]
    prediction = document.get("prediction")
    said = "\n".join(_parts(prediction.get("content"))) if prediction else ""
    for key in VENDOR_TEXTS:
        if key in document:
            said = "\n".join((said, *_all_strings(document[key])))
    arguments = [call_words(message) for message in messages if message["role"] == "assistant"]
    calls = list(map(spelled, arguments if outline is None else _whole_arguments(arguments, outline)))
    found = newest_first(texts, [message["role"] for message in messages], calls, outline)
    beside = [each for key in BESIDE_MESSAGES if key in document for each in loose_texts(document[key])]
    return [*beside, said, *found] if said.strip() else [*beside, *found]


def loose_texts(value: Any) -> list[str]:
    """All that is said in a value of any shape that nobody has checked."""
    return [words for _, words in _strings(value, "") if words.strip() and not _is_media(words)]


def tool_words(document: Document) -> str:
    """What tools, functions and schemas say of themselves: names, titles, descriptions and values, at any depth."""
    found: list[str] = []
    level: list[Any] = [document.get(key) for key in ("tools", "functions", "response_format")]
    while level:
        found += (
            inner[key]
            for inner in level
            if isinstance(inner, dict)
            for key in SELF_DESCRIPTIONS
            if isinstance(inner.get(key), str)
        )
        found += (
            words
            for inner in level
            if isinstance(inner, dict)
            for key in SCHEMA_VALUES
            if key in inner
            for _, words in _strings(inner[key], key)
        )
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return "\n".join(found)


def _whole_arguments(arguments: list[Iterator[str]], outline: Outline) -> list[list[str]]:
    """Light arguments with nothing left out, as far as it is of use. Of very many, the newest."""
    room = MOST_ARGUMENTS
    found: list[list[str]] = []
    for several in reversed(arguments):
        found.append([])
        for written in several:
            size = outline.size(written)
            if size <= min(LARGEST, room):
                room -= size
                found[-1].append(outline.restore(written))
    return found[::-1]


def newest_first(
    texts: list[str], roles: list[str], calls: Sequence[str] = (), outline: Outline | None = None
) -> list[str]:
    """`calls`: what the calls of each message spell. Behind them stand the user's newest messages as one text, then the
    application's own words, and at the end what only several messages tell together. `outline`: of light texts."""
    said, own = texts, []
    if "system" in roles or "developer" in roles:
        said = [text for text, role in zip(texts, roles, strict=True) if role not in FRAMES]
        own = [Frame(text) for text, role in zip(texts, roles, strict=True) if role in FRAMES]
    is_short = len(texts) == 1 and (len(texts[0]) if outline is None else outline.size(texts[0])) <= ALONE
    run, joined = ("", []) if is_short else joins(texts, roles, outline)
    found = [text for text in (*reversed(said), *reversed(calls), run, *reversed(own)) if text.strip()]
    return [*found, *joined]


def readings(text: str) -> list[str]:
    """A text as it stands and, where it is or quotes JSON, as it is meant: `\\u006bill` is a word like any other."""
    found = [text]
    if "\\" not in text or type(text) is Join:
        return found
    kind = type(text)
    written = _around_escapes(text) if len(text) in BY_LINES else text
    while "\\" in written and len(found) < DEEPEST:
        plain = _unescaped(written)
        if plain == written:
            break
        found.append(plain if kind is str else kind(plain))
        written = plain
    return found


def _around_escapes(text: str) -> str:
    """The lines with a backslash and those near them. The others read as they stand, and code has many of these."""
    lines = text.split("\n")
    kept: list[str] = []
    end = 0  # of what is kept
    for place, line in enumerate(lines):
        if "\\" in line:
            kept += lines[max(end, place - NEAR) : place + NEAR + 1]
            end = place + NEAR + 1
    return "\n".join(kept)


def _unescaped(text: str) -> str:
    """Each step runs over the whole text in C: a callback for each escape took 3 s for 2 MB of them. A backslash that
    is meant is BACKSLASH on the way."""
    text = text.replace("\\\\", BACKSLASH)
    if text.endswith("\\"):
        text = text[:-1] + BACKSLASH
    for escape, meant in SHORT:
        text = text.replace(escape, meant)
    if "\\" in text:
        text = text.replace("\\u", CODE).replace("\\", "").replace(CODE, "\\u")
        text = _decode_code_points(text)
    return text.replace(BACKSLASH, "\\")


def _decode_code_points(text: str) -> str:
    """Every backslash in `text` stands before a `u`. One that is cut stays."""
    try:
        plain = text.encode("raw_unicode_escape").decode("raw_unicode_escape")
    except UnicodeDecodeError:
        text = CUT_CODE.sub(BACKSLASH, text)
        plain = text.encode("raw_unicode_escape").decode("raw_unicode_escape")
    if "\\ud" in text or "\\uD" in text:  # halves of a character
        plain = plain.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    return plain


def message_words(message: Document) -> Iterator[str]:
    """Of a message in a prompt."""
    for key in TEXTS:
        if message.get(key):
            yield from _parts(message[key])
    for key in THOUGHTS:
        if key in message:
            yield from (words for _, words in _strings(message[key], key))
    yield from call_words(message)
    yield from _called_names(message)
    name = message.get("name")
    if name and type(name) is str:
        yield name


def _called_names(message: Document) -> Iterator[str]:
    """Of functions that were called in a prompt: whoever wrote it may have made them up."""
    for call in calls if isinstance(calls := message.get("tool_calls"), list) else ():
        for kind in ("function", "custom"):
            function = call.get(kind) if isinstance(call, dict) else None
            if isinstance(function, dict) and type(name := function.get("name")) is str and name:
                yield name
    function = message.get("function_call")
    if isinstance(function, dict) and type(name := function.get("name")) is str and name:
        yield name


def answer_texts(message: Document) -> list[str]:
    """All that a whole answer says, each text by itself."""
    texts = ["\n".join(_parts(message.get(key))) for key in TEXTS]
    texts += ("\n".join(words for _, words in _strings(message.get(key), key)) for key in THOUGHTS)
    audio = message.get("audio")
    if isinstance(audio, dict):
        texts += _parts(audio.get("transcript"))
    return [text for text in (*texts, *call_words(message), spelled(call_words(message))) if text]


def delta_words(delta: Document) -> Iterator[tuple[str, str]]:
    """What one delta adds: to which text of the answer, and the words. A call may begin without any."""
    for key in TEXTS:
        words = delta.get(key)
        if words and type(words) is str:
            yield key, words
    for key in THOUGHTS:
        if key in delta:
            yield from _strings(delta[key], key)
    audio = delta.get("audio")
    if isinstance(audio, dict) and type(audio.get("transcript")) is str:
        yield "audio", audio["transcript"]
    for call in calls if isinstance(calls := delta.get("tool_calls"), list) else ():
        yield f"call {call.get('index')}", "".join(_call(call))
    if isinstance(delta.get("function_call"), dict):
        yield "call", "".join(_function(delta["function_call"]))


def call_words(message: Document) -> Iterator[str]:
    for call in calls if isinstance(calls := message.get("tool_calls"), list) else ():
        if isinstance(call, dict):
            yield from _call(call)
    if isinstance(message.get("function_call"), dict):
        yield from _function(message["function_call"])


def _call(call: Document) -> Iterator[str]:
    for kind in ("function", "custom"):
        if isinstance(call.get(kind), dict):
            yield from _function(call[kind])
    # A vendor's own kind of call has a body of its own, and says its kind in its first fragment only.
    other = {key: value for key, value in call.items() if key not in ("function", "custom")}
    yield from (words for _, words in _strings(other, "call"))


def _function(function: Document) -> Iterator[str]:
    for key in ("arguments", "input"):
        words = function.get(key)
        if words and type(words) is str:
            yield words


def _strings(value: Any, name: str, depth: int = 0, labels: frozenset[str] = LABELS) -> Iterator[tuple[str, str]]:
    """All texts in what vendors shape as they like, each with a name: an entry's own `index` tells its place."""
    if type(value) is str:
        if value:
            yield name, value
    elif depth < DEEPEST and isinstance(value, dict):
        for key, inner in value.items():
            if key not in labels:
                yield from _strings(inner, f"{name}.{key}", depth + 1, labels)
    elif depth < DEEPEST and isinstance(value, list):
        for position, inner in enumerate(value):
            place = inner.get("index", position) if isinstance(inner, dict) else position
            yield from _strings(inner, f"{name}[{place}]", depth + 1, labels)


def _all_strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Whatever the keys are called."""
    if type(value) is str:
        if value and not _is_media(value):
            yield value
    elif depth < DEEPEST and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _all_strings(inner, depth + 1)


def _is_media(words: str) -> bool:
    """An address, or a file in base64: long, and without any space. Not one that is text."""
    if any(space in words for space in " \n\t"):
        return False
    if words.startswith("data:text/"):
        return False
    return words.startswith(("https:", "http:", "data:")) or (len(words) > LONGEST_WORD and words.isascii())


def _parts(content: Any) -> Iterator[str]:
    """A string, or the texts among parts."""
    if type(content) is str:
        if content:
            yield content
        return
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            if part.get("type") not in KNOWN_PARTS:
                found = _strings(part, "part", labels=PART_LABELS)
                yield from (words for _, words in found if not _is_media(words))
                continue
            for key in ("text", "refusal"):
                if type(part.get(key)) is str and part[key]:
                    yield part[key]
            file = part.get("file")
            if isinstance(file, dict):
                yield from file_words(file.get("filename"), file.get("file_data"))


def file_words(name: object, data: object) -> Iterator[str]:
    if type(name) is str and name:
        yield name
    if type(data) is str and data and not _is_media(data):
        yield data
