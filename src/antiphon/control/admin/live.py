"""What the gateway is doing now: routes, upstreams with their health, turns under way, processes."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from starlette.requests import Request

from antiphon.accounts.commands.running import SECOND, write_time
from antiphon.control.admin.endpoint import PAGE, AdminEndpoint, page, read_count, read_cursor
from antiphon.control.options import ControlOptions
from antiphon.control.samples import process_usage
from antiphon.control.state import read_state
from antiphon.control.worker_socket import NoAnswer, ask, worker_name
from antiphon.metrics.families import ATTEMPTS, LAST_ANSWERED, LAST_FAILED, UPSTREAM, UPSTREAM_ATTEMPTS, start_of
from antiphon.metrics.table import MetricsTable, indexes, names_path, read_names
from antiphon.settings.model import UpstreamSettings

MOST_TURNS: Final = 1000


class LiveEndpoints:
    def __init__(self, options: ControlOptions, table: MetricsTable) -> None:
        self._options = options
        self._table = table

    def rows(self) -> list[AdminEndpoint]:
        return [
            AdminEndpoint("GET", "/routes", "Routes of the settings in use, in their order.", self.routes, PAGE),
            AdminEndpoint("GET", "/upstreams", "Upstreams, and how their last attempts went.", self.upstreams, PAGE),
            AdminEndpoint(
                "GET", "/turns", "Turns under way, the longest first; 1,000 of a worker at most.", self.turns
            ),
            AdminEndpoint("GET", "/processes", "The gateway's processes.", self.processes),
        ]

    async def routes(self, request: Request) -> Any:
        limit, after = read_count(request), read_cursor(request, int) or 0
        rows = [
            {"model": route.model, "targets": [_target(target) for target in route.targets]}
            for route in self._options.settings.routes[after : after + limit]
        ]
        return page(rows, after + len(rows), limit)

    async def upstreams(self, request: Request) -> Any:
        limit, after = read_count(request), read_cursor(request, int) or 0
        known = indexes(read_names(names_path(self._options.room)), UPSTREAM)
        rows = [
            {"name": row.name, "protocol": row.protocol, "url": row.url, **self._health(row, known)}
            for row in self._options.settings.upstreams[after : after + limit]
        ]
        return page(rows, after + len(rows), limit)

    def _health(self, row: UpstreamSettings, known: dict[str, int]) -> dict[str, Any]:
        """By the last attempts: nobody is asked for it."""
        at = known.get(row.name)
        if at is None:  # beyond the upstreams that are counted one by one
            return {"health": "unknown"}
        parts = [self._table.part(worker) for worker in range(self._table.workers)]
        first = start_of(UPSTREAM_ATTEMPTS) + at * len(ATTEMPTS)
        answered = max(part[start_of(LAST_ANSWERED) + at] for part in parts)
        failed = max(part[start_of(LAST_FAILED) + at] for part in parts)
        health = "unknown" if not answered and not failed else "failing" if failed > answered else "healthy"
        attempts = {word: int(sum(part[first + step] for part in parts)) for step, word in enumerate(ATTEMPTS)}
        return {
            "health": health,
            "last_answer": _iso(answered),
            "last_failure": _iso(failed),
            "attempts": attempts,
        }

    async def turns(self, request: Request) -> Any:
        room = self._options.room
        asked = [self._turns_of(room, worker) for worker in range(self._table.workers)]
        found = await asyncio.gather(*asked)
        rows = sorted((row for rows, _ in found for row in rows), key=lambda row: -row["seconds"])
        return {"rows": rows, "silent_workers": [worker for worker, (_, silent) in enumerate(found) if silent]}

    async def _turns_of(self, room: str, worker: int) -> tuple[list[dict[str, Any]], bool]:
        """-> its turns, and whether it did not answer."""
        try:
            rows = await ask(room, worker_name(worker), "turns", patience=2.0)
        except NoAnswer:
            return [], True
        return [{"worker": worker, **row} for row in rows], False

    async def processes(self, request: Request) -> Any:
        state = read_state(self._options.room)
        rows = []
        for process in state.processes:
            memory, cpu = process_usage(process.pid)
            rows.append({**msgspec.to_builtins(process), "memory_bytes": memory, "cpu_seconds": cpu})
        return {"supervisor": state.pid, "started": _iso(state.started), "draining": state.draining, "rows": rows}


def _iso(seconds: float) -> str | None:
    """A moment as the admin API tells it; 0 is none."""
    return write_time(int(seconds * SECOND)) if seconds else None


def _target(target: Any) -> dict[str, Any]:
    return {
        "upstream": target.upstream,
        "model": target.model,
        "weight": target.weight,
        "priority": target.priority,
    }
