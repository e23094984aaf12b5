"""Health of the gateway as a whole: `/healthz` and `/readyz` on the control port."""

from __future__ import annotations

from typing import Any

from antiphon.control.options import ControlOptions
from antiphon.control.state import read_state
from antiphon.engine import state as engine_state
from antiphon.metrics.families import EVALUATORS, GENERATION, start_of
from antiphon.metrics.table import MetricsTable


class Health:
    def __init__(self, options: ControlOptions, table: MetricsTable) -> None:
        self._options = options
        self._table = table

    def look(self) -> tuple[bool, dict[str, Any]]:
        """-> is it ready, and what /readyz says. As on the public port, but for evaluators and stores:

        they play no part. Workers tell whether evaluators are ready, and not whether they start or are overloaded.
        """
        options, state = self._options, read_state(self._options.room)
        said: dict[str, Any] = {"generation": state.generation}
        reasons = ["draining"] if state.draining else []
        workers = [process for process in state.processes if process.what == "worker"]
        living = [number for number, worker in enumerate(workers) if worker.pid]
        if not living:
            reasons.append("no worker runs")
        said["workers"] = [
            {"worker": number, "pid": workers[number].pid, "generation": int(self._number(number, GENERATION))}
            for number in living
        ]
        if options.judged:
            is_judged = any(self._number(number, EVALUATORS) for number in living)
            said["evaluators"] = "ready" if is_judged else "not ready"
        if options.engine is not None:
            found = engine_state.read(options.engine.state)
            said["engine"] = str(found)
            if found.status != "ready" and options.settings.rests_on_engine:
                reasons.append(f"engine: {found.reason or found.status}")
        if reasons:
            return False, {"status": "not ready", "reason": "; ".join(reasons), **said}
        return True, {"status": "ready", **said}

    def _number(self, worker: int, family: Any) -> float:
        return self._table.part(worker)[start_of(family)] if worker < self._table.workers else 0.0
