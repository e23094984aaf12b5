"""Listening sockets: stale unix sockets, ports in use, one port for many workers."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from antiphon.listen import open_sockets, remove_socket
from antiphon.settings.model import Address


def close(groups: list[list[socket.socket]]) -> None:
    for group in groups:
        for sock in group:
            sock.close()


def test_workers_share_one_port() -> None:
    groups = open_sockets(Address("127.0.0.1", 0), 3)
    try:
        assert len({group[0].getsockname() for group in groups}) == 1
        assert len({group[0].fileno() for group in groups}) == 3
    finally:
        close(groups)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_port_in_use_is_noticed(workers: int) -> None:
    taken = open_sockets(Address("127.0.0.1", 0), 2)
    try:
        with pytest.raises(OSError, match="in use"):
            open_sockets(Address("127.0.0.1", taken[0][0].getsockname()[1]), workers)
    finally:
        close(taken)


def test_a_stale_unix_socket_is_removed(tmp_path: Path) -> None:
    path = str(tmp_path / "gw.sock")
    close(open_sockets(Address(unix=path), 1))
    assert os.path.exists(path)
    groups = open_sockets(Address(unix=path), 2)
    assert groups[0][0] is groups[1][0]
    close(groups[:1])
    remove_socket(Address(unix=path))
    assert not os.path.exists(path)


def test_a_live_unix_socket_is_not_taken_over(tmp_path: Path) -> None:
    path = str(tmp_path / "gw.sock")
    groups = open_sockets(Address(unix=path), 1)
    try:
        with pytest.raises(OSError, match="another process"):
            open_sockets(Address(unix=path), 1)
    finally:
        close(groups)


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        open_sockets(Address(unix=str(path)), 1)
    assert path.read_text() == "precious"


def mode_of(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize(
    ("umask", "mode", "expected"), [(0o027, None, 0o750), (0o077, 0o666, 0o666), (0, 0o600, 0o600)]
)
def test_the_mode_of_a_unix_socket(tmp_path: Path, umask: int, mode: int | None, expected: int) -> None:
    path = str(tmp_path / "gw.sock")
    before = os.umask(umask)
    try:
        close(open_sockets(Address(unix=path), 1, mode=mode))
    finally:
        os.umask(before)
    assert mode_of(path) == expected


def test_the_group_of_a_unix_socket(tmp_path: Path) -> None:
    path = str(tmp_path / "gw.sock")
    groups = [group for group in os.getgroups() if group != os.getgid()] or [1 if os.getuid() == 0 else os.getgid()]
    close(open_sockets(Address(unix=path), 1, mode=0o660, group=groups[0]))
    assert (os.stat(path).st_gid, mode_of(path)) == (groups[0], 0o660)


@pytest.mark.skipif(os.getuid() == 0, reason="root may give a file to any group")
def test_a_group_that_is_not_ours_to_give(tmp_path: Path) -> None:
    path = str(tmp_path / "gw.sock")
    with pytest.raises(OSError, match="socket_group cannot be set") as caught:
        open_sockets(Address(unix=path), 1, group=0)
    assert caught.value.errno == errno.EPERM
    assert not os.path.exists(path)
