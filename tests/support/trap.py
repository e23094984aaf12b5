"""Runs a command so that every contact that it or a descendant tries to make is seen, and refused unless it is allowed.

A seccomp filter hands connect(2), sendto(2), sendmsg(2) and sendmmsg(2) to this process before the kernel carries them
out (seccomp_unotify(2)); io_uring, which would go round it, is refused. It needs no privilege, and holds for
all children. What is not allowed is recorded and fails as on a machine without a network. A name lookup shows as the
contact to the resolver: a name server, or a unix socket of nscd or systemd.
"""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import os
import platform
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Numbers of system calls by machine, and the audit constant that names the machine.
CALLS = {
    "x86_64": {"connect": 42, "sendto": 44, "sendmsg": 46, "sendmmsg": 307, "seccomp": 317, "io_uring_setup": 425},
    "aarch64": {"connect": 203, "sendto": 206, "sendmsg": 211, "sendmmsg": 269, "seccomp": 277, "io_uring_setup": 425},
}.get(platform.machine(), {})
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}.get(platform.machine(), 0)
ALLOW, REFUSE_ENOSYS, NOTIFY = 0x7FFF0000, 0x00050000 | 38, 0x7FC00000
RECEIVE, ANSWER = 0xC0502100, 0xC0182101  # ioctl: SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND
NOTICE = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
VERDICT = struct.Struct("=QqiI")  # struct seccomp_notif_resp
GO_ON = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE
ENETUNREACH = 101
AF_NETLINK = 16  # the kernel itself


def program() -> bytes:
    """The filter: by number, contacts are handed over, io_uring is refused, everything else goes on."""

    def step(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    load, equal, end = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    contacts = [CALLS[name] for name in ("connect", "sendto", "sendmsg", "sendmmsg")]
    steps = [step(load, 0, 0, 4), step(equal, 1, 0, ARCH), step(end, 0, 0, ALLOW), step(load, 0, 0, 0)]
    steps += [step(equal, len(contacts) - at + 1, 0, number) for at, number in enumerate(contacts)]
    steps += [step(equal, 2, 0, CALLS["io_uring_setup"]), step(end, 0, 0, ALLOW)]
    return b"".join([*steps, step(end, 0, 0, NOTIFY), step(end, 0, 0, REFUSE_ENOSYS)])


def install() -> int:
    """In the child. -> the descriptor on which contacts are told. OSError: the kernel forbids it."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = program()
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = ctypes.create_string_buffer(struct.pack("@HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)))
    if libc.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
        raise OSError(ctypes.get_errno(), "prctl")
    listener: int = libc.syscall(CALLS["seccomp"], 1, 8, filter_)  # SET_MODE_FILTER, FLAG_NEW_LISTENER
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def main() -> None:
    """python -m tests.support.trap SOCKET COMMAND…: a thread that the filter does not hold hands the listener out."""
    control = socket.socket(fileno=int(sys.argv[1]))
    installed: list[int] = []
    is_installed, is_sent = threading.Event(), threading.Event()

    def send() -> None:
        is_installed.wait()
        socket.send_fds(control, [b"1" if installed else b"0"], installed)
        is_sent.set()

    threading.Thread(target=send, daemon=True).start()
    try:
        installed.append(install())
    except (OSError, KeyError):
        pass
    is_installed.set()
    is_sent.wait()
    os.execv(sys.argv[2], sys.argv[2:])


class Trap:
    """`allowed` is asked for each contact: a unix socket's path, or "address port"."""

    def __init__(self, allowed: Callable[[str], bool]) -> None:
        self.contacts: list[str] = []  # that were not allowed, with the program's name
        self.seen = 0
        self._allowed = allowed
        self._ours, self.theirs = socket.socketpair()
        self._stop = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def command(self, *command: str) -> tuple[str, ...]:
        os.set_inheritable(self.theirs.fileno(), True)
        return (sys.executable, "-m", "tests.support.trap", str(self.theirs.fileno()), *command)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        os.close(self._stop[1])
        self._thread.join()
        self._ours.close()
        os.close(self._stop[0])

    def _watch(self) -> None:
        if not self._has_come(self._ours.fileno()):
            return
        word, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        if word != b"1":
            self.contacts.append("the kernel forbids the trap")
            return
        (listener,) = descriptors
        while self._has_come(listener):
            notice = bytearray(NOTICE.size)
            try:
                fcntl.ioctl(listener, RECEIVE, notice)
                ident, pid, _, call, _, _, *arguments = NOTICE.unpack(notice)
                refused = not self._judge(pid, call, arguments)
                verdict = VERDICT.pack(ident, 0, -ENETUNREACH if refused else 0, 0 if refused else GO_ON)
                fcntl.ioctl(listener, ANSWER, bytearray(verdict))
            except OSError:  # whoever asked has ended meanwhile
                continue
        os.close(listener)

    def _has_come(self, descriptor: int) -> bool:
        """False: it is over."""
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(self._stop[0], select.POLLIN | select.POLLHUP)
        return all(found == descriptor and event & select.POLLIN for found, event in poll.poll())

    def _judge(self, pid: int, call: int, arguments: list[int]) -> bool:
        self.seen += 1
        for address in _addresses(pid, call, arguments):
            where = _describe(address)
            if where is not None and not self._allowed(where):
                name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                self.contacts.append(f"{where} by {name}")
                return False
        return True


def _addresses(pid: int, call: int, arguments: list[int]) -> Iterator[bytes]:
    """What the call names; nothing where the socket is connected already."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:

        def read(at: int, size: int) -> bytes:
            return os.pread(memory.fileno(), size, at)

        if call == CALLS["connect"]:
            yield read(arguments[1], min(arguments[2], 128))
        elif call == CALLS["sendto"]:
            if arguments[4]:
                yield read(arguments[4], min(arguments[5], 128))
        else:  # struct msghdr, or an array of them, each followed by a length
            count = min(arguments[2], 64) if call == CALLS["sendmmsg"] else 1
            for at in range(count):
                name, size = struct.unpack("=QI", read(arguments[1] + 64 * at, 12))
                if name:
                    yield read(name, min(size, 128))


def _describe(address: bytes) -> str | None:
    """None: nothing outside of the kernel."""
    family = int.from_bytes(address[:2], sys.byteorder)
    if family in (0, AF_NETLINK):
        return None
    if family == socket.AF_UNIX:
        return address[2:].rstrip(b"\0").decode("utf-8", "replace")
    port = int.from_bytes(address[2:4], "big")
    if family == socket.AF_INET:
        return f"{ipaddress.ip_address(address[4:8])} {port}"
    if family == socket.AF_INET6:
        return f"{ipaddress.ip_address(address[8:24])} {port}"
    return f"family {family}"


@contextmanager
def trapped(allowed: Callable[[str], bool]) -> Iterator[Trap]:
    trap = Trap(allowed)
    trap.start()
    try:
        yield trap
    finally:
        trap.close()
        trap.theirs.close()


def why_not() -> str | None:
    """None: processes can be trapped here. Else the reason, found out in a child."""
    if not CALLS:
        return f"the system calls of {platform.machine()} are not known here"
    pid = os.fork()
    if pid == 0:
        try:
            install()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return "the kernel forbids seccomp filters with a listener" if status else None


if __name__ == "__main__":
    main()
