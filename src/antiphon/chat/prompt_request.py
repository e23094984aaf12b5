"""What is asked of the endpoints beside chat: a legacy completion or an embedding, refused in OpenAI's words and order.

The order is `request`'s own: `model`; what must be there; unknown keys (strict only); then each field by name. What
chat has too is checked as chat checks it. The document stays as it was sent. OpenAI's sentences on `input` and
`best_of` are quoted from its answers of 2026 and 2023; they carry no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from antiphon.chat.checks import (
    Check,
    KnownNames,
    RequestFault,
    boolean,
    each,
    empty,
    integer,
    missing,
    record,
    refuse_unknown,
    string,
    tagged,
    word,
    wrong_type,
)
from antiphon.chat.fields import FIELDS, INT64, NEEDS, Need
from antiphon.chat.moderated_text import loose_texts
from antiphon.chat.outline import Outline
from antiphon.chat.request import check_fields, refusal, refuse_model
from antiphon.document import Document

COMPLETIONS: Final = "completions"  # the endpoints by the last word of their paths
EMBEDDINGS: Final = "embeddings"
MODERATIONS: Final = "moderations"

MOST_INPUTS: Final = 2048
MOST_CHOICES: Final = 128
FORMS: Final = "one of a string, array of strings, array of integers, or array of integer arrays"


# Fields that are no part of completions, and that an upstream may read all the same.
BESIDE_PROMPT: Final = ("messages", "input", "instructions", "system")


class PromptRequest(msgspec.Struct, frozen=True):
    endpoint: str
    light: Document  # the document as sent, unknown keys too; with an outline, the light one
    model: str
    stream: bool = False
    choices: int = 1  # over all prompts
    include_usage: bool = False
    outline: Outline | None = None  # of a large request

    @property
    def document(self) -> Document:
        """As sent. That of a large request is made each time."""
        return self.light if self.outline is None else self.outline.restore(self.light)

    @property
    def moderation(self) -> object:
        return self.light.get("moderation")


def asked_texts(document: Document) -> list[str] | None:
    """The prompts of a completion and what is to follow. None: they are tokens, which nobody can read here."""
    prompt = document.get("prompt")
    texts = prompt if isinstance(prompt, list) else [prompt or ""]
    if type(texts[0]) is not str:
        return None
    beside = [each for key in BESIDE_PROMPT if key in document for each in loose_texts(document[key])]
    return [text for text in (*texts, document.get("suffix") or "", *beside) if text.strip()]


# Texts, or the tokens they are made of


def check_texts(value: Any, strict: bool) -> None:
    """All items of one kind; the first says which. Types are compared in C: a prompt may be a million tokens."""
    if type(value) is str:
        return
    if type(value) is not list:
        raise wrong_type(FORMS, value)
    if not value:
        raise empty("an array")
    kinds = set(map(type, value))
    if kinds != {str} and kinds != {int}:
        each(ITEMS.get(type(value[0]), check_item), value, strict)


def check_tokens(value: Any, strict: bool) -> None:
    if type(value) is not list:
        raise wrong_type("an array of integers", value)
    if not value:
        raise empty("an array")
    if set(map(type, value)) != {int}:
        each(check_token, value, strict)


def check_token(value: Any, strict: bool) -> None:
    if type(value) is not int:
        raise wrong_type("an integer", value)


def check_item(value: Any, strict: bool) -> None:
    raise wrong_type("one of a string, integer, or array of integers", value)


ITEMS: Final[Mapping[type, Check]] = {str: string, int: check_token, list: check_tokens}


def check_input(value: Any, strict: bool) -> None:
    """Also nothing empty, and not too many."""
    if value == "" or value == []:
        raise empty_input(value)
    check_texts(value, strict)
    if type(value) is not list:
        return
    if len(value) > MOST_INPUTS:
        raise RequestFault("Invalid ", f": array length must be {MOST_INPUTS} or less.", None)
    if "" in value:
        fault = empty_input("")
        fault.under(f"[{value.index('')}]")
        raise fault


def empty_input(value: object) -> RequestFault:
    noun = "string" if value == "" else "array"
    return RequestFault("Invalid ", f": input cannot be an empty {noun}.", None)


def needs_best_of(document: Document, strict: bool) -> None:
    best, n = document["best_of"], document.get("n")
    if type(n) is int and best < n <= MOST_CHOICES:  # `n` is checked later: its own faults are told then
        head = "You requested that the server return more choices than it will generate (HINT: you must set 'n' "
        head += f"(currently {n}) to be at most 'best_of' (currently {best}), or omit either parameter if you don't "
        head += "specifically want to use them.)"
        raise RequestFault(head, None, None, "best_of")


_SHARED: Final = (
    *("frequency_penalty", "logit_bias", "max_tokens", "n", "presence_penalty", "seed", "stop", "stream"),
    *("stream_options", "temperature", "top_p", "user"),
)

COMPLETION_FIELDS: Final[Mapping[str, Check]] = {
    **{name: FIELDS[name] for name in _SHARED},
    "best_of": integer(0, 20),
    "echo": boolean,
    "logprobs": integer(0, 5),
    "model": string,
    "prompt": check_texts,
    "suffix": string,
}
COMPLETION_NEEDS: Final[Mapping[str, Need]] = {
    "best_of": needs_best_of,
    "stream_options": NEEDS["stream_options"],
}

EMBEDDING_FIELDS: Final[Mapping[str, Check]] = {
    "dimensions": integer(1, INT64),
    "encoding_format": word("float", "base64"),
    "input": check_input,
    "model": string,
    "user": string,
}


def check_moderated(value: Any, strict: bool) -> None:
    """A text, several, or one made of parts. Pictures are not judged here, and nobody is to think that they were."""
    if type(value) is list and value and type(value[0]) is dict:
        each(check_part, value, strict)
        return
    if type(value) is not str and (type(value) is not list or set(map(type, value)) - {str}):
        raise wrong_type("one of a string, array of strings, or array of objects", value)
    check_input(value, strict)


check_part: Final = tagged({"text": record({"text": string, "type": string}, "text")}, travels=False)

MODERATION_FIELDS: Final[Mapping[str, Check]] = {"input": check_moderated, "model": string}


NAMES: Final = KnownNames({*COMPLETION_FIELDS, *EMBEDDING_FIELDS, *MODERATION_FIELDS})


def parse_completion(document: Document, *, strict: bool, outline: Outline | None = None) -> PromptRequest:
    """Raises RequestError for the first fault. No prompt is OpenAI's default one."""
    model = _check(document, strict, COMPLETION_FIELDS, COMPLETION_NEEDS)
    options = document.get("stream_options")
    return PromptRequest(
        COMPLETIONS,
        document,
        model,
        document.get("stream") is True,
        (document.get("n") or 1) * _prompts(document.get("prompt")),
        options is not None and options.get("include_usage") is True,
        outline,
    )


