"""A text completion, the answer of `/v1/completions`: the upstream's own document, edited only where it must be.

A whole answer and a streamed chunk have one shape: the text of a chunk's choice is a piece, its finish reason is null
until the last one. Both get the same care: an index, a finish reason of the enum [finish-words], OpenAI's `object`, and
an id, a time and a model where the upstream gave none. Unknown keys stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from antiphon.chat.answer_defaults import AnswerDefaults
from antiphon.chat.completion import Conformed, read_created
from antiphon.chat.delta import MAX_CHOICES
from antiphon.chat.event import Lenient, scrub, truncated
from antiphon.chat.failure import is_error, is_failure, malformed, read_failure
from antiphon.chat.finish import STOP, read_finish
from antiphon.chat.prompt_echo import PromptEcho
from antiphon.chat.prompt_request import PromptRequest
from antiphon.chat.usage import read_usage
from antiphon.document import Document

OBJECT: Final = "text_completion"
NATIVE: Final = "native_finish_reason"


def conform(document: Document, request: PromptRequest, stamp: AnswerDefaults) -> Conformed:
    document = read_whole(document, request.choices)
    document.update(name(document, stamp))
    echo = PromptEcho(request)
    texts = [echo.strip(choice) for choice in document["choices"]]
    return Conformed(document, read_usage(document.get("usage")), texts, None)


def read_whole(document: Document, most: int) -> Document:
    """Refuses what failed or was cut: nothing of it has left, so that another target can still answer.
    `most`: so many choices were asked for."""
    document = read_chunk(document, most, blank=STOP)  # "" is null before the end; here is the end
    if not document["choices"]:
        raise malformed()
    if any(choice["finish_reason"] is None for choice in document["choices"]):
        raise truncated()
    return document


def read_chunk(document: Document, most: int, *, blank: str | None = None) -> Document:
    """The document with its choices made regular. `blank`: what an empty finish reason stands for."""
    if isinstance(document, Lenient):
        document = dict(scrub(document))
    if is_failure(document):
        raise read_failure(document)
    choices = document.get("choices") or []
    if not isinstance(choices, list):
        raise malformed()
    for position, choice in enumerate(choices):
        _read_choice(choice, position, max(most, MAX_CHOICES), blank)
    document["choices"] = choices
    return document


def _read_choice(choice: object, position: int, most: int, blank: str | None) -> None:
    if not isinstance(choice, dict):
        raise malformed()
    if is_error(choice.get("error")):
        raise read_failure(choice)
    index = choice.get("index")
    if index is None:
        index = choice["index"] = position
    if type(index) is not int or not 0 <= index < most:
        raise malformed()
    text = choice.get("text")
    if text is None:
        choice["text"] = ""
    elif not isinstance(text, str):
        raise malformed()
    word = choice.get("finish_reason")
    choice["finish_reason"], native = read_finish(blank if word == "" else word)
    if native is not None and choice.get(NATIVE) is None:
        choice[NATIVE] = native


def name(document: Document, stamp: AnswerDefaults) -> Document:
    """What an answer is called, as its upstream did or as we do."""
    id, model = document.get("id"), document.get("model")
    return {
        "id": id if isinstance(id, str) and id else stamp.new_id(),
        "object": OBJECT,
        "created": read_created(document.get("created"), stamp.now),
        "model": model if isinstance(model, str) and model else stamp.model,
    }


def fold(chunks: Iterable[Document], usage: Document | None) -> Document:
    """A whole answer from a stream's chunks, for an upstream that streams though it was not asked to."""
    answer: Document = {}
    choices: dict[int, Document] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            _fold_choice(choices.setdefault(choice["index"], empty_choice(choice["index"])), choice)
        answer.update(chunk)
    answer["choices"] = [choices[index] for index in sorted(choices)]
    if usage is not None:
        answer["usage"] = usage
    return answer


def empty_choice(index: int) -> Document:
    return {"index": index, "text": "", "logprobs": None, "finish_reason": None}


def _fold_choice(whole: Document, choice: Document) -> None:
    for key, value in choice.items():
        if key == "text":
            whole["text"] += value
        elif key == "logprobs" and isinstance(value, dict) and isinstance(whole["logprobs"], dict):
            whole["logprobs"] = {
                **whole["logprobs"],
                **{name: _joined(whole["logprobs"].get(name), more) for name, more in value.items()},
            }
        elif value is not None or key not in whole:
            whole[key] = value


def _joined(before: object, more: object) -> object:
    return [*before, *more] if isinstance(before, list) and isinstance(more, list) else more
