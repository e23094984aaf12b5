"""The tokens of a request: its prompts once, what was generated in all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from antiphon.engine.generation import End

Document = dict[str, Any]


def usage_of(prompts: int, ends: list[End]) -> Document:
    """`cached`: of the first choice; the others find all of the prompt in the cache, by the first one's doing."""
    completion = sum(end.completion for end in ends)
    return {
        "prompt_tokens": prompts,
        "completion_tokens": completion,
        "total_tokens": prompts + completion,
        "prompt_tokens_details": {"cached_tokens": ends[0].cached if ends else 0},
    }


async def together(choices: Iterable[Callable[[], Coroutine[Any, Any, End]]], *, one_by_one: bool) -> list[End]:
    """All choices; the first failure ends the others and is the failure of all. None is begun before its turn.

    `one_by_one`: what is generated side by side changes each other's last digits, and so is not repeatable.
    """
    if one_by_one:
        return [await choice() for choice in choices]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(choice()) for choice in choices]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
