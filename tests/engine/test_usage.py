"""Choices side by side and one after another."""

from __future__ import annotations

import asyncio

import pytest

from antiphon.engine.generation import End, together


@pytest.mark.parametrize("one_by_one", [True, False])
async def test_choices_that_are_cancelled_leave_none_behind_that_was_never_awaited(one_by_one: bool) -> None:
    """Such a one warns, and warnings are errors."""
    begun: list[int] = []

    async def choice() -> End:
        begun.append(1)
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(together([choice] * 3, one_by_one=one_by_one))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(begun) == (1 if one_by_one else 3)
