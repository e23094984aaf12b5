"""What a request may take, before it is sent: its prompt by the rule of thumb, and its answer at most."""

from __future__ import annotations

from typing import Any, Final

from antiphon.chat.plain_fields import AssistantMessage
from antiphon.chat.plain_request import PlainRequest
from antiphon.chat.request import ChatRequest
from antiphon.tokens.prompt import PER_MESSAGE, PRIMING, read_prompt
from antiphon.tokens.thumb import estimate

PER_ROLE: Final = 1
MOST: Final = 1 << 40  # tokens; a client may name any number


def input_tokens(request: Any) -> int:
    """About as many as its prompt has."""
    plain = request.plain if type(request) is ChatRequest else None
    if plain is not None and not plain.fields.tools and not plain.fields.response_format:
        text = _text(plain)
        if text is not None:
            return PRIMING + (PER_MESSAGE + PER_ROLE) * len(plain.messages) + estimate((text,))
    outline = request.outline
    if outline is None:
        prompt = read_prompt(request.light)
        return prompt.fixed + estimate(prompt.texts)
    prompt = read_prompt(request.light, outline.size)
    return prompt.fixed + sum(int(outline.size(text)) for text in prompt.texts) // 4


def _text(plain: PlainRequest) -> str | None:
    """All that its messages say. None: there is more in them than text."""
    texts = []
    for message in plain.messages:
        content = message.content
        if type(content) is not str or (type(message) is AssistantMessage and message.tool_calls):
            return None
        texts.append(content)
    return texts[0] if len(texts) == 1 else "".join(texts)


def most_output(request: Any) -> tuple[int | None, int]:
    """(tokens that a choice may have at most, None: nobody says; choices)"""
    plain = request.plain if type(request) is ChatRequest else None
    if plain is not None:
        fields = plain.fields
        return _number(fields.max_completion_tokens) or _number(fields.max_tokens), 1
    document = request.light
    most = _number(document.get("max_completion_tokens")) or _number(document.get("max_tokens"))
    choices = max(_number(document.get("n")) or 1, _number(document.get("best_of")) or 1)
    prompts = document.get("prompt")
    if isinstance(prompts, list) and prompts and isinstance(prompts[0], str | list):
        choices *= len(prompts)
    return most, choices


def _number(value: object) -> int | None:
    return min(value, MOST) if type(value) is int and value > 0 else None
