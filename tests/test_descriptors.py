"""Few descriptors: told at the start with figures, told when they are used up; the gateway goes on."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiphon.descriptors import most_connections, warn_of
from tests.support.process import COMMAND, serving, until
from tests.support.raw import call
from tests.test_supervisor_hung import settings

LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))
os.execv(sys.argv[1], sys.argv[1:])
"""


def limited(descriptors: int) -> tuple[str, ...]:
    return (sys.executable, "-c", LIMITED.format(descriptors), COMMAND, "serve", "-c")


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def connected(port: int, count: int) -> Iterator[list[socket.socket]]:
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    try:
        yield sockets
    finally:
        for sock in sockets:
            sock.close()


@pytest.mark.parametrize("limit", [20, 64, 256, 1024, 4096, 20_000, 1 << 20])
def test_what_a_worker_takes_leaves_some_for_itself(limit: int) -> None:
    most = most_connections(limit)
    assert most >= 1
    assert 2 * most < limit


def test_enough_descriptors_are_not_worth_a_word() -> None:
    assert warn_of(20_000, 10_000) is None
    assert warn_of(1024, 100) is None


async def test_the_warning_has_figures(tmp_path: Path) -> None:
    async with serving(tmp_path, settings(tmp_path), command=limited(256)) as gateway:
        warning = await gateway.said("WARNING: a process may open 256 descriptors only: ")
        assert "max_connections = 10,000 needs about 20,128" in warning
        assert "ulimit" in warning
        await gateway.ready()
        assert (await call(gateway.port, "GET", "/healthz")).status == 200


async def test_a_full_table_is_logged_once_and_survived(tmp_path: Path) -> None:
    log = tmp_path / "error.log"

    def told() -> list[str]:
        lines = map(json.loads, log.read_text().splitlines() if log.exists() else [])
        return [line["message"] for line in lines if "accepted" in line["message"]]

    async with serving(tmp_path, settings(tmp_path), command=limited(48)) as gateway:
        await gateway.ready()
        (worker,) = gateway.children()
        with connected(gateway.port, 120):
            await until(lambda: bool(told()))
            before = cpu(worker)
            await asyncio.sleep(1.5)  # three looks at the table; what is used of the processor is what is tried
            assert cpu(worker) - before < 0.75, "the loop spins"
            assert told() == ["connections cannot be accepted: Too many open files; the limit is 48 descriptors"]
        await until(lambda: len(os.listdir(f"/proc/{worker}/fd")) < 40)  # it has seen that they are gone
        assert (await call(gateway.port, "GET", "/healthz")).status == 200
        assert gateway.children() == [worker]


async def test_connections_beyond_the_limit_are_logged(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
    text = settings(tmp_path).replace("workers = 1", "workers = 1\nmax_connections = 3")
    log = tmp_path / "error.log"
    async with serving(tmp_path, text) as gateway:
        await gateway.ready()
        with connected(gateway.port, 5):
            await until(lambda: "all 3 connections are in use: new ones are refused" in log.read_text())
