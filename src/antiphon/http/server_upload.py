"""A body that is handed on while it arrives: what of it is held, and when reading pauses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from antiphon.http.request import Refusal
from antiphon.http.server_budget import BodyBudget

ROOM: Final = 1024 * 1024  # bytes


class UploadOwner(Protocol):
    """The connection that the body comes from."""

    def pause_upload(self) -> None: ...

    def resume_upload(self) -> None: ...

    def end_upload(self) -> None:
        """The body is complete."""


def _ignore(_: bytes) -> None:
    """Nobody looks at the pieces."""


def _nothing() -> None:
    """Nobody waits."""


class Upload:
    """`data` holds what has arrived and was not dropped. Reading pauses while that is `room` bytes or more. It counts
    in the budget of all bodies."""

    __slots__ = (
        "_budget",
        "_is_closed",
        "_is_paused",
        "_limit",
        "complete",
        "data",
        "dropped",
        "length",
        "on_change",
        "owner",
        "refusal",
        "room",
        "size",
        "watch",
    )

    def __init__(self, budget: BodyBudget, limit: int, length: int | None) -> None:
        """`length`: as announced; None: the body comes in chunks."""
        self._budget = budget
        self._limit = limit
        self._is_closed = self._is_paused = False
        self.length = length
        self.size = 0  # bytes so far
        self.dropped = 0
        self.data = bytearray()
        self.room = ROOM
        self.complete = False
        self.refusal: Refusal | None = None  # why the rest will not come
        self.owner: UploadOwner | None = None
        self.watch: Callable[[bytes], None] = _ignore  # called with each piece as it arrives
        self.on_change: Callable[[], None] = _nothing  # called when there is more, the end, or a refusal

    def drop(self, size: int) -> None:
        """The first `size` bytes of `data` are no longer needed."""
        del self.data[:size]
        self.dropped += size
        self._budget.held -= size
        self._make_room()

    def replace(self, start: int, end: int, new: bytes) -> None:
        """Other bytes in the place of some that are held."""
        self.data[start:end] = new
        self._budget.held += len(new) - (end - start)

    def widen(self, room: int) -> None:
        self.room = room
        self._make_room()

    def close(self) -> None:
        """Nobody needs it any more."""
        if not self._is_closed:
            self._is_closed = True
            self._budget.held -= len(self.data)
            self.data = bytearray()
            self.watch, self.on_change = _ignore, _nothing
            self.owner = None

    def _make_room(self) -> None:
        if self._is_paused and len(self.data) < self.room and self.owner is not None:
            self._is_paused = False
            self.owner.resume_upload()

    # For the reader and the connection

    def feed(self, data: bytes) -> None:
        if self._is_closed:
            return
        self.size += len(data)
        if self.size > self._limit:
            raise Refusal(413, f"The request body is larger than {self._limit} bytes.")
        self._budget.take(len(data))
        self.data += data
        self.watch(data)
        self.on_change()
        self.check_room()

    def check_room(self) -> None:
        if len(self.data) >= self.room and not self._is_paused and not self.complete and self.owner is not None:
            self._is_paused = True
            self.owner.pause_upload()

    def end(self) -> None:
        self.complete = True
        if self.owner is not None:
            self.owner.end_upload()
        self.on_change()

    def refuse(self, refusal: Refusal) -> None:
        self.refusal = refusal
        self.on_change()
