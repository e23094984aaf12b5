"""The prompt that `echo` puts before each choice's text: sent on, but no part of what was generated, so not counted."""

from __future__ import annotations

from antiphon.chat.prompt_request import PromptRequest
from antiphon.document import Document


class PromptEcho:
    """Fed each choice's text in order. A prompt of tokens has no text to compare with: its echo counts."""

    __slots__ = ("_each", "_prompts", "_rest")

    def __init__(self, request: PromptRequest) -> None:
        echoes = request.light.get("echo") is True
        prompt = (request.document if echoes else request.light).get("prompt")
        self._prompts: list[str] = [prompt] if echoes and isinstance(prompt, str) else []
        if echoes and isinstance(prompt, list) and isinstance(prompt[0], str):
            self._prompts = prompt
        self._each = request.choices // (len(self._prompts) or 1)  # OpenAI's order: all choices of a prompt, the next
        self._rest: dict[int, str] = {}  # what of a choice's echo is still to come

    def strip(self, choice: Document) -> str:
        index, text = choice["index"], choice["text"]
        if index not in self._rest:
            place = index // self._each
            self._rest[index] = self._prompts[place] if place < len(self._prompts) else ""
        rest = self._rest[index]
        size = min(len(rest), len(text))
        if not text.startswith(rest[:size]):
            size, rest = 0, ""
        self._rest[index] = rest[size:]
        return str(text[size:])