def parse_embedding(document: Document, *, strict: bool, outline: Outline | None = None) -> PromptRequest:
    """Raises RequestError for the first fault."""
    model = _check(document, strict, EMBEDDING_FIELDS, {}, "input")
    return PromptRequest(EMBEDDINGS, document, model, outline=outline)


def parse_moderation(document: Document, *, strict: bool, outline: Outline | None = None) -> PromptRequest:
    """Raises RequestError for the first fault. The model is the one that there is."""
    document.setdefault("model", MODERATIONS)
    model = _check(document, strict, MODERATION_FIELDS, {}, "input")
    return PromptRequest(MODERATIONS, document, model, outline=outline)


def _check(
    document: Document, strict: bool, fields: Mapping[str, Check], needs: Mapping[str, Need], *required: str
) -> str:
    model = document.get("model")
    if type(model) is not str or not model:
        raise refuse_model(model)
    try:
        for name in required:
            if document.get(name) is None:
                raise missing(name)
        if strict:
            refuse_unknown(document, fields)
        NAMES.refuse_look_alikes(document)
        check_fields(document, strict, fields, needs)
    except RequestFault as fault:
        raise refusal(fault) from None
    return model


def _prompts(prompt: object) -> int:
    return len(prompt) if isinstance(prompt, list) and not isinstance(prompt[0], int) else 1
