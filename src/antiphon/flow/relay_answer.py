"""A relayed answer on its way from the upstream to the client. Nobody reads it.

Nothing leaves before the first byte of the answer's body is here: until then an attempt can fail unseen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from antiphon.errors import AntiphonError, UpstreamError
from antiphon.flow.ports import Call, RelayClient


class Transfer:
    """`ended` is resolved once: with what went wrong, or None."""

    __slots__ = ("_client", "_first", "_headers", "_is_begun", "call", "ended", "status")

    def __init__(self, client: RelayClient, first: Callable[[], None]) -> None:
        """`first` is called when the answer begins to leave."""
        self.call: Call | None = None
        self.ended: asyncio.Future[AntiphonError | None] = asyncio.get_running_loop().create_future()
        self.status = 0
        self._client = client
        self._first = first
        self._headers: Mapping[bytes, bytes] = {}
        self._is_begun = False

    def begin(self, status: int, headers: Mapping[bytes, bytes]) -> None:
        self.status, self._headers = status, headers

    def data(self, data: bytes) -> None:
        if not self._is_begun:
            self._begin()
        self._client.write(data)

    def finish(self) -> None:
        if not self._is_begun:
            self._begin()
        self._client.finish()
        self._end(None)

    def fail(self, error: UpstreamError, source: int = 0) -> None:
        self._end(error)

    def break_off(self, error: AntiphonError) -> None:
        """The client's body is broken."""
        self.close()
        self._end(error)

    def close(self) -> None:
        if self.call is not None:
            self.call.cancel()

    def pause(self) -> None:
        if self.call is not None:
            self.call.pause()

    def resume(self) -> None:
        if self.call is not None:
            self.call.resume()

    def _begin(self) -> None:
        self._is_begun = True
        self._first()
        self._client.begin(self.status, self._headers)

    def _end(self, error: AntiphonError | None) -> None:
        if not self.ended.done():
            self.ended.set_result(error)
