"""Messages to token ids, by the model's own chat template, with the users' words kept as mere words.

The template is rendered with marks in place of the texts, so that what it adds (roles, control tokens) and what people
wrote stay apart: only the former is read with control tokens. `<|im_end|>` in a message is seven ordinary tokens to the
model, and nothing of the message is changed. How a sequence of roles is rendered is remembered: a conversation that
goes on costs one question to the engine's tokenizer. Sequences that do not fit into the context are not remembered.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Final

from antiphon.engine.native_client import AsksEngine
from antiphon.errors import RequestError

Words = tuple[str, str]  # (role, text)
MOST_REMEMBERED: Final = 200_000  # roles and tokens in all: some megabytes
DOCUMENT: Final = "<|endoftext|>"  # how OpenAI, and many after it, part documents; its default prompt
MOST_CONTROLS: Final = 1024


class ChatTemplate:
    """One per run of the model: the marks are random, so that no message can hold one."""

    def __init__(self, context: int) -> None:
        self._context = context
        self._mark = secrets.token_hex(8)
        self._find_mark = re.compile(f"@{self._mark}:(\\d+)@")
        self._rendered: dict[tuple[str, ...], list[int | tuple[int]]] = {}
        self._remembered = 0
        self._tokens: dict[tuple[str, bool], list[int]] = {}

    async def tokens(self, native: AsksEngine, messages: Sequence[Words]) -> list[int]:
        """Raises RequestError where the template takes no such sequence of roles."""
        roles = tuple(role for role, _ in messages)
        plan = self._rendered.get(roles) or await self._plan(native, roles)
        content = [messages[piece[0]][1] if isinstance(piece, tuple) else piece for piece in plan]
        answer = await native.ask("/tokenize", {"content": content, "parse_special": False, "add_special": False})
        tokens = list(answer["tokens"])
        if len(tokens) < self._context:
            self._remember(roles, plan)
        return tokens

    async def plain(self, native: AsksEngine, text: str) -> list[int]:
        """A text as it is, begun as the model's texts begin."""
        answer = await native.ask("/tokenize", {"content": text, "parse_special": False, "add_special": True})
        return list(answer["tokens"])

    async def nothing(self, native: AsksEngine) -> list[int]:
        """What stands before the first word of a document; nothing where this model's documents begin with it."""
        begun = await self.plain(native, "")
        if begun:
            return begun
        question = {"content": DOCUMENT, "parse_special": True, "add_special": False}
        tokens = list((await native.ask("/tokenize", question))["tokens"])
        return tokens if len(tokens) == 1 else []

    async def _plan(self, native: AsksEngine, roles: tuple[str, ...]) -> list[int | tuple[int]]:
        """Token ids, and (i,) where message i's text stands."""
        messages = [{"role": role, "content": f"@{self._mark}:{index}@"} for index, role in enumerate(roles)]
        try:
            rendered = (await native.ask("/apply-template", {"messages": messages}))["prompt"]
        except RequestError as error:
            raise RequestError(
                f"This model takes no such sequence of messages: {error.message}", param="messages"
            ) from None
        plan: list[int | tuple[int]] = []
        for position, piece in enumerate(self._find_mark.split(rendered)):
            if position % 2:
                plan.append((int(piece),))
            elif piece or position == 0:
                plan += await self._control(native, piece, first=position == 0)
        return plan

    def _remember(self, roles: tuple[str, ...], plan: list[int | tuple[int]]) -> None:
        size = len(roles) + len(plan)
        if roles in self._rendered or size > MOST_REMEMBERED:
            return
        if self._remembered + size > MOST_REMEMBERED:
            self._rendered.clear()
            self._remembered = 0
        self._rendered[roles] = plan
        self._remembered += size

    async def _control(self, native: AsksEngine, text: str, *, first: bool) -> list[int]:
        """What the template adds; at the very beginning with what the model's texts begin with (BOS)."""
        tokens = self._tokens.get((text, first))
        if tokens is None:
            question = {"content": text, "parse_special": True, "add_special": first}
            if len(self._tokens) >= MOST_CONTROLS:
                self._tokens.clear()
            tokens = self._tokens[(text, first)] = list((await native.ask("/tokenize", question))["tokens"])
        return tokens
