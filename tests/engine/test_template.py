"""What is remembered of the chat template's doings, and for whom."""

from __future__ import annotations

import re
from typing import Any

from antiphon.engine.template import MOST_REMEMBERED, ChatTemplate

Document = dict[str, Any]


class Tokenizer:
    """A token for each role and each word; counts what it is asked to render."""

    def __init__(self) -> None:
        self.rendered = 0

    async def ask(self, path: str, question: Document) -> Document:
        if path == "/apply-template":
            self.rendered += 1
            return {"prompt": "".join(f"<{message['role']}>{message['content']}" for message in question["messages"])}
        content = question["content"]
        pieces = content if isinstance(content, list) else [content]
        found = [[piece] if isinstance(piece, int) else [7] * len(re.findall(r"\w+", piece)) for piece in pieces]
        return {"tokens": [token for tokens in found for token in tokens]}


async def test_a_sequence_of_roles_is_rendered_once() -> None:
    template, native = ChatTemplate(100), Tokenizer()
    for words in ("a b", "c"):
        assert await template.tokens(native, [("user", words)]) == [7] * (1 + len(words.split()))
    assert native.rendered == 1


async def test_what_does_not_fit_into_the_context_is_not_remembered() -> None:
    template, native = ChatTemplate(100), Tokenizer()
    for _ in range(2):
        assert len(await template.tokens(native, [("user", "")] * 100)) == 100
    assert native.rendered == 2


async def test_what_is_remembered_is_bounded_by_its_length_in_all() -> None:
    template, native = ChatTemplate(10**9), Tokenizer()
    most = MOST_REMEMBERED // 3  # each message is a role, a token and a place
    first: list[tuple[str, str]] = [("user", "a")]
    await template.tokens(native, first)
    await template.tokens(native, [("user", "")] * (most + 1))  # too long at all
    await template.tokens(native, first)
    assert native.rendered == 2
    await template.tokens(native, [("user", "")] * most)  # with it the first is forgotten
    await template.tokens(native, first)
    assert native.rendered == 4
