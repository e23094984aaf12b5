"""Runs a library's cases in every dialect and prints what each saw, one JSON line per case and dialect."""

# mypy: ignore-errors
from __future__ import annotations

import asyncio
import inspect
import json
import sys
import time


def main(cases, connect, dialects=None):
    """`cases`: functions of a client (coroutines too); `connect`: from base URL and dialect to that client."""
    bases = json.loads(sys.argv[1])
    for dialect, base in bases.items():
        if dialects is None or dialect in dialects:
            asyncio.run(run_all(cases, connect, dialect, base))


async def run_all(cases, connect, dialect, base):
    client = connect(base, dialect)
    for case in cases:
        began = time.perf_counter()
        try:
            saw = case(client)
            saw = await saw if inspect.isawaitable(saw) else saw
        except Exception as error:
            saw = told(error)
        verdict = {
            "case": case.__name__,
            "dialect": dialect,
            "saw": saw,
            "seconds": round(time.perf_counter() - began, 2),
        }
        print(json.dumps(verdict), flush=True)


def told(error):
    """What a program can learn from an exception."""
    known = {name: getattr(error, name) for name in ("status_code", "code", "param") if getattr(error, name, None)}
    return {"raised": type(error).__name__, "message": str(error), **known}
