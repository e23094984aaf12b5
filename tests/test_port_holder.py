"""An address in use: the error names --listen, and who holds it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiphon.port_holder import find_holder
from antiphon.settings.model import Address

HOLDER = """
import socket, sys
place = sys.argv[1]
if place[0] == "/":
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(place)
else:
    sock = socket.socket(socket.AF_INET6 if ":" in place else socket.AF_INET)
    sock.bind((place, 0))
sock.listen()
print(sock.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def holding(folder: Path, *arguments: str) -> Iterator[tuple[int, str]]:
    """A process of its own that listens. -> its id, and what it said: the port"""
    script = folder / "my-server.py"
    script.write_text(HOLDER)
    command = [sys.executable, str(script), *arguments, "--password=secret"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, process.stdout.readline().strip()
        finally:
            process.kill()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "0.0.0.0"),
        ("127.0.0.1", "localhost"),
        pytest.param("::1", "::1", marks=IPV6),
        pytest.param("::", "::1", marks=IPV6),
        pytest.param("::", "127.0.0.1", marks=IPV6),  # one socket for both
    ],
)
def test_the_process_is_found(tmp_path: Path, held: str, wanted: str) -> None:
    with holding(tmp_path, held) as (pid, port):
        assert find_holder(Address(wanted, int(port))) == f"my-server.py, process {pid}"


def test_who_listens_elsewhere_on_that_port_is_not_named(tmp_path: Path) -> None:
    with holding(tmp_path, "127.0.0.2") as (_, port):
        assert find_holder(Address("127.0.0.1", int(port))) is None


def serve(listen: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "ANTIPHON_ENGINE__ENABLED": "false", **more}
    command = [sys.executable, "-m", "antiphon", "serve", "--listen", listen]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ, cwd=folder)


def test_the_error_names_the_option_and_the_holder(tmp_path: Path) -> None:
    with holding(tmp_path, "127.0.0.1") as (pid, port):
        done = serve(f"127.0.0.1:{port}", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"antiphon: cannot listen on 127.0.0.1:{port}: Address already in use (by my-server.py, process {pid}). "
        "End what listens there, or choose another address: antiphon serve --listen HOST:PORT\n"
    )


def test_for_the_control_plane_it_names_its_setting(tmp_path: Path) -> None:
    with holding(tmp_path, "127.0.0.1") as (_, port):
        done = serve("127.0.0.1:0", tmp_path, ANTIPHON_SERVER__CONTROL=f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert done.stderr.endswith('choose another address: [server] control = "HOST:PORT", or "off"\n')


def test_a_unix_socket_too(tmp_path: Path) -> None:
    path = tmp_path / "a b.sock"
    with holding(tmp_path, str(path)) as (pid, _):
        done = serve(f"unix:{path}", tmp_path)
    assert done.returncode == 1
    assert f" (by my-server.py, process {pid}). " in done.stderr
    assert "--listen" in done.stderr
    assert "secret" not in done.stderr
