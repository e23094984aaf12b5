"""`antiphon serve`: takes what it needs of the machine (descriptors, folders, addresses), then supervises."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import replace

from antiphon import descriptors, systemd
from antiphon.heartbeat import DUMP
from antiphon.listen import address_of, open_control, open_sockets, why_not
from antiphon.runtime_dir import open_runtime_dir
from antiphon.settings import AccountsSettings, Settings
from antiphon.settings.model import ServerSettings
from antiphon.supervisor import LEAST_PATIENCE, WATCHED, HostProcess, Supervisor, run_host, say
from antiphon.wiring_accounts import NoPlace, plan_accounts

CONTROL_ELSEWHERE = '[server] control = "HOST:PORT", or "off"'


def run(
    settings: Settings,
    host: HostProcess = run_host,
    *,
    least_patience: float = LEAST_PATIENCE,
    read: Callable[[], Settings] | None = None,
) -> int:
    """`least_patience`: seconds of silence after which the host is killed, where `hang_after` is short. `read`: reads
    the settings again."""
    loaded = settings
    for warning in settings.warnings:
        say(f"WARNING: {warning}")
    settings = _fit_descriptors(settings)
    server = settings.server
    try:
        accounts = plan_accounts(settings, os.environ)
    except NoPlace as error:
        if _needs_accounts(settings):
            say(f"antiphon: accounts cannot be kept: {error}")
            return 1
        say(f"WARNING: accounts are off: {error}")
        accounts = None
    try:
        handed = systemd.take_sockets(os.environ)
    except OSError as error:
        say(f"antiphon: cannot take the sockets of the service manager: {error}")
        return 1
    if handed:
        server = replace(server, listen=address_of(handed[0]))
        settings = replace(settings, server=server)
    try:
        sockets = [handed] * server.workers if handed else _open_sockets(server)
    except OSError as error:
        say(f"antiphon: cannot listen on {settings.server.listen}: {why_not(settings.server.listen, error)}")
        return 1
    try:
        control = open_control(server.control)
    except OSError as error:
        address = server.control or ServerSettings().listen
        say(f"antiphon: cannot listen on {address} ([server] control): {why_not(address, error, CONTROL_ELSEWHERE)}")
        return 1
    if control is None and server.control is not None:
        say(f"WARNING: {server.control} is in use: this gateway runs without its control plane ([server] control)")
        settings = replace(settings, server=replace(server, control=None))
    signal.signal(DUMP, signal.SIG_IGN)  # for workers; whoever sends it to all of us does not mean to end us
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    with open_runtime_dir() as room:
        if accounts is not None and settings.accounts.completions:
            accounts = replace(accounts, socket=f"{room}/accounts.sock")
        return Supervisor(
            settings, sockets, room, host, least_patience, not handed, control, loaded, read, accounts
        ).run()


def _needs_accounts(settings: Settings) -> bool:
    """Something is written of accounts or limits: without them, the gateway would do other than it was told."""
    return bool(settings.accounts != AccountsSettings() or settings.limits or any(key.limits for key in settings.keys))


def _open_sockets(server: ServerSettings) -> list[list[socket.socket]]:
    return open_sockets(server.listen, server.workers, mode=server.socket_mode, group=server.socket_group)


def _fit_descriptors(settings: Settings) -> Settings:
    limit, server = descriptors.raise_limit(), settings.server
    warning = descriptors.warn_of(limit, server.max_connections)
    if warning is not None:
        say(f"WARNING: {warning}")
    most = min(server.max_connections, descriptors.most_connections(limit))
    return replace(settings, server=replace(server, max_connections=most))
