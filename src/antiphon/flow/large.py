"""Reads a large request. Its body is measured before it is parsed, and other turns go on meanwhile."""

from __future__ import annotations

import asyncio

from antiphon.chat.bounds import PIECE, JsonBounds, Scan
from antiphon.flow.endpoints import Endpoint, LocalEndpoint
from antiphon.flow.ports import Incoming
from antiphon.flow.turn import R, Turn


async def read_large(
    turn: Turn[R], incoming: Incoming, endpoint: Endpoint[R] | LocalEndpoint[R], bounds: JsonBounds
) -> None:
    """Raises RequestError."""
    body = incoming.body
    scan = Scan(bounds)
    for start in range(0, len(body), PIECE):
        scan.feed(body[start : start + PIECE])
        await asyncio.sleep(0)
    turn.request = endpoint.parse(incoming, bounds)
    await asyncio.sleep(0)  # to parse it took a while, and to send it takes one again
